// KernelSource is the seam between deciding and running: the text of one kernel, how to compile it
// and how to launch it. Invariant: a pure function of (FusionPlan, TemplateSet, EmitOptions); it
// names no path, time, machine or locale. A value, printable and hashable; src/ ends here and
// runtime/ begins here.
#ifndef FUSEBOX_SRC_SOURCE_KERNEL_SOURCE_H_
#define FUSEBOX_SRC_SOURCE_KERNEL_SOURCE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "src/base/fingerprint.h"
#include "src/source/template_set.h"

namespace fusebox {

// Which CTAs wait for one another, and so must be resident at once: all of them only where the
// launch says so (a cooperative launch).
enum class Cooperation { kCluster, kGrid };

// Everything cuLaunchKernelEx needs beside the parameters.
struct LaunchShape {
  int grid_ctas = 0;
  int cluster_size = 1;
  Cooperation cooperation = Cooperation::kCluster;
  int threads = 0;
  int64_t dynamic_smem_bytes = 0;
  bool operator==(const LaunchShape&) const = default;
};

struct KernelSource {
  std::string name;                // "ffn_gated_silu_bf16_h4096_i11008_t8": for logs and file names
  std::string entry;               // extern "C" symbol: "fusebox_ffn"
  std::string text;                // the generated .cu, under 60 lines
  std::string plan_json;           // the plan it was made from
  std::string architecture;        // "sm_90a"
  std::vector<std::string> flags;  // NVRTC options; no paths
  TemplateSet headers;             // what the text may include, by root-spelled name
  LaunchShape launch;
  int64_t workspace_bytes = 0;

  // Digest of schema version, text, headers, flags, entry and architecture; nothing of the build
  // machine.
  Fingerprint Digest() const;
};

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_KERNEL_SOURCE_H_
