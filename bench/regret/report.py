#!/usr/bin/env python3
"""Judges the planner's choices: report.py <regret.jsonl> --output <stem>

Reads what `fusebox bench --plans FILE --fastest N` wrote and, for each op and token tile (a group),
compares the planner's choice with the fastest of the plans that were timed. Writes <stem>.json, with
every group, and <stem>.md, a short table; exits 1 where a group could not be judged.

  regret            time of the choice / time of the fastest; both from full replays
  rank correlation  Spearman's, of predicted and measured times over all plans of the group
  error             predicted / measured time of the choice - 1
"""

import argparse
import json
import math
import pathlib
import sys

NEAR = 0.15  # an error of the choice within it counts as near
WORST = 10  # groups that the table names


def fail(sentence):
    print(f"report: {sentence}", file=sys.stderr)
    sys.exit(1)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def quantile(values, share):
    """The smallest value that at least `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[max(math.ceil(share * len(ordered)) - 1, 0)]


def ranks(values):
    """1 for the smallest; equal values share the mean of their ranks."""
    order = sorted(range(len(values)), key=lambda index: values[index])
    result = [0.0] * len(values)
    first = 0
    while first < len(order):
        last = first
        while last + 1 < len(order) and values[order[last + 1]] == values[order[first]]:
            last += 1
        for position in range(first, last + 1):
            result[order[position]] = (first + last) / 2 + 1
        first = last + 1
    return result


def rank_correlation(a, b):
    """Spearman's: Pearson's of the ranks. None where one side has no order."""
    ranks_a, ranks_b = ranks(a), ranks(b)
    mean = (len(a) + 1) / 2
    spread_a = sum((rank - mean) ** 2 for rank in ranks_a)
    spread_b = sum((rank - mean) ** 2 for rank in ranks_b)
    if spread_a == 0 or spread_b == 0:
        return None
    together = sum((x - mean) * (y - mean) for x, y in zip(ranks_a, ranks_b))
    return together / math.sqrt(spread_a * spread_b)


def read_sweep(path):
    """(head, rows) of a sweep; rows behind another Fusebox kernel, and those that failed."""
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
    except (OSError, ValueError) as error:
        fail(f"{path} cannot be read: {error}")
    if not lines or "gpu" not in lines[0]:
        fail(f"{path} does not begin with the head of a sweep; `fusebox bench --plans` writes one")
    return lines[0], [row for row in lines[1:] if row.get("neighbours", "fusebox") == "fusebox"]


def plan_of(row):
    return {"summary": row["summary"], "us": row["us"], "predicted_us": row["predicted_us"]}


def judge(model, tokens, rows):
    """A group's result; without "regret" where its choice or the others were not timed."""
    timed = [row for row in rows if "us" in row]
    failures = sorted({row["failure"] for row in rows if "failure" in row})
    group = {"model": model, "tokens": tokens, "plans": len(rows), "failed": len(rows) - len(timed),
             "failures": failures}
    choice = next((row for row in timed if row["chosen"]), None)
    if choice is None:
        return group
    # A glance is for ranking; a figure of fewer replays is compared with none of more.
    best = min((row for row in timed if row["replays"] == choice["replays"]),
               key=lambda row: row["us"])
    correlation = rank_correlation([row["predicted_us"] for row in timed],
                                   [row["us"] for row in timed])
    group.update(
        choice=plan_of(choice), best=plan_of(best), floor_us=choice["floor_us"],
        regret=choice["us"] / best["us"], error=choice["predicted_us"] / choice["us"] - 1,
        rank_correlation=correlation,
        points=[[round(row["predicted_us"], 2), round(row["us"], 2)] for row in timed])
    return group


def judge_all(rows):
    """The groups, in the order in which they were timed."""
    by_group = {}
    for row in rows:
        problem = json.dumps(row["plan"]["problem"], sort_keys=True)
        key = (row["model"], problem, row["plan"]["token_tile"])
        by_group.setdefault(key, []).append(row)
    return [judge(model, tile, members) for (model, _, tile), members in by_group.items()]


def summarize(groups):
    judged = [group for group in groups if "regret" in group]
    if not judged:
        fail("no choice of the planner was timed: nothing can be judged")
    regrets = [group["regret"] for group in judged]
    correlations = [group["rank_correlation"] for group in judged
                    if group["rank_correlation"] is not None]
    return {
        "groups": len(judged),
        "not_judged": len(groups) - len(judged),
        "plans_timed": sum(group["plans"] - group["failed"] for group in judged),
        "regret_median": median(regrets),
        "regret_p95": quantile(regrets, 0.95),
        "regret_worst": max(regrets),
        "rank_correlation_median": median(correlations) if correlations else None,
        "choices_near": sum(abs(group["error"]) <= NEAR for group in judged) / len(judged),
    }


def by_tile(groups):
    tiles = sorted({group["tokens"] for group in groups if "regret" in group})
    return {tile: summarize([group for group in groups if group["tokens"] == tile])
            for tile in tiles}


def summary_row(name, summary):
    correlation = summary["rank_correlation_median"]
    return (f"| {name} | {summary['groups']} | {summary['plans_timed']} | "
            f"{summary['regret_median']:.3f} | {summary['regret_p95']:.3f} | "
            f"{summary['regret_worst']:.3f} | "
            f"{'-' if correlation is None else format(correlation, '.2f')} | "
            f"{100 * summary['choices_near']:.0f} % |")


def markdown(head, groups):
    lines = [f"{head['gpu']}; driver {head['driver']}, CUDA {head['cuda']}; {head['date'][:10]}; "
             f"commit {head['commit']}. Regret: time of the planner's choice over the fastest of the "
             "plans timed.", "",
             "| token tile | groups | plans | median | p95 | worst | rank correlation | "
             f"predicted within {100 * NEAR:.0f} % |",
             "|---|--:|--:|--:|--:|--:|--:|--:|"]
    lines += [summary_row(tile, summary) for tile, summary in by_tile(groups).items()]
    lines.append(summary_row("all", summarize(groups)))
    wrong = sorted((group for group in groups if group.get("regret", 1) > 1),
                   key=lambda group: -group["regret"])
    lines += ["", f"The choice was the fastest in {sum(g.get('regret') == 1 for g in groups)} groups; "
              f"of the other {len(wrong)} the worst:", "",
              "| model | tile | regret | choice: us, predicted | fastest: us, predicted |",
              "|---|--:|--:|---|---|"]
    for group in wrong[:WORST]:
        plans = (f"{plan['us']:.2f}, {plan['predicted_us']:.2f}: `{plan['summary']}`"
                 for plan in (group["choice"], group["best"]))
        lines.append(f"| {group['model'].split('--')[-1]} | {group['tokens']} | "
                     f"{group['regret']:.3f} | {' | '.join(plans)} |")
    for group in groups:
        if group["failed"]:
            lines += ["", f"{group['model']}, tile {group['tokens']}: {group['failed']} of "
                      f"{group['plans']} plans not timed: {'; '.join(group['failures'])}"]
    return "\n".join(lines) + "\n"


def as_json(head, groups):
    """One group a line, so that a difference between runs can be read."""
    parts = [f'"{name}": {json.dumps(value)}' for name, value in head.items()]
    parts.append(f'"summary": {json.dumps(summarize(groups))}')
    body = ",\n  ".join(json.dumps(group) for group in groups)
    return "{\n " + ",\n ".join(parts) + f',\n "rows": [\n  {body}\n ]\n}}\n'


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sweep", type=pathlib.Path, help="what `fusebox bench --plans` wrote")
    parser.add_argument("--output", required=True, help="stem of the .json and .md to write")
    arguments = parser.parse_args()
    head, rows = read_sweep(arguments.sweep)
    groups = judge_all(rows)
    table = markdown(head, groups)
    pathlib.Path(arguments.output + ".json").write_text(as_json(head, groups), encoding="utf-8")
    pathlib.Path(arguments.output + ".md").write_text(table, encoding="utf-8")
    print(table, end="")
    summary = summarize(groups)
    print(f"regret: median {summary['regret_median']:.3f}, p95 {summary['regret_p95']:.3f}, worst "
          f"{summary['regret_worst']:.3f} in {summary['groups']} groups; "
          f"{summary['not_judged']} not judged")
    return 1 if summary["not_judged"] else 0


if __name__ == "__main__":
    sys.exit(main())
