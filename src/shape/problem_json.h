// ProblemJson spells an FfnProblem as a JSON object and reads it back, for the texts that name ops:
// every field by its name, enums by their ToString. Invariant: what ProblemToJson writes,
// ReadProblem reads as the same problem. Pure functions.
#ifndef FUSEBOX_SRC_SHAPE_PROBLEM_JSON_H_
#define FUSEBOX_SRC_SHAPE_PROBLEM_JSON_H_

#include <nlohmann/json.hpp>
#include <string_view>

#include "src/base/strict_json.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

nlohmann::ordered_json ProblemToJson(const FfnProblem& problem);

// Reads the object at `path` of `json`, which keeps what is wrong with a field. Dims that no
// problem has are for FfnProblem::Create to refuse, after `json` has finished.
FfnProblem ReadProblem(StrictJson& json, std::string_view path);

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SHAPE_PROBLEM_JSON_H_
