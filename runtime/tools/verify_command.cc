// `fusebox verify`: runs kernels on the GPU against the device oracle.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/config/config.h"
#include "runtime/engine/planner.h"
#include "runtime/tools/cache_option.h"
#include "runtime/tools/command.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/op_options.h"
#include "runtime/tools/verify_run.h"
#include "runtime/tools/verify_variants.h"
#include "src/base/status.h"
#include "src/source/emit_measure.h"
#include "src/source/emit_reference.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyOptions {
  ModelOptions model = {.tokens = {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32}};
  OpOptions op;
  std::string gpu;
  std::string cache_dir;
  bool variants = false;
  bool compile_only = false;
  bool json = false;
};

fusebox_engine_options EngineOptionsFrom(const VerifyOptions& options) {
  fusebox_engine_options engine = api::EngineOptions();
  if (options.compile_only) engine.device_ordinal = -1;
  if (!options.gpu.empty()) engine.device_profile = options.gpu.c_str();
  if (!options.cache_dir.empty()) engine.cache_dirs = options.cache_dir.c_str();
  return engine;
}

void PrintRow(const VerifyRow& row) {
  const std::string subject =
      absl::StrCat(row.model, row.model.empty() ? "" : " ", row.op, " tp ", row.tensor_parallel,
                   row.tokens > 0 ? absl::StrCat(" M ", row.tokens) : "");
  std::printf("%-8s %s", std::string(ToString(row.outcome)).c_str(), subject.c_str());
  if (row.worst_ratio > 0) std::printf("  error/bound %.3f", row.worst_ratio);
  if (!row.plan.empty()) std::printf("  %s", row.plan.c_str());
  std::printf("%s%s\n", row.sentence.empty() ? "" : "  ", row.sentence.c_str());
  std::fflush(stdout);
}

struct VerifyTotals {
  int right = 0;
  int wrong = 0;
  int declined = 0;
  int failed = 0;
  int missing = 0;
  double worst_ratio = 0;

  void Add(const VerifyRow& row) {
    worst_ratio = std::max(worst_ratio, row.worst_ratio);
    switch (row.outcome) {
      case VerifyOutcome::kRight:
        ++right;
        break;
      case VerifyOutcome::kWrong:
        ++wrong;
        break;
      case VerifyOutcome::kDeclined:
        ++declined;
        break;
      case VerifyOutcome::kFailed:
        ++failed;
        break;
      case VerifyOutcome::kMissing:
        ++missing;
        break;
    }
  }
  ExitCode Code() const {
    if (wrong + failed > 0) return ExitCode::kFailed;
    return missing > 0 ? ExitCode::kMissing : ExitCode::kDone;
  }
};

Json ReportJson(const std::vector<VerifyRow>& rows, const VerifyTotals& totals,
                const std::string& gpu, uint64_t compiles) {
  Json json = {{"gpu", gpu},
               {"right", totals.right},
               {"wrong", totals.wrong},
               {"declined", totals.declined},
               {"failed", totals.failed},
               {"missing", totals.missing},
               {"worst_ratio", totals.worst_ratio},
               {"compiles", compiles},
               {"rows", Json::array()}};
  for (const VerifyRow& row : rows) {
    json["rows"].push_back({{"model", row.model},
                            {"op", row.op},
                            {"tensor_parallel", row.tensor_parallel},
                            {"tokens", row.tokens},
                            {"plan", row.plan},
                            {"outcome", ToString(row.outcome)},
                            {"worst_ratio", row.worst_ratio},
                            {"sentence", row.sentence}});
  }
  return json;
}

absl::StatusOr<ExitCode> RunOnGpu(const VerifyOptions& options, const Config& config,
                                  const std::vector<OpToRun>& ops) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::unique_ptr<GpuSession> session, GpuSession::Open(config));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(const MeasureKernels kernels, MeasureKernels::Load(*session));
  const fusebox_engine_options engine_options = EngineOptionsFrom(options);
  api::Engine engine;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Create(&engine_options).code()));
  VerifyRun run(session.get(), &kernels, &engine, gpu);
  std::vector<VerifyRow> rows;
  VerifyTotals totals;
  for (const OpToRun& op : ops) {
    run.Verify(op, [&](const VerifyRow& row) {
      rows.push_back(row);
      totals.Add(row);
      if (!options.json) PrintRow(row);
    });
  }
  auto stats = api::Sized<fusebox_engine_stats_values>();
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Stats(&stats).code()));
  const uint64_t compiles = stats.compiles + session->counters().compiles.value();
  if (options.json) {
    std::fputs(JsonText(ReportJson(rows, totals, session->device().name, compiles)).c_str(),
               stdout);
  } else {
    std::printf(
        "%s: %d right, %d wrong, %d declined, %d failed, %d missing; worst error/bound %.3f; "
        "%llu kernels compiled\n",
        session->device().name.c_str(), totals.right, totals.wrong, totals.declined, totals.failed,
        totals.missing, totals.worst_ratio, static_cast<unsigned long long>(compiles));
  }
  return totals.Code();
}

// The kernels of an op that runs past the API.
absl::Status CompilePlans(KernelService& kernels, const DeviceSpec& gpu,
                          const PlanOverrides& overrides, const OpToRun& op) {
  std::set<int> tiles;
  for (const int64_t tokens : op.tokens) {
    FUSEBOX_ASSIGN_OR_RETURN(const int tile, TokenTileFor(tokens));
    if (!tiles.insert(tile).second) continue;
    FUSEBOX_ASSIGN_OR_RETURN(const PlannedKernel planned,
                             PlanAndEmit(*op.problem, tile, gpu, overrides));
    FUSEBOX_RETURN_IF_ERROR(
        kernels.GetOrCompile(planned.source, CompilePermission::kAllowed).status());
  }
  return absl::OkStatus();
}

absl::Status CompileOp(const api::Engine& engine, const OpToRun& to_run) {
  api::Op op;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(engine, DescOf(*to_run.problem)).code()));
  const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
  return ApiStatus(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BLOCK).code());
}

// Every kernel that a verify of these ops needs, into the caches: the ops' and the tools' own.
absl::StatusOr<ExitCode> CompileOnly(const VerifyOptions& options, const Config& config,
                                     const std::vector<OpToRun>& ops) {
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
  for (const OpToRun& to_run : ops) {
    if (!to_run.problem.ok()) continue;  // declined
    FUSEBOX_ASSIGN_OR_RETURN(const KernelSource reference,
                             EmitReference(*to_run.problem, TemplateSet::Embedded()));
    FUSEBOX_RETURN_IF_ERROR(kernels.GetOrCompile(reference, CompilePermission::kAllowed).status());
    const absl::Status status = to_run.problem->rounding == Rounding::kEngine
                                    ? CompileOp(engine, to_run)
                                    : CompilePlans(kernels, gpu, overrides, to_run);
    if (!status.ok() && !IsDeclined(status)) return status;
    num_ready += status.ok() ? 1 : 0;
  }
  auto stats = api::Sized<fusebox_engine_stats_values>();
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Stats(&stats).code()));
  const uint64_t compiles = stats.compiles + counters.compiles.value();
  std::printf("%d of %zu ops can be verified from the cache; %s kernels compiled\n", num_ready,
              ops.size(), absl::StrCat(compiles).c_str());
  return ExitCode::kDone;
}

absl::Status CheckVariants(const VerifyOptions& options) {
  const bool is_one_named = !options.model.dtype.empty() || !options.op.norm.empty() ||
                            !options.op.residual.empty() || !options.op.bias.empty();
  if (!options.variants || !is_one_named) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--variants runs a list of its own; leave out --dtype, --norm, --residual and --bias");
}

absl::StatusOr<ExitCode> RunVerify(const VerifyOptions& options) {
  FUSEBOX_RETURN_IF_ERROR(CheckVariants(options));
  FUSEBOX_ASSIGN_OR_RETURN(Config config, ReadConfig(Environment::OfProcess()));
  ApplyCacheDir(options.cache_dir, config);
  FUSEBOX_ASSIGN_OR_RETURN(std::vector<OpToRun> ops, OpsToRun(options.model, options.op));
  if (options.variants) ops = WithVariants(ops);
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
