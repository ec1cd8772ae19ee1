#!/usr/bin/env python3
"""bench/flashfuser/report.py on results made by hand."""

import importlib.util
import json
import pathlib
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("report", ROOT / "bench/flashfuser/report.py")
report = importlib.util.module_from_spec(spec)
spec.loader.exec_module(report)

SHAPES = [{"name": "G4", "hidden": 768, "intermediate": 3072, "form": "plain"},
          {"name": "G5", "hidden": 4096, "intermediate": 16384, "form": "plain"},
          {"name": "S1", "hidden": 3072, "intermediate": 8192, "form": "gated"}]


def row(name, us, neighbours="fusebox", **baselines):
    return {"model": name + ".json", "tokens": 128, "us": us, "floor_us": us / 2, "ratio": 2.0,
            "neighbours": neighbours, "baselines": baselines}


def table(*rows):
    return report.table({"gpu": "G", "driver": "1", "cuda": "13.0", "date": "2026-12-01T",
                         "commit": "c", "rows": list(rows)}, SHAPES)


class FlashFuserReportTest(unittest.TestCase):
    def test_means_are_geometric_and_by_kind(self):
        text = table(row("G4", 10.0, cuBLAS=20.0), row("G5", 10.0, cuBLAS=5.0),
                     row("S1", 10.0, cuBLAS=80.0))
        self.assertIn("| plain, relu (G) | 1.00x of 2 |", text)
        self.assertIn("| gated, silu (S) | 8.00x of 1 |", text)
        self.assertIn("| all | 2.00x of 3 |", text)

    def test_a_row_shows_ratio_and_speedup(self):
        text = table(row("G4", 10.0, cuBLAS=20.0, eager=50.0), row("G4", 11.0, "foreign"))
        self.assertIn("| G4 | 768 | 3072 | 5.00 | **10.00** (2.00x) | 11.00 | 20.00 (2.00x) | "
                      "50.00 (5.00x) |", text)

    def test_what_was_not_timed_says_so_and_is_in_no_mean(self):
        text = table(row("G4", 10.0, cuBLAS=20.0), row("G5", 10.0))
        self.assertIn("| S1 | 3072 | 8192 | not timed | - | - | - |", text)
        self.assertIn("| G5 | 4096 | 16384 | 5.00 | **10.00** (2.00x) | - | - |", text)
        self.assertIn("| all | 2.00x of 1 |", text)

    def test_every_row_has_as_many_cells_as_the_head(self):
        text = table(row("G4", 10.0, cuBLAS=20.0, eager=50.0), row("S1", 1.0, eager=2.0))
        cells = [line.count("|") for line in text.splitlines() if line.startswith("|")]
        self.assertEqual(len(set(cells[:5])), 1)
        self.assertEqual(len(set(cells[5:])), 1)

    def test_the_shapes_are_named_as_the_paper_names_them(self):
        names = [shape["name"] for shape in json.loads(report.SHAPES.read_text(encoding="utf-8"))]
        self.assertEqual(names, [f"G{n}" for n in range(4, 11)] + [f"S{n}" for n in range(1, 9)])


if __name__ == "__main__":
    unittest.main()
