// FakeNvrtc is an NvrtcApi that makes a cubin out of anything: the text's digest in front of
// filler, as ptxas would report a kernel that does not spill. One at a time in a process.
// Thread-safe.
#ifndef FUSEBOX_TESTS_COMPILE_FAKE_NVRTC_H_
#define FUSEBOX_TESTS_COMPILE_FAKE_NVRTC_H_

#include <atomic>
#include <memory>

#include "runtime/compile/nvrtc_api.h"

namespace fusebox {

struct FakeNvrtc {
  static FakeNvrtc& Instance();
  static FakeNvrtc& Reset();  // as new; nothing may be in use

  // The functions alone: CheckNvrtcFit fills in the version.
  std::shared_ptr<const NvrtcApi> Api() const;

  std::atomic<int> num_programs = 0;  // made and not destroyed
  std::atomic<int> num_compiles = 0;
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_COMPILE_FAKE_NVRTC_H_
