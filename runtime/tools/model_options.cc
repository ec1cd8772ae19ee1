#include "runtime/tools/model_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "runtime/tools/by_name.h"
#include "runtime/tools/input_file.h"
#include "src/base/status.h"
#include "src/model/config_fields.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

// Why the engine keeps what is not in the op.
std::string_view NoteOnOrder(BlockOrder order) {
  switch (order) {
    case BlockOrder::kParallelSharedNorm:
      return "attention reads the norm's result too, so norm and residual stay with the engine";
    case BlockOrder::kParallelOwnNorm:
      return "the residual takes attention's output too, so it stays with the engine";
    case BlockOrder::kNormedResidual:
      return "the norm's result is the residual too, so the norm stays with the engine";
    case BlockOrder::kPreNorm:
    case BlockOrder::kSandwich:
      break;
  }
  return "";
}

std::string NoteOn(const ModelFfn& ffn, const ModelDemand& demand) {
  std::vector<std::string> notes;
  if (!demand.dtype.has_value() && ffn.dtype == DType::kBf16 &&
      ffn.checkpoint_dtype != "bfloat16") {
    notes.push_back(absl::StrCat("the config names ",
                                 ffn.checkpoint_dtype.empty() ? "no dtype" : ffn.checkpoint_dtype,
                                 ", planned as bf16 (or pass --dtype)"));
  }
  if (demand.variant == OpVariant::kEngine) {
    if (const std::string_view order = NoteOnOrder(ffn.order); !order.empty()) {
      notes.emplace_back(order);
    }
    if (ffn.blocks.back().role != FfnRole::kDense) {
      notes.emplace_back(
          "the router reads the norm's result and weighs what the experts give, so their norm and "
          "residual stay with the engine");
    }
  }
  return absl::StrJoin(notes, "; ");
}

// "intermediate 12288", "intermediate 10944 (1 layer), 64 experts of 1408, shared expert 2816".
std::string BlocksText(const ModelFfn& ffn) {
  std::vector<std::string> texts;
  for (const FfnBlock& block : ffn.blocks) {
    const int64_t size = block.intermediate.value();
    switch (block.role) {
      case FfnRole::kDense:
        texts.push_back(absl::StrCat("intermediate ", size));
        break;
      case FfnRole::kExpert:
        texts.push_back(absl::StrCat(block.per_layer, " experts of ", size));
        break;
      case FfnRole::kSharedExpert:
        texts.push_back(absl::StrCat("shared expert ", size));
        break;
    }
    if (block.num_layers != ffn.num_layers && block.role != FfnRole::kSharedExpert) {
      absl::StrAppend(&texts.back(), " (", block.num_layers,
                      block.num_layers == 1 ? " layer)" : " layers)");
    }
  }
  return absl::StrJoin(texts, ", ");
}

absl::StatusOr<ModelDemand> DemandFrom(const ModelOptions& options) {
  ModelDemand demand = {.tensor_parallel = options.tensor_parallel,
                        .tokens = options.tokens,
                        .variant = options.variant};
  FUSEBOX_ASSIGN_OR_RETURN(demand.engine, FindEnginePreset(options.engine));
  if (!options.dtype.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(demand.dtype, DTypeByName(options.dtype, DType::kBf16));
  }
  if (!options.residual.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(demand.residual, ResidualByName(options.residual));
  }
  return demand;
}

absl::StatusOr<ModelRequest> ReadModelRequest(const std::string& path, const ModelDemand& demand) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(path, "model file", "a Hugging Face config.json", kMaxConfigBytes + 1));
  ModelRequest request = {.model = fs::path(path).stem().string()};
  absl::StatusOr<ModelFfn> ffn = ParseModelConfig(text);
  if (IsDeclined(ffn.status())) {
    request.declined = ffn.status();
    return request;
  }
  if (!ffn.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", ffn.status().message()));
  request.ffn = *std::move(ffn);
  request.weights = WeightFormFor(request.ffn, demand.engine);
  request.dtype = demand.dtype.value_or(request.ffn.dtype);
  request.note = NoteOn(request.ffn, demand);
  FUSEBOX_ASSIGN_OR_RETURN(request.ops, OpsForModel(request.ffn, demand));
  return request;
}

}  // namespace

void AddModelOptions(CLI::App& command, ModelOptions& options) {
  command
      .add_option("--model", options.model_files,
                  "config.json of a Hugging Face model; may be repeated")
      ->type_name("FILE");
  command
      .add_option("--tokens", options.tokens,
                  absl::StrCat("token counts, each rounded up to a tile of ",
                               absl::StrJoin(kTokenTiles, ", ")))
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("N,N,...");
  command
      .add_option("--tp", options.tensor_parallel,
                  "tensor-parallel degrees: each divides the intermediate")
      ->delimiter(',')
      ->capture_default_str()
      ->type_name("N,N,...");
  command
      .add_option("--engine", options.engine,
                  "who will ask for the ops: vllm, sglang, hf or trtllm")
      ->capture_default_str()
      ->type_name("NAME");
  command.add_option("--dtype", options.dtype, "bf16 or fp16; the checkpoint's when left out")
      ->type_name("NAME");
}

void AddBareOption(CLI::App& command, ModelOptions& options) {
  options.variant = OpVariant::kEngine;
  command.add_flag_callback(
      "--bare", [&options] { options.variant = OpVariant::kBare; },
      "plan each model's block alone, without norm and residual, as verify and bench run it");
}

absl::StatusOr<DType> DTypeByName(std::string_view name, DType fallback) {
  if (name.empty()) return fallback;
  return ByName("--dtype", name, {DType::kBf16, DType::kFp16});
}

absl::StatusOr<ResidualMode> ResidualByName(std::string_view name) {
  return ByName("--residual", name,
                {ResidualMode::kNone, ResidualMode::kAddBeforeNorm, ResidualMode::kAddAfter,
                 ResidualMode::kSandwich});
}

absl::StatusOr<std::vector<ModelRequest>> ReadModelRequests(const ModelOptions& options) {
  FUSEBOX_ASSIGN_OR_RETURN(const ModelDemand demand, DemandFrom(options));
  std::vector<ModelRequest> requests;
  std::vector<std::string> done;
  for (const std::string& path : options.model_files) {
    if (std::find(done.begin(), done.end(), path) != done.end()) continue;
    done.push_back(path);
    FUSEBOX_ASSIGN_OR_RETURN(ModelRequest request, ReadModelRequest(path, demand));
    requests.push_back(std::move(request));
  }
  return requests;
}

std::string DescribeModel(const ModelRequest& request) {
  if (!request.declined.ok())
    return absl::StrCat(request.model, ": declined: ", request.declined.message());
  const ModelFfn& ffn = request.ffn;
  return absl::StrCat(request.model, ": ", ffn.family, ", ", ffn.num_layers, " layers, hidden ",
                      ffn.hidden.value(), ", ", BlocksText(ffn), ", ", ToString(ffn.form), " ",
                      ToString(ffn.activation), ", ", ToString(request.dtype),
                      request.note.empty() ? "" : absl::StrCat("; ", request.note));
}

}  // namespace fusebox
