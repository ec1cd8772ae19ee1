// The files of one cache entry: kernel.cubin, meta.json (how to launch it, what the compiler said,
// one checksum over both), and for people kernel.cu and plan.json. Invariant: DecodeEntry accepts
// exactly what EncodeMeta wrote; a changed byte of cubin or metadata is DataLoss. Another build's
// schema is no damage but Stale: a miss that may be replaced. Pure functions.
#ifndef FUSEBOX_RUNTIME_CACHE_ENTRY_FORMAT_H_
#define FUSEBOX_RUNTIME_CACHE_ENTRY_FORMAT_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "runtime/compile/compiled_kernel.h"
#include "src/source/kernel_source.h"

namespace fusebox {

// Raised whenever the text of meta.json changes: fields, names, types, order, white space. Without
// it a good entry of another build counts as damaged; entry_format_test holds the text.
// 1: with and, later, without launch.resident_ctas_per_sm. 2: as 1 without it.
constexpr int kEntrySchema = 3;
constexpr char kCubinFile[] = "kernel.cubin";
constexpr char kMetaFile[] = "meta.json";
constexpr char kSourceFile[] = "kernel.cu";
constexpr char kPlanFile[] = "plan.json";

// What meta.json says beside the kernel itself.
struct EntryMeta {
  std::string digest;  // 32 hex digits, the entry's folder
  std::string name;
  std::string entry;
  std::string architecture;
  LaunchShape launch;
  int64_t workspace_bytes = 0;
  KernelResources resources;
  std::string nvrtc_version;
  int nvrtc_major = 0;
  int64_t cubin_bytes = 0;
  std::string source_checksum;  // of kernel.cu and of plan.json
  std::string plan_checksum;
  std::string checksum;  // of the cubin and of all of the above
};

// The text of meta.json.
std::string EncodeMeta(const KernelSource& source, const CompiledKernel& kernel);

// True for the status of an entry in another build's schema.
bool IsStale(const absl::Status& status);

// Checks everything in meta.json but the checksum, which needs the cubin. DataLoss, or Stale.
absl::StatusOr<EntryMeta> DecodeMeta(std::string_view meta_text);
// DecodeMeta, and the checksum over `cubin` and metadata. DataLoss, or Stale.
absl::StatusOr<EntryMeta> DecodeEntry(std::string_view meta_text, std::string_view cubin);

std::string TextChecksum(std::string_view text);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_CACHE_ENTRY_FORMAT_H_
