// Scenarios whose every call of the driver and of NVRTC may fail: the tables that stand in front of
// the fakes, and the record of what went wrong. A step that fails is tried once more, as a server
// may do; the failure is injected once, so the second try must succeed.
#ifndef FUSEBOX_TESTS_ERROR_INJECTION_H_
#define FUSEBOX_TESTS_ERROR_INJECTION_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "runtime/compile/nvrtc_api.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

// The fakes behind FailingCalls, opened as libcuda and libnvrtc would be.
absl::StatusOr<std::shared_ptr<const DriverApi>> OpenFailingDriver();
absl::StatusOr<std::shared_ptr<const NvrtcApi>> OpenFailingNvrtc();

// Every symbol of the tables.
const std::vector<std::string>& DriverSymbols();
const std::vector<std::string>& NvrtcSymbols();

struct StepFailure {
  std::string step;
  absl::Status status;
};

class ScenarioRun {
 public:
  // Runs `body`, and once more where it failed. False when it failed twice: what needs the step
  // cannot go on.
  bool Step(const std::string& name, absl::FunctionRef<absl::Status()> body);

  const std::vector<StepFailure>& failures() const { return failures_; }  // of first tries
  const std::vector<StepFailure>& lost() const { return lost_; }          // of second ones
  bool IsWhole() const { return finished_; }
  void Finish() { finished_ = true; }  // the scenario's last word

 private:
  std::vector<StepFailure> failures_;
  std::vector<StepFailure> lost_;
  bool finished_ = false;
};

// An engine's whole life: two engines one after the other, the first with an empty cache and NVRTC,
// the second on what the first has left, on a GPU that holds less. `cache_root` must be empty.
ScenarioRun RunEngineScenario(const std::string& cache_root);
// An engine each of whose launches is compared with the oracle. `cache_root` must be empty.
ScenarioRun RunShadowScenario(const std::string& cache_root);
// What verify, bench and doctor do on a GPU; on the cache that the engine scenario left.
ScenarioRun RunToolsScenario(const std::string& cache_root);

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_ERROR_INJECTION_H_
