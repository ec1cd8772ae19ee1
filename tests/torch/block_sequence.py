"""An engine's sequence of operations for one block, with exact sums, and the bound on what fp32
sums in any order may make of it. Pure; works on list_backend.py and on torch_backend.py.

Each place where the sequence rounds has a name; leaving one out gives the result of an engine that
does not round there, which tells whether somebody else does (comparison.py).
"""

import math
from typing import NamedTuple

from error_bound import ADD_ERROR, ErrorBound, Estimate


class Block(NamedTuple):
    hidden: int
    intermediate: int
    gated: bool
    activation: str      # silu, gelu_tanh, relu, or gelu_new: gelu_tanh, each operation rounded
    norm: str            # rms, rms_plus_one, layer
    residual_mode: str   # add_before_norm, add_after, sandwich
    eps: float


class Outputs(NamedTuple):
    y: Estimate   # not yet rounded
    tolerance: object  # of y as it is stored
    sums: object  # x + residual where the block stores it, else x
    addend: object  # the stored result that the last operation adds to x; None: there is none


def rounding_points(block):
    """Names of the places where the sequence rounds, but for h and y, which every engine stores."""
    points = ["residual_sum"] if block.residual_mode == "add_before_norm" else []
    points += ["normalized"] if block.norm == "rms" else []
    points += ["norm"] + (["gate", "up", "activation"] if block.gated else [])
    if not block.gated and block.activation != "relu":  # of a rounded value, relu is rounded too
        points += ["up"]
    points += ["inside_activation"] if block.activation == "gelu_new" else []
    points += ["block"] if block.residual_mode != "add_before_norm" else []
    points += ["second_norm"] if block.residual_mode == "sandwich" else []
    return points


class Sequence:
    """`left_out`: rounding points to skip. `carries_error`: without it tolerances mean nothing."""

    def __init__(self, backend, dtype, block, left_out=(), carries_error=True):
        self.backend = backend
        self.bound = ErrorBound(backend, dtype)
        self.block = block
        self.left_out = left_out
        self.carries_error = carries_error

    def run(self, weights, x, residual):
        block, bound = self.block, self.bound
        sums = bound.exact(x)
        if block.residual_mode == "add_before_norm":
            # One operation on exact inputs: what is stored is the same for everybody.
            sums = self.rounded("residual_sum", bound.exact(x + residual))
        h = self.intermediate(weights, self.normalized(sums, weights, "norm"))
        y = bound.projected(h, weights["down"], weights.get("down_bias"), self.carries_error)
        if block.residual_mode == "add_before_norm":
            return Outputs(y, bound.stored(y), sums.value, None)
        addend = self.rounded("block", y)
        if block.residual_mode == "sandwich":
            addend = self.normalized(addend, weights, "second_norm")
        y = bound.added(addend, sums)
        return Outputs(y, bound.stored(y), sums.value, addend.value)

    def rounded(self, point, estimate):
        return estimate if point in self.left_out else self.bound.rounded(estimate)

    def normalized(self, row, weights, point):
        block, bound = self.block, self.bound
        weight = weights[f"{point}_weight"]
        mean = Estimate(0.0, 0.0)
        if block.norm == "layer":
            mean = bound.mean(row, block.hidden)
        centered = bound.centered(row, mean, bound.scale(row, mean, block.eps, block.hidden))
        if block.norm == "rms":
            centered = self.rounded("normalized", centered)
            out = Estimate(centered.value * weight, centered.error * abs(weight))
        elif block.norm == "rms_plus_one":
            out = bound.scaled_and_shifted(centered, 1.0 + weight, None)
        else:
            out = bound.scaled_and_shifted(centered, weight, weights[f"{point}_bias"])
        return self.rounded(point, out)

    def intermediate(self, weights, x):
        bound = self.bound
        up = self.rounded("up", bound.projected(x, weights["up"], weights.get("up_bias"),
                                                self.carries_error))
        if not self.block.gated:
            return bound.rounded(self.activated(up))
        gate = self.rounded("gate", bound.projected(x, weights["gate"], None, self.carries_error))
        activated = self.rounded("activation", self.activated(gate))
        return bound.rounded(bound.product(activated, up))

    def activated(self, g):
        backend, bound = self.backend, self.bound
        v = g.value
        if self.block.activation == "silu":
            return bound.activated(v / (1.0 + backend.exp(-v)), g)
        if self.block.activation == "relu":
            return bound.activated(backend.maximum(v, 0.0), g)
        if self.block.activation == "gelu_new" and "inside_activation" not in self.left_out:
            return self.gelu_in_operations(g)
        angle = (v + v * v * v * 0.044715) * math.sqrt(2.0 / math.pi)
        return bound.activated(v * 0.5 * (1.0 + backend.tanh(angle)), g)

    def gelu_in_operations(self, g):
        """0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * pow(x, 3)))), each operation rounded;
        pow multiplies twice."""
        bound = self.bound
        cube = bound.rounded(bound.product(bound.rounded(bound.product(g, g)), g))
        inner = bound.rounded(bound.added(g, bound.rounded(bound.scaled(cube, 0.044715))))
        angle = bound.rounded(bound.scaled(inner, math.sqrt(2.0 / math.pi)))
        tanh = bound.rounded(Estimate(self.backend.tanh(angle.value),
                                      angle.error + 8.0 * ADD_ERROR))
        one_plus = bound.rounded(bound.added(tanh, bound.exact(tanh.value * 0.0 + 1.0)))
        return bound.product(bound.rounded(bound.scaled(g, 0.5)), one_plus)
