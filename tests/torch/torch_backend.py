"""The operations of list_backend.py on fp64 tensors."""

import torch

from float_formats import FORMATS

SIGNIFICAND_BITS = 52  # of a double, without the leading one
BIAS = 1023


def times_transposed(a, b):
    return a @ b.t()


def row_sum(a):
    return a.sum(-1, keepdim=True)


def maximum(a, b):
    return torch.maximum(a, b if isinstance(b, torch.Tensor) else a.new_tensor(b))


def where_positive(condition, a, otherwise):
    return torch.where(condition > 0.0, a, a.new_tensor(otherwise))


def sqrt(a):
    return torch.sqrt(a)


def exp(a):
    return torch.exp(a)


def tanh(a):
    return torch.tanh(a)


def ulp(dtype, values):
    """Distance between neighbours of the dtype at each value's magnitude."""
    digits, lowest, _ = FORMATS[dtype]
    exponents = torch.frexp(values)[1].to(torch.int64)
    exponents = exponents.masked_fill(values == 0.0, lowest)  # of 0 frexp gives 0
    exponents = torch.clamp(exponents, min=lowest + 1) - digits
    return ((exponents + BIAS) << SIGNIFICAND_BITS).view(torch.float64)


def round_to(dtype, a):
    """Nearest value of the dtype, ties to even: no second rounding through fp32."""
    digits, lowest, largest = FORMATS[dtype]
    dropped = SIGNIFICAND_BITS + 1 - digits
    bits = a.contiguous().view(torch.int64)
    bits = bits + (2**(dropped - 1) - 1) + ((bits >> dropped) & 1)
    rounded = (bits & -(2**dropped)).view(torch.float64)
    # Below the normals: adding this leaves the last bit where the dtype's is.
    magic = 1.5 * 2.0**(SIGNIFICAND_BITS + lowest + 1 - digits)
    rounded = torch.where(a.abs() < 2.0**lowest, (a + magic) - magic, rounded)
    infinite = torch.copysign(torch.full_like(a, float("inf")), a)
    return torch.where(rounded.abs() > largest, infinite, rounded)


def at_most(a, b):
    return (a <= b).double()


def total(a):
    return a.sum().item()


def largest(a):
    return a.max().item()
