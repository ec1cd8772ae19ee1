// EventLog writes one line an event, "key=value key=value", to a file, to stderr or to the caller's
// callback. Invariant: one line is one event; values with spaces are quoted. Each engine has its
// own; there is no global log. Thread-safe; the callback is called by one thread at a time.
#ifndef FUSEBOX_RUNTIME_TRACE_EVENT_LOG_H_
#define FUSEBOX_RUNTIME_TRACE_EVENT_LOG_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/config/config.h"

namespace fusebox {

// One key and its value as text.
struct EventField {
  EventField(std::string_view key_name, std::string_view text);
  EventField(std::string_view key_name, const char* text);
  EventField(std::string_view key_name, const std::string& text);
  EventField(std::string_view key_name, int number);
  EventField(std::string_view key_name, int64_t number);
  EventField(std::string_view key_name, double number);  // three decimals

  std::string_view key;
  std::string value;
};

class EventLog {
 public:
  using Callback = void (*)(void* user, int32_t level, const char* line);
  struct Options {
    LogLevel level = LogLevel::kWarn;
    std::string file;             // appended to; empty: stderr
    Callback callback = nullptr;  // beats `file`
    void* user = nullptr;
  };

  // InvalidArgument when the file cannot be opened.
  static absl::StatusOr<std::unique_ptr<EventLog>> Create(const Options& options);
  static std::unique_ptr<EventLog> Silent();
  ~EventLog();
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // No callback is running, and none is called any more, when this returns. A log without callback
  // goes on.
  void DropCallback();

  bool Enabled(LogLevel level) const;
  // Levels: error user must act, warn slower than it should be, info once a kernel, debug a stage,
  // trace a candidate. `stage` is the first key of the line: config, plan, compile, cache, load,
  // prepare, engine.
  void Write(LogLevel level, std::string_view stage,
             std::initializer_list<EventField> fields) const;

 private:
  class Sink;
  explicit EventLog(std::unique_ptr<Sink> sink);
  std::unique_ptr<Sink> sink_;
};

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TRACE_EVENT_LOG_H_
