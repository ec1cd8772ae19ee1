#include "runtime/compile/nvrtc_compiler.h"

#include <chrono>
#include <utility>
#include <vector>

#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/compile/ptxas_report.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr char kCompileFailurePayload[] = "fusebox/compile_log";
constexpr size_t kLogHeadBytes =
    1200;  // enough for the first errors; the whole log goes to DUMP_DIR

class UniqueProgram {
 public:
  UniqueProgram(const NvrtcApi& api, nvrtcProgram program) : api_(api), program_(program) {}
  ~UniqueProgram() { (void)api_.DestroyProgram(&program_); }
  UniqueProgram(const UniqueProgram&) = delete;
  UniqueProgram& operator=(const UniqueProgram&) = delete;
  nvrtcProgram get() const { return program_; }

 private:
  const NvrtcApi& api_;
  nvrtcProgram program_;
};

absl::Status NvrtcStatus(const NvrtcApi& api, nvrtcResult result, std::string_view call) {
  if (result == NVRTC_SUCCESS) return absl::OkStatus();
  const char* const name = api.GetErrorString(result);
  const std::string message = absl::StrCat(call, " failed with ", static_cast<int>(result), " ",
                                           name == nullptr ? "(unnamed)" : name);
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) {
    return absl::ResourceExhaustedError(
        absl::StrCat(message, "; free host memory and prepare again"));
  }
  return absl::InternalError(
      absl::StrCat(message,
                   "; run your own path, or warm the cache with another NVRTC "
                   "(FUSEBOX_NVRTC_PATH)"));
}

absl::StatusOr<nvrtcProgram> CreateProgram(const NvrtcApi& api, const KernelSource& source) {
  std::vector<const char*> names;
  std::vector<const char*> texts;
  for (const auto& [name, text] : source.headers.files()) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  nvrtcProgram program = nullptr;
  const std::string file_name = absl::StrCat(source.name, ".cu");
  FUSEBOX_RETURN_IF_ERROR(
      NvrtcStatus(api,
                  api.CreateProgram(&program, source.text.c_str(), file_name.c_str(),
                                    static_cast<int>(names.size()), texts.data(), names.data()),
                  "nvrtcCreateProgram"));
  return program;
}

absl::StatusOr<std::string> ProgramLog(const NvrtcApi& api, nvrtcProgram program) {
  size_t bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(
      NvrtcStatus(api, api.GetProgramLogSize(program, &bytes), "nvrtcGetProgramLogSize"));
  if (bytes == 0) return std::string();
  std::string log(bytes, '\0');
  FUSEBOX_RETURN_IF_ERROR(
      NvrtcStatus(api, api.GetProgramLog(program, log.data()), "nvrtcGetProgramLog"));
  return WithoutTimings(log);
}

// The failure of a call beside the compilation, or an unreadable log: the kernel is not to be had
// from this NVRTC, as if it had refused it.
absl::Status MarkCompileFailure(absl::Status status, const std::string& log) {
  if (absl::IsInternal(status)) status.SetPayload(kCompileFailurePayload, absl::Cord(log));
  return status;
}

absl::Status CompileFailure(const NvrtcApi& api, nvrtcResult result, const KernelSource& source,
                            const std::string& log) {
  if (result == NVRTC_ERROR_OUT_OF_MEMORY) return NvrtcStatus(api, result, "nvrtcCompileProgram");
  const char* const name = api.GetErrorString(result);
  return MarkCompileFailure(
      absl::InternalError(absl::StrCat(
          "nvrtc ", api.VersionString(), " refused ", source.name,
          " (nvrtcCompileProgram: ", name == nullptr ? "unnamed" : name,
          "): ", absl::StrJoin(absl::StrSplit(log.substr(0, kLogHeadBytes), '\n'), " | "),
          "; set FUSEBOX_DUMP_DIR to keep source and log, and run your own path")),
      log);
}

absl::StatusOr<std::string> Cubin(const NvrtcApi& api, nvrtcProgram program) {
  size_t bytes = 0;
  FUSEBOX_RETURN_IF_ERROR(NvrtcStatus(api, api.GetCubinSize(program, &bytes), "nvrtcGetCUBINSize"));
  if (bytes == 0) {
    return absl::InternalError(
        "nvrtcGetCUBINSize reports an empty cubin; name another NVRTC in FUSEBOX_NVRTC_PATH");
  }
  std::string cubin(bytes, '\0');
  FUSEBOX_RETURN_IF_ERROR(NvrtcStatus(api, api.GetCubin(program, cubin.data()), "nvrtcGetCUBIN"));
  return cubin;
}

}  // namespace

absl::StatusOr<CompiledKernel> NvrtcCompiler::Compile(const KernelSource& source) const {
  const absl::StatusOr<nvrtcProgram> raw_program = CreateProgram(*api_, source);
  if (!raw_program.ok()) return MarkCompileFailure(raw_program.status(), "");
  const UniqueProgram program(*api_, *raw_program);

  std::vector<const char*> options;
  for (const std::string& flag : source.flags) options.push_back(flag.c_str());
  options.push_back("--ptxas-options=-v");
  // NVRTC caches since 12.9, and refuses options that it does not know.
  if (api_->major > 12 || api_->minor >= 9) options.push_back("--no-cache");

  const auto start = std::chrono::steady_clock::now();
  const nvrtcResult result =
      api_->CompileProgram(program.get(), static_cast<int>(options.size()), options.data());
  const std::chrono::duration<double, std::milli> elapsed =
      std::chrono::steady_clock::now() - start;

  absl::StatusOr<std::string> log = ProgramLog(*api_, program.get());
  if (result != NVRTC_SUCCESS) {  // which says more than that its log is not to be had
    return CompileFailure(*api_, result, source, log.ok() ? *log : std::string());
  }
  if (!log.ok()) return MarkCompileFailure(log.status(), "");
  CompiledKernel kernel{.log = *std::move(log),
                        .nvrtc_version = api_->VersionString(),
                        .nvrtc_major = api_->major,
                        .milliseconds = elapsed.count()};
  const absl::StatusOr<KernelResources> resources = ParsePtxasReport(kernel.log);
  if (!resources.ok()) return MarkCompileFailure(resources.status(), kernel.log);
  absl::StatusOr<std::string> cubin = Cubin(*api_, program.get());
  if (!cubin.ok()) return MarkCompileFailure(cubin.status(), kernel.log);
  kernel.resources = *resources;
  kernel.cubin = *std::move(cubin);
  return kernel;
}

bool IsCompileFailure(const absl::Status& status) {
  return status.GetPayload(kCompileFailurePayload).has_value();
}

std::string CompileFailureLog(const absl::Status& status) {
  const auto log = status.GetPayload(kCompileFailurePayload);
  return log.has_value() ? std::string(*log) : "";
}

}  // namespace fusebox
