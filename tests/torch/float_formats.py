"""Rounding of doubles to bf16, fp16 and fp32, and the distance between neighbours there.

Exact: scaling by powers of two, and Python's round, which sends ties to even.
"""

import math
from typing import NamedTuple


class Format(NamedTuple):
    digits: int      # of the significand, with the leading one
    lowest: int      # exponent of the smallest normal number
    largest: float


FORMATS = {
    "bf16": Format(8, -126, (2.0 - 2.0**-7) * 2.0**127),
    "fp16": Format(11, -14, 65504.0),
    "fp32": Format(24, -126, (2.0 - 2.0**-23) * 2.0**127),
}


def ulp_exponent(dtype, value):
    """log2 of the distance between neighbours at the value's magnitude."""
    digits, lowest, _ = FORMATS[dtype]
    exponent = math.frexp(value)[1] if value != 0.0 else lowest  # of 0 frexp gives 0
    return max(exponent, lowest + 1) - digits


def ulp(dtype, value):
    return math.ldexp(1.0, ulp_exponent(dtype, value))


def round_to(dtype, value):
    if not math.isfinite(value) or value == 0.0:
        return value
    exponent = ulp_exponent(dtype, value)
    rounded = math.ldexp(round(math.ldexp(value, -exponent)), exponent)
    if abs(rounded) > FORMATS[dtype].largest:
        return math.copysign(math.inf, value)
    return rounded
