#include "runtime/cache/cubin_store.h"

#include <algorithm>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "runtime/cache/files.h"
#include "src/base/status.h"

namespace fusebox {
namespace {

constexpr char kVersionFolder[] = "v1";
constexpr int64_t kWriterSeconds = 3600;  // a write takes a second: whoever began earlier is gone

std::string VersionFolder(const std::string& root) {
  return absl::StrCat(root, "/", kVersionFolder);
}

std::string ArchitectureFolder(const std::string& root, const KernelSource& source) {
  return absl::StrCat(VersionFolder(root), "/", source.architecture);
}

std::string EntryFolder(const std::string& root, const KernelSource& source) {
  return absl::StrCat(ArchitectureFolder(root, source), "/", source.Digest().ToHex());
}

// NotFound only when the whole entry is not there: an entry without one of its files is bad.
absl::StatusOr<std::string> ReadEntryFile(const std::string& folder, const char* name) {
  absl::StatusOr<std::string> bytes = ReadFile(absl::StrCat(folder, "/", name));
  if (absl::IsNotFound(bytes.status()) && NameExists(folder)) {
    return absl::DataLossError(IsFolder(folder) ? absl::StrCat(name, " is missing")
                                                : absl::StrCat(folder, " is no folder"));
  }
  return bytes;
}

// Whether the entry is the one that `source` would make: the digest covers the text, this covers
// the rest.
absl::Status CheckMatches(const EntryMeta& meta, const KernelSource& source) {
  if (meta.digest != source.Digest().ToHex()) {
    return absl::DataLossError(absl::StrCat("the entry says it is ", meta.digest));
  }
  if (meta.entry != source.entry || meta.architecture != source.architecture ||
      meta.launch != source.launch || meta.workspace_bytes != source.workspace_bytes) {
    return absl::DataLossError("entry symbol, architecture or launch shape differ from the plan's");
  }
  return absl::OkStatus();
}

absl::StatusOr<CompiledKernel> ReadEntry(const std::string& root, const KernelSource& source) {
  const std::string folder = EntryFolder(root, source);
  FUSEBOX_ASSIGN_OR_RETURN(const std::string meta_text, ReadEntryFile(folder, kMetaFile));
  FUSEBOX_ASSIGN_OR_RETURN(std::string cubin, ReadEntryFile(folder, kCubinFile));
  FUSEBOX_ASSIGN_OR_RETURN(const EntryMeta meta, DecodeEntry(meta_text, cubin));
  FUSEBOX_RETURN_IF_ERROR(CheckMatches(meta, source));
  return CompiledKernel{.cubin = std::move(cubin),
                        .resources = meta.resources,
                        .nvrtc_version = meta.nvrtc_version,
                        .nvrtc_major = meta.nvrtc_major};
}

bool IsDigest(const std::string& name) {
  return name.size() == 32 && std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_isdigit(static_cast<unsigned char>(c)) || (c >= 'a' && c <= 'f');
         });
}

absl::StatusOr<EntryMeta> ReadMetaOf(const std::string& folder) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string meta_text, ReadEntryFile(folder, kMetaFile));
  return DecodeMeta(meta_text);
}

void RemoveAbandoned(const std::string& root) {
  for (const std::string& name : ListFolder(VersionFolder(root))) {
    const std::string path = absl::StrCat(VersionFolder(root), "/", name);
    if (absl::StartsWith(name, ".tmp-") && SecondsSinceChange(path) > kWriterSeconds) {
      RemoveFolder(path);
    }
  }
}

absl::Status CheckText(const std::string& folder, const char* name, const std::string& checksum) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string text, ReadEntryFile(folder, name));
  if (TextChecksum(text) == checksum) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("the checksum of ", name, " does not match"));
}

absl::StatusOr<EntryMeta> ReadAndVerify(const std::string& folder, std::string* text_fault) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string meta_text, ReadEntryFile(folder, kMetaFile));
  FUSEBOX_ASSIGN_OR_RETURN(const std::string cubin, ReadEntryFile(folder, kCubinFile));
  FUSEBOX_ASSIGN_OR_RETURN(EntryMeta meta, DecodeEntry(meta_text, cubin));
  absl::Status texts = CheckText(folder, kSourceFile, meta.source_checksum);
  texts.Update(CheckText(folder, kPlanFile, meta.plan_checksum));
  *text_fault = std::string(texts.message());
  return meta;
}

int64_t FolderBytes(const std::string& folder) {
  int64_t bytes = 0;
  for (const std::string& name : ListFolder(folder)) {
    const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(folder, "/", name));
    if (text.ok()) bytes += static_cast<int64_t>(text->size());
  }
  return bytes;
}

template <typename ReadMetaFunction>
std::vector<CacheEntryReport> ReportEntries(const std::vector<std::string>& roots,
                                            ReadMetaFunction read_meta) {
  std::vector<CacheEntryReport> reports;
  for (const std::string& root : roots) {
    for (const std::string& architecture : ListFolder(VersionFolder(root))) {
      const std::string parent = absl::StrCat(VersionFolder(root), "/", architecture);
      if (architecture.front() == '.' || !IsFolder(parent)) continue;
      for (const std::string& digest : ListFolder(parent)) {
        if (!IsDigest(digest)) continue;
        const std::string folder = absl::StrCat(parent, "/", digest);
        std::string text_fault;
        absl::StatusOr<EntryMeta> meta = read_meta(folder, &text_fault);
        if (meta.ok() && meta->digest != digest) {
          meta = absl::DataLossError(absl::StrCat("the entry says it is ", meta->digest));
        }
        CacheEntryReport report{
            .root = root, .digest = digest, .folder = folder, .status = meta.status()};
        if (meta.ok()) {
          report.meta = *std::move(meta);
          report.text_fault = std::move(text_fault);
        }
        report.bytes = FolderBytes(folder);
        reports.push_back(std::move(report));
      }
    }
  }
  return reports;
}

}  // namespace

CubinStore::CubinStore(std::vector<std::string> roots, const EventLog* log)
    : roots_(std::move(roots)), log_(log) {}

std::optional<CompiledKernel> CubinStore::Find(const KernelSource& source, int max_nvrtc_major,
                                               BadEntries bad_entries) {
  for (const std::string& root : roots_) {
    absl::StatusOr<CompiledKernel> kernel = ReadEntry(root, source);
    // Once more: another process may have replaced the entry between its two files.
    if (absl::IsDataLoss(kernel.status())) kernel = ReadEntry(root, source);
    if (kernel.ok() && kernel->nvrtc_major <= max_nvrtc_major) return *std::move(kernel);
    if (kernel.ok()) {
      log_->Write(LogLevel::kWarn, "cache",
                  {{"event", "skip"},
                   {"kernel", source.name},
                   {"reason", "compiled by an NVRTC newer than this driver"},
                   {"nvrtc", kernel->nvrtc_version}});
    } else if (absl::IsDataLoss(kernel.status())) {
      num_bad_entries_.fetch_add(1, std::memory_order_relaxed);
      if (bad_entries == BadEntries::kSetAside) {
        SetAsideIn(root, source, std::string(kernel.status().message()));
      } else {
        log_->Write(LogLevel::kWarn, "cache",
                    {{"event", "bad_entry"},
                     {"kernel", source.name},
                     {"entry", EntryFolder(root, source)},
                     {"reason", kernel.status().message()},
                     {"set_aside", "no"}});
      }
    } else if (IsStale(kernel.status())) {
      log_->Write(LogLevel::kInfo, "cache",
                  {{"event", "stale"},
                   {"kernel", source.name},
                   {"entry", EntryFolder(root, source)},
                   {"reason", kernel.status().message()}});
    } else if (!absl::IsNotFound(kernel.status())) {
      log_->Write(LogLevel::kWarn, "cache",
                  {{"event", "unreadable"}, {"reason", kernel.status().message()}});
    }
  }
  return std::nullopt;
}

absl::Status CubinStore::Store(const KernelSource& source, const CompiledKernel& kernel) {
  if (roots_.empty()) return absl::OkStatus();
  const absl::Status status = WriteEntry(roots_.front(), source, kernel);
  if (!status.ok() && num_write_failures_.fetch_add(1, std::memory_order_relaxed) == 0) {
    log_->Write(LogLevel::kWarn, "cache",
                {{"event", "unwritable"},
                 {"root", roots_.front()},
                 {"reason", status.message()},
                 {"effect", "kernels are kept in memory only; said once"}});
  }
  return status;
}

absl::Status CubinStore::WriteEntry(const std::string& root, const KernelSource& source,
                                    const CompiledKernel& kernel) {
  const std::string parent = ArchitectureFolder(root, source);
  FUSEBOX_RETURN_IF_ERROR(MakeFolders(parent));
  RemoveAbandoned(root);
  FUSEBOX_ASSIGN_OR_RETURN(const std::string aside, MakeUniqueFolder(VersionFolder(root), ".tmp-"));
  absl::Cleanup remove = [&] { RemoveFolder(aside); };
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(absl::StrCat(aside, "/", kSourceFile), source.text));
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(absl::StrCat(aside, "/", kPlanFile), source.plan_json));
  FUSEBOX_RETURN_IF_ERROR(WriteNewFile(absl::StrCat(aside, "/", kCubinFile), kernel.cubin));
  FUSEBOX_RETURN_IF_ERROR(
      WriteNewFile(absl::StrCat(aside, "/", kMetaFile), EncodeMeta(source, kernel)));
  FUSEBOX_RETURN_IF_ERROR(SyncFolder(aside));
  const std::string entry = EntryFolder(root, source);
  std::string error_text;
  // The name is taken again only if another process is as fast as this one; it made an entry then.
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (RenameFolder(aside, entry, &error_text) == RenameOutcome::kDone) {
      std::move(remove).Cancel();
      return SyncFolder(parent);
    }
    if (!NameExists(entry)) return absl::UnavailableError(error_text);
    bool served = false;
    FUSEBOX_RETURN_IF_ERROR(MakeWay(root, source, kernel, &served));
    if (served) return absl::OkStatus();
  }
  return absl::UnavailableError(absl::StrCat(entry, " is replaced again and again"));
}

// `*served`: the entry that is there is as good as `kernel`. Else it is gone from its name.
absl::Status CubinStore::MakeWay(const std::string& root, const KernelSource& source,
                                 const CompiledKernel& kernel, bool* served) {
  const std::string entry = EntryFolder(root, source);
  const absl::StatusOr<CompiledKernel> found = ReadEntry(root, source);
  *served = found.ok() && found->nvrtc_major <= kernel.nvrtc_major;
  if (*served || absl::IsNotFound(found.status())) return absl::OkStatus();
  if (found.ok() || IsStale(found.status())) {
    const std::string old = absl::StrCat(VersionFolder(root), "/", UniqueName(".tmp-replaced-"));
    std::string error_text;
    if (RenameFolder(entry, old, &error_text) == RenameOutcome::kDone) RemoveFolder(old);
  } else {
    num_bad_entries_.fetch_add(1, std::memory_order_relaxed);
    SetAsideIn(root, source, std::string(found.status().message()));
  }
  if (!NameExists(entry)) return absl::OkStatus();
  if (ReadEntry(root, source).ok()) return absl::OkStatus();  // another process's, by now
  return absl::UnavailableError(
      absl::StrCat("the entry ", entry, " is of no use here (",
                   found.ok() ? "an NVRTC newer than this one made it" : found.status().message(),
                   ") and cannot be moved away; remove it, or make it and its folder writable"));
}

absl::Status CubinStore::CheckRoots() const {
  for (const std::string& root : roots_) {
    FUSEBOX_RETURN_IF_ERROR(CheckFolder(root));
    if (NameExists(VersionFolder(root))) FUSEBOX_RETURN_IF_ERROR(CheckFolder(VersionFolder(root)));
    for (const std::string& name : ListFolder(VersionFolder(root))) {
      const std::string folder = absl::StrCat(VersionFolder(root), "/", name);
      if (absl::StartsWith(name, "sm_")) FUSEBOX_RETURN_IF_ERROR(CheckFolder(folder));
    }
  }
  return absl::OkStatus();
}

void CubinStore::SetAside(const KernelSource& source, const std::string& reason) {
  for (const std::string& root : roots_) {
    if (!NameExists(EntryFolder(root, source))) continue;
    num_bad_entries_.fetch_add(1, std::memory_order_relaxed);
    SetAsideIn(root, source, reason);
  }
}

void CubinStore::SetAsideIn(const std::string& root, const KernelSource& source,
                            const std::string& reason) {
  const std::string parent = ArchitectureFolder(root, source);
  const std::string aside =
      absl::StrCat(parent, "/", UniqueName(absl::StrCat(".bad-", source.Digest().ToHex(), "-")));
  std::string error_text;  // a read-only root, or another process was faster: missed all the same
  const bool done =
      RenameFolder(EntryFolder(root, source), aside, &error_text) == RenameOutcome::kDone;
  log_->Write(LogLevel::kWarn, "cache",
              {{"event", "bad_entry"},
               {"kernel", source.name},
               {"entry", EntryFolder(root, source)},
               {"reason", reason},
               {"set_aside", done ? aside : "no"}});
  const std::vector<std::string> bad = NewestFirst(parent, ".bad-");
  for (size_t i = kMaxBadEntries; done && i < bad.size(); ++i) {
    RemoveFolder(absl::StrCat(parent, "/", bad[i]));
  }
}

std::vector<CacheEntryReport> CubinStore::List() const {
  return ReportEntries(roots_,
                       [](const std::string& folder, std::string*) { return ReadMetaOf(folder); });
}

std::vector<CacheEntryReport> CubinStore::Verify() const {
  return ReportEntries(roots_, ReadAndVerify);
}

}  // namespace fusebox
