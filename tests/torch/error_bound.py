"""How far a result may be from its value in exact sums, per element: the derivation in
tests/reference/error_bound.h, whose constants these are, over matrices instead of numbers.

Written a second time because that oracle's plain loops would need hours for a real model's dims. An
Estimate is a value and the bound on a result's distance from it; each function carries both through
one operation. `backend` is list_backend or torch_backend.
"""

import math
from typing import Any, NamedTuple

ADD_ERROR = 2.0**-23  # of an addition on tensor cores, which truncate; others are held to it too
SPREAD = 4.0          # errors of n additions grow like sqrt(n); this covers spread and bias
SLOPE = 1.13          # largest slope of an activation
ACTIVATION_RELATIVE = 2.0**-17
ACTIVATION_CANCELLED = 2.0**-22
HALF_ULP = {"bf16": (2.0**-8, 0.0), "fp16": (2.0**-11, 2.0**-25)}  # relative, subnormal


class Estimate(NamedTuple):
    value: Any
    error: Any


def sum_error(terms, sum_of_magnitudes):
    return sum_of_magnitudes * (SPREAD * ADD_ERROR * math.sqrt(terms))


class ErrorBound:
    def __init__(self, backend, dtype):
        self.backend = backend
        self.dtype = dtype

    def exact(self, value):
        return Estimate(value, value * 0.0)

    def projected(self, x, weight, bias, carries_error=True):
        """x times weight [out, in], and the bias in fp32."""
        value = self.backend.times_transposed(x.value, weight)
        if not carries_error:
            return self.exact(value if bias is None else value + bias)
        magnitude = self.backend.times_transposed(abs(x.value), abs(weight))
        error = (sum_error(weight.shape[1], magnitude)
                 + self.backend.times_transposed(x.error, abs(weight)))
        estimate = Estimate(value, error)
        return estimate if bias is None else self.added(estimate, self.exact(bias))

    def added(self, a, b):
        value = a.value + b.value
        error = a.error + b.error
        return Estimate(value, error + (abs(value) + error) * ADD_ERROR)

    def product(self, a, b):
        value = a.value * b.value
        return Estimate(value, a.error * (abs(b.value) + b.error) + abs(a.value) * b.error
                        + abs(value) * ADD_ERROR)

    def scaled(self, a, factor):
        """Times a constant, which fp32 may not hold exactly."""
        value = a.value * factor
        return Estimate(value, a.error * abs(factor) + abs(value) * (2.0 * ADD_ERROR))

    def activated(self, value, g):
        return Estimate(value, g.error * SLOPE + abs(value) * ACTIVATION_RELATIVE
                        + abs(g.value) * ACTIVATION_CANCELLED)

    def rounded(self, a):
        """Rounding is monotone: nothing is added where no error within the bound flips it."""
        round_to = self.backend.round_to
        value = round_to(self.dtype, a.value)
        return Estimate(value, self.backend.maximum(
            abs(round_to(self.dtype, a.value - a.error) - value),
            abs(round_to(self.dtype, a.value + a.error) - value)))

    def stored(self, a):
        """The bound on a result that is rounded to the dtype, around the value that is not."""
        relative, subnormal = HALF_ULP[self.dtype]
        return a.error + self.backend.maximum((abs(a.value) + a.error) * relative, subnormal)

    def mean(self, row, count):
        value = self.backend.row_sum(row.value) / count
        error = (self.backend.row_sum(row.error)
                 + sum_error(count, self.backend.row_sum(abs(row.value)))) / count
        return Estimate(value, error + abs(value) * ADD_ERROR)

    def scale(self, row, mean, eps, count):
        """1 / sqrt(mean square of what is left after the mean + eps). By the triangle inequality a
        row's root mean square differs by at most that of its elements' distances; NaN, which
        nothing is within, where they may be as large as the row itself."""
        backend = self.backend
        centered = row.value - mean.value
        distance = row.error + mean.error
        root = backend.sqrt(backend.row_sum(centered * centered) / count + eps)
        nearest = root - backend.sqrt(backend.row_sum(distance * distance) / count)
        relative = sum_error(count, 1.0) + 2.0 * ADD_ERROR
        error = 1.0 / (nearest * math.sqrt(1.0 - relative)) - 1.0 / root + 2.0 * ADD_ERROR / nearest
        return Estimate(1.0 / root, backend.where_positive(nearest, error, math.nan))

    def centered(self, row, mean, scale):
        value = row.value - mean.value
        return self.product(Estimate(value, row.error + mean.error + abs(value) * ADD_ERROR), scale)

    def scaled_and_shifted(self, centered, factor, bias):
        """centered * factor + bias, all in fp32; the factor may be a sum of its own, 1 + w."""
        product = centered.value * factor
        value = product if bias is None else product + bias
        return Estimate(value, centered.error * abs(factor)
                        + (abs(product) * 2.0 + abs(value)) * ADD_ERROR)
