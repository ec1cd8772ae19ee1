#include "tests/compile/fake_nvrtc.h"

#include <cstring>
#include <string>

#include "src/base/fingerprint.h"

// nvrtc.h leaves it open what a program is.
struct _nvrtcProgram {
  std::string cubin;
};

namespace fusebox {
namespace {

FakeNvrtc* instance = nullptr;

constexpr char kLog[] = "ptxas info    : Used 168 registers";
constexpr int kArchitectures[] = {80, 90, 100};

nvrtcResult Version(int* major, int* minor) {
  *major = 13;
  *minor = 0;
  return NVRTC_SUCCESS;
}
nvrtcResult GetNumSupportedArchs(int* count) {
  *count = static_cast<int>(std::size(kArchitectures));
  return NVRTC_SUCCESS;
}
nvrtcResult GetSupportedArchs(int* architectures) {
  std::memcpy(architectures, kArchitectures, sizeof(kArchitectures));
  return NVRTC_SUCCESS;
}
const char* GetErrorString(nvrtcResult) { return "made up"; }

nvrtcResult CreateProgram(nvrtcProgram* program, const char* text, const char*, int,
                          const char* const*, const char* const*) {
  *program = new _nvrtcProgram{.cubin = FingerprintOf(text).ToHex() + std::string(3000, 'x')};
  ++FakeNvrtc::Instance().num_programs;
  return NVRTC_SUCCESS;
}
nvrtcResult DestroyProgram(nvrtcProgram* program) {
  delete *program;
  *program = nullptr;
  --FakeNvrtc::Instance().num_programs;
  return NVRTC_SUCCESS;
}
nvrtcResult CompileProgram(nvrtcProgram, int, const char* const*) {
  ++FakeNvrtc::Instance().num_compiles;
  return NVRTC_SUCCESS;
}
nvrtcResult GetProgramLogSize(nvrtcProgram, size_t* bytes) {
  *bytes = sizeof(kLog);
  return NVRTC_SUCCESS;
}
nvrtcResult GetProgramLog(nvrtcProgram, char* log) {
  std::memcpy(log, kLog, sizeof(kLog));
  return NVRTC_SUCCESS;
}
nvrtcResult GetCubinSize(nvrtcProgram program, size_t* bytes) {
  *bytes = program->cubin.size();
  return NVRTC_SUCCESS;
}
nvrtcResult GetCubin(nvrtcProgram program, char* cubin) {
  std::memcpy(cubin, program->cubin.data(), program->cubin.size());
  return NVRTC_SUCCESS;
}

}  // namespace

FakeNvrtc& FakeNvrtc::Instance() {
  if (instance == nullptr) instance = new FakeNvrtc();
  return *instance;
}

FakeNvrtc& FakeNvrtc::Reset() {
  delete instance;
  instance = new FakeNvrtc();
  return *instance;
}

std::shared_ptr<const NvrtcApi> FakeNvrtc::Api() const {
  auto api = std::make_shared<NvrtcApi>();
  api->Version = Version;
  api->GetNumSupportedArchs = GetNumSupportedArchs;
  api->GetSupportedArchs = GetSupportedArchs;
  api->GetErrorString = GetErrorString;
  api->CreateProgram = CreateProgram;
  api->DestroyProgram = DestroyProgram;
  api->CompileProgram = CompileProgram;
  api->GetProgramLogSize = GetProgramLogSize;
  api->GetProgramLog = GetProgramLog;
  api->GetCubinSize = GetCubinSize;
  api->GetCubin = GetCubin;
  api->path = "fake libnvrtc";
  return api;
}

}  // namespace fusebox
