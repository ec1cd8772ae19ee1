// EngineCounters are an engine's counters, added to from any thread without a lock.
// Invariant: one field for each row of counter_table.h, which is also the C API's struct.
// Thread-safe.
#ifndef FUSEBOX_RUNTIME_ENGINE_COUNTERS_H_
#define FUSEBOX_RUNTIME_ENGINE_COUNTERS_H_

#include <atomic>
#include <cstdint>
#include <string>

#include "fusebox/fusebox.h"

namespace fusebox {

class Counter {
 public:
  void Add(uint64_t count = 1) { value_.fetch_add(count, std::memory_order_relaxed); }
  void Set(uint64_t value) { value_.store(value, std::memory_order_relaxed); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_ = 0;
};

struct EngineCounters {
#define FUSEBOX_COUNTER(field, prometheus_name, help) Counter field;
#include "runtime/engine/counter_table.h"
};

// struct_size is left as it is.
void ReadCounters(const EngineCounters& counters, fusebox_engine_stats_values* values);

// Prometheus text exposition, one HELP, TYPE and value line a counter, labelled with the GPU.
std::string CountersText(const EngineCounters& counters, const std::string& gpu);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_ENGINE_COUNTERS_H_
