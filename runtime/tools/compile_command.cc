// `fusebox compile`: compiles a dumped kernel again, edited or not, and compares it with what was
// dumped.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "runtime/cache/files.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/config/config.h"
#include "runtime/engine/kernel_dump.h"
#include "runtime/tools/command.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/table.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

struct CompileOptions {
  std::string folder;
  std::string output;
  bool json = false;
};

// The cubin against the dumped one, where that is there: a kernel that was refused has none.
std::string Comparison(const std::string& folder, const DumpedKernel& dumped,
                       const CompiledKernel& compiled) {
  const absl::StatusOr<std::string> cubin = ReadFile(absl::StrCat(folder, "/", kDumpedCubin));
  if (!cubin.ok()) return "no cubin was dumped";
  if (*cubin == compiled.cubin) return "the same bytes as the dumped cubin";
  return dumped.source.Digest().ToHex() == dumped.dumped_digest
             ? "not the dumped cubin, which another NVRTC made of the same source"
             : "not the dumped cubin: the source was changed since";
}

absl::Status WriteOutput(const std::string& path, const std::string& cubin) {
  std::error_code error;
  if (!IsFolder(path)) std::filesystem::remove(path, error);
  const absl::Status written = WriteNewFile(path, cubin);
  if (written.ok()) return written;
  return absl::InternalError(absl::StrCat(written.message(), "; name another file in --output"));
}

void Print(const CompileOptions& options, const DumpedKernel& dumped,
           const CompiledKernel& compiled, const std::string& comparison) {
  const KernelResources& resources = compiled.resources;
  const int64_t spilled = resources.spill_store_bytes + resources.spill_load_bytes;
  if (options.json) {
    const nlohmann::ordered_json json = {{"kernel", dumped.source.name},
                                         {"digest", dumped.source.Digest().ToHex()},
                                         {"dumped_digest", dumped.dumped_digest},
                                         {"nvrtc", compiled.nvrtc_version},
                                         {"compile_ms", compiled.milliseconds},
                                         {"registers", resources.registers},
                                         {"stack_bytes", resources.stack_bytes},
                                         {"spill_bytes", spilled},
                                         {"cubin", options.output},
                                         {"comparison", comparison}};
    std::fputs(JsonText(json).c_str(), stdout);
    return;
  }
  std::printf("%s: %d registers, %s of stack, %s spilled; NVRTC %s, %s ms\n%s: %s\n",
              dumped.source.name.c_str(), resources.registers,
              BytesText(resources.stack_bytes).c_str(), BytesText(spilled).c_str(),
              compiled.nvrtc_version.c_str(), Fixed(compiled.milliseconds, 0).c_str(),
              options.output.c_str(), comparison.c_str());
}

absl::Status RunCompile(CompileOptions options) {
  FUSEBOX_ASSIGN_OR_RETURN(const Config config, ReadConfig(Environment::OfProcess()));
  PrintWarnings("compile", config);
  FUSEBOX_ASSIGN_OR_RETURN(const DumpedKernel dumped, ReadDumpedKernel(options.folder));
  FUSEBOX_ASSIGN_OR_RETURN(const std::shared_ptr<const NvrtcApi> nvrtc,
                           LoadNvrtc(config.toolkit_places, config.nvrtc_path));
  const absl::StatusOr<CompiledKernel> compiled = NvrtcCompiler(nvrtc).Compile(dumped.source);
  if (!compiled.ok()) {  // the sentence holds the head of it
    std::fputs(CompileFailureLog(compiled.status()).c_str(), stderr);
    return compiled.status();
  }
  if (options.output.empty()) options.output = absl::StrCat(options.folder, "/again.cubin");
  FUSEBOX_RETURN_IF_ERROR(WriteOutput(options.output, compiled->cubin));
  Print(options, dumped, *compiled, Comparison(options.folder, dumped, *compiled));
  return absl::OkStatus();
}

}  // namespace

void AddCompileCommand(CLI::App& app, ExitCode& exit_code) {
  auto options = std::make_shared<CompileOptions>();
  CLI::App* command =
      app.add_subcommand("compile", "Compile a dumped kernel again, edited or not; needs no GPU");
  command
      ->add_option("folder", options->folder,
                   "folder of one kernel in FUSEBOX_DUMP_DIR; its kernel.cu and headers as they "
                   "are now")
      ->required()
      ->type_name("DIR");
  command->add_option("--output", options->output, "cubin to write; DIR/again.cubin when left out")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "print JSON instead of text");
  command->footer(std::string(ExitCodeHelp()) +
                  "\n1 where NVRTC refuses the kernel; its log goes to stderr. The dump's "
                  "reproduce.sh calls this.");
  command->callback([options, &exit_code] {
    const absl::Status status = RunCompile(*options);
    exit_code = status.ok() ? ExitCode::kDone : Complain("compile", status);
  });
}

}  // namespace fusebox
