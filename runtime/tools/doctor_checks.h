// DoctorChecks look at one part of the machine each and say whether Fusebox can work with it, and
// what to do if not. Invariant: a check leaves nothing behind, no file, folder or context; what
// must be writable is written to and cleaned up, for permissions alone do not tell. Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_DOCTOR_CHECKS_H_
#define FUSEBOX_RUNTIME_TOOLS_DOCTOR_CHECKS_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/compile/nvrtc_api.h"
#include "runtime/config/config.h"
#include "runtime/driver/driver_api.h"

namespace fusebox {

enum class Verdict { kOk, kWarn, kFail, kAbsent };
std::string_view ToString(Verdict verdict);  // "OK", "WARN", "FAIL", "absent"

struct Finding {
  std::string subject;  // "driver", "gpu 0", "cache 1"
  Verdict verdict = Verdict::kOk;
  std::string sentence;
};

// What a check found, and what later checks build on. The pointers are null where the part is
// missing.
struct DriverFinding {
  Finding finding;
  std::shared_ptr<const DriverApi> api;
};
struct KnobsFinding {
  std::vector<Finding> findings;
  Config config;  // what the accepted knobs say; refused ones are at their defaults
};
struct NvrtcFinding {
  Finding finding;
  std::shared_ptr<const NvrtcApi> api;
};

DriverFinding CheckDriver();
NvrtcFinding CheckNvrtc(const Config& config);
// Each GPU: name, compute capability, SMs, memory; and its resident clusters where NVRTC can make a
// kernel to ask with.
std::vector<Finding> CheckGpus(const DriverFinding& driver, const NvrtcFinding& nvrtc);
// Each root: entries and bytes, and for the first whether it can be written.
std::vector<Finding> CheckCaches(const Config& config);
// Plans, emits and compiles one small op for an H200.
Finding CheckPipeline(const NvrtcFinding& nvrtc);
// The environment's knobs: FAIL for each that engine creation would refuse, with its sentence; WARN
// for names that are no knobs, and for a dump folder and a record file that cannot be written.
KnobsFinding CheckKnobs(const Environment& environment);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_DOCTOR_CHECKS_H_
