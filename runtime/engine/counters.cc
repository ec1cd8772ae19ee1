#include "runtime/engine/counters.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace fusebox {

void ReadCounters(const EngineCounters& counters, fusebox_engine_stats_values* values) {
#define FUSEBOX_COUNTER(field, prometheus_name, help) values->field = counters.field.value();
#include "runtime/engine/counter_table.h"
}

std::string CountersText(const EngineCounters& counters, const std::string& gpu) {
  const std::string label =
      absl::StrReplaceAll(gpu, {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
  std::string text;
#define FUSEBOX_COUNTER(field, prometheus_name, help)                            \
  absl::StrAppend(&text,                                                         \
                  "# HELP " prometheus_name " " help "\n# TYPE " prometheus_name \
                  " counter\n" prometheus_name "{gpu=\"",                        \
                  label, "\"} ", counters.field.value(), "\n");
#include "runtime/engine/counter_table.h"
  return text;
}

}  // namespace fusebox
