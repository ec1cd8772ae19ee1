#!/usr/bin/env python3
"""FlashFuser's feed-forward chains against the baselines: report.py <results.json> [--write FILE]

Reads a results file of `fusebox bench --shapes bench/flashfuser/shapes.json`, baselines merged
(bench/merge_baselines.py), and prints a table with the geometric mean of the speedups over each
baseline: its time over ours, behind another Fusebox kernel.
"""

import argparse
import json
import math
import pathlib
import sys

SHAPES = pathlib.Path(__file__).resolve().parent / "shapes.json"
KINDS = {"plain": "plain, relu (G)", "gated": "gated, silu (S)"}


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def rows_of(results, neighbours):
    return {row["model"].removesuffix(".json"): row for row in results["rows"]
            if row["neighbours"] == neighbours}


def speedups(shapes, rows, baseline):
    return [rows[shape["name"]]["baselines"][baseline] / rows[shape["name"]]["us"]
            for shape in shapes if baseline in rows.get(shape["name"], {}).get("baselines", {})]


def mean_cell(values):
    return f"{geometric_mean(values):.2f}x of {len(values)}" if values else "-"


def table(results, shapes):
    rows, foreign = rows_of(results, "fusebox"), rows_of(results, "foreign")
    baselines = sorted({name for row in rows.values() for name in row.get("baselines", {})})
    columns = ["shape", "hidden", "intermediate", "floor", "Fusebox", "behind a foreign kernel",
               *baselines]
    lines = [f"{results['gpu']}; driver {results['driver']}, CUDA {results['cuda']}; "
             f"{results['date'][:10]}; commit {results['commit']}. Times in us for "
             f"{'/'.join(sorted({str(row['tokens']) for row in rows.values()}))} tokens, bf16; in "
             "brackets the ratio to the floor, or how much faster Fusebox is.", "",
             f"| {' | '.join(columns)} |", f"|---|{'--:|' * (len(columns) - 1)}"]
    for shape in shapes:
        row = rows.get(shape["name"])
        cells = [shape["name"], str(shape["hidden"]), str(shape["intermediate"])]
        if row is None:
            cells += ["not timed"] + ["-"] * (len(columns) - len(cells) - 1)
        else:
            other = foreign.get(shape["name"])
            cells += [f"{row['floor_us']:.2f}", f"**{row['us']:.2f}** ({row['ratio']:.2f}x)",
                      f"{other['us']:.2f}" if other else "-"]
            times = (row.get("baselines", {}).get(name) for name in baselines)
            cells += [f"{us:.2f} ({us / row['us']:.2f}x)" if us else "-" for us in times]
        lines.append(f"| {' | '.join(cells)} |")
    kinds = {name: [shape for shape in shapes if shape["form"] == form]
             for form, name in KINDS.items()} | {"all": shapes}
    lines += ["", "Geometric mean of the speedups:", "", f"| | {' | '.join(baselines)} |",
              f"|---|{'--:|' * len(baselines)}"]
    for name, members in kinds.items():
        cells = (mean_cell(speedups(members, rows, baseline)) for baseline in baselines)
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, help="file to write the table to as well")
    arguments = parser.parse_args()
    try:
        results = json.loads(arguments.results.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"report: {arguments.results} cannot be read: {error}")
    shapes = json.loads(SHAPES.read_text(encoding="utf-8"))
    if not any(shape["name"] in rows_of(results, "fusebox") for shape in shapes):
        sys.exit(f"report: {arguments.results} has a row of none of the shapes")
    text = table(results, shapes)
    if arguments.write:
        arguments.write.write_text(text, encoding="utf-8")
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
