// `fusebox warm`: plans and compiles every kernel that models need, or that engines recorded, and
// compiles given plans, into the disk cache, with or without a GPU.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/config/config.h"
#include "runtime/engine/counters.h"
#include "runtime/engine/kernel_service.h"
#include "runtime/tools/cache_option.h"
#include "runtime/tools/command.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/model_options.h"
#include "runtime/tools/progress.h"
#include "runtime/tools/warm_list.h"
#include "runtime/tools/warm_manifest.h"
#include "runtime/tools/warm_report.h"
#include "runtime/tools/warm_run.h"
#include "runtime/trace/event_log.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr int kMaxJobs = 256;  // more threads than any host this runs on has use for

struct WarmOptions {
  ModelOptions model;
  std::vector<std::string> manifest_files;
  std::string plan_file;
  std::string gpu;
  std::string cache_dir;
  int jobs = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxJobs);
  bool even_if_slower = false;
  bool json = false;
};

// --gpu, then FUSEBOX_DEVICE_PROFILE, then what a manifest was recorded for, then this machine's.
absl::StatusOr<DeviceSpec> GpuToWarm(const WarmOptions& options, const Config& config,
                                     const std::vector<ManifestRequest>& manifests) {
  if (!options.gpu.empty() || !config.device_profile.empty() || manifests.empty()) {
    return ChooseGpu(options.gpu, config);
  }
  FUSEBOX_ASSIGN_OR_RETURN(const std::string profile, ProfileOf(manifests));
  return ChooseGpu(profile, config);
}

absl::Status CheckOptions(const WarmOptions& options, const Config& config) {
  if (config.cache_dirs.empty()) {
    return absl::InvalidArgumentError(
        "there is no cache to warm: FUSEBOX_CACHE_DIR or --cache-dir names no folder, or neither "
        "is given and there is no home folder; pass --cache-dir DIR");
  }
  if (options.model.model_files.empty() && options.manifest_files.empty() &&
      options.plan_file.empty()) {
    return absl::InvalidArgumentError(
        "no op is named; pass --model FILE, --manifest FILE or --plans FILE");
  }
  return absl::OkStatus();
}

absl::StatusOr<WarmReport> Warm(const WarmOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  FUSEBOX_ASSIGN_OR_RETURN(Config config, ReadConfig(Environment::OfProcess()));
  PrintWarnings("warm", config);
  ApplyCacheDir(options.cache_dir, config);
  FUSEBOX_RETURN_IF_ERROR(CheckOptions(options, config));
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<ManifestRequest> manifests,
                           ReadManifests(options.manifest_files));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, GpuToWarm(options, config, manifests));
  FUSEBOX_ASSIGN_OR_RETURN(PlanOverrides overrides, ReadOverrides(config));
  if (options.even_if_slower) overrides.slower = SlowerPlans::kServe;
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<ModelRequest> requests, ReadModelRequests(options.model));
  std::vector<GivenPlan> plans;
  if (!options.plan_file.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(plans, ReadPlanFile(options.plan_file));
  }
  FUSEBOX_ASSIGN_OR_RETURN(const auto log,
                           EventLog::Create({.level = config.log_level, .file = config.log_file}));
  EngineCounters counters;
  KernelService kernels(KernelService::OptionsFrom(config), log.get(), &counters);
  WarmRun run(gpu, overrides, &kernels);
  std::vector<WarmPiece> pieces = ListPieces(requests, manifests);
  for (WarmPiece& piece : PiecesOfPlans(options.plan_file, plans))
    pieces.push_back(std::move(piece));
  WarmReport report = {.gpu = gpu.name, .cache_root = config.cache_dirs.front()};
  {
    Progress progress(stderr, Progress::StyleFor(stderr), static_cast<int>(pieces.size()));
    report.rows = run.MakeAllReady(pieces, options.jobs, progress);
  }
  report.requests = std::move(requests);
  report.manifests = std::move(manifests);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return report;
}

ExitCode RunWarm(const WarmOptions& options) {
  const absl::StatusOr<WarmReport> report = Warm(options);
  if (!report.ok()) return Complain("warm", report.status());
  const std::string text = options.json ? report->ToJson() : report->ToText();
  std::fputs(text.c_str(), stdout);
  return report->Code();
}

}  // namespace

void AddWarmCommand(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<WarmOptions>();
  CLI::App* command = app.add_subcommand(
      "warm",
      "Plan and compile every kernel that models need, or that was recorded, or whose plan is "
      "given, into the cache; needs no GPU");
  AddModelOptions(*command, options->model);
  AddBareOption(*command, options->model);
  command
      ->add_option("--manifest", options->manifest_files,
                   "what an engine wrote with FUSEBOX_RECORD; exactly that is made, for the GPU "
                   "type it was recorded on unless --gpu names one; may be repeated")
      ->type_name("FILE");
  command
      ->add_option("--plans", options->plan_file,
                   "compile the plans in this file too, one JSON a line, as plan --sample prints "
                   "them")
      ->type_name("FILE");
  AddGpuOption(*command, options->gpu);
  command
      ->add_option("--residual", options->model.residual,
                   "none, add_before_norm, add_after or sandwich, for every op; what the engine "
                   "asks for when left out")
      ->type_name("NAME");
  for (const char* of_models :
       {"--tokens", "--tp", "--engine", "--dtype", "--residual", "--bare"}) {
    command->get_option(of_models)->needs("--model");  // a manifest says it all
  }
  command->add_option("--jobs", options->jobs, "compiles at once")
      ->check(CLI::Range(1, kMaxJobs))
      ->capture_default_str()
      ->type_name("N");
  AddCacheDirOption(*command, "cache to fill", options->cache_dir);
  command->add_flag("--even-if-slower", options->even_if_slower,
                    "also the token tiles that are predicted to be slower fused, for engines with "
                    "FUSEBOX_DECLINE_SLOWER=0");
  command->add_flag("--json", options->json, "print JSON instead of a table");
  command->footer(std::string(ExitCodeHelp()) +
                  "\n0 also when every op is declined (the last line says so). 1 where a kernel "
                  "could not be compiled or kept, 3 "
                  "where NVRTC is needed and not there. NVRTC's own cache is passed by, so that "
                  "compile times are cold ones.\nwarm always plans and compiles what is missing: "
                  "FUSEBOX_ENABLE, FUSEBOX_COMPILE, FUSEBOX_COMPILE_THREADS (see --jobs) and "
                  "FUSEBOX_PDL have no effect here.");
  command->callback([options, &exit_code] { exit_code = RunWarm(*options); });
}

}  // namespace fusebox
