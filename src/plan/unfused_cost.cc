#include "src/plan/unfused_cost.h"

#include <cmath>
#include <nlohmann/json.hpp>

namespace fusebox {
namespace {

constexpr double kBytesPerElement = 2;  // bf16 and fp16

// Elementwise kernels that follow one another, and the elements that they read and write.
struct Elementwise {
  int kernels = 0;
  double elements = 0;
};

// y [tokens, rows] = x [tokens, k] times weights [rows, k]. The stream of the weights and the MMAs
// run side by side but wait for one another, as in a fused phase: root of the squares.
double GemmMicros(double tokens, double rows, double k, const UnfusedRates& rates) {
  const double bytes = kBytesPerElement * (rows * k + tokens * (k + rows));
  const double stream_us = bytes / (rates.gemm_gb_per_s * 1e3);
  const double mma_us = 2.0 * tokens * rows * k / (rates.gemm_tflops * 1e6);
  return rates.gemm_us + std::sqrt(stream_us * stream_us + mma_us * mma_us);
}

double ElementwiseMicros(const Elementwise& work, const UnfusedRates& rates) {
  const double bytes = kBytesPerElement * work.elements;
  return work.kernels * rates.elementwise_us + bytes / (rates.elementwise_gb_per_s * 1e3);
}

// act(gate), then times up; plain: act(up).
Elementwise ActivationOf(const FfnProblem& problem, double tokens) {
  const double values = tokens * static_cast<double>(problem.intermediate.value());
  if (problem.form == FfnForm::kPlain) return {.kernels = 1, .elements = 2 * values};
  return {.kernels = 2, .elements = (2 + 3) * values};
}

Elementwise NormsOf(const FfnProblem& problem, double tokens) {
  const double values = tokens * static_cast<double>(problem.hidden.value());
  Elementwise work;
  const auto add_kernel = [&](double operands) {
    ++work.kernels;
    work.elements += operands * values;
  };
  const ResidualMode mode = problem.residual_mode;
  const double summed = mode == ResidualMode::kAddBeforeNorm ? 2 : 0;  // reads residual, stores r
  if (problem.norm != Norm::kNone) add_kernel(2 + summed);
  if (mode == ResidualMode::kSandwich) add_kernel(2);
  if (mode == ResidualMode::kAddAfter || mode == ResidualMode::kSandwich) add_kernel(3);
  return work;
}

double Rounded(double us) { return std::round(us * 1e3) / 1e3; }

}  // namespace

double UnfusedCost::us() const { return norm_us + up_us + activation_us + down_us; }

std::string UnfusedCost::ToJson() const {
  const nlohmann::ordered_json json = {{"us", Rounded(us())},
                                       {"norm_us", Rounded(norm_us)},
                                       {"up_us", Rounded(up_us)},
                                       {"activation_us", Rounded(activation_us)},
                                       {"down_us", Rounded(down_us)}};
  return json.dump();
}

UnfusedCost EstimateUnfused(const FfnProblem& problem, int64_t tokens, const DeviceSpec& device) {
  const UnfusedRates& rates = device.unfused;
  const auto m = static_cast<double>(tokens);
  const auto hidden = static_cast<double>(problem.hidden.value());
  const auto intermediate = static_cast<double>(problem.intermediate.value());
  const double up_rows = intermediate * static_cast<double>(problem.num_up_matrices());
  return {.norm_us = ElementwiseMicros(NormsOf(problem, m), rates),
          .up_us = GemmMicros(m, up_rows, hidden, rates),
          .activation_us = ElementwiseMicros(ActivationOf(problem, m), rates),
          .down_us = GemmMicros(m, hidden, intermediate, rates)};
}

}  // namespace fusebox
