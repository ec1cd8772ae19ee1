#!/usr/bin/env python3
"""bench/make_plots.py on results made by hand."""

import pathlib
import sys
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import make_plots  # pylint: disable=wrong-import-position

SVG = "{http://www.w3.org/2000/svg}"


def elements(text, kind):
    return [element for element in xml.etree.ElementTree.fromstring(text).iter(SVG + kind)]


def row(model, tokens, us, neighbours="fusebox", **baselines):
    return {"bench": "ffn", "op": "ffn_" + model, "model": model, "tokens": tokens, "dtype": "bf16",
            "variant": "bare", "neighbours": neighbours, "us": us, "floor_us": 10.0,
            "baselines": baselines}


def run(*rows):
    return {"gpu": "A & B", "date": "2026-12-01T00:00:00Z", "rows": list(rows)}


class AxisTest(unittest.TestCase):
    def test_it_is_logarithmic(self):
        axis = make_plots.Axis(1, 100, 0, 200)
        self.assertAlmostEqual(axis(1), 0)
        self.assertAlmostEqual(axis(10), 100)
        self.assertAlmostEqual(axis(100), 200)

    def test_ticks_are_round(self):
        self.assertEqual(make_plots.ticks(0.9, 60), [1, 2, 5, 10, 20, 50])


class RatioToFloorTest(unittest.TestCase):
    def test_every_figure_is_a_dot_and_every_series_a_line(self):
        text = make_plots.ratio_to_floor([run(
            row("m", 1, 12.0, cuBLAS=15.0), row("m", 8, 12.0, cuBLAS=16.0), row("n", 1, 11.0),
            row("m", 1, 99.0, neighbours="foreign"))])
        legend = 2
        self.assertEqual(len(elements(text, "circle")), 5 + legend)
        self.assertEqual(len(elements(text, "polyline")), 3)

    def test_a_baseline_that_nobody_timed_is_not_in_the_legend(self):
        words = [element.text for element in elements(
            make_plots.ratio_to_floor([run(row("m", 1, 12.0, cuBLAS=15.0))]), "text")]
        self.assertIn("cuBLAS", words)
        self.assertNotIn("torch.compile", words)

    def test_twice_the_floor_is_drawn_at_twice_the_floor(self):
        text = make_plots.ratio_to_floor([run(row("m", 1, 20.0), row("m", 8, 10.0))])
        line, = elements(text, "polyline")
        (_, high), (_, low) = (map(float, point.split(",")) for point in line.get("points").split())
        grid = {float(element.get("y1")) for element in elements(text, "line")}
        self.assertIn(high, grid)  # 2x has a line
        self.assertEqual(low, max(grid))  # the floor is the lowest

    def test_without_rows_there_is_no_plot(self):
        self.assertIsNone(make_plots.ratio_to_floor([run()]))


class PredictedVsMeasuredTest(unittest.TestCase):
    def test_every_plan_is_a_dot_and_every_choice_a_ring(self):
        groups = [{"tokens": 8, "points": [[10.0, 11.0], [12.0, 30.0]],
                   "choice": {"us": 11.0, "predicted_us": 10.0}},
                  {"tokens": 32, "points": [[20.0, 20.0]],
                   "choice": {"us": 20.0, "predicted_us": 20.0}},
                  {"tokens": 128, "failures": ["not begun"]}]
        text = make_plots.predicted_vs_measured(
            run(*groups) | {"summary": {"plans_timed": 3, "groups": 2}})
        circles = elements(text, "circle")
        self.assertEqual(len([dot for dot in circles if dot.get("stroke")]), 2)
        legend = 2
        self.assertEqual(len(circles), 3 + 2 + legend)
        equal = [dot for dot in circles if dot.get("fill") == make_plots.TILE_COLOURS[32]]
        diagonal = {float(dot.get("cx")) + float(dot.get("cy")) for dot in equal[1:]}
        corner = elements(text, "line")[-3]
        self.assertAlmostEqual(float(corner.get("x1")) + float(corner.get("y1")), min(diagonal),
                               delta=0.2)  # four coordinates, each rounded to 0.1 pixels


if __name__ == "__main__":
    unittest.main()
