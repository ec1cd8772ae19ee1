#!/usr/bin/env python3
"""bench/regret/report.py on sweeps made by hand, whose results can be worked out by hand."""

import importlib.util
import io
import json
import contextlib
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("report", ROOT / "bench/regret/report.py")
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)

HEAD = {"gpu": "G", "driver": "1", "cuda": "13.0", "date": "2026-12-01T00:00:00Z", "commit": "c",
        "read_gb_per_s": 4600.0}


def row(name, us, predicted, chosen=False, replays=30, model="m", tile=8, hidden=64):
    return {"us": us, "p10": us, "p90": us, "replays": replays, "floor_us": 1.0,
            "predicted_us": predicted, "neighbours": "fusebox", "model": model, "tokens": tile,
            "chosen": chosen, "summary": name,
            "plan": {"problem": {"hidden": hidden}, "token_tile": tile}}


def failure(why, chosen=False, model="m", tile=8):
    return {"failure": why, "model": model, "tokens": tile, "chosen": chosen, "summary": "f",
            "plan": {"problem": {"hidden": 64}, "token_tile": tile}}


class RegretTest(unittest.TestCase):
    def test_regret_is_the_choice_over_the_fastest(self):
        group, = report.judge_all([row("a", 12.0, 9.0, chosen=True), row("b", 10.0, 11.0)])
        self.assertAlmostEqual(group["regret"], 1.2)
        self.assertEqual(group["best"]["summary"], "b")
        self.assertAlmostEqual(group["error"], 9.0 / 12.0 - 1)

    def test_a_choice_that_is_the_fastest_has_regret_one(self):
        group, = report.judge_all([row("a", 9.0, 9.0, chosen=True), row("b", 10.0, 8.0)])
        self.assertEqual(group["regret"], 1.0)

    def test_a_glance_is_no_best(self):
        group, = report.judge_all([row("a", 12.0, 9.0, chosen=True), row("b", 10.0, 10.0),
                                   row("c", 9.0, 11.0, replays=3)])
        self.assertEqual(group["best"]["summary"], "b")
        self.assertEqual(len(group["points"]), 3)

    def test_ops_and_tiles_are_judged_apart(self):
        groups = report.judge_all([row("a", 2.0, 2.0, chosen=True), row("b", 1.0, 1.0, tile=32),
                                   row("c", 1.0, 1.0, hidden=128), row("d", 1.0, 1.0, model="n")])
        self.assertEqual(len(groups), 4)
        self.assertEqual(groups[0]["regret"], 1.0)

    def test_a_group_whose_choice_failed_is_not_judged(self):
        groups = report.judge_all([failure("no time", chosen=True), row("b", 1.0, 1.0),
                                   row("c", 2.0, 2.0, tile=32, chosen=True)])
        self.assertNotIn("regret", groups[0])
        self.assertEqual(groups[0]["failures"], ["no time"])
        self.assertEqual(report.summarize(groups)["not_judged"], 1)
        self.assertIn("1 of 2 plans not timed: no time", report.markdown(HEAD, groups))


class StatisticsTest(unittest.TestCase):
    def test_rank_correlation_is_one_for_one_order_and_minus_one_for_the_other(self):
        self.assertAlmostEqual(report.rank_correlation([1, 2, 9], [10, 20, 21]), 1)
        self.assertAlmostEqual(report.rank_correlation([1, 2, 9], [3, 2, 1]), -1)

    def test_rank_correlation_of_one_swap_in_four_is_four_fifths(self):
        # 1 - 6 * (1 + 1) / (4 * 15)
        self.assertAlmostEqual(report.rank_correlation([1, 2, 3, 4], [2, 1, 3, 4]), 0.8)

    def test_equal_values_share_their_rank(self):
        self.assertEqual(report.ranks([5, 1, 5, 7]), [2.5, 1, 2.5, 4])

    def test_values_without_an_order_have_no_correlation(self):
        self.assertIsNone(report.rank_correlation([1, 1, 1], [1, 2, 3]))

    def test_quantiles_are_values_that_were_seen(self):
        values = [1.0 + index / 100 for index in range(20)]  # 1.00 to 1.19
        self.assertAlmostEqual(report.quantile(values, 0.95), 1.18)
        self.assertAlmostEqual(report.quantile([3.0], 0.95), 3.0)
        self.assertAlmostEqual(report.median(values), 1.095)

    def test_the_summary_counts_choices_predicted_within_fifteen_percent(self):
        groups = report.judge_all([row("a", 100.0, 114.0, chosen=True),
                                   row("b", 100.0, 84.0, chosen=True, tile=32),
                                   row("c", 100.0, 86.0, chosen=True, tile=64),
                                   row("d", 100.0, 117.0, chosen=True, tile=128)])
        self.assertEqual(report.summarize(groups)["choices_near"], 0.5)


class ProgramTest(unittest.TestCase):
    def run_on(self, text):
        """(exit code, printed, json text, markdown) of a run."""
        with tempfile.TemporaryDirectory() as folder:
            sweep = pathlib.Path(folder) / "regret.jsonl"
            sweep.write_text(text, encoding="utf-8")
            stem = pathlib.Path(folder) / "out"
            sys.argv = ["report.py", str(sweep), "--output", str(stem)]
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
                try:
                    code = report.main()
                except SystemExit as stopped:
                    code = stopped.code
            files = [path.read_text(encoding="utf-8") if path.exists() else None
                     for path in (stem.with_suffix(".json"), stem.with_suffix(".md"))]
            return code, printed.getvalue(), *files

    def test_it_writes_json_and_a_table(self):
        rows = [HEAD, row("slow", 12.0, 9.0, chosen=True), row("fast", 10.0, 11.0)]
        code, printed, json_text, table = self.run_on("\n".join(map(json.dumps, rows)) + "\n")
        self.assertEqual(code, 0)
        results = json.loads(json_text)
        self.assertEqual(results["gpu"], "G")
        self.assertAlmostEqual(results["summary"]["regret_worst"], 1.2)
        self.assertEqual(results["rows"][0]["points"], [[9.0, 12.0], [11.0, 10.0]])
        self.assertIn("| m | 8 | 1.200 | 12.00, 9.00: `slow` | 10.00, 11.00: `fast` |", table)
        self.assertIn("regret: median 1.200, p95 1.200, worst 1.200 in 1 groups", printed)

    def test_a_group_that_is_not_judged_fails_the_run_and_not_the_report(self):
        rows = [HEAD, row("a", 1.0, 1.0, chosen=True), failure("no time", chosen=True, tile=32)]
        code, printed, json_text, _ = self.run_on("\n".join(map(json.dumps, rows)))
        self.assertEqual(code, 1)
        self.assertIn("in 1 groups; 1 not judged", printed)
        self.assertEqual(len(json.loads(json_text)["rows"]), 2)

    def test_a_file_without_a_head_or_a_choice_fails(self):
        for text, sentence in (("", "head of a sweep"),
                               (json.dumps(row("a", 1.0, 1.0, chosen=True)), "head of a sweep"),
                               (json.dumps(HEAD) + "\n" + json.dumps(row("a", 1.0, 1.0)),
                                "no choice of the planner was timed"),
                               ("no json", "cannot be read")):
            code, printed, json_text, _ = self.run_on(text)
            self.assertEqual(code, 1, text)
            self.assertIn(sentence, printed)
            self.assertIsNone(json_text)


if __name__ == "__main__":
    unittest.main()
