#include "runtime/compile/ptxas_report.h"

#include <algorithm>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace fusebox {
namespace {

// The whole number that stands directly before `phrase`: "72 registers" -> 72.
std::optional<int64_t> NumberBefore(std::string_view line, std::string_view phrase) {
  const size_t end = line.find(phrase);
  if (end == std::string_view::npos) return std::nullopt;
  size_t begin = end;
  while (begin > 0 && absl::ascii_isdigit(static_cast<unsigned char>(line[begin - 1]))) --begin;
  int64_t number = 0;
  if (!absl::SimpleAtoi(line.substr(begin, end - begin), &number)) return std::nullopt;
  return number;
}

}  // namespace

absl::StatusOr<KernelResources> ParsePtxasReport(std::string_view log) {
  KernelResources resources;
  bool has_registers = false;
  for (const std::string_view line : absl::StrSplit(log, '\n')) {
    if (const auto bytes = NumberBefore(line, " bytes stack frame")) {
      resources.stack_bytes = std::max(resources.stack_bytes, *bytes);
      resources.spill_store_bytes += NumberBefore(line, " bytes spill stores").value_or(0);
      resources.spill_load_bytes += NumberBefore(line, " bytes spill loads").value_or(0);
    }
    if (const auto registers = NumberBefore(line, " registers")) {
      has_registers = true;
      resources.registers = std::max(resources.registers, static_cast<int>(*registers));
      resources.static_smem_bytes += NumberBefore(line, " bytes smem").value_or(0);
    }
    if (absl::StrContains(line, "C7508")) resources.setmaxnreg_ignored = true;
  }
  if (!has_registers) {
    return absl::InternalError(
        absl::StrCat("ptxas wrote no register count into its log, so spills cannot be ruled out; "
                     "this NVRTC is newer than the parser: ",
                     log.substr(0, 400)));
  }
  return resources;
}

std::string WithoutTimings(std::string_view log) {
  std::string kept;
  for (const std::string_view line : absl::StrSplit(log, '\n', absl::SkipWhitespace())) {
    if (absl::StrContains(line, "Compile time")) continue;
    absl::StrAppend(&kept, line.substr(0, line.find('\0')), "\n");
  }
  return kept;
}

}  // namespace fusebox
