#include "runtime/tools/doctor_checks.h"

#include <filesystem>
#include <map>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cache/cubin_store.h"
#include "runtime/cache/files.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/driver/device_query.h"
#include "runtime/engine/overrides.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/cluster_probe.h"
#include "runtime/tools/table.h"
#include "runtime/trace/event_log.h"
#include "src/base/status.h"
#include "src/device/device_profiles.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

Finding Of(std::string subject, Verdict verdict, std::string sentence) {
  return {.subject = std::move(subject), .verdict = verdict, .sentence = std::move(sentence)};
}

Finding Of(std::string subject, Verdict verdict, const absl::Status& status) {
  return Of(std::move(subject), verdict, std::string(status.message()));
}

std::string ClusterText(const std::vector<ClusterCount>& counts) {
  return absl::StrJoin(counts, ", ", [](std::string* out, const ClusterCount& count) {
    absl::StrAppend(out, count.cluster_size, "x", count.clusters);
  });
}

Finding CheckGpu(const DriverFinding& driver, const NvrtcFinding& nvrtc, int ordinal) {
  const std::string subject = absl::StrCat("gpu ", ordinal);
  const absl::StatusOr<DeviceReport> device = QueryDevice(*driver.api, ordinal);
  if (!device.ok()) return Of(subject, Verdict::kFail, device.status());
  const std::string text = absl::StrCat(device->name, ", compute capability ",
                                        device->compute_major, ".", device->compute_minor, ", ",
                                        device->num_sms, " SMs, ", BytesText(device->memory_bytes));
  if (const absl::Status served = CheckServed(*device); !served.ok()) {
    return Of(subject, Verdict::kWarn, absl::StrCat(text, "; ", served.message()));
  }
  if (nvrtc.api == nullptr) {
    return Of(subject, Verdict::kOk,
              absl::StrCat(text, "; resident clusters unknown without NVRTC"));
  }
  const auto clusters = CountResidentClusters(driver.api, *device, NvrtcCompiler(nvrtc.api));
  if (!clusters.ok()) {
    return Of(subject, Verdict::kWarn, absl::StrCat(text, "; ", clusters.status().message()));
  }
  return Of(subject, Verdict::kOk,
            absl::StrCat(text, "; resident clusters (size x count): ", ClusterText(*clusters)));
}

// The folder itself, or the nearest one above it that exists.
fs::path NearestFolder(fs::path path) {
  std::error_code error;
  while (!fs::exists(path, error) && path.has_parent_path() && path != path.parent_path()) {
    path = path.parent_path();
  }
  return path.empty() ? fs::path(".") : path;
}

// Whether `path` and folders in it can be made: tried in the nearest folder that is there, because
// root passes every check of permissions, also where nothing can be made (/proc).
bool CanMakeFoldersIn(const fs::path& path) {
  const absl::StatusOr<std::string> made =
      MakeUniqueFolder(NearestFolder(path).string(), ".tmp-doctor-");
  if (made.ok()) RemoveFolder(*made);
  return made.ok();
}

// What engine creation would say to the log file; one that was not there is not there afterwards.
absl::Status TryLogFile(const Config& config) {
  if (config.log_file.empty()) return absl::OkStatus();
  std::error_code error;
  const bool existed = fs::exists(fs::symlink_status(config.log_file, error));
  const absl::Status status =
      EventLog::Create({.level = config.log_level, .file = config.log_file}).status();
  if (status.ok() && !existed) fs::remove(config.log_file, error);
  return status;
}

// Whether an engine could append to it; a file that was not there is not there afterwards.
absl::Status TryRecordFile(const Config& config) {
  if (config.record_file.empty()) return absl::OkStatus();
  const bool existed = NameExists(config.record_file);
  const absl::Status status = AppendToFile(config.record_file, "");
  std::error_code error;
  if (status.ok() && !existed) fs::remove(config.record_file, error);
  return status;
}

Finding CheckCache(const std::string& root, size_t index) {
  const EventLog* const kNoLog = nullptr;
  std::error_code error;
  const bool exists = fs::is_directory(root, error);
  const std::string subject = absl::StrCat("cache ", index + 1);
  std::string text = root;
  if (exists) {
    int64_t bytes = 0;
    int bad = 0, stale = 0;
    const std::vector<CacheEntryReport> entries = CubinStore({root}, kNoLog).List();
    for (const CacheEntryReport& entry : entries) {
      bytes += entry.bytes;
      if (entry.status.ok()) continue;
      ++(IsStale(entry.status) ? stale : bad);
    }
    absl::StrAppend(&text, ": ", entries.size(), " kernels, ", BytesText(bytes));
    if (stale > 0) absl::StrAppend(&text, ", of them ", stale, " of another build (misses)");
    if (bad > 0) {
      return Of(subject, Verdict::kWarn,
                absl::StrCat(text, "; ", bad,
                             " bad (they count as misses and are made again); "
                             "`fusebox cache ls` names them"));
    }
  }
  if (index > 0) {
    return exists ? Of(subject, Verdict::kOk, text + "; read only")
                  : Of(subject, Verdict::kWarn, text + ": does not exist");
  }
  if (!CanMakeFoldersIn(absl::StrCat(root, "/v1/sm_90a"))) {
    return Of(subject, Verdict::kWarn,
              absl::StrCat(text,
                           ": cannot be written, new kernels stay in memory only; give a "
                           "writable folder first in FUSEBOX_CACHE_DIR"));
  }
  return Of(subject, Verdict::kOk, text + (exists ? "; writable" : ": not there yet, can be made"));
}

absl::StatusOr<std::string> TryPipeline(const NvrtcFinding& nvrtc) {
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, FindDeviceProfile("h200-sxm"));
  FUSEBOX_ASSIGN_OR_RETURN(const FfnProblem problem,
                           FfnProblem::Create({.hidden = DimK(1024), .intermediate = DimN(3072)}));
  FUSEBOX_ASSIGN_OR_RETURN(const PlannedKernel kernel,
                           PlanAndEmit(problem, kTokenTiles.front(), gpu));
  const std::string planned = absl::StrCat("planned ", kernel.source.name, " for ", gpu.name);
  if (nvrtc.api == nullptr) return planned + "; not compiled without NVRTC";
  FUSEBOX_ASSIGN_OR_RETURN(const CompiledKernel compiled,
                           NvrtcCompiler(nvrtc.api).Compile(kernel.source));
  return absl::StrCat(planned, " and compiled it in ", Fixed(compiled.milliseconds, 0), " ms");
}

}  // namespace

std::string_view ToString(Verdict verdict) {
  switch (verdict) {
    case Verdict::kOk:
      return "OK";
    case Verdict::kWarn:
      return "WARN";
    case Verdict::kFail:
      return "FAIL";
    case Verdict::kAbsent:
      return "absent";
  }
  return "FAIL";
}

DriverFinding CheckDriver() {
  absl::StatusOr<std::shared_ptr<const DriverApi>> api = LoadDriver();
  if (!api.ok()) return {.finding = Of("driver", Verdict::kAbsent, api.status()), .api = nullptr};
  return {.finding =
              Of("driver", Verdict::kOk, absl::StrCat("CUDA ", CudaVersionString((*api)->version))),
          .api = *std::move(api)};
}

NvrtcFinding CheckNvrtc(const Config& config) {
  absl::StatusOr<std::shared_ptr<const NvrtcApi>> api =
      LoadNvrtc(config.toolkit_places, config.nvrtc_path);
  if (!api.ok()) return {.finding = Of("nvrtc", Verdict::kAbsent, api.status()), .api = nullptr};
  return {.finding = Of("nvrtc", Verdict::kOk,
                        absl::StrCat((*api)->VersionString(), " from ", (*api)->path)),
          .api = *std::move(api)};
}

std::vector<Finding> CheckGpus(const DriverFinding& driver, const NvrtcFinding& nvrtc) {
  if (driver.api == nullptr) return {Of("gpu", Verdict::kAbsent, std::string("no driver to ask"))};
  const absl::StatusOr<int> count = CountDevices(*driver.api);
  if (!count.ok()) return {Of("gpu", Verdict::kFail, count.status())};
  if (*count == 0) return {Of("gpu", Verdict::kAbsent, std::string("the driver reports none"))};
  std::vector<Finding> findings;
  for (int ordinal = 0; ordinal < *count; ++ordinal) {
    findings.push_back(CheckGpu(driver, nvrtc, ordinal));
  }
  return findings;
}

std::vector<Finding> CheckCaches(const Config& config) {
  if (config.cache_dirs.empty()) {
    return {Of("cache", Verdict::kWarn,
               std::string("no folder is named: FUSEBOX_CACHE_DIR holds none, or it is not set "
                           "and there is no home folder; kernels stay in memory only"))};
  }
  std::vector<Finding> findings;
  for (size_t index = 0; index < config.cache_dirs.size(); ++index) {
    findings.push_back(CheckCache(config.cache_dirs[index], index));
  }
  return findings;
}

Finding CheckPipeline(const NvrtcFinding& nvrtc) {
  const absl::StatusOr<std::string> sentence = TryPipeline(nvrtc);
  if (!sentence.ok()) return Of("pipeline", Verdict::kFail, sentence.status());
  return Of("pipeline", Verdict::kOk, *sentence);
}

KnobsFinding CheckKnobs(const Environment& environment) {
  KnobsFinding knobs;
  std::map<std::string, std::string> variables = environment.variables();
  for (const Knob& knob : Knobs()) {
    const auto variable = variables.find(std::string(knob.name));
    if (variable == variables.end()) continue;
    const absl::Status alone = ReadConfig(Environment::FromVariables({*variable})).status();
    if (alone.ok()) continue;
    knobs.findings.push_back(Of("knobs", Verdict::kFail, alone));
    variables.erase(variable);
  }
  absl::StatusOr<Config> config = ReadConfig(Environment::FromVariables(std::move(variables)));
  if (!config.ok()) {
    knobs.findings.push_back(Of("knobs", Verdict::kFail, config.status()));
    return knobs;
  }
  knobs.config = *std::move(config);
  for (const std::string& warning : knobs.config.warnings) {
    knobs.findings.push_back(Of("knobs", Verdict::kWarn, warning));
  }
  if (!knobs.config.device_profile.empty()) {
    const absl::StatusOr<DeviceSpec> profile = FindDeviceProfile(knobs.config.device_profile);
    if (!profile.ok()) knobs.findings.push_back(Of("knobs", Verdict::kFail, profile.status()));
  }
  if (const absl::Status log = TryLogFile(knobs.config); !log.ok()) {
    knobs.findings.push_back(Of("knobs", Verdict::kFail, log));
  }
  if (const absl::Status overrides = ReadOverrides(knobs.config).status(); !overrides.ok()) {
    knobs.findings.push_back(Of("knobs", Verdict::kFail, overrides));
  }
  if (const absl::Status record = TryRecordFile(knobs.config); !record.ok()) {
    knobs.findings.push_back(
        Of("knobs", Verdict::kWarn,
           absl::StrCat("FUSEBOX_RECORD: ", record.message(),
                        "; nothing will be recorded; name a file that can be written")));
  }
  if (!knobs.config.dump_dir.empty() && !CanMakeFoldersIn(knobs.config.dump_dir)) {
    knobs.findings.push_back(
        Of("knobs", Verdict::kWarn,
           absl::StrCat("FUSEBOX_DUMP_DIR=", knobs.config.dump_dir,
                        " cannot be written, nothing will be dumped; name a writable folder")));
  }
  if (knobs.findings.empty()) {
    knobs.findings.push_back(Of("knobs", Verdict::kOk, std::string("all accepted")));
  }
  return knobs;
}

}  // namespace fusebox
