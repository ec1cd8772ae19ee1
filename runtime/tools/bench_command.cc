// `fusebox bench`: times kernels on the GPU against the floor, sweeps given plans, and measures
// what a launch costs the CPU.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/config/config.h"
#include "runtime/tools/bench_launch_cost.h"
#include "runtime/tools/bench_report.h"
#include "runtime/tools/bench_run.h"
#include "runtime/tools/bench_sweep.h"
#include "runtime/tools/cache_option.h"
#include "runtime/tools/command.h"
#include "runtime/tools/gpu_option.h"
#include "runtime/tools/op_options.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

struct BenchOptions {
  ModelOptions model;
  OpOptions op;
  std::string gpu;
  std::string cache_dir;
  std::vector<std::string> neighbours = {"fusebox"};
  int replays = 30;
  std::string plan_file;
  int fastest = 0;
  double seconds = 0;
  bool launch_cost = false;
  std::string json_file;
  std::string commit = "unknown";
};

absl::StatusOr<BenchRun::Options> RunOptionsFrom(const BenchOptions& options) {
  BenchRun::Options run = {.replays = options.replays, .neighbours = {}};
  for (const std::string& name : options.neighbours) {
    if (name == ToString(Neighbours::kFusebox)) {
      run.neighbours.push_back(Neighbours::kFusebox);
    } else if (name == ToString(Neighbours::kForeign)) {
      run.neighbours.push_back(Neighbours::kForeign);
    } else {
      return absl::InvalidArgumentError(
          absl::StrCat("--neighbours ", name, " is unknown; accepted: fusebox, foreign"));
    }
  }
  return run;
}

absl::StatusOr<std::vector<OpToRun>> OpsToTime(const BenchOptions& options) {
  if (options.op.rounding == ToString(Rounding::kFused)) {
    return absl::InvalidArgumentError(
        "--rounding fused names kernels that the public API does not serve; time them with "
        "--plans");
  }
  return OpsToRun(options.model, options.op);
}

absl::Status CannotWrite(const std::string& path) {
  return absl::InternalError(absl::StrCat("results cannot be written to ", path));
}

absl::Status Write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  return file.flush() ? absl::OkStatus() : CannotWrite(path);
}

// Everything that the three kinds of run need of the machine.
struct Bench {
  std::unique_ptr<GpuSession> session;
  MeasureKernels kernels;
  DeviceSpec gpu;
};

absl::StatusOr<Bench> OpenBench(const BenchOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(Config config, ReadConfig(Environment::OfProcess()));
  config.decline_slower = false;  // what would be declined is what must be measured
  ApplyCacheDir(options.cache_dir, config);
  FUSEBOX_ASSIGN_OR_RETURN(std::unique_ptr<GpuSession> session, GpuSession::Open(config));
  FUSEBOX_ASSIGN_OR_RETURN(const DeviceSpec gpu, ChooseGpu(options.gpu, config));
  FUSEBOX_ASSIGN_OR_RETURN(MeasureKernels kernels, MeasureKernels::Load(*session));
  return Bench{.session = std::move(session), .kernels = std::move(kernels), .gpu = gpu};
}

BenchReport StartReport(const BenchOptions& options, const GpuSession& session) {
  return {.gpu = session.device().name,
          .driver = DriverVersionText(session),
          .cuda = CudaVersionString(session.api().version),
          .date = UtcNow(),
          .commit = options.commit};
}

absl::Status TimeLaunches(Bench& bench, const api::Engine& engine, const std::vector<OpToRun>& ops,
                          BenchReport& report) {
  std::printf("CPU time of a launch, us (median; p10 to p90)\n");
  for (const OpToRun& op : ops) {
    FUSEBOX_RETURN_IF_ERROR(op.problem.status());
    for (const int64_t tokens : op.tokens) {
      FUSEBOX_ASSIGN_OR_RETURN(
          const LaunchCost cost,
          MeasureLaunchCost(*bench.session, bench.kernels, engine, bench.gpu, *op.problem, tokens));
      std::printf(
          "%s M %lld: fusebox_ffn_launch %.3f (%.3f to %.3f), cuLaunchKernelEx %.3f (%.3f to "
          "%.3f), beyond it %.3f\n",
          op.name.c_str(), static_cast<long long>(tokens), cost.launch.median, cost.launch.p10,
          cost.launch.p90, cost.bare.median, cost.bare.p10, cost.bare.p90,
          cost.launch.median - cost.bare.median);
      report.rows.push_back({.bench = "launch_cost",
                             .op = op.name,
                             .model = op.model,
                             .tokens = tokens,
                             .dtype = std::string(ToString(op.problem->dtype)),
                             .variant = VariantName(*op.problem),
                             .neighbours = "fusebox",
                             .timing = cost.launch,
                             .floor_us = cost.bare.median,
                             .plan = cost.plan});
    }
  }
  return absl::OkStatus();
}

// A head, then every row as soon as it is there, so that a run that is stopped loses the last op
// and tile alone.
absl::StatusOr<ExitCode> Sweep(const BenchOptions& options, const std::vector<GivenPlan>& plans,
                               Bench& bench, BenchRun& run) {
  BenchReport head = StartReport(options, *bench.session);
  FUSEBOX_ASSIGN_OR_RETURN(head.read_gb_per_s, run.MeasureReadBandwidth());
  const bool to_file = !options.json_file.empty();
  std::ofstream file;
  if (to_file) file.open(options.json_file, std::ios::binary);
  std::ostream& out = to_file ? file : std::cout;
  out << SweepHead(head);
  const SweepOptions sweep = {
      .replays = options.replays, .fastest = options.fastest, .seconds = options.seconds};
  const bool is_complete =
      TimePlans(*bench.session, run, bench.gpu, plans, sweep,
                [&](const BenchRow& row) { out << SweepLine(row) << std::flush; });
  if (!out) return CannotWrite(to_file ? options.json_file : "standard output");
  if (!is_complete) {
    std::fputs("fusebox bench: --seconds did not suffice; what was left out says so\n", stderr);
  }
  return ExitCode::kDone;
}

absl::StatusOr<ExitCode> RunBench(const BenchOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(BenchRun::Options run_options, RunOptionsFrom(options));
  std::vector<OpToRun> ops;
  std::vector<GivenPlan> plans;
  if (options.plan_file.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(ops, OpsToTime(options));
  } else {
    FUSEBOX_ASSIGN_OR_RETURN(plans, ReadPlanFile(options.plan_file));
  }
  FUSEBOX_ASSIGN_OR_RETURN(Bench bench, OpenBench(options));
  BenchRun run(bench.session.get(), &bench.kernels, std::move(run_options));
  if (!options.plan_file.empty()) return Sweep(options, plans, bench, run);

  fusebox_engine_options engine_options = api::EngineOptions();
  engine_options.device_profile = bench.gpu.name.c_str();
  engine_options.decline_slower = FUSEBOX_SWITCH_OFF;
  if (!options.cache_dir.empty()) engine_options.cache_dirs = options.cache_dir.c_str();
  api::Engine engine;
  FUSEBOX_RETURN_IF_ERROR(ApiStatus(engine.Create(&engine_options).code()));
  BenchReport report = StartReport(options, *bench.session);
  if (options.launch_cost) {
    FUSEBOX_RETURN_IF_ERROR(TimeLaunches(bench, engine, ops, report));
  } else {
    FUSEBOX_ASSIGN_OR_RETURN(report.read_gb_per_s, run.MeasureReadBandwidth());
    for (const OpToRun& op : ops) {
      for (BenchRow& row : run.TimeOp(engine, op)) report.rows.push_back(std::move(row));
    }
    std::fputs(report.ToText().c_str(), stdout);
  }
  if (!options.json_file.empty()) {
    FUSEBOX_RETURN_IF_ERROR(Write(options.json_file, report.ToJson()));
  }
  return report.ok() ? ExitCode::kDone : ExitCode::kFailed;
}

void AddBenchOptions(CLI::App& command, BenchOptions& options) {
  AddModelOptions(command, options.model);
  AddOpOptions(command, options.op);
  AddGpuOption(command, options.gpu);
  AddCacheDirOption(command, "cache to use", options.cache_dir);
  command
      .add_option("--neighbours", options.neighbours,
                  "fusebox: launches behind each other, with PDL; foreign: behind a small kernel "
                  "that triggers nothing, whose own time is subtracted")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("NAME,...");
  command.add_option("--replays", options.replays, "graph replays measured for each figure")
      ->check(CLI::Range(20, 10000))
      ->capture_default_str()
      ->type_name("N");
  command
      .add_option("--plans", options.plan_file,
                  "time the plans in this file, one JSON a line, instead of the chosen ones")
      ->type_name("FILE");
  command
      .add_option("--fastest", options.fastest,
                  "with --plans: 3 replays of each plan, and --replays only of the N fastest of "
                  "each op and token tile and of those that the planner would take")
      ->check(CLI::PositiveNumber)
      ->needs("--plans")
      ->type_name("N");
  command
      .add_option("--seconds", options.seconds,
                  "with --plans: leave out the ops and token tiles that are not begun by then")
      ->check(CLI::PositiveNumber)
      ->needs("--plans")
      ->type_name("N");
  command.add_flag("--launch-cost", options.launch_cost,
                   "measure the CPU's time of a launch instead of the GPU's");
  command
      .add_option("--json", options.json_file,
                  "also write the results to this file, as JSON; a flag in the other commands")
      ->type_name("FILE");
  command.add_option("--commit", options.commit, "commit to name in the results")
      ->capture_default_str()
      ->type_name("ID");
}

}  // namespace

void AddBenchCommand(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = app.add_subcommand(
      "bench", "Time kernels on the GPU against the floor: compulsory bytes at read bandwidth");
  AddBenchOptions(*command, *options);
  command->footer(std::string(ExitCodeHelp()) +
                  "\nEvery figure is the median of graph replays in which launches rotate over "
                  "weight copies larger than L2; bench/README.md has the method.");
  command->callback([options, &exit_code] {
    const absl::StatusOr<ExitCode> code = RunBench(*options);
    exit_code = code.ok() ? *code : Complain("bench", code.status());
  });
}

}  // namespace fusebox
