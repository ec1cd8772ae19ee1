#include "runtime/cache/entry_format.h"

#include <nlohmann/json.hpp>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "src/base/fingerprint.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

using Json = nlohmann::json;  // keys sorted: the text is a function of the values

Json MetaJson(const EntryMeta& meta) {
  return Json{
      {"schema", kEntrySchema},
      {"digest", meta.digest},
      {"name", meta.name},
      {"entry", meta.entry},
      {"architecture", meta.architecture},
      {"launch",
       {{"grid_ctas", meta.launch.grid_ctas},
        {"cluster_size", meta.launch.cluster_size},
        {"cooperative", meta.launch.cooperation == Cooperation::kGrid},
        {"threads", meta.launch.threads},
        {"dynamic_smem_bytes", meta.launch.dynamic_smem_bytes}}},
      {"workspace_bytes", meta.workspace_bytes},
      {"resources",
       {{"registers", meta.resources.registers},
        {"stack_bytes", meta.resources.stack_bytes},
        {"spill_store_bytes", meta.resources.spill_store_bytes},
        {"spill_load_bytes", meta.resources.spill_load_bytes},
        {"static_smem_bytes", meta.resources.static_smem_bytes},
        {"setmaxnreg_ignored", meta.resources.setmaxnreg_ignored}}},
      {"nvrtc", {{"version", meta.nvrtc_version}, {"major", meta.nvrtc_major}}},
      {"cubin_bytes", meta.cubin_bytes},
      {"source_checksum", meta.source_checksum},
      {"plan_checksum", meta.plan_checksum},
      {"checksum", meta.checksum},
  };
}

std::string MetaText(const EntryMeta& meta) {
  return absl::StrCat(MetaJson(meta).dump(2, ' ', false, Json::error_handler_t::replace), "\n");
}

std::string ChecksumOf(EntryMeta meta, std::string_view cubin) {
  meta.checksum.clear();
  return Fingerprinter().Add("meta", MetaText(meta)).Add("cubin", cubin).Finish().ToHex();
}

// Reads fields and remembers whether each was there with the right type.
class FieldReader {
 public:
  explicit FieldReader(const Json& object) : object_(object) {}
  void Read(const char* key, std::string* target) {
    const auto it = Find(key);
    if (it != nullptr && it->is_string())
      *target = it->get_ref<const std::string&>();
    else
      complete_ = false;
  }
  void Read(const char* key, bool* target) {
    const auto it = Find(key);
    if (it != nullptr && it->is_boolean())
      *target = it->get<bool>();
    else
      complete_ = false;
  }
  template <typename Integer>
  void ReadInteger(const char* key, Integer* target) {
    const auto it = Find(key);
    if (it != nullptr && it->is_number_integer())
      *target = static_cast<Integer>(it->get<int64_t>());
    else
      complete_ = false;
  }
  FieldReader Inner(const char* key) {
    static const Json* const kEmpty = new Json(Json::object());
    const auto it = Find(key);
    if (it == nullptr || !it->is_object()) complete_ = false;
    return FieldReader(it == nullptr || !it->is_object() ? *kEmpty : *it);
  }
  bool complete() const { return complete_; }

 private:
  const Json* Find(const char* key) const {
    const auto it = object_.find(key);
    return it == object_.end() ? nullptr : &*it;
  }
  const Json& object_;
  bool complete_ = true;
};

bool ReadMeta(const Json& json, EntryMeta* meta) {
  FieldReader top(json);
  top.Read("digest", &meta->digest);
  top.Read("name", &meta->name);
  top.Read("entry", &meta->entry);
  top.Read("architecture", &meta->architecture);
  top.ReadInteger("workspace_bytes", &meta->workspace_bytes);
  top.ReadInteger("cubin_bytes", &meta->cubin_bytes);
  top.Read("source_checksum", &meta->source_checksum);
  top.Read("plan_checksum", &meta->plan_checksum);
  top.Read("checksum", &meta->checksum);
  FieldReader launch = top.Inner("launch");
  launch.ReadInteger("grid_ctas", &meta->launch.grid_ctas);
  launch.ReadInteger("cluster_size", &meta->launch.cluster_size);
  bool is_cooperative = false;
  launch.Read("cooperative", &is_cooperative);
  meta->launch.cooperation = is_cooperative ? Cooperation::kGrid : Cooperation::kCluster;
  launch.ReadInteger("threads", &meta->launch.threads);
  launch.ReadInteger("dynamic_smem_bytes", &meta->launch.dynamic_smem_bytes);
  FieldReader resources = top.Inner("resources");
  resources.ReadInteger("registers", &meta->resources.registers);
  resources.ReadInteger("stack_bytes", &meta->resources.stack_bytes);
  resources.ReadInteger("spill_store_bytes", &meta->resources.spill_store_bytes);
  resources.ReadInteger("spill_load_bytes", &meta->resources.spill_load_bytes);
  resources.ReadInteger("static_smem_bytes", &meta->resources.static_smem_bytes);
  resources.Read("setmaxnreg_ignored", &meta->resources.setmaxnreg_ignored);
  FieldReader nvrtc = top.Inner("nvrtc");
  nvrtc.Read("version", &meta->nvrtc_version);
  nvrtc.ReadInteger("major", &meta->nvrtc_major);
  return top.complete() && launch.complete() && resources.complete() && nvrtc.complete();
}

}  // namespace

std::string TextChecksum(std::string_view text) { return FingerprintOf(text).ToHex(); }

std::string EncodeMeta(const KernelSource& source, const CompiledKernel& kernel) {
  EntryMeta meta{.digest = source.Digest().ToHex(),
                 .name = source.name,
                 .entry = source.entry,
                 .architecture = source.architecture,
                 .launch = source.launch,
                 .workspace_bytes = source.workspace_bytes,
                 .resources = kernel.resources,
                 .nvrtc_version = kernel.nvrtc_version,
                 .nvrtc_major = kernel.nvrtc_major,
                 .cubin_bytes = static_cast<int64_t>(kernel.cubin.size()),
                 .source_checksum = TextChecksum(source.text),
                 .plan_checksum = TextChecksum(source.plan_json)};
  meta.checksum = ChecksumOf(meta, kernel.cubin);
  return MetaText(meta);
}

bool IsStale(const absl::Status& status) { return absl::IsFailedPrecondition(status); }

absl::StatusOr<EntryMeta> DecodeMeta(std::string_view meta_text) {
  const Json json = Json::parse(meta_text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError("meta.json is no JSON object");
  int64_t schema = 0;
  FieldReader reader(json);
  reader.ReadInteger("schema", &schema);
  if (!reader.complete()) return absl::DataLossError("meta.json has no schema");
  if (schema != kEntrySchema) {
    return absl::FailedPreconditionError(absl::StrCat("written by another build (schema ", schema,
                                                      ", this one has ", kEntrySchema, ")"));
  }
  EntryMeta meta;
  if (!ReadMeta(json, &meta)) return absl::DataLossError("meta.json lacks a field");
  // Anything that parses and yet is not what was written: white space, order, doubled keys.
  if (MetaText(meta) != meta_text) return absl::DataLossError("meta.json is not as it was written");
  return meta;
}

absl::StatusOr<EntryMeta> DecodeEntry(std::string_view meta_text, std::string_view cubin) {
  FUSEBOX_ASSIGN_OR_RETURN(EntryMeta meta, DecodeMeta(meta_text));
  if (meta.cubin_bytes != static_cast<int64_t>(cubin.size())) {
    return absl::DataLossError(
        absl::StrCat("kernel.cubin has ", cubin.size(), " bytes, not ", meta.cubin_bytes));
  }
  if (ChecksumOf(meta, cubin) != meta.checksum) {
    return absl::DataLossError("the checksum over kernel.cubin and meta.json does not match");
  }
  return meta;
}

}  // namespace fusebox
