#include "runtime/tools/verify_list.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <system_error>
#include <thread>

#include "absl/strings/str_cat.h"
#include "runtime/engine/catch_exceptions.h"
#include "runtime/engine/planner.h"
#include "runtime/engine/start_threads.h"
#include "runtime/tools/ffn_layer.h"
#include "src/base/status.h"
#include "src/source/emit_reference.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

bool IsSame(const OpToRun& a, const OpToRun& b) {
  if (a.problem.ok() != b.problem.ok()) return false;
  if (a.problem.ok()) return *a.problem == *b.problem;
  return a.name == b.name && a.problem.status() == b.problem.status();
}

template <typename Value>
void AddOnce(std::vector<Value>& values, const Value& value) {
  if (std::find(values.begin(), values.end(), value) == values.end()) values.push_back(value);
}

// The kernels of an op that runs past the API.
absl::Status CompilePlans(const VerifyKernels& kernels, const OpToRun& op) {
  std::set<int> tiles;
  for (const int64_t tokens : op.tokens) {
    FUSEBOX_ASSIGN_OR_RETURN(const int tile, TokenTileFor(tokens));
    if (!tiles.insert(tile).second) continue;
    FUSEBOX_ASSIGN_OR_RETURN(const PlannedKernel planned,
                             PlanAndEmit(*op.problem, tile, kernels.gpu, *kernels.overrides));
    FUSEBOX_RETURN_IF_ERROR(
        kernels.service->GetOrCompile(planned.source, kernels.permission).status());
  }
  return absl::OkStatus();
}

absl::Status Warm(const VerifyKernels& kernels, const OpToRun& to_run, api::Op& op) {
  FUSEBOX_RETURN_IF_ERROR(to_run.problem.status());
  const FfnProblem& problem = *to_run.problem;
  const bool is_through_api = problem.rounding == Rounding::kEngine;
  if (is_through_api) {
    FUSEBOX_RETURN_IF_ERROR(ApiStatus(op.CreateFfn(*kernels.engine, DescOf(problem)).code()));
  }
  FUSEBOX_ASSIGN_OR_RETURN(const KernelSource reference,
                           EmitReference(problem, TemplateSet::Embedded()));
  FUSEBOX_RETURN_IF_ERROR(kernels.service->GetOrCompile(reference, kernels.permission).status());
  if (!is_through_api) return CompilePlans(kernels, to_run);
  const std::vector<int32_t> counts(to_run.tokens.begin(), to_run.tokens.end());
  return ApiStatus(op.Prepare(counts.data(), counts.size(), FUSEBOX_PREPARE_BLOCK).code());
}

}  // namespace

std::vector<int64_t> TokensToVerify() {
  std::vector<int64_t> tokens;
  for (const int64_t count : {1, 2, 7, 8, 9, 16, 17, 32, 33, 63, 64, 65, 127, 128}) {
    if (count <= kMaxTokens) tokens.push_back(count);
  }
  return tokens;
}

absl::StatusOr<std::vector<std::string>> ModelFilesIn(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> files;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    if (entry->path().extension() == ".json") files.push_back(entry->path().string());
  }
  if (error || files.empty()) {
    return absl::NotFoundError(absl::StrCat(
        "--models ", folder, " holds no model: ", error ? error.message() : "no file *.json in it",
        "; give a folder of Hugging Face config.json files, such as bench/models"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::vector<OpToVerify> EachOnce(const std::vector<OpToRun>& ops) {
  std::vector<OpToVerify> once;
  for (const OpToRun& op : ops) {
    const auto known = std::find_if(once.begin(), once.end(),
                                    [&](const OpToVerify& other) { return IsSame(other.op, op); });
    if (known == once.end()) {
      once.push_back({.op = op, .models = {op.model}});
      continue;
    }
    AddOnce(known->models, op.model);
    for (const int64_t tokens : op.tokens) AddOnce(known->op.tokens, tokens);
  }
  return once;
}

std::vector<WarmedOp> WarmForVerify(const VerifyKernels& kernels, absl::Span<const OpToVerify> ops,
                                    int jobs) {
  std::vector<WarmedOp> warmed(ops.size());
  std::atomic<size_t> next = 0;
  const auto work = [&] {
    for (size_t index = next++; index < ops.size(); index = next++) {
      WarmedOp& one = warmed[index];
      one.status = CatchExceptions([&] { return Warm(kernels, ops[index].op, one.op); });
    }
  };
  const int num_threads = std::min(std::max(jobs, 1), static_cast<int>(ops.size()));
  // This thread works too, so that fewer threads, or none, are slower and no more.
  std::vector<std::thread> threads =
      StartThreads(std::max(num_threads - 1, 0), [&](int) { return std::thread(work); });
  work();
  for (std::thread& thread : threads) thread.join();
  return warmed;
}

}  // namespace fusebox
