#include "src/source/device_names.h"

namespace fusebox {

std::string_view DeviceName(Activation activation) {
  switch (activation) {
    case Activation::kSilu:
      return "kSilu";
    case Activation::kGeluErf:
      return "kGeluErf";
    case Activation::kRelu:
      return "kRelu";
    case Activation::kGeluTanh:
      return "kGeluTanh";
    case Activation::kReluSquared:
      return "kReluSquared";
    case Activation::kGeluNew:
      return "kGeluNew";
  }
  return "unknown";
}

std::string_view DeviceName(DType dtype) { return dtype == DType::kBf16 ? "kBf16" : "kFp16"; }

std::string_view DeviceName(Rounding rounding) {
  return rounding == Rounding::kFused ? "kFused" : "kEngine";
}

std::string_view DeviceName(Norm norm) {
  switch (norm) {
    case Norm::kNone:
      return "kNone";
    case Norm::kRms:
      return "kRms";
    case Norm::kRmsPlusOne:
      return "kRmsPlusOne";
    case Norm::kLayer:
      return "kLayer";
  }
  return "unknown";
}

std::string_view DeviceName(ResidualMode mode) {
  switch (mode) {
    case ResidualMode::kNone:
      return "kNone";
    case ResidualMode::kAddBeforeNorm:
      return "kAddBeforeNorm";
    case ResidualMode::kAddAfter:
      return "kAddAfter";
    case ResidualMode::kSandwich:
      return "kSandwich";
  }
  return "unknown";
}

std::string_view DeviceName(WeightLayout layout) {
  return layout == WeightLayout::kOutIn ? "kOutIn" : "kInOut";
}

std::string DeviceBool(bool value) { return value ? "true" : "false"; }

}  // namespace fusebox
