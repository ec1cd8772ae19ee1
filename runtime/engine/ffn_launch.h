// LaunchFfn is the hot path: it checks the arguments, fills the parameters and enqueues the kernel.
// Invariant: no allocation, lock, environment read or synchronisation; on success it formats
// nothing. Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_FFN_LAUNCH_H_
#define FUSEBOX_RUNTIME_ENGINE_FFN_LAUNCH_H_

#include "fusebox/ffn.h"
#include "runtime/engine/ffn_binding.h"

namespace fusebox {

// Records the message of a failure for this thread.
fusebox_status LaunchFfn(const FfnBinding& binding, const fusebox_ffn_args* args,
                         struct CUstream_st* stream);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_FFN_LAUNCH_H_
