// A serving engine's decode loop with fused feed-forward blocks: prepare and freeze at start, bind
// each layer, capture a CUDA graph for each batch size, replay it at every step, and run the
// engine's own path wherever Fusebox does not answer OK.
#ifndef FUSEBOX_EXAMPLES_DECODE_LOOP_DECODE_LOOP_H_
#define FUSEBOX_EXAMPLES_DECODE_LOOP_DECODE_LOOP_H_

namespace example {

// Exit codes, those of the `fusebox` command.
enum ExitCode {
  kDone = 0,     // every result is right, and what was prepared ran fused
  kFailed = 1,   // a result is wrong, or a call failed
  kMissing = 3,  // no driver or GPU; or all was right, but what was prepared did not run fused
};

// Prints what runs where, and a sentence on standard error for what fails or is missing.
ExitCode RunDecodeLoop();

}  // namespace example

#endif  // FUSEBOX_EXAMPLES_DECODE_LOOP_DECODE_LOOP_H_
