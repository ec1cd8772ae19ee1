#!/usr/bin/env python3
"""Turns the newest rows of bench/results/*.json into README's table of measured times.

README holds the table between two `<!-- results -->` lines. Without arguments the table is printed;
`--write` puts it into README.md; `--check` exits 1 where README.md differs. No row, no figure.
"""

import json
import pathlib
import sys

MARKER = "<!-- results -->"
NOTHING = "No results are committed yet: `fusebox bench` on a Hopper GPU writes them to `bench/results`."
RUN_FIELDS = ("gpu", "driver", "cuda", "date", "commit")
ROW_FIELDS = ("bench", "op", "model", "tokens", "dtype", "variant", "neighbours", "us", "floor_us",
              "ratio", "spread", "plan")


def fail(sentence):
    print(f"results: {sentence}", file=sys.stderr)
    sys.exit(1)


def read_run(path):
    try:
        run = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        fail(f"{path.name} cannot be read: {error}")
    missing = [field for field in (*RUN_FIELDS, "rows") if field not in run]
    if missing:
        fail(f"{path.name} lacks {', '.join(missing)}")
    for index, row in enumerate(run["rows"]):
        missing = [field for field in ROW_FIELDS if field not in row]
        if missing:
            fail(f"{path.name}: row {index} lacks {', '.join(missing)}")
    return run


def newest_rows(runs):
    """One (run, row) for each measurement: what was measured, and on which GPU, is the key."""
    newest = {}
    for run in sorted(runs, key=lambda run: run["date"]):
        for row in run["rows"]:
            key = (run["gpu"], row["bench"], row["model"], row["op"], row["variant"], row["neighbours"],
                   row["tokens"], row.get("batch"), row.get("kv"), row["dtype"])
            newest[key] = (run, row)
    return [newest[key] for key in sorted(newest, key=lambda key: tuple(str(part).zfill(8) for part in key))]


def short_model(row):
    return pathlib.PurePath(row["model"]).name.removesuffix(".json").split("--")[-1]


def cell(of_tokens):
    """Times of one model and token count: ours by neighbour, then each baseline."""
    rows = {row["neighbours"]: row for row in of_tokens}
    ours = rows.get("fusebox", next(iter(rows.values())))
    parts = [f"**{ours['us']:.1f}** ({ours['ratio']:.2f}x)"]
    if "foreign" in rows:
        parts.append(f"{rows['foreign']['us']:.1f}")
    parts += [f"{us:.1f}" for _, us in sorted(ours.get("baselines", {}).items())]
    return " / ".join(parts)


def ffn_table(rows):
    """A line a model, a column a token count; rows of one variant, of one op each model."""
    tokens = sorted({row["tokens"] for row in rows})
    lines = ["| model | floor | " + " | ".join(f"M={count}" for count in tokens) + " |",
             "|---|--:|" + "--:|" * len(tokens)]
    for op, model in sorted({(row["op"], short_model(row)) for row in rows}, key=lambda key: key[::-1]):
        of_model = [row for row in rows if (row["op"], short_model(row)) == (op, model)]
        cells = [cell(of_tokens) if (of_tokens := [row for row in of_model if row["tokens"] == count])
                 else "-" for count in tokens]
        lines.append(f"| {model} | {min(row['floor_us'] for row in of_model):.1f} | " +
                     " | ".join(cells) + " |")
    return "\n".join(lines)


def launch_cost_line(rows):
    beyond = [row["us"] - row["floor_us"] for row in rows]
    return ("A launch costs the CPU "
            f"{min(beyond):.2f} to {max(beyond):.2f} us beyond a bare `cuLaunchKernelEx` "
            f"({min(row['floor_us'] for row in rows):.1f} to {max(row['floor_us'] for row in rows):.1f} us).")


def table_of(runs):
    rows = newest_rows(runs)
    if not rows:
        return NOTHING
    parts = []
    for gpu in sorted({run["gpu"] for run, _ in rows}):
        of_gpu = [(run, row) for run, row in rows if run["gpu"] == gpu]
        baselines = sorted({name for _, row in of_gpu for name in row.get("baselines", {})})
        dates = sorted({str(run["date"])[:10] for run, _ in of_gpu})
        drivers = sorted({f"driver {run['driver']}, CUDA {run['cuda']}" for run, _ in of_gpu})
        when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        parts.append(f"{gpu}; {'; '.join(drivers)}; measured {when}. Times in us: "
                     "**behind another Fusebox kernel** (ratio to the floor of the same run) / behind a "
                     "foreign kernel" + "".join(f" / {name} in a graph" for name in baselines) + ".")
        for variant in sorted({row["variant"] for _, row in of_gpu if row["bench"] == "ffn"}):
            parts.append(f"ffn, {variant}:")
            parts.append(ffn_table([row for _, row in of_gpu
                                    if row["bench"] == "ffn" and row["variant"] == variant]))
        launches = [row for _, row in of_gpu if row["bench"] == "launch_cost"]
        if launches:
            parts.append(launch_cost_line(launches))
    return "\n\n".join(parts)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    runs = [read_run(path) for path in sorted((root / "bench/results").glob("*.json"))]
    table = table_of(runs)
    if not sys.argv[1:]:
        print(table)
        return 0
    readme = root / "README.md"
    parts = readme.read_text(encoding="utf-8").split(MARKER)
    if len(parts) != 3:
        fail(f"README.md must hold the table between two lines {MARKER}")
    if sys.argv[1] == "--write":
        readme.write_text(f"{parts[0]}{MARKER}\n{table}\n{MARKER}{parts[2]}", encoding="utf-8")
        return 0
    if sys.argv[1] == "--check":
        if parts[1].strip() != table.strip():
            fail("README.md differs from bench/results; bench/make_readme_table.py --write mends it")
        return 0
    fail(f"{sys.argv[1]} is unknown; use --write or --check")


if __name__ == "__main__":
    sys.exit(main())
