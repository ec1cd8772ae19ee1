"""Compares a result with an engine's own. README.md says which unit means what, and why.

  strict    one unit in the last place at the magnitude of the engine's element
  row unit  the same at the largest of: that element, the root mean square of the engine's row, and
            the stored result that the last operation adds to the residual, if it does
"""

import math

# |element| / root mean square of its row: where the bins of strict_by_magnitude begin.
MAGNITUDES = (0.0, 2.0**-6, 2.0**-4, 2.0**-2, 1.0)
SIGMAS = 5.0  # beyond chance: one decision in millions


def row_root_mean_square(backend, values):
    return backend.sqrt(backend.row_sum(values * values) / values.shape[1])


def row_unit(backend, dtype, reference, addend):
    unit = backend.maximum(backend.ulp(dtype, reference),
                           backend.ulp(dtype, row_root_mean_square(backend, reference)))
    return unit if addend is None else backend.maximum(unit, backend.ulp(dtype, addend))


def shares(backend, dtype, got, reference, addend):
    """Shares of elements within one unit."""
    count = reference.shape[0] * reference.shape[1]
    distance = abs(got - reference)
    strict = backend.at_most(distance, backend.ulp(dtype, reference))
    relative = abs(reference) / row_root_mean_square(backend, reference)
    bins = []
    for low, high in zip(MAGNITUDES, MAGNITUDES[1:] + (math.inf,)):
        inside = backend.at_most(relative * 0.0 + low, relative) * (
            1.0 - backend.at_most(relative * 0.0 + high, relative))
        elements = backend.total(inside)
        bins.append({"from": low, "elements": int(elements),
                     "strict": backend.total(strict * inside) / elements if elements else None})
    within = backend.at_most(distance, row_unit(backend, dtype, reference, addend))
    return {"row_unit": backend.total(within) / count,
            "strict": backend.total(strict) / count,
            "equal": backend.total(backend.at_most(distance, distance * 0.0)) / count,
            "strict_by_magnitude": bins}


def worst_ratio(backend, got, outputs):
    """Largest distance over its bound; NaN where there is no result or no bound."""
    # A bound of 0 is met by equality only.
    return backend.largest(abs(got - outputs.y.value)
                           / backend.maximum(outputs.tolerance, 2.0**-1000))


def rounding_verdict(backend, got, rounding, leaving_out, unit):
    """Whether `got` was rounded at a point: which of two results with exact sums it is nearer to,
    `rounding` there or `leaving_out` that point.

    With e the distances to the one and d between the two, the gain is (sum (e - d)^2 - sum e^2) /
    sum d^2 = 1 - 2 sum e d / sum d^2: 1 where got is the one but for errors that know nothing of d,
    -1 where it is the other and e - d is such errors. Their part in it has a variance of
    4 sum error^2 d^2 / (sum d^2)^2. Errors ahead of the point do know of d: they flip a share p of
    its roundings, each by a unit towards what was left out, against a mean square of 1/12 for d, so
    that a rounding result has a gain of 1 - 12 p. Hence no verdict within a half of zero: up to
    p = 1/8 none is wrong.
    """
    e = (got - rounding) / unit
    d = (leaving_out - rounding) / unit
    squares = backend.total(d * d)
    if squares == 0.0:
        return "no effect"
    gain = 1.0 - 2.0 * backend.total(e * d) / squares

    def chance(errors):
        return SIGMAS * 2.0 * math.sqrt(backend.total(errors * errors * d * d)) / squares
    if gain - chance(e) > 0.5:
        return "rounds"
    if gain + chance(e - d) < -0.5:
        return "does not round"
    return "undecided"
