// BenchReport is one run's results: bench/results holds them as JSON, a person gets a table.
// The schema is in bench/README.md and stays. Values; main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_BENCH_REPORT_H_
#define FUSEBOX_RUNTIME_TOOLS_BENCH_REPORT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/tools/bench_timer.h"

namespace fusebox {

// The best read-only stream seen on an H200, GB/s (kernels_templates/kernels/measure.cuh's method):
// ratios to it can be compared between runs and machines.
constexpr double kReferenceReadGbPerS = 4585;

struct BenchRow {
  std::string bench = "ffn";  // "ffn", "launch_cost"
  std::string op;
  std::string model;  // the config's file name
  int64_t tokens = 0;
  std::string dtype = "bf16";
  std::string variant;     // VariantName: "bare", "rms_add_before_norm"
  std::string neighbours;  // "fusebox", "foreign"
  Timing timing;
  int64_t compulsory_bytes = 0;
  double floor_us = 0;      // at the read bandwidth measured in this run
  double predicted_us = 0;  // by the cost model; not part of the results file
  std::string plan;
  // Of a sweep over given plans; not part of the results file.
  std::string plan_json;
  bool is_chosen = false;  // the planner would take it
  int replays = 0;         // measured
  // Why there is no timing: a rule declined, or something failed. Such a row is in no results file.
  std::string refusal;
  std::string failure;

  bool is_timed() const { return refusal.empty() && failure.empty(); }

  double ratio() const { return floor_us > 0 ? timing.median / floor_us : 0; }
  double reference_ratio() const;  // to the floor at kReferenceReadGbPerS
};

struct BenchReport {
  std::string gpu;
  std::string driver;
  std::string cuda;
  std::string date;  // UTC, ISO 8601
  std::string commit;
  double read_gb_per_s = 0;
  std::vector<BenchRow> rows;

  bool ok() const;  // no row failed
  std::string ToText() const;
  std::string ToJson() const;
};

std::string UtcNow();
// From the kernel module, "580.95.05"; where that cannot be read, the CUDA version it serves.
std::string DriverVersionText(const GpuSession& session);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_BENCH_REPORT_H_
