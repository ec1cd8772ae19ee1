#include "runtime/tools/model_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/status.h"
#include "src/model/config_fields.h"

namespace fusebox {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::string> ReadModelFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return absl::NotFoundError(absl::StrCat(
        "model file ", path, " does not exist; give the path of a Hugging Face config.json"));
  }
  if (fs::is_directory(status)) {
    return absl::InvalidArgumentError(
        absl::StrCat("model file ", path, " is a folder; give the config.json inside it"));
  }
  if (!fs::is_regular_file(status)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model file ", path, " is no regular file; give the path of a Hugging Face config.json"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string text(kMaxConfigBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || (!file && !file.eof())) {
    return absl::InvalidArgumentError(
        absl::StrCat("model file ", path, " cannot be read; check its permissions"));
  }
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

std::string NoteOn(const ModelFfn& ffn, BiasChoice biases) {
  std::string note;
  if (ffn.biases == Biases::kPresent && biases == BiasChoice::kIgnore) {
    note =
        "its biases are left out as asked (--ignore-bias): these kernels do not compute the "
        "model's block";
  }
  if (!ffn.checkpoint_dtype.empty() && ffn.checkpoint_dtype != "bfloat16") {
    absl::StrAppend(
        &note, note.empty() ? "" : "; ", "the checkpoint says ", ffn.checkpoint_dtype,
        " and the ops are bf16, the only dtype of this version: serve the model as bfloat16");
  }
  return note;
}

absl::StatusOr<ResidualMode> ResidualByName(std::string_view name) {
  for (const ResidualMode mode : {ResidualMode::kNone, ResidualMode::kAddAfter}) {
    if (ToString(mode) == name) return mode;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--residual ", name, " is unknown; accepted: none, add_after"));
}

absl::StatusOr<ModelRequest> ReadModelRequest(const std::string& path, const ModelDemand& demand) {
  FUSEBOX_ASSIGN_OR_RETURN(const std::string text, ReadModelFile(path));
  ModelRequest request = {.model = fs::path(path).stem().string()};
  absl::StatusOr<ModelFfn> ffn = ParseModelConfig(text);
  if (IsDeclined(ffn.status())) {
    request.declined = ffn.status();
    return request;
  }
  if (!ffn.ok())
    return absl::InvalidArgumentError(absl::StrCat(path, ": ", ffn.status().message()));
  request.ffn = *std::move(ffn);
  request.note = NoteOn(request.ffn, demand.biases);
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
                  "token counts, each rounded up to a tile of 8, 16 or 32")
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
  command.add_flag(
      "--ignore-bias", options.ignore_bias,
      "plan models with biases (OPT, GPT-NeoX) without them; to measure, not to serve");
}

absl::StatusOr<std::vector<ModelRequest>> ReadModelRequests(const ModelOptions& options) {
  ModelDemand demand = {.tensor_parallel = options.tensor_parallel,
                        .tokens = options.tokens,
                        .biases = options.ignore_bias ? BiasChoice::kIgnore : BiasChoice::kDecline};
  FUSEBOX_ASSIGN_OR_RETURN(demand.engine, FindEnginePreset(options.engine));
  if (!options.residual.empty()) {
    FUSEBOX_ASSIGN_OR_RETURN(demand.engine.residual_mode, ResidualByName(options.residual));
  }
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
                      ffn.hidden.value(), ", intermediate ", ffn.intermediate.value(), ", ",
                      ToString(ffn.form), " ", ToString(ffn.activation),
                      request.note.empty() ? "" : absl::StrCat("; ", request.note));
}

}  // namespace fusebox
