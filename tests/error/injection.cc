#include "tests/error/injection.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "tests/compile/fake_nvrtc.h"
#include "tests/driver/failing_calls.h"
#include "tests/driver/fake_driver.h"

namespace fusebox {
namespace {

constexpr char kEventElapsedTime[] = "cuEventElapsedTime";  // beside the table; see driver_api.h

}  // namespace

#define FUSEBOX_SYMBOL_TEXT(symbol) #symbol

absl::StatusOr<std::shared_ptr<const DriverApi>> OpenFailingDriver() {
  const std::shared_ptr<const DriverApi> behind = FakeDriver::Instance().Api();
  auto front = std::make_shared<DriverApi>();
#define FUSEBOX_DRIVER_FUNCTION(member, symbol) \
  FrontOf<&DriverApi::member>::Install(FUSEBOX_SYMBOL_TEXT(symbol), behind, front.get());
#include "runtime/driver/driver_functions.h"
  FrontOf<&DriverApi::EventElapsedTime>::Install(kEventElapsedTime, behind, front.get());
  FUSEBOX_RETURN_IF_ERROR(InitDriver(front.get()));
  return front;
}

absl::StatusOr<std::shared_ptr<const NvrtcApi>> OpenFailingNvrtc() {
  const std::shared_ptr<const NvrtcApi> behind = FakeNvrtc::Instance().Api();
  auto front = std::make_shared<NvrtcApi>();
#define FUSEBOX_NVRTC_FUNCTION(member, symbol) \
  FrontOf<&NvrtcApi::member>::Install(FUSEBOX_SYMBOL_TEXT(symbol), behind, front.get());
#include "runtime/compile/nvrtc_functions.h"
  front->path = behind->path;
  const absl::Status fit = CheckNvrtcFit(front.get());
  if (fit.ok()) return front;
  return NoUsableNvrtc({}, "", {absl::StrCat(front->path, " ", fit.message())});
}

const std::vector<std::string>& DriverSymbols() {
  static const std::vector<std::string>* const symbols = new std::vector<std::string>{
#define FUSEBOX_DRIVER_FUNCTION(member, symbol) FUSEBOX_SYMBOL_TEXT(symbol),
#include "runtime/driver/driver_functions.h"
      kEventElapsedTime};
  return *symbols;
}

const std::vector<std::string>& NvrtcSymbols() {
  static const std::vector<std::string>* const symbols = new std::vector<std::string>{
#define FUSEBOX_NVRTC_FUNCTION(member, symbol) FUSEBOX_SYMBOL_TEXT(symbol),
#include "runtime/compile/nvrtc_functions.h"
  };
  return *symbols;
}

bool ScenarioRun::Step(const std::string& name, absl::FunctionRef<absl::Status()> body) {
  absl::Status status = body();
  if (status.ok()) return true;
  failures_.push_back({.step = name, .status = std::move(status)});
  status = body();
  if (status.ok()) return true;
  lost_.push_back({.step = name, .status = std::move(status)});
  return false;
}

}  // namespace fusebox
