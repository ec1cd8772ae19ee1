#include "runtime/trace/event_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "spdlog/logger.h"
#include "spdlog/sinks/base_sink.h"

namespace fusebox {
namespace {

spdlog::level::level_enum SpdlogLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kTrace:
      return spdlog::level::trace;
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

LogLevel LevelOf(spdlog::level::level_enum level) {
  switch (level) {
    case spdlog::level::trace:
      return LogLevel::kTrace;
    case spdlog::level::debug:
      return LogLevel::kDebug;
    case spdlog::level::info:
      return LogLevel::kInfo;
    case spdlog::level::warn:
      return LogLevel::kWarn;
    default:
      return LogLevel::kError;
  }
}

// Lines with time and level, appended to a C stream.
class StreamSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  StreamSink(std::FILE* stream, bool owned) : stream_(stream), owned_(owned) {}
  ~StreamSink() override {
    if (owned_) std::fclose(stream_);
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t line;
    formatter_->format(message, line);
    std::fwrite(line.data(), 1, line.size(),
                stream_);  // a log that cannot be written is no failure
    std::fflush(stream_);
  }
  void flush_() override { std::fflush(stream_); }

 private:
  std::FILE* stream_;
  bool owned_;
};

// The bare line, handed to the caller.
class CallbackSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  CallbackSink(EventLog::Callback callback, void* user) : callback_(callback), user_(user) {}
  void Drop() {
    const std::lock_guard<std::mutex> lock(mutex_);
    callback_ = nullptr;
  }

 protected:
  void sink_it_(const spdlog::details::log_msg& message) override {
    if (callback_ == nullptr) return;
    const std::string line(message.payload.data(), message.payload.size());
    callback_(user_, static_cast<int32_t>(LevelOf(message.level)), line.c_str());
  }
  void flush_() override {}

 private:
  EventLog::Callback callback_;
  void* user_;
};

// Null, with errno, when that fails. Waits for nothing: a pipe without a reader is ENXIO; one with
// a reader (/dev/stderr of a service) and a device serve.
std::FILE* OpenForAppending(const std::string& path) {
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) return nullptr;
  const int flags = ::fcntl(descriptor, F_GETFL);
  std::FILE* file = nullptr;
  if (flags >= 0 && ::fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0) {
    file = ::fdopen(descriptor, "a");
  }
  if (file == nullptr) {
    const int error = errno;
    ::close(descriptor);
    errno = error;
  }
  return file;
}

void AppendValue(std::string_view value, std::string* line) {
  if (!value.empty() && value.find_first_of(" \t\n\r\"=") == std::string_view::npos) {
    line->append(value);
    return;
  }
  line->push_back('"');
  for (const char c : value) {
    if (c == '"' || c == '\\') line->push_back('\\');
    line->push_back(c == '\n' || c == '\r' || c == '\t' ? ' ' : c);
  }
  line->push_back('"');
}

}  // namespace

EventField::EventField(std::string_view key_name, std::string_view text)
    : key(key_name), value(text) {}
EventField::EventField(std::string_view key_name, const char* text) : key(key_name), value(text) {}
EventField::EventField(std::string_view key_name, const std::string& text)
    : key(key_name), value(text) {}
EventField::EventField(std::string_view key_name, int number)
    : key(key_name), value(absl::StrCat(number)) {}
EventField::EventField(std::string_view key_name, int64_t number)
    : key(key_name), value(absl::StrCat(number)) {}
EventField::EventField(std::string_view key_name, double number)
    : key(key_name), value(absl::StrFormat("%.3f", number)) {}

class EventLog::Sink {
 public:
  Sink(LogLevel level, spdlog::sink_ptr sink, CallbackSink* callback = nullptr)
      : callback_(callback), logger_("fusebox", std::move(sink)) {
    logger_.set_level(SpdlogLevel(level));
    logger_.set_pattern("%Y-%m-%dT%H:%M:%S.%e fusebox %l %v");
  }
  spdlog::logger& logger() { return logger_; }
  CallbackSink* callback() { return callback_; }

 private:
  CallbackSink* callback_;  // owned by logger_; null for a stream
  spdlog::logger logger_;   // of its own: never registered, so the server's spdlog is untouched
};

EventLog::EventLog(std::unique_ptr<Sink> sink) : sink_(std::move(sink)) {}
EventLog::~EventLog() = default;

absl::StatusOr<std::unique_ptr<EventLog>> EventLog::Create(const Options& options) {
  if (options.callback != nullptr) {
    auto callback = std::make_shared<CallbackSink>(options.callback, options.user);
    CallbackSink* const raw = callback.get();
    return std::unique_ptr<EventLog>(
        new EventLog(std::make_unique<Sink>(options.level, std::move(callback), raw)));
  }
  spdlog::sink_ptr sink;
  if (!options.file.empty()) {
    std::FILE* file = OpenForAppending(options.file);
    if (file == nullptr) {
      return absl::InvalidArgumentError(
          absl::StrCat("FUSEBOX_LOG_FILE=", options.file, " cannot be opened for appending (",
                       errno == ENXIO ? "a pipe that nobody reads" : std::strerror(errno),
                       "); name a file in a folder that exists"));
    }
    sink = std::make_shared<StreamSink>(file, true);
  } else {
    sink = std::make_shared<StreamSink>(stderr, false);
  }
  return std::unique_ptr<EventLog>(
      new EventLog(std::make_unique<Sink>(options.level, std::move(sink))));
}

std::unique_ptr<EventLog> EventLog::Silent() {
  return std::unique_ptr<EventLog>(new EventLog(
      std::make_unique<Sink>(LogLevel::kOff, std::make_shared<StreamSink>(stderr, false))));
}

void EventLog::DropCallback() {
  if (sink_->callback() != nullptr) sink_->callback()->Drop();
}

bool EventLog::Enabled(LogLevel level) const {
  return level != LogLevel::kOff && sink_->logger().should_log(SpdlogLevel(level));
}

void EventLog::Write(LogLevel level, std::string_view stage,
                     std::initializer_list<EventField> fields) const {
  if (!Enabled(level)) return;
  std::string line = absl::StrCat("stage=", stage);
  for (const EventField& field : fields) {
    absl::StrAppend(&line, " ", field.key, "=");
    AppendValue(field.value, &line);
  }
  sink_->logger().log(SpdlogLevel(level), spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace fusebox
