#include "runtime/tools/shape_file.h"

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "runtime/tools/input_file.h"
#include "src/base/status.h"
#include "src/base/strict_json.h"

namespace fusebox {
namespace {

constexpr size_t kMaxShapeFileBytes = size_t{1} << 20;  // ten thousand shapes

template <typename Enum, size_t kSize>
Enum ReadEnum(StrictJson& json, std::string_view path, const std::array<Enum, kSize>& values) {
  std::array<std::pair<std::string_view, Enum>, kSize> names;
  for (size_t i = 0; i < kSize; ++i) names[i] = {ToString(values[i]), values[i]};
  return json.Choice<Enum>(path, std::span<const std::pair<std::string_view, Enum>>(names));
}

absl::StatusOr<NamedShape> ReadShape(const std::string& text, const std::string& what) {
  FUSEBOX_ASSIGN_OR_RETURN(StrictJson json, StrictJson::Parse(text, what));
  NamedShape shape = {.name = json.String("name")};
  shape.problem = {.hidden = DimK(json.Integer("hidden", 1, kMaxDim)),
                   .intermediate = DimN(json.Integer("intermediate", 1, kMaxDim))};
  shape.problem.form = ReadEnum(json, "form", std::array{FfnForm::kGated, FfnForm::kPlain});
  shape.problem.activation =
      ReadEnum(json, "activation",
               std::array{Activation::kSilu, Activation::kGeluErf, Activation::kGeluTanh,
                          Activation::kRelu, Activation::kReluSquared});
  FUSEBOX_RETURN_IF_ERROR(json.Finish());
  return shape;
}

}  // namespace

absl::StatusOr<std::vector<NamedShape>> ReadShapeFile(const std::string& path) {
  FUSEBOX_ASSIGN_OR_RETURN(
      const std::string text,
      ReadInputFile(path, "shape file", "a JSON array of named dims", kMaxShapeFileBytes));
  const auto array = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!array.is_array() || array.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "shape file ", path, " is no JSON array of shapes; bench/flashfuser/shapes.json is one"));
  }
  std::vector<NamedShape> shapes;
  std::set<std::string> names;
  for (const nlohmann::json& element : array) {
    const std::string what = absl::StrCat("shape file ", path, ": shape ", shapes.size() + 1);
    FUSEBOX_ASSIGN_OR_RETURN(NamedShape shape, ReadShape(element.dump(), what));
    if (!names.insert(shape.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat(what, ": an earlier one has the name ", shape.name, "; give it its own"));
    }
    shapes.push_back(std::move(shape));
  }
  return shapes;
}

}  // namespace fusebox
