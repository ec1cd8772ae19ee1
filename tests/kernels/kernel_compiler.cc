#include "tests/kernels/kernel_compiler.h"

#include <dlfcn.h>

#include <cstdlib>
#include <iostream>
#include <vector>

#include "runtime/config/config.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

std::shared_ptr<const NvrtcApi> FindNvrtc() {
  const Config config = ReadConfig(Environment::OfProcess()).value();
  auto api = LoadNvrtc(config.toolkit_places, config.nvrtc_path);
  if (!api.ok()) {
    std::cerr << "these tests need NVRTC: " << api.status() << "\n";
    std::exit(1);
  }
  return *std::move(api);
}

}  // namespace

const NvrtcCompiler& TestCompiler() {
  static const NvrtcCompiler* const compiler = new NvrtcCompiler(FindNvrtc());
  return *compiler;
}

absl::StatusOr<std::string> CompileToPtx(const KernelSource& source) {
  const NvrtcApi& api = TestCompiler().api();
  void* library = dlopen(api.path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return absl::InternalError(dlerror());
  const auto ptx_size =
      reinterpret_cast<decltype(&nvrtcGetPTXSize)>(dlsym(library, "nvrtcGetPTXSize"));
  const auto get_ptx = reinterpret_cast<decltype(&nvrtcGetPTX)>(dlsym(library, "nvrtcGetPTX"));
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& [path, text] : source.headers.files()) {
    names.push_back(path.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program = nullptr;
  if (api.CreateProgram(&program, source.text.c_str(), "kernel.cu", static_cast<int>(names.size()),
                        texts.data(), names.data()) != NVRTC_SUCCESS) {
    return absl::InternalError("nvrtcCreateProgram failed");
  }
  std::vector<const char*> flags = {"--gpu-architecture=compute_90a"};
  for (const std::string& flag : source.flags) {
    if (flag.find("--gpu-architecture") == std::string::npos) flags.push_back(flag.c_str());
  }
  const nvrtcResult compiled =
      api.CompileProgram(program, static_cast<int>(flags.size()), flags.data());
  size_t size = 0;
  std::string ptx;
  if (compiled == NVRTC_SUCCESS && ptx_size(program, &size) == NVRTC_SUCCESS) {
    ptx.resize(size);
    if (get_ptx(program, ptx.data()) != NVRTC_SUCCESS) ptx.clear();
  }
  (void)api.DestroyProgram(&program);
  if (ptx.empty()) return absl::InternalError("NVRTC made no PTX of " + source.name);
  return ptx;
}

}  // namespace fusebox
