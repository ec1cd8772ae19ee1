// FailingCalls stands between Fusebox and a table of C functions (the driver's, NVRTC's): it counts
// the calls of each and fails one of them on demand. One at a time in a process, as the functions
// of a table take no argument for it. Thread-safe.
#ifndef FUSEBOX_TESTS_DRIVER_FAILING_CALLS_H_
#define FUSEBOX_TESTS_DRIVER_FAILING_CALLS_H_

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace fusebox {

class FailingCalls {
 public:
  static FailingCalls& Instance() {
    static FailingCalls* const calls = new FailingCalls;
    return *calls;
  }

  // Counts from 0; nothing fails.
  void Reset() {
    const std::lock_guard<std::mutex> lock(mutex_);
    counts_.clear();
    failures_.clear();
    num_failed_ = 0;
  }
  // The `nth` call (from 1) of the function with that symbol answers `code`. A function that gives
  // something back does so all the same: a driver that is going away has let go of everything. Any
  // other does nothing.
  void Fail(const std::string& symbol, int nth, int code) {
    const std::lock_guard<std::mutex> lock(mutex_);
    failures_[symbol] = {.nth = nth, .code = code};
  }
  int Count(const std::string& symbol) {
    const std::lock_guard<std::mutex> lock(mutex_);
    return counts_[symbol];
  }
  int num_failed() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return num_failed_;
  }

  // For the functions below. 0, which is success everywhere, or what to answer.
  int Enter(const std::string& symbol) {
    const std::lock_guard<std::mutex> lock(mutex_);
    const int nth = ++counts_[symbol];
    const auto failure = failures_.find(symbol);
    if (failure == failures_.end() || failure->second.nth != nth) return 0;
    ++num_failed_;
    return failure->second.code;
  }
  static bool GivesBack(const std::string& symbol) {
    static const std::set<std::string>* const symbols = new std::set<std::string>{
        "cuDevicePrimaryCtxRelease_v2",
        "cuCtxPopCurrent_v2",
        "cuLibraryUnload",
        "cuMemFree_v2",
        "cuMemFreeHost",
        "cuStreamDestroy_v2",
        "cuStreamEndCapture",
        "cuGraphDestroy",
        "cuGraphExecDestroy",
        "cuEventDestroy_v2",
        "nvrtcDestroyProgram",
    };
    return symbols->contains(symbol);
  }

 private:
  struct Failure {
    int nth = 0;
    int code = 0;
  };
  std::mutex mutex_;
  std::map<std::string, int> counts_;
  std::map<std::string, Failure> failures_;
  int num_failed_ = 0;
};

// The function of one member of a table that stands in front of another table.
template <auto kMember>
struct FrontOf;
template <typename Api, typename Result, typename... Arguments,
          Result (*Api::*kMember)(Arguments...)>
struct FrontOf<kMember> {
  static inline const char* symbol = nullptr;
  static inline std::shared_ptr<const Api> behind;

  static Result Call(Arguments... arguments) {
    const int code = FailingCalls::Instance().Enter(symbol);
    if (code == 0) return (*behind.*kMember)(arguments...);
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;  // a text
    } else {
      if (FailingCalls::GivesBack(symbol)) (void)(*behind.*kMember)(arguments...);
      return static_cast<Result>(code);
    }
  }
  static void Install(const char* its_symbol, const std::shared_ptr<const Api>& api, Api* front) {
    symbol = its_symbol;
    behind = api;
    front->*kMember = &Call;
  }
};

}  // namespace fusebox

#endif  // FUSEBOX_TESTS_DRIVER_FAILING_CALLS_H_
