// `fusebox cache ls` and `cache verify`: what the disk caches hold.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "runtime/cache/cubin_store.h"
#include "runtime/cache/files.h"
#include "runtime/config/config.h"
#include "runtime/tools/cache_option.h"
#include "runtime/tools/command.h"
#include "runtime/tools/json_text.h"
#include "runtime/tools/table.h"
#include "runtime/trace/event_log.h"
#include "src/base/status.h"
#include "src/plan/fusion_plan.h"

namespace fusebox {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

enum class Depth { kList, kVerify };  // metadata only, or every byte

struct CacheOptions {
  std::string cache_dir;
  bool json = false;
};

std::string PlanSummary(const CacheEntryReport& entry) {
  const absl::StatusOr<std::string> text = ReadFile(absl::StrCat(entry.folder, "/", kPlanFile));
  if (!text.ok()) return "-";
  const absl::StatusOr<FusionPlan> plan = FusionPlan::FromJson(*text);
  return plan.ok() ? plan->Summary() : "-";
}

// Seconds since the entry was written; -1 where the file system does not say.
int64_t AgeSeconds(const CacheEntryReport& entry) {
  std::error_code error;
  const fs::file_time_type written = fs::last_write_time(entry.folder, error);
  if (error) return -1;
  const auto age = fs::file_time_type::clock::now() - written;
  return std::max<int64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count(), 0);
}

std::string AgeText(int64_t seconds) {
  constexpr int64_t kMinute = 60, kHour = 60 * kMinute, kDay = 24 * kHour;
  if (seconds < 0) return "-";
  if (seconds < kMinute) return absl::StrCat(seconds, " s");
  if (seconds < kHour) return absl::StrCat(seconds / kMinute, " min");
  if (seconds < kDay) return absl::StrCat(seconds / kHour, " h");
  return absl::StrCat(seconds / kDay, " d");
}

std::string StateText(const CacheEntryReport& entry) {
  if (entry.status.ok() && !entry.text_fault.empty()) {
    return absl::StrCat("OK; damaged text, kernel intact: ", entry.text_fault);
  }
  if (entry.status.ok()) return "OK";
  return absl::StrCat(IsStale(entry.status) ? "stale: " : "bad: ", entry.status.message());
}

void PrintText(const std::vector<std::string>& roots,
               const std::vector<CacheEntryReport>& entries) {
  Table table({{"digest"},
               {"name"},
               {"plan"},
               {"size", Align::kRight},
               {"regs", Align::kRight},
               {"nvrtc"},
               {"age", Align::kRight},
               {"root"},
               {"status"}});
  int64_t bytes = 0;
  for (const CacheEntryReport& entry : entries) {
    bytes += entry.bytes;
    const bool good = entry.status.ok();
    table.AddRow({entry.digest.substr(0, 12), good ? entry.meta.name : "-",
                  good ? PlanSummary(entry) : "-", BytesText(entry.bytes),
                  good ? absl::StrCat(entry.meta.resources.registers) : "-",
                  good ? entry.meta.nvrtc_version : "-", AgeText(AgeSeconds(entry)), entry.root,
                  StateText(entry)});
  }
  if (!entries.empty()) std::printf("%s\n", table.ToText().c_str());
  std::printf("%zu kernels, %s in", entries.size(), BytesText(bytes).c_str());
  for (const std::string& root : roots) std::printf(" %s", root.c_str());
  std::printf("\n");
}

void PrintJson(const std::vector<std::string>& roots,
               const std::vector<CacheEntryReport>& entries) {
  Json json = {{"roots", roots}, {"kernels", Json::array()}};
  for (const CacheEntryReport& entry : entries) {
    Json row = {{"root", entry.root},      {"digest", entry.digest},
                {"bytes", entry.bytes},    {"age_seconds", AgeSeconds(entry)},
                {"ok", entry.status.ok()}, {"stale", IsStale(entry.status)}};
    if (entry.status.ok()) {
      row["name"] = entry.meta.name;
      row["plan"] = PlanSummary(entry);
      row["architecture"] = entry.meta.architecture;
      row["registers"] = entry.meta.resources.registers;
      row["nvrtc"] = entry.meta.nvrtc_version;
      if (!entry.text_fault.empty()) row["text_fault"] = entry.text_fault;
    } else {
      row["sentence"] = std::string(entry.status.message());
    }
    json["kernels"].push_back(std::move(row));
  }
  std::fputs(JsonText(json).c_str(), stdout);
}

absl::Status RunCache(const CacheOptions& options, Depth depth) {
  FUSEBOX_ASSIGN_OR_RETURN(Config config, ReadConfig(Environment::OfProcess()));
  ApplyCacheDir(options.cache_dir, config);
  const auto log = EventLog::Silent();
  const CubinStore store(config.cache_dirs, log.get());
  const std::vector<CacheEntryReport> entries =
      depth == Depth::kVerify ? store.Verify() : store.List();
  options.json ? PrintJson(store.roots(), entries) : PrintText(store.roots(), entries);
  const absl::Status roots = store.CheckRoots();
  if (depth == Depth::kVerify && !roots.ok()) {
    return absl::DataLossError(absl::StrCat("not every root was verified: ", roots.message(),
                                            "; name roots that are there with --cache-dir"));
  }
  const auto bad = std::count_if(entries.begin(), entries.end(), [](const CacheEntryReport& entry) {
    return !entry.status.ok() && !IsStale(entry.status);
  });
  if (bad == 0) return absl::OkStatus();
  return absl::DataLossError(
      absl::StrCat(bad, " of ", entries.size(),
                   " kernels are bad; they are never loaded, and are made again where "
                   "NVRTC is there"));
}

void AddAction(CLI::App& command, const char* name, const char* description, Depth depth,
               ExitCode& exit_code) {
  auto options = std::make_shared<CacheOptions>();
  CLI::App* action = command.add_subcommand(name, description);
  AddCacheDirOption(*action, "roots to look at", options->cache_dir);
  action->add_flag("--json", options->json, "print JSON instead of a table");
  action->footer(absl::StrCat(
      ExitCodeHelp(), "\n1 where ",
      depth == Depth::kVerify ? "a kernel or its metadata has changed, or a root cannot be read; "
                                "kernel.cu and plan.json are for people, and only reported"
                              : "an entry's metadata is bad; `fusebox cache verify` checks bytes",
      ". Entries of other builds are listed as stale. Changes nothing."));
  action->callback([options, depth, &exit_code] {
    const absl::Status status = RunCache(*options, depth);
    exit_code = status.ok() ? ExitCode::kDone : Complain("cache", status);
  });
}

}  // namespace

void AddCacheCommand(CLI::App& app, ExitCode& exit_code) {
  CLI::App* command = app.add_subcommand("cache", "Look at the disk caches");
  command->require_subcommand(1);
  AddAction(*command, "ls", "List the kernels: digest, name, plan, size, registers, NVRTC, age",
            Depth::kList, exit_code);
  AddAction(*command, "verify", "Read every byte and check the checksums", Depth::kVerify,
            exit_code);
}

}  // namespace fusebox
