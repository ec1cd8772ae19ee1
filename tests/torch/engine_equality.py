#!/usr/bin/env python3
"""Fusebox against the engines' own PyTorch operations on a Hopper GPU: engine_equality.py LIBRARY.

For each model, engine, dtype and token count one row: how many elements are within one unit in the
last place of the engine's own result (comparison.py), how many of the engine's own are where it
takes another path (the control), the worst distance over the derived bound (error_bound.py), and
where Fusebox rounds. A row passes when at least 99.9 % are within one row unit, all within the
bound, residual_out is bitwise the engine's, and no rounding of the engine's is missing. Exit codes:
0 all rows passed, 1 some failed, 3 no GPU.
"""

import argparse
import contextlib
import json
import math
import pathlib
import sys

import torch

import block_sequence
import comparison
import engine_blocks
import fusebox_api
import torch_backend
from block_sequence import Sequence

MODELS = ("meta-llama--Llama-3.1-8B", "Qwen--Qwen2.5-7B", "google--gemma-2-2b",
          "facebook--opt-1.3b", "openai-community--gpt2")
TOKENS = (1, 8, 32, 64, 128)
DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16}
REQUIRED_SHARE = 0.999
DEVICE = "cuda"
PADDED_ROWS = (16, 256)  # other batch sizes that an engine's graphs may round a batch up to


class Case:
    """One model, engine and dtype: the engine's block, and Fusebox's op on its weights."""

    def __init__(self, fusebox, model, engine, dtype):
        self.model, self.engine, self.dtype = model, engine, dtype
        self.config = engine_blocks.read_config(model)
        self.block = engine_blocks.block_of(self.config, engine)
        self.note = engine_blocks.unserved_by_engine(self.config, engine, dtype)
        self.op = None
        if self.note is None:
            self.make_op(fusebox)

    def make_op(self, fusebox):
        engine_class = engine_blocks.ENGINES[self.engine]
        in_out = engine_blocks.FAMILIES[self.config["model_type"]].in_out and self.engine == "hf"
        self.layout = "in_out" if in_out else "out_in"
        desc = {
            "hidden": self.block.hidden, "intermediate": self.block.intermediate,
            "dtype": fusebox_api.DTYPES[self.dtype], "gated": int(self.block.gated),
            "activation": fusebox_api.ACTIVATIONS[
                "gelu_tanh" if self.block.activation == "gelu_new" else self.block.activation],
            "gate_up": fusebox_api.GATE_UP[engine_class.gate_up if self.block.gated else "fused"],
            "norm": fusebox_api.NORMS[self.block.norm],
            "residual_mode": fusebox_api.RESIDUAL_MODES[self.block.residual_mode],
            "rounding": fusebox_api.ROUNDINGS[self.engine]}
        if self.block.norm == "layer":
            desc["biases"] = fusebox_api.BIAS_UP | fusebox_api.BIAS_DOWN
        for limit in sorted(fusebox.tokens, reverse=True):
            try:
                self.op = self.op_of_layout(fusebox, desc | {"max_tokens": limit})
            except fusebox_api.Declined as declined:
                self.note = str(declined)
                continue
            break

    def op_of_layout(self, fusebox, desc):
        try:
            return fusebox_api.Op(fusebox.engine, layout=fusebox_api.LAYOUTS[self.layout], **desc)
        except fusebox_api.Declined as declined:
            if self.layout != "in_out" or not str(declined).startswith("layout"):
                raise
            self.layout = "out_in"
            return fusebox_api.Op(fusebox.engine, **desc)

    def queue(self, tokens):
        """Compiles in the background what is served; what is not declines again later."""
        for count in tokens:
            with contextlib.suppress(fusebox_api.Declined):
                self.op.prepare([count], fusebox_api.PREPARE_BACKGROUND)

    def start(self, device, rows, seed):
        generator = torch.Generator(device).manual_seed(seed)
        dtype = DTYPES[self.dtype]
        weights = engine_blocks.random_weights(self.block, dtype, device, generator)
        self.engine_block = engine_blocks.ENGINES[self.engine](self.config, self.block, weights)
        self.exact_weights = {name: weight.double() for name, weight in weights.items()}
        self.x, self.residual = (
            torch.randn(rows, self.block.hidden, device=device, generator=generator).to(dtype)
            for _ in range(2))
        self.bound_tensors = dict(self.engine_block.weight_pointers)  # kept as long as the binding
        if self.layout != self.engine_block.layout:
            for name in ("up", "down"):
                self.bound_tensors[name] = self.bound_tensors[name].t().contiguous()
        self.binding = fusebox_api.Binding(self.op, eps=self.block.eps, **{
            name: tensor.data_ptr() for name, tensor in self.bound_tensors.items()})

    def close(self):
        self.binding.close()
        self.op.close()
        del self.engine_block, self.exact_weights, self.bound_tensors


class Fusebox:
    """The library, an engine for the current GPU, and a stream and workspace of our own."""

    def __init__(self, path, tokens):
        self.library = fusebox_api.Library(path)
        self.tokens = tokens
        self.engine = fusebox_api.Engine(self.library, device_ordinal=torch.cuda.current_device(),
                                         compile_threads=8)
        self.stream = torch.cuda.Stream()

    def reserve(self, ops):
        size = max(op.workspace_bytes() for op in ops)
        self.workspace = torch.empty(size, dtype=torch.uint8, device=DEVICE)
        torch.cuda.synchronize()
        ops[0].init_workspace(self.workspace.data_ptr(), size, self.stream.cuda_stream)

    def launch(self, case, tokens):
        """y and residual_out, from buffers of NaN."""
        y, residual_out = (torch.full((tokens, case.block.hidden), float("nan"),
                                      dtype=case.x.dtype, device=DEVICE) for _ in range(2))
        arguments = {"tokens": tokens, "x": case.x.data_ptr(), "y": y.data_ptr(),
                     "workspace": self.workspace.data_ptr(),
                     "workspace_bytes": self.workspace.numel()}
        if case.block.residual_mode == "add_before_norm":
            arguments |= {"residual": case.residual.data_ptr(),
                          "residual_out": residual_out.data_ptr()}
        torch.cuda.synchronize()
        case.binding.launch(self.stream.cuda_stream, **arguments)
        torch.cuda.synchronize()
        return y, residual_out


@contextlib.contextmanager
def full_precision_sums():
    """Without cuBLAS's right to add parts of a sum in the dtype, which PyTorch grants by default,
    and so do the engines."""
    flags = torch.backends.cuda.matmul
    flags.allow_bf16_reduced_precision_reduction = False
    flags.allow_fp16_reduced_precision_reduction = False
    try:
        yield
    finally:
        flags.allow_bf16_reduced_precision_reduction = True
        flags.allow_fp16_reduced_precision_reduction = True


def engine_paths(case, tokens):
    """The engine's own result, and the same on other paths that are as good."""
    def run(rows):
        y, residual_out = case.engine_block(case.x[:rows], case.residual[:rows])
        return y[:tokens].double(), residual_out
    reference, residual_out = run(tokens)
    others = {f"padded to {rows} rows": run(rows)[0] for rows in PADDED_ROWS if rows > tokens}
    with full_precision_sums():
        others["fp32 partial sums"] = run(tokens)[0]
    return reference, residual_out, others


def row_of(fusebox, case, tokens):
    x, residual = case.x[:tokens].double(), case.residual[:tokens].double()
    y, residual_out = fusebox.launch(case, tokens)
    got = y.double()
    reference, engine_residual, others = engine_paths(case, tokens)

    def sequence(**options):
        return Sequence(torch_backend, case.dtype, case.block, **options).run(
            case.exact_weights, x, residual)
    # The contract rounds an activation once; an engine may build it of several operations.
    contract = sequence(left_out=("inside_activation",))
    exact = sequence(carries_error=False).y.value
    unit = comparison.row_unit(torch_backend, case.dtype, exact)
    roundings = {}
    for point in block_sequence.rounding_points(case.block):
        without = sequence(left_out=(point,), carries_error=False).y.value
        roundings[point] = {
            name: comparison.rounding_verdict(torch_backend, result, exact, without, unit)
            for name, result in (("fusebox", got), ("engine", reference))}
    stored = torch_backend.round_to(case.dtype, exact)
    row = {
        "model": case.model, "engine": case.engine, "dtype": case.dtype, "tokens": tokens,
        "layout": case.layout, "transposed_copy": case.layout != case.engine_block.layout,
        "fusebox": comparison.shares(torch_backend, case.dtype, got, reference),
        "control": {name: comparison.shares(torch_backend, case.dtype, other, reference)
                    for name, other in (others | {"exact sums": stored}).items()},
        "worst_error_over_bound": comparison.worst_ratio(torch_backend, got, contract),
        "engine_error_over_bound": comparison.worst_ratio(torch_backend, reference, contract),
        "roundings": roundings,
        "residual_out_equal": (None if engine_residual is None
                               else bool(torch.equal(residual_out, engine_residual))),
    }
    row["failures"] = failures_of(row)
    row["verdict"] = "failed" if row["failures"] else "passed"
    return row


def failures_of(row):
    failures = []
    if not row["fusebox"]["row_unit"] >= REQUIRED_SHARE:
        failures.append(f"{row['fusebox']['row_unit']:.5%} within one row unit")
    if not row["worst_error_over_bound"] <= 1.0:
        failures.append(f"error/bound {row['worst_error_over_bound']:.3g}")
    if row["residual_out_equal"] is False:
        failures.append("residual_out differs")
    failures += [f"no rounding at {point}" for point, seen in row["roundings"].items()
                 if seen["engine"] == "rounds" and seen["fusebox"] == "does not round"]
    return failures


def sentence_of(row):
    name = f"{row['model']} {row['engine']} {row['dtype']} M {row['tokens']}"
    if "note" in row:
        return f"{name}: {row['verdict']}, {row['note']}"
    shares = [min(paths[unit] for paths in row["control"].values())
              for unit in ("row_unit", "strict")]
    text = (f"{name}: within one row unit {row['fusebox']['row_unit']:.4%} (the engine's own paths "
            f"{shares[0]:.4%}), strictly {row['fusebox']['strict']:.3%} ({shares[1]:.3%}), "
            f"error/bound {row['worst_error_over_bound']:.3f}")
    if row["transposed_copy"]:
        text += ", weights transposed"
    return text + "".join(f"; WRONG: {failure}" for failure in row["failures"])


def rows_of(fusebox, case, seed):
    served = 0
    for tokens in fusebox.tokens:
        row = {"model": case.model, "engine": case.engine, "dtype": case.dtype, "tokens": tokens,
               "verdict": "declined", "note": case.note}
        if case.op is not None:
            try:
                case.op.prepare([tokens])
            except fusebox_api.Declined as declined:
                yield row | {"note": str(declined)}
                continue
            except fusebox_api.Failed as failed:
                yield row | {"verdict": "failed", "note": str(failed)}
                continue
            if served == 0:
                case.start(torch.device(DEVICE), max(fusebox.tokens + PADDED_ROWS), seed)
            served += 1
            row = row_of(fusebox, case, tokens)
        yield row
    if served > 0:
        case.close()
        torch.cuda.empty_cache()


def check_torch_backend():
    """Rounding on the GPU is float_formats', which has tests of its own."""
    import float_formats
    values = [sign * scale * (1.0 + step * 2.0**-12) for sign in (-1.0, 1.0)
              for scale in (1.0, 2.0**-15, 2.0**-24, 2.0**-130, 65504.0) for step in range(33)]
    tensor = torch.tensor(values, dtype=torch.float64, device=DEVICE)
    for dtype in DTYPES:
        for got, expected in ((torch_backend.round_to(dtype, tensor), float_formats.round_to),
                              (torch_backend.ulp(dtype, tensor), float_formats.ulp)):
            if got.tolist() != [expected(dtype, value) for value in values]:
                sys.exit(f"engine_equality: {expected.__name__} of {dtype} differs on the GPU")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="libfusebox.so")
    parser.add_argument("--models", default=",".join(MODELS), type=lambda text: text.split(","),
                        help="names in bench/models, without .json")
    parser.add_argument("--engines", default="hf,vllm", type=lambda text: text.split(","))
    parser.add_argument("--dtypes", default="bf16,fp16", type=lambda text: text.split(","))
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)),
                        type=lambda text: tuple(int(count) for count in text.split(",")))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=pathlib.Path, help="file to write")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        print("engine_equality: PyTorch sees no GPU", file=sys.stderr)
        return 3
    torch.cuda.init()
    check_torch_backend()
    fusebox = Fusebox(arguments.library, arguments.tokens)
    cases = [Case(fusebox, model, engine, dtype) for model in arguments.models
             for engine in arguments.engines for dtype in arguments.dtypes]
    served = [case for case in cases if case.op is not None]
    for case in served:
        case.queue(arguments.tokens)
    fusebox.engine.wait()
    if served:
        fusebox.reserve([case.op for case in served])
    results = {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
               "cuda": torch.version.cuda, "fusebox": fusebox.library.version(),
               "seed": arguments.seed, "rows": []}
    with torch.inference_mode():
        for case in cases:
            for row in rows_of(fusebox, case, arguments.seed):
                results["rows"].append(row)
                print(sentence_of(row), flush=True)
                if arguments.json:  # after every row: a time limit loses none that are done
                    write_results(arguments.json, results)
    return summarize(results, cases)


def write_results(path, results):
    """A row a line; a ratio that is no number, for want of a result or of a bound, as null."""
    def valid(value):
        return None if isinstance(value, float) and not math.isfinite(value) else value
    rows = ",\n".join(json.dumps({name: valid(value) for name, value in row.items()})
                      for row in results["rows"])
    head = json.dumps({name: value for name, value in results.items() if name != "rows"})
    path.write_text(f'{head[:-1]}, "rows": [\n{rows}\n]}}\n', encoding="utf-8")


def summarize(results, cases):
    counts = {verdict: sum(row["verdict"] == verdict for row in results["rows"])
              for verdict in ("passed", "failed", "declined")}
    unserved = [f"{case.model} {case.engine} {case.dtype}" for case in cases if case.op is None
                and not engine_blocks.unserved_by_engine(case.config, case.engine, case.dtype)]
    for name in unserved:
        print(f"FAILED: {name}: no token count is served")
    compared = [row for row in results["rows"] if "fusebox" in row]
    worst = min((row["fusebox"]["row_unit"] for row in compared), default=math.nan)
    print(f"{results['gpu']}, PyTorch {results['torch']}: " + ", ".join(
        f"{count} {verdict}" for verdict, count in counts.items())
        + f"; least share within one row unit {worst:.4%}")
    return 1 if counts["failed"] or unserved or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
