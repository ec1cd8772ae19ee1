// Shape files list ops by their dims under names of their own, for benchmarks of what is no model:
// a JSON array of {"name", "hidden", "intermediate", "form", "activation"}, in the words of the
// options --form and --activation. Main's thread.
#ifndef FUSEBOX_RUNTIME_TOOLS_SHAPE_FILE_H_
#define FUSEBOX_RUNTIME_TOOLS_SHAPE_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "src/shape/ffn_problem.h"

namespace fusebox {

struct NamedShape {
  std::string name;
  FfnProblem problem;  // bare, bf16; not checked by FfnProblem::Create
};

// In the file's order; at least one. NotFound or InvalidArgument with the file's name, and with the
// shape's number where one is wrong or has another's name.
absl::StatusOr<std::vector<NamedShape>> ReadShapeFile(const std::string& path);

}  // namespace fusebox

#endif  // FUSEBOX_RUNTIME_TOOLS_SHAPE_FILE_H_
