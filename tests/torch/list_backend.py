"""Small matrices of Python floats with the operations that the other files need, so that sequence,
bound and comparison can be tested where there is no torch. torch_backend.py has the same.
"""

import math

import float_formats


class Matrix:
    """Rows of doubles; a single row or column goes with a whole matrix, as in torch."""

    def __init__(self, rows):
        self.rows = [list(row) for row in rows]
        self.shape = (len(self.rows), len(self.rows[0]))

    def map(self, function, *others):
        operands = [self] + [other if isinstance(other, Matrix) else Matrix([[other]])
                             for other in others]
        height = max(operand.shape[0] for operand in operands)
        width = max(operand.shape[1] for operand in operands)
        return Matrix([[function(*(operand.at(row, column) for operand in operands))
                        for column in range(width)] for row in range(height)])

    def at(self, row, column):
        return self.rows[row if self.shape[0] > 1 else 0][column if self.shape[1] > 1 else 0]

    def __add__(self, other):
        return self.map(lambda a, b: a + b, other)

    def __sub__(self, other):
        return self.map(lambda a, b: a - b, other)

    def __mul__(self, other):
        return self.map(lambda a, b: a * b, other)

    def __truediv__(self, other):
        return self.map(lambda a, b: a / b, other)

    def __rtruediv__(self, other):
        return self.map(lambda a: other / a)

    def __rsub__(self, other):
        return self.map(lambda a: other - a)

    def __neg__(self):
        return self.map(lambda a: -a)

    def __abs__(self):
        return self.map(abs)

    __radd__ = __add__
    __rmul__ = __mul__


def times_transposed(a, b):
    """a [m, k] times b [n, k]."""
    return Matrix([[math.fsum(x * y for x, y in zip(row, weights)) for weights in b.rows]
                   for row in a.rows])


def row_sum(a):
    return Matrix([[math.fsum(row)] for row in a.rows])


def maximum(a, b):
    return a.map(lambda x, y: math.nan if math.isnan(x) or math.isnan(y) else max(x, y), b)


def where_positive(condition, a, otherwise):
    return condition.map(lambda c, x: x if c > 0.0 else otherwise, a)


def sqrt(a):
    return a.map(lambda x: math.sqrt(x) if x >= 0.0 else math.nan)


def exp(a):
    return a.map(math.exp)


def tanh(a):
    return a.map(math.tanh)


def round_to(dtype, a):
    return a.map(lambda x: float_formats.round_to(dtype, x))


def ulp(dtype, a):
    return a.map(lambda x: float_formats.ulp(dtype, x))


def at_most(a, b):
    """1 where a <= b, else 0, also for NaN."""
    return a.map(lambda x, y: 1.0 if x <= y else 0.0, b)


def total(a):
    return math.fsum(x for row in a.rows for x in row)


def largest(a):
    """NaN if any is."""
    values = [x for row in a.rows for x in row]
    return math.nan if any(math.isnan(x) for x in values) else max(values)
