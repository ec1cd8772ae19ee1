#include "runtime/tools/bench_report.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/table.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;

double Rounded(double value) { return std::round(value * 1000) / 1000; }

// Tensor-parallel degrees are told apart by the op's dims.
Json RowJson(const BenchRow& row) {
  return {{"bench", row.bench},
          {"op", row.op},
          {"model", row.model.empty() ? "" : row.model + ".json"},
          {"tokens", row.tokens},
          {"dtype", row.dtype},
          {"variant", row.variant},
          {"neighbours", row.neighbours},
          {"us", Rounded(row.timing.median)},
          {"floor_us", Rounded(row.floor_us)},
          {"ratio", Rounded(row.ratio())},
          {"spread", {Rounded(row.timing.p10), Rounded(row.timing.p90)}},
          {"plan", row.plan},
          {"baselines", Json::object()}};
}

}  // namespace

double BenchRow::reference_ratio() const {
  const double floor = static_cast<double>(compulsory_bytes) / (kReferenceReadGbPerS * 1e3);
  return floor > 0 ? timing.median / floor : 0;
}

bool BenchReport::ok() const {
  return std::all_of(rows.begin(), rows.end(),
                     [](const BenchRow& row) { return row.failure.empty(); });
}

std::string BenchReport::ToText() const {
  Table table({{"model"},
               {"op"},
               {"tokens", Align::kRight},
               {"neighbours"},
               {"us", Align::kRight},
               {"p10", Align::kRight},
               {"p90", Align::kRight},
               {"floor us", Align::kRight},
               {"ratio", Align::kRight},
               {"to 4585", Align::kRight},
               {"predicted", Align::kRight},
               {"plan"}});
  std::string failures;
  for (const BenchRow& row : rows) {
    if (!row.is_timed()) {
      absl::StrAppend(&failures, row.failure.empty() ? "declined " : "FAILED ", row.model, " ",
                      row.op, ": ", row.refusal, row.failure, "\n");
      continue;
    }
    table.AddRow({row.model.empty() ? "-" : row.model, row.op, absl::StrCat(row.tokens),
                  row.neighbours, Fixed(row.timing.median, 2), Fixed(row.timing.p10, 2),
                  Fixed(row.timing.p90, 2), Fixed(row.floor_us, 2), Fixed(row.ratio(), 3),
                  row.compulsory_bytes > 0 ? Fixed(row.reference_ratio(), 3) : "-",
                  row.predicted_us > 0 ? Fixed(row.predicted_us, 2) : "-", row.plan});
  }
  return absl::StrCat(gpu, ", driver ", driver, ", CUDA ", cuda, ", ", date, ", commit ", commit,
                      "; read bandwidth ", Fixed(read_gb_per_s, 0), " GB/s\n\n", table.ToText(),
                      failures);
}

std::string BenchReport::ToJson() const {
  Json json = {{"gpu", gpu},           {"driver", driver},
               {"cuda", cuda},         {"date", date},
               {"commit", commit},     {"read_gb_per_s", Rounded(read_gb_per_s)},
               {"rows", Json::array()}};
  for (const BenchRow& row : rows) {
    if (row.is_timed()) json["rows"].push_back(RowJson(row));
  }
  return JsonText(json, /*indent=*/1);
}

std::string UtcNow() {
  const std::time_t now = std::time(nullptr);
  std::tm utc = {};
  gmtime_r(&now, &utc);
  char text[32] = {};
  std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::string DriverVersionText(const GpuSession& session) {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string word;
  while (file >> word) {  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ..."
    if (absl::ascii_isdigit(static_cast<unsigned char>(word.front())) &&
        std::count(word.begin(), word.end(), '.') >= 1) {
      return word;
    }
  }
  return absl::StrCat("of CUDA ", CudaVersionString(session.api().version));
}

}  // namespace fusebox
