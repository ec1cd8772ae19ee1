#include "runtime/engine/kernel_dump.h"

#include <sys/stat.h>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/cache/files.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

std::string ReproduceScript(const KernelSource& source) {
  // nvcc spells NVRTC's options alike, but for those that only NVRTC has.
  std::string flags;
  for (const std::string& flag : source.flags) {
    if (absl::StartsWith(flag, "--gpu-architecture") || absl::StrContains(flag, "device")) continue;
    absl::StrAppend(&flags, " '", flag, "'");
  }
  return absl::StrCat(
      "#!/bin/sh\n# Compiles the kernel of this folder again, with nvcc, into again.cubin.\n"
      "# Fusebox itself uses NVRTC with: ",
      absl::StrJoin(source.flags, " "),
      "\nset -e\ncd \"$(dirname \"$0\")\"\nnvcc -cubin -arch=", source.architecture,
      " -I. -Xptxas -v", flags, " -o again.cubin kernel.cu\n");
}

absl::Status WriteTree(const std::string& folder, const KernelSource& source) {
  for (const auto& [name, text] : source.headers.files()) {
    const std::string path = absl::StrCat(folder, "/", name);
    FUSEBOX_RETURN_IF_ERROR(MakeFolders(path.substr(0, path.rfind('/'))));
    FUSEBOX_RETURN_IF_ERROR(WriteNewFile(path, text));
  }
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(absl::StrCat(folder, "/kernel.cu"), source.text));
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(absl::StrCat(folder, "/plan.json"), source.plan_json));
  const std::string script = absl::StrCat(folder, "/reproduce.sh");
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(script, ReproduceScript(source)));
  (void)::chmod(script.c_str(), 0755);
  return absl::OkStatus();
}

}  // namespace

absl::Status DumpKernel(const std::string& dump_dir, const KernelSource& source,
                        const absl::StatusOr<CompiledKernel>& compiled) {
  const std::string folder = absl::StrCat(dump_dir, "/", source.name, "-", source.Digest().ToHex());
  RemoveFolder(folder);
  FUSEBOX_RETURN_IF_ERROR(MakeFolders(folder));
  FUSEBOX_RETURN_IF_ERROR(WriteTree(folder, source));
  const std::string log_path = absl::StrCat(folder, "/log.txt");
  if (!compiled.ok()) return WriteNewFile(log_path, CompileFailureLog(compiled.status()));
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(log_path, compiled->log));
  return WriteNewFile(absl::StrCat(folder, "/kernel.cubin"), compiled->cubin);
}

}  // namespace fusebox
