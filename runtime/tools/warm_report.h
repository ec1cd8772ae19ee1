// WarmReport prints what a warm run did: the table, the refusals, the totals; or the same as JSON.
// Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_WARM_REPORT_H_
#define FUSEBOX_RUNTIME_TOOLS_WARM_REPORT_H_

#include <string>
#include <vector>

#include "runtime/tools/command.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/warm_manifest.h"
#include "runtime/tools/warm_run.h"

namespace fusebox {

struct WarmReport {
  std::string gpu;
  std::string cache_root;  // where kernels were kept; empty: nowhere
  std::vector<ModelRequest> requests;
  std::vector<ManifestRequest> manifests;
  std::vector<WarmRow> rows;
  double seconds = 0;

  int Count(WarmOutcome outcome) const;
  int CountLowerRungs() const;
  double MedianCompileMs() const;  // 0 when nothing was compiled
  ExitCode Code() const;           // kFailed beats kMissing; declined and cached are done
  std::string ToText() const;
  std::string ToJson() const;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_WARM_REPORT_H_
