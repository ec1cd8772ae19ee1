// VerifyReport collects the rows of a verify and says what was covered: outcomes, for each dataflow
// the shapes that were found right, for each variant the models, and refusals by rule. As text or
// JSON. A value; no threads.
#ifndef FUSEBOX_RUNTIME_TOOLS_VERIFY_REPORT_H_
#define FUSEBOX_RUNTIME_TOOLS_VERIFY_REPORT_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/tools/command.h"

namespace fusebox {

enum class VerifyOutcome { kRight, kWrong, kDeclined, kFailed, kMissing };
std::string_view ToString(VerifyOutcome outcome);  // "right", "WRONG", "declined", "FAILED", ...

struct VerifyRow {
  std::vector<std::string> models;  // that have the op; of an op named by its dims one empty name
  std::string op;
  std::string shape;    // "4096x14336"
  std::string variant;  // "gated_silu_bf16 rms_add_before_norm"
  int64_t tensor_parallel = 1;
  int64_t tokens = 0;
  std::string plan;      // its summary
  std::string dataflow;  // the plan's edge, "dsm_gather"
  VerifyOutcome outcome = VerifyOutcome::kFailed;
  double worst_ratio = 0;  // error over its bound
  std::string sentence;    // what is wrong, or why it was declined; empty where it is right
};

// One line: "right    ffn_... tp 1 M 8  error/bound 0.144  c8x15 ...".
std::string ToLine(const VerifyRow& row);

class VerifyReport {
 public:
  void Add(const VerifyRow& row);
  ExitCode Code() const;

  // `gpu`: its name; `compiles`: kernels compiled.
  std::string ToText(const std::string& gpu, uint64_t compiles) const;
  nlohmann::ordered_json ToJson(const std::string& gpu, uint64_t compiles) const;

 private:
  int Count(VerifyOutcome outcome) const;

  std::vector<VerifyRow> rows_;
  std::map<VerifyOutcome, int> counts_;
  double worst_ratio_ = 0;
  std::map<std::string, std::set<std::string>> shapes_;   // by dataflow, of rows that are right
  std::map<std::string, std::set<std::string>> models_;   // by variant, likewise
  std::map<std::string, std::set<std::string>> refused_;  // ops by rule
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_VERIFY_REPORT_H_
