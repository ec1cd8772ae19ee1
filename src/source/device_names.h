// What the templates call the values of an op's enums, of the ffn kernel and of the oracle alike:
// names of enumerators, filled in for placeholders. Pure functions.
#ifndef FUSEBOX_SRC_SOURCE_DEVICE_NAMES_H_
#define FUSEBOX_SRC_SOURCE_DEVICE_NAMES_H_

#include <string>
#include <string_view>

#include "src/shape/ffn_problem.h"

namespace fusebox {

std::string_view DeviceName(Activation activation);
std::string_view DeviceName(DType dtype);
std::string_view DeviceName(Rounding rounding);
std::string_view DeviceName(Norm norm);
std::string_view DeviceName(ResidualMode mode);
std::string_view DeviceName(WeightLayout layout);
std::string DeviceBool(bool value);  // "true", "false"

}  // namespace fusebox

#endif  // FUSEBOX_SRC_SOURCE_DEVICE_NAMES_H_
