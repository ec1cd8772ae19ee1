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


def figure(value, decimals):
    return "-" if value is None else f"{value:.{decimals}f}"


def row_line(row, baselines):
    model = pathlib.PurePath(row["model"]).name.removesuffix(".json")
    cells = [model, f"`{row['op']}`", str(row["tokens"]), row["variant"], row["neighbours"],
             figure(row["us"], 2), figure(row["floor_us"], 2), figure(row["ratio"], 2)]
    cells += [figure(row.get("baselines", {}).get(name), 2) for name in baselines]
    return "| " + " | ".join(cells) + " |"


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
        heads = ["model", "op", "tokens", "variant", "neighbours", "us", "floor us", "ratio",
                 *(f"{name} us" for name in baselines)]
        parts.append("\n".join([
            f"{gpu}; {'; '.join(drivers)}; measured {dates[0] if len(dates) == 1 else f'{dates[0]} to {dates[-1]}'}.",
            "",
            "| " + " | ".join(heads) + " |",
            "|" + "---|" * 5 + "--:|" * (len(heads) - 5),
            *(row_line(row, baselines) for _, row in of_gpu)]))
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
