#!/usr/bin/env python3
"""Folds baselines into a results file: merge_baselines.py <results.json> <baselines.json> ...

A row of `fusebox bench` gets the figures of the same model, dims and token count, where its bench is
ffn and its variant bare: what the baselines compute. Both must come from one GPU.
"""

import json
import pathlib
import sys


def read(path):
    try:
        return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        sys.exit(f"merge_baselines: {path} cannot be read: {error}")


def stem(model):
    return pathlib.PurePath(model).name.removesuffix(".json")


def matches(row, baseline):
    dims = f"_h{baseline['hidden']}_i{baseline['intermediate']}"
    return (row["bench"] == "ffn" and row["variant"] == "bare" and row["dtype"] == "bf16"
            and stem(row["model"]) == stem(baseline["model"])
            and row["tokens"] == baseline["tokens"] and f"{dims}_" in row["op"] + "_")


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    results = read(sys.argv[1])
    num_rows = 0
    for path in sys.argv[2:]:
        baselines = read(path)
        if baselines["gpu"] != results["gpu"]:
            sys.exit(f"merge_baselines: {path} is of {baselines['gpu']}, "
                     f"{sys.argv[1]} of {results['gpu']}")
        for row in results["rows"]:
            for baseline in baselines["rows"]:
                if matches(row, baseline):
                    row.setdefault("baselines", {}).update(baseline["baselines"])
                    num_rows += 1
    pathlib.Path(sys.argv[1]).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    slower = [row for row in results["rows"]
              if any(row["us"] >= us for us in row.get("baselines", {}).values())]
    print(f"merged into {num_rows} rows; in {len(slower)} a baseline is as fast or faster")
    for row in slower:
        print(f"  {stem(row['model'])} M {row['tokens']} ({row['neighbours']}): {row['us']:.2f} us, "
              + ", ".join(f"{name} {us:.2f}" for name, us in row["baselines"].items()))


if __name__ == "__main__":
    main()
