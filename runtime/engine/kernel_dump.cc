#include "runtime/engine/kernel_dump.h"

#include <sys/stat.h>

#include <map>
#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/cache/files.h"
#include "runtime/compile/nvrtc_compiler.h"
#include "runtime/engine/overrides.h"
#include "src/base/status.h"
#include "src/base/strict_json.h"

namespace fusebox {
namespace {

constexpr char kSourceFile[] = "source.json";
constexpr char kTextFile[] = "kernel.cu";
constexpr char kHeaderFolder[] = "kernels_templates";
constexpr int kDumpVersion = 1;

std::string ReproduceScript(const KernelSource& source) {
  // nvcc spells NVRTC's options alike, but for those that only NVRTC has.
  std::string flags;
  for (const std::string& flag : source.flags) {
    if (absl::StartsWith(flag, "--gpu-architecture") || absl::StrContains(flag, "device")) continue;
    absl::StrAppend(&flags, " '", flag, "'");
  }
  return absl::StrCat(
      "#!/bin/sh\n"
      "# Compiles the kernel of this folder again, into again.cubin, and says whether it is\n"
      "# kernel.cubin. With the fusebox command, which $FUSEBOX may name, it is, byte for byte, "
      "as\n"
      "# long as nothing here was changed and NVRTC is the same. Without the command nvcc does "
      "it,\n"
      "# which names things otherwise: the cubin differs, registers and spills should not.\n"
      "set -e\n"
      "cd \"$(dirname \"$0\")\"\n"
      "fusebox=\"${FUSEBOX:-fusebox}\"\n"
      "if command -v \"$fusebox\" >/dev/null; then\n"
      "  exec \"$fusebox\" compile . --output again.cubin\n"
      "fi\n"
      "nvcc -cubin -arch=",
      source.architecture, " -I. -Xptxas -v", flags,
      " -o again.cubin kernel.cu\n"
      "cmp -s again.cubin kernel.cubin && echo 'again.cubin is kernel.cubin' ||\n"
      "  echo 'again.cubin differs from kernel.cubin'\n");
}

std::string SourceJson(const KernelSource& source) {
  const nlohmann::ordered_json json = {{"dump", kDumpVersion},
                                       {"name", source.name},
                                       {"entry", source.entry},
                                       {"architecture", source.architecture},
                                       {"flags", absl::StrJoin(source.flags, " ")},
                                       {"digest", source.Digest().ToHex()}};
  return absl::StrCat(json.dump(), "\n");
}

absl::Status WriteDump(const std::string& folder, const KernelSource& source,
                       const absl::StatusOr<CompiledKernel>& compiled) {
  const auto write = [&](std::string_view name, std::string_view text) {
    return WriteNewFile(absl::StrCat(folder, "/", name), text);
  };
  for (const auto& [name, text] : source.headers.files()) {
    FUSEBOX_RETURN_IF_ERROR(
        MakeFolders(absl::StrCat(folder, "/", name.substr(0, name.rfind('/')))));
    FUSEBOX_RETURN_IF_ERROR(write(name, text));
  }
  FUSEBOX_RETURN_IF_ERROR(write(kTextFile, source.text));
  FUSEBOX_RETURN_IF_ERROR(write("plan.json", source.plan_json));
  FUSEBOX_RETURN_IF_ERROR(write(kSourceFile, SourceJson(source)));
  FUSEBOX_RETURN_IF_ERROR(write("reproduce.sh", ReproduceScript(source)));
  (void)::chmod(absl::StrCat(folder, "/reproduce.sh").c_str(), 0755);
  if (!compiled.ok()) return write("log.txt", CompileFailureLog(compiled.status()));
  FUSEBOX_RETURN_IF_ERROR(write("log.txt", compiled->log));
  return write(kDumpedCubin, compiled->cubin);
}

}  // namespace

absl::Status DumpKernel(const std::string& dump_dir, const KernelSource& source,
                        const absl::StatusOr<CompiledKernel>& compiled) {
  FUSEBOX_RETURN_IF_ERROR(MakeFolders(dump_dir));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string aside, MakeUniqueFolder(dump_dir, ".tmp-"));
  absl::Status status = WriteDump(aside, source, compiled);
  const std::string folder = absl::StrCat(dump_dir, "/", source.name, "-", source.Digest().ToHex());
  if (status.ok()) {
    RemoveFolder(folder);
    std::string error;
    // Where another engine's dump of this kernel came between, that one is as good.
    if (RenameFolder(aside, folder, &error) == RenameOutcome::kDone) return absl::OkStatus();
    if (!error.empty()) status = absl::UnavailableError(error);
  }
  RemoveFolder(aside);
  return status;
}

absl::StatusOr<DumpedKernel> ReadDumpedKernel(const std::string& folder) {
  const absl::StatusOr<std::string> description = ReadFile(absl::StrCat(folder, "/", kSourceFile));
  if (!description.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        description.status().message(), "; give a folder that FUSEBOX_DUMP_DIR got for a kernel"));
  }
  FUSEBOX_ASSIGN_OR_RETURN(StrictJson json,
                           StrictJson::Parse(*description, absl::StrCat(folder, "/", kSourceFile)));
  json.Integer("dump", kDumpVersion, kDumpVersion);
  DumpedKernel dumped;
  dumped.source.name = json.String("name");
  dumped.source.entry = json.String("entry");
  dumped.source.architecture = json.String("architecture");
  dumped.source.flags = absl::StrSplit(json.String("flags"), ' ', absl::SkipEmpty());
  dumped.dumped_digest = json.String("digest");
  FUSEBOX_RETURN_IF_ERROR(json.Finish());
  FUSEBOX_ASSIGN_OR_RETURN(dumped.source.text, ReadFile(absl::StrCat(folder, "/", kTextFile)));
  FUSEBOX_ASSIGN_OR_RETURN(const TemplateSet headers,
                           ReadTemplateTree(absl::StrCat(folder, "/", kHeaderFolder)));
  FUSEBOX_ASSIGN_OR_RETURN(dumped.source.headers, headers.ReachableFrom(dumped.source.text));
  return dumped;
}

}  // namespace fusebox
