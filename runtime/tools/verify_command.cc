// `fusebox verify`: runs kernels on the GPU against the device oracle.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/config/config.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/cache_option.h"
#include "runtime/tools/command.h"
#include "runtime/tools/ffn_layer.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/op_options.h"
#include "runtime/tools/verify_list.h"
#include "runtime/tools/verify_report.h"
#include "runtime/tools/verify_run.h"
#include "runtime/tools/verify_variants.h"
#include "src/base/status.h"
#include "src/source/emit_measure.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxJobs = 256;
constexpr int kMaxRepeats = 1000;

struct VerifyOptions {
  ModelOptions model = {.tokens = TokensToVerify()};
  OpOptions op;
  std::string models_folder;
  bool as_engine = false;
  bool both_dtypes = false;
  int repeat = 1;
  int jobs = std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaxJobs);
  std::string gpu;
  std::string cache_dir;
  bool variants = false;
  bool compile_only = false;
  bool json = false;
};

fusebox_engine_options EngineOptionsFrom(const VerifyOptions& options) {
  fusebox_engine_options engine = api::EngineOptions();
  engine.decline_slower = FUSEBOX_SWITCH_OFF;
  if (options.compile_only) engine.device_ordinal = -1;
  if (!options.gpu.empty()) engine.device_profile = options.gpu.c_str();
  if (!options.cache_dir.empty()) engine.cache_dirs = options.cache_dir.c_str();
  return engine;
}

absl::StatusOr<ExitCode> RunOnGpu(const VerifyOptions& options, const Config& config,
                                  const std::vector<OpToVerify>& ops) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::unique_ptr<GpuSession> session, GpuSession::Open(config));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(const MeasureKernels kernels, MeasureKernels::Load(*session));
  const fusebox_engine_options engine_options = EngineOptionsFrom(options);
  api::Engine engine;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Create(&engine_options).code()));
  std::vector<WarmedOp> warmed = WarmForVerify({.engine = &engine,
                                                .service = &session->kernels(),
                                                .permission = session->permission(),
                                                .gpu = gpu,
                                                .overrides = &session->overrides()},
                                               ops, options.jobs);
  VerifyRun run(session.get(), &kernels, gpu, options.repeat);
  VerifyReport report;
  for (size_t i = 0; i < ops.size(); ++i) {
    run.Verify(ops[i], std::move(warmed[i]), [&](const VerifyRow& row) {
      report.Add(row);
      if (options.json) return;
      std::printf("%s\n", ToLine(row).c_str());
      std::fflush(stdout);
    });
  }
  auto stats = api::Sized<fusebox_engine_stats_values>();
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Stats(&stats).code()));
  const uint64_t compiles = stats.compiles + session->counters().compiles.value();
  const std::string& name = session->device().name;
  const std::string text =
      options.json ? JsonText(report.ToJson(name, compiles)) : report.ToText(name, compiles);
  std::fputs(text.c_str(), stdout);
  return report.Code();
}

// Every kernel that a verify of these ops needs, into the caches: the ops' and the tools' own.
absl::StatusOr<ExitCode> CompileOnly(const VerifyOptions& options, const Config& config,
                                     const std::vector<OpToVerify>& ops) {
  FUSEBOX_ASSIGN_OR_RETURN(const auto log,
                           EventLog::Create({.level = config.log_level, .file = config.log_file}));
  EngineCounters counters;
  KernelService kernels(KernelService::OptionsFrom(config), log.get(), &counters);
  const fusebox_engine_options engine_options = EngineOptionsFrom(options);
  api::Engine engine;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Create(&engine_options).code()));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(const PlanOverrides overrides, ReadOverrides(config));
  // The tools' own kernels are the built-in ones, whatever FUSEBOX_TEMPLATE_DIR holds: what judges
  // must not change with what is judged.
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource measure, EmitMeasure(TemplateSet::Embedded()));
  FUSEBOX_RETURN_IF_ERROR(kernels.GetOrCompile(measure, CompilePermission::kAllowed).status());
  int num_ready = 0;
  for (const WarmedOp& warmed : WarmForVerify({.engine = &engine,
                                .service = &kernels,
                                .permission = CompilePermission::kAllowed,
                                .gpu = gpu,
                                .overrides = &overrides},
                                              ops, options.jobs)) {
    if (!warmed.status.ok() && !IsDeclined(warmed.status)) return warmed.status;
    num_ready += warmed.status.ok() ? 1 : 0;
  }
  auto stats = api::Sized<fusebox_engine_stats_values>();
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Stats(&stats).code()));
  const uint64_t compiles = stats.compiles + counters.compiles.value();
  std::printf("%d of %zu ops can be verified from the cache; %s kernels compiled\n", num_ready,
              ops.size(), absl::StrCat(compiles).c_str());
  return ExitCode::kDone;
}

// In each dtype asked for.
absl::StatusOr<std::vector<OpToRun>> ListOps(const VerifyOptions& options) {
  ModelOptions model = options.model;
  if (!options.models_folder.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                             ModelFilesIn(options.models_folder));
    model.model_files.insert(model.model_files.end(), files.begin(), files.end());
  }
  if (options.as_engine) model.variant = OpVariant::kEngine;
  if (!options.both_dtypes) return OpsToRun(model, options.op);
  std::vector<OpToRun> ops;
  for (const char* dtype : {"bf16", "fp16"}) {
    model.dtype = dtype;
    FUSEBOX_ASSIGN_OR_RETURN(const std::vector<OpToRun> of_dtype, OpsToRun(model, options.op));
    ops.insert(ops.end(), of_dtype.begin(), of_dtype.end());
  }
  return ops;
}

absl::Status CheckOptions(const VerifyOptions& options) {
  if (options.both_dtypes && (options.variants || !options.model.dtype.empty())) {
    return absl::InvalidArgumentError(
        "--both-dtypes names the dtypes; leave out --dtype, and --variants, which has its own");
  }
  if (options.as_engine && options.op.hidden != 0) {
    return absl::InvalidArgumentError(
        "--as-engine takes norm and residual from a model; with --hidden pass --norm and "
        "--residual");
  }
  const bool is_one_named = !options.model.dtype.empty() || !options.op.norm.empty() ||
                            !options.op.residual.empty() || !options.op.bias.empty();
  if (!options.variants || !is_one_named) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--variants runs a list of its own; leave out --dtype, --norm, --residual and --bias");
}

absl::StatusOr<ExitCode> RunVerify(const VerifyOptions& options) {
  FUSEBOX_RETURN_IF_ERROR(CheckOptions(options));
  FUSEBOX_ASSIGN_OR_RETURN(Config config, ReadConfig(Environment::OfProcess()));
  config.decline_slower = false;  // a kernel is right or wrong, however long it takes
  ApplyCacheDir(options.cache_dir, config);
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<OpToRun> listed, ListOps(options));
  if (options.variants) listed = WithVariants(listed);
  const std::vector<OpToVerify> ops = EachOnce(listed);
  return options.compile_only ? CompileOnly(options, config, ops) : RunOnGpu(options, config, ops);
}

}  // namespace

void AddVerifyCommand(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command = app.add_subcommand(
      "verify", "Run kernels on the GPU and compare every output with a slow reference");
  AddModelOptions(*command, options->model);
  AddOpOptions(*command, options->op);
  AddGpuOption(*command, options->gpu);
  AddCacheDirOption(*command, "cache to use", options->cache_dir);
  command
      ->add_option("--models", options->models_folder,
                   "folder of config.json files, all of which are taken, beside --model")
      ->excludes("--shapes")
      ->type_name("DIR");
  command->add_flag("--as-engine", options->as_engine,
                    "each model's op with the norm and residual that --engine asks for, in place "
                    "of the block alone");
  command->add_flag("--both-dtypes", options->both_dtypes, "every op in bf16 and in fp16");
  command
      ->add_option("--repeat", options->repeat,
                   "launches of each case, which must all have the same bits")
      ->check(CLI::Range(1, kMaxRepeats))
      ->capture_default_str()
      ->type_name("N");
  command->add_option("--jobs", options->jobs, "compiles at once, before the first launch")
      ->check(CLI::Range(1, kMaxJobs))
      ->capture_default_str()
      ->type_name("N");
  command->add_flag("--variants", options->variants,
                    "instead of each op a fixed list of variants of its dims: every dtype, "
                    "activation, norm, residual mode, bias and rounding at least twice");
  command->add_flag("--compile-only", options->compile_only,
                    "put every kernel that this verify needs into the cache; needs no GPU");
  command->add_flag("--json", options->json, "print JSON instead of a line a case");
  command->footer(std::string(ExitCodeHelp()) +
                  "\n1 where an output is wrong or a launch failed. The bound on each element is "
                  "derived from the lengths of its sums; error/bound above 1 is wrong.");
  command->callback([options, &exit_code] {
    const absl::StatusOr<ExitCode> code = RunVerify(*options);
    exit_code = code.ok() ? *code : Complain("verify", code.status());
  });
}

}  // namespace fusebox
