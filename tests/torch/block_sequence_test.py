#!/usr/bin/env python3
"""Sequence, bound and comparison on small blocks, without torch: fp32 sums in many orders stay
within the bound, faults do not, and a rounding left out is told.
"""

import math
import random
import struct
import unittest

import block_sequence
import comparison
import float_formats
import list_backend
from block_sequence import Block, Sequence
from list_backend import Matrix

BLOCKS = {
    "Llama as vLLM has it": Block(40, 64, True, "silu", "rms", "add_before_norm", 1e-5),
    "Llama as transformers has it": Block(40, 64, True, "silu", "rms", "add_after", 1e-5),
    "Gemma 2": Block(40, 64, True, "gelu_tanh", "rms_plus_one", "sandwich", 1e-6),
    "OPT": Block(40, 64, False, "relu", "layer", "add_after", 1e-5),
    "GPT-2 as transformers has it": Block(40, 64, False, "gelu_new", "layer", "add_after", 1e-5),
}
TOKENS = 10


def fp32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def random_operands(block, dtype, seed):
    """Weights as lists of rows, and x and residual, all values of the dtype."""
    generator = random.Random(seed)

    def drawn(rows, columns, spread, centre=0.0):
        return [[float_formats.round_to(dtype, generator.gauss(centre, spread))
                 for _ in range(columns)] for _ in range(rows)]
    hidden, intermediate = block.hidden, block.intermediate
    weights = {"up": drawn(intermediate, hidden, hidden**-0.5),
               "down": drawn(hidden, intermediate, 2.0 * intermediate**-0.5),
               "norm_weight": drawn(1, hidden, 0.2, 0.0 if block.norm == "rms_plus_one" else 1.0)}
    if block.gated:
        weights["gate"] = drawn(intermediate, hidden, hidden**-0.5)
    if block.norm == "layer":
        weights |= {"norm_bias": drawn(1, hidden, 0.2), "up_bias": drawn(1, intermediate, 0.2),
                    "down_bias": drawn(1, hidden, 0.2)}
    if block.residual_mode == "sandwich":
        weights["second_norm_weight"] = drawn(1, hidden, 0.2)
    return weights, drawn(TOKENS, hidden, 1.0), drawn(TOKENS, hidden, 1.0)


class Simulated:
    """The block in scalar fp32, sums in an order of its own; shares no code with the sequence."""

    def __init__(self, block, dtype, weights, seed, left_out=()):
        self.block, self.dtype, self.weights, self.left_out = block, dtype, weights, left_out
        self.generator = random.Random(seed)

    def rounded(self, point, value):
        return value if point in self.left_out else float_formats.round_to(self.dtype, value)

    def sum(self, terms):
        terms = list(terms)
        self.generator.shuffle(terms)
        total = 0.0
        for term in terms:
            total = fp32(total + term)
        return total

    def norm(self, row, point):
        block = self.block
        weight = self.weights[f"{point}_weight"][0]
        mean = fp32(self.sum(row) / len(row)) if block.norm == "layer" else 0.0
        left = [fp32(value - mean) for value in row]
        variance = fp32(self.sum(fp32(value * value) for value in left) / len(row))
        scale = fp32(1.0 / fp32(math.sqrt(fp32(variance + block.eps))))
        out = []
        for index, value in enumerate(left):
            value = fp32(value * scale)
            if block.norm == "rms":
                value = self.rounded("normalized", value) * weight[index]
            elif block.norm == "rms_plus_one":
                value = fp32(value * fp32(1.0 + weight[index]))
            else:
                value = fp32(fp32(value * weight[index]) + self.weights[f"{point}_bias"][0][index])
            out.append(self.rounded(point, value))
        return out

    def project(self, row, name):
        bias = self.weights.get(f"{name}_bias")
        sums = [self.sum(fp32(x * w) for x, w in zip(row, weight)) for weight in self.weights[name]]
        return [fp32(total + bias[0][index]) if bias else total
                for index, total in enumerate(sums)]

    def activate(self, value):
        if self.block.activation == "silu":
            return fp32(value / (1.0 + math.exp(-value)))
        if self.block.activation == "relu":
            return max(value, 0.0)
        if self.block.activation == "gelu_new" and "inside_activation" not in self.left_out:
            def r(number):
                return float_formats.round_to(self.dtype, fp32(number))
            inner = r(value + r(0.044715 * r(r(value * value) * value)))
            return r(0.5 * value) * r(1.0 + r(math.tanh(r(math.sqrt(2.0 / math.pi) * inner))))
        angle = math.sqrt(2.0 / math.pi) * (value + 0.044715 * value**3)
        return fp32(0.5 * value * (1.0 + math.tanh(angle)))

    def row(self, x, residual):
        """y before its last rounding."""
        block = self.block
        if block.residual_mode == "add_before_norm":
            x = [self.rounded("residual_sum", fp32(a + b)) for a, b in zip(x, residual)]
        normalized = self.norm(x, "norm")
        up = [self.rounded("up", value) for value in self.project(normalized, "up")]
        if block.gated:
            gate = [self.rounded("gate", value) for value in self.project(normalized, "gate")]
            h = [fp32(self.rounded("activation", self.activate(g)) * u) for g, u in zip(gate, up)]
        else:
            h = [self.activate(value) for value in up]
        y = self.project([float_formats.round_to(self.dtype, value) for value in h], "down")
        if block.residual_mode == "add_before_norm":
            return y
        y = [self.rounded("block", value) for value in y]
        if block.residual_mode == "sandwich":
            y = self.norm(y, "second_norm")
        return [fp32(a + b) for a, b in zip(x, y)]

    def unrounded(self, x, residual):
        """y before its last rounding, which hides others where results are as few as here."""
        return Matrix([self.row(a, b) for a, b in zip(x, residual)])

    def run(self, x, residual):
        return list_backend.round_to(self.dtype, self.unrounded(x, residual))


def run_sequence(block, dtype, operands, **options):
    weights, x, residual = operands
    matrices = {name: Matrix(rows) for name, rows in weights.items()}
    return Sequence(list_backend, dtype, block, **options).run(matrices, Matrix(x),
                                                               Matrix(residual))


def faults(block, weights):
    """Weights as a broken binding would hand them over."""
    up = weights["up"]
    yield "two rows of up exchanged", weights | {"up": [up[1], up[0]] + up[2:]}
    yield "a row of down shifted", weights | {
        "down": [weights["down"][0][1:] + weights["down"][0][:1]] + weights["down"][1:]}
    yield "another norm weight", weights | {
        "norm_weight": [[value + 1.0 for value in weights["norm_weight"][0]]]}
    if block.gated:
        yield "gate and up exchanged", weights | {"up": weights["gate"], "gate": up}
    else:
        yield "no bias of up", {name: rows for name, rows in weights.items() if name != "up_bias"}
        yield "no bias of down", {name: rows for name, rows in weights.items()
                                  if name != "down_bias"}
    if block.residual_mode == "sandwich":
        yield "no second norm weight", weights | {"second_norm_weight": [[0.0] * block.hidden]}


class FloatFormatsTest(unittest.TestCase):
    def test_ties_go_to_even_and_what_is_too_large_is_infinite(self):
        for dtype, value, rounded in (
                ("bf16", 1.0 + 2.0**-8, 1.0), ("bf16", 1.0 + 3 * 2.0**-8, 1.0 + 2.0**-6),
                ("bf16", 1.0 + 2.0**-8 + 2.0**-40, 1.0 + 2.0**-7), ("bf16", -2.0**-134, -0.0),
                ("fp16", 2.0**-25, 0.0), ("fp16", 3 * 2.0**-25, 2.0**-23),
                ("fp16", 65519.99, 65504.0), ("fp16", 65520.0, math.inf),
                ("fp16", 1.0 + 2.0**-11, 1.0), ("fp32", 1.0 + 2.0**-24, 1.0)):
            with self.subTest(dtype=dtype, value=value):
                self.assertEqual(float_formats.round_to(dtype, value), rounded)

    def test_fp32_is_the_machines(self):
        generator = random.Random(1)
        for _ in range(2000):
            value = generator.gauss(0.0, 1.0) * 2.0**generator.randint(-140, 120)
            self.assertEqual(float_formats.round_to("fp32", value), fp32(value))

    def test_ulp_is_the_distance_to_the_neighbour(self):
        for dtype, value, unit in (("bf16", 1.0, 2.0**-7), ("bf16", 1.99, 2.0**-7),
                                   ("fp16", -2.0, 2.0**-9), ("fp16", 1e-6, 2.0**-24),
                                   ("bf16", 0.0, 2.0**-133), ("fp16", -0.0, 2.0**-24)):
            self.assertEqual(float_formats.ulp(dtype, value), unit)


class BoundTest(unittest.TestCase):
    def test_sums_in_any_order_stay_within_the_bound_and_faults_do_not(self):
        for name, block in BLOCKS.items():
            for dtype in ("bf16", "fp16"):
                operands = random_operands(block, dtype, f"{name} {dtype}")
                weights, x, residual = operands
                outputs = run_sequence(block, dtype, operands)
                for order in range(3):
                    with self.subTest(name, dtype=dtype, order=order):
                        got = Simulated(block, dtype, weights, order).run(x, residual)
                        ratio = comparison.worst_ratio(list_backend, got, outputs)
                        self.assertLessEqual(ratio, 1.0)
                        self.assertGreater(ratio, 0.1)  # a bound this far off would show nothing
                for fault, broken in faults(block, weights):
                    with self.subTest(name, dtype=dtype, fault=fault):
                        got = Simulated(block, dtype, broken, 0).run(x, residual)
                        self.assertGreater(
                            comparison.worst_ratio(list_backend, got, outputs), 1.0)

    def test_a_result_that_is_no_number_is_within_no_bound(self):
        block = BLOCKS["OPT"]
        operands = random_operands(block, "bf16", 3)
        outputs = run_sequence(block, "bf16", operands)
        got = Matrix(outputs.y.value.rows)
        got.rows[1][2] = math.nan
        self.assertFalse(comparison.worst_ratio(list_backend, got, outputs) <= 1.0)


class RoundingTest(unittest.TestCase):
    def test_a_rounding_is_seen_where_it_is_and_where_it_is_left_out(self):
        for name, block in BLOCKS.items():
            dtype = "bf16"
            operands = random_operands(block, dtype, name)
            weights, x, residual = operands
            rounding, _, _, addend = run_sequence(block, dtype, operands)
            rounding = rounding.value
            unit = comparison.row_unit(list_backend, dtype, rounding, addend)
            got = Simulated(block, dtype, weights, 0).unrounded(x, residual)
            for point in block_sequence.rounding_points(block):
                without = run_sequence(block, dtype, operands, left_out=(point,)).y.value
                other = Simulated(block, dtype, weights, 0, (point,)).unrounded(x, residual)
                seen = [comparison.rounding_verdict(list_backend, result, rounding, without, unit)
                        for result in (got, other)]
                with self.subTest(name, point=point):
                    self.assertEqual(seen, ["rounds", "does not round"])

    def test_what_does_not_change_the_result_is_not_judged(self):
        y = Matrix([[1.0, 2.0]])
        self.assertEqual(comparison.rounding_verdict(list_backend, y, y, y, y), "no effect")


class SharesTest(unittest.TestCase):
    def test_units_are_of_the_element_or_of_its_row(self):
        # The row's root mean square is 1.4, its unit in bf16 2^-7; the second element's is 2^-14.
        reference = Matrix([[2.0, 2.0**-7, 0.0]])
        near = Matrix([[2.0 + 2.0**-6, 2.0**-7 + 2.0**-7, 2.0**-7]])
        made = comparison.shares(list_backend, "bf16", near, reference, None)
        self.assertEqual((made["row_unit"], made["strict"], made["equal"]), (1.0, 1 / 3, 0.0))
        far = Matrix([[2.0 + 2.0**-5, 2.0**-7 + 2.0**-6, math.nan]])
        self.assertEqual(comparison.shares(list_backend, "bf16", far, reference, None)["row_unit"],
                         0.0)

    def test_a_unit_of_a_large_addend_is_one_of_the_row(self):
        reference, addend = Matrix([[1.0, 1.0]]), Matrix([[-9.0, 1.0]])
        got = Matrix([[1.0 + 2.0**-4, 1.0 + 2.0**-4]])
        made = comparison.shares(list_backend, "bf16", got, reference, addend)
        self.assertEqual((made["row_unit"], made["strict"]), (0.5, 0.0))

    def test_bins_hold_each_element_once(self):
        generator = random.Random(5)
        reference = Matrix([[generator.gauss(0.0, 1.0) for _ in range(200)] for _ in range(3)])
        made = comparison.shares(list_backend, "fp16", reference, reference, None)
        bins = made["strict_by_magnitude"]
        self.assertEqual(sum(part["elements"] for part in bins), 600)
        self.assertEqual({part["strict"] for part in bins}, {1.0})


if __name__ == "__main__":
    unittest.main(verbosity=2)
