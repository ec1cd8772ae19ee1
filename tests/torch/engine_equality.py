#!/usr/bin/env python3
"""Fusebox against the engines' own PyTorch operations on a Hopper GPU: engine_equality.py LIBRARY.

For each model, engine, dtype and token count one row: how many elements are within one unit in the
last place of the engine's own result (comparison.py), how many of the engine's own are where it
takes another path (the control), the worst distance over the derived bound (error_bound.py), and
where Fusebox rounds. A row passes when at least 99.9 % are within one row unit, all within the
bound, residual_out is bitwise the engine's, and no rounding of the engine's is missing. Exit codes:
0 all rows passed, 1 some failed, 2 wrong arguments, 3 no GPU, torch or transformers.
"""

import argparse
import contextlib
import datetime
import json
import math
import pathlib
import sys

try:
    import torch
    import transformers
except ImportError as missing:
    print(f"engine_equality: {missing.name} is not installed", file=sys.stderr)
    sys.exit(3)

import block_sequence
import comparison
import engine_blocks
import fusebox_api
import torch_backend
from block_sequence import Sequence
from fused_case import DTYPES, Case, Fusebox

MODELS = ("meta-llama--Llama-3.1-8B", "Qwen--Qwen2.5-7B", "google--gemma-2-2b",
          "facebook--opt-1.3b", "openai-community--gpt2")
TOKENS = (1, 8, 32, 64, 128)
REQUIRED_SHARE = 0.999
PADDED_ROWS = (16, 256)  # other batch sizes that an engine's graphs may round a batch up to


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
    contract = sequence()
    exact, _, _, addend = sequence(carries_error=False)
    exact = exact.value
    unit = comparison.row_unit(torch_backend, case.dtype, exact, addend)
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
        "fusebox": comparison.shares(torch_backend, case.dtype, got, reference, addend),
        "control": {name: comparison.shares(torch_backend, case.dtype, other, reference, addend)
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
    started = False
    for tokens in fusebox.tokens:
        row = {"model": case.model, "engine": case.engine, "dtype": case.dtype, "tokens": tokens,
               "verdict": "declined", "note": case.note}
        if case.op is not None:
            try:
                case.op.prepare([tokens])
                if not started:
                    case.start(torch.device("cuda"), max(fusebox.tokens + PADDED_ROWS), seed)
                    started = True
                row = row_of(fusebox, case, tokens)
            except fusebox_api.Declined as declined:
                row["note"] = str(declined)
            except fusebox_api.Failed as failed:
                row |= {"verdict": "failed", "note": str(failed)}
        yield row
    if started:
        case.close()
        torch.cuda.empty_cache()


def check_torch_backend():
    """Rounding on the GPU is float_formats', which has tests of its own."""
    import float_formats
    values = [sign * scale * (1.0 + step * 2.0**-12) for sign in (-1.0, 1.0)
              for scale in (0.0, 1.0, 2.0**-15, 2.0**-24, 2.0**-130, 65504.0) for step in range(33)]
    tensor = torch.tensor(values, dtype=torch.float64, device="cuda")
    for dtype in DTYPES:
        for got, expected in ((torch_backend.round_to(dtype, tensor), float_formats.round_to),
                              (torch_backend.ulp(dtype, tensor), float_formats.ulp)):
            if got.tolist() != [expected(dtype, value) for value in values]:
                sys.exit(f"engine_equality: {expected.__name__} of {dtype} differs on the GPU")


def names_among(known):
    def parse(text):
        names = text.split(",")
        for name in names:
            if name not in known:
                raise argparse.ArgumentTypeError(f"{name} is none of {', '.join(known)}")
        return names
    return parse


def token_counts(text):
    counts = tuple(int(count) for count in text.split(","))
    if min(counts) < 1:
        raise argparse.ArgumentTypeError(f"{min(counts)} is no token count; use 1 or more")
    return counts


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("library", type=pathlib.Path, help="libfusebox.so")
    parser.add_argument("--models", default=",".join(MODELS), type=names_among(MODELS))
    parser.add_argument("--engines", default="hf,vllm", type=names_among(engine_blocks.ENGINES))
    parser.add_argument("--dtypes", default="bf16,fp16", type=names_among(DTYPES))
    parser.add_argument("--tokens", default=",".join(map(str, TOKENS)), type=token_counts)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--commit", default="unknown", help="for the JSON file")
    parser.add_argument("--json", type=pathlib.Path, help="file to write")
    arguments = parser.parse_args()
    if not arguments.library.is_file():
        parser.error(f"{arguments.library} is no file; give the libfusebox.so of a build")
    return arguments


def make_cases(fusebox, arguments):
    """All ops at once, so that their kernels are compiled side by side."""
    cases = [Case(fusebox, model, engine, dtype) for model in arguments.models
             for engine in arguments.engines for dtype in arguments.dtypes]
    served = [case for case in cases if case.op is not None]
    for case in served:
        case.queue(arguments.tokens)
    fusebox.engine.wait()
    if served:
        fusebox.reserve([case.op for case in served])
    return cases


def describe_run(fusebox, arguments):
    now = datetime.datetime.now(datetime.timezone.utc)
    return {"gpu": torch.cuda.get_device_name(), "torch": torch.__version__,
            "cuda": torch.version.cuda, "transformers": transformers.__version__,
            "date": now.strftime("%Y-%m-%dT%H:%M:%SZ"), "commit": arguments.commit,
            "fusebox": fusebox.library.version(), "seed": arguments.seed, "rows": []}


def main():
    arguments = parse_arguments()
    if not torch.cuda.is_available():
        print("engine_equality: PyTorch sees no GPU", file=sys.stderr)
        return 3
    torch.cuda.init()
    check_torch_backend()
    try:
        fusebox = Fusebox(arguments.library, arguments.tokens)
        cases = make_cases(fusebox, arguments)
    except fusebox_api.Failed as failed:
        print(f"engine_equality: {failed}", file=sys.stderr)
        return 1
    results = describe_run(fusebox, arguments)
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
    control = min((paths["row_unit"] for row in compared for paths in row["control"].values()),
                  default=math.nan)
    print(f"{results['gpu']}, PyTorch {results['torch']}: " + ", ".join(
        f"{count} {verdict}" for verdict, count in counts.items())
        + f"; least share within one row unit {worst:.4%}, of the engines' own paths {control:.4%}")
    return 1 if counts["failed"] or unserved or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
