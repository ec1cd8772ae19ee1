#!/usr/bin/env python3
"""Draws bench/plots/*.svg from bench/results, without any library.

  ratio_to_floor.svg         a panel a model: time over the floor against tokens, ours and the
                             baselines', of the newest bare bf16 rows
  predicted_vs_measured.svg  every plan of the newest regret run (bench/results/regret), where there
                             is one

Without arguments or with `--write` the files are written; `--check` exits 1 where one differs.
"""

import json
import math
import pathlib
import sys

import make_readme_table

ROOT = pathlib.Path(__file__).resolve().parent
INK, FAINT, GRID = "#1f2933", "#64707d", "#e3e7eb"
COLOURS = {"Fusebox": "#c2410c", "cuBLAS": "#2563a8", "torch.compile": "#3f8f4f"}
TILE_COLOURS = {8: "#c2410c", 16: "#a16207", 32: "#2563a8", 64: "#7c3aed", 128: "#3f8f4f"}
HEAD = 62  # pixels above the first panel: title, subtitle, legend


class Drawing:
    """An SVG that is built up element by element; y grows downwards."""

    def __init__(self, width, height):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
                      f'viewBox="0 0 {width} {height}" '
                      'font-family="Helvetica, Arial, sans-serif">',
                      f'<rect width="{width}" height="{height}" fill="#ffffff"/>']

    def line(self, start, end, colour=GRID, width=1.0, dash=""):
        self.parts.append(f'<line x1="{start[0]:.1f}" y1="{start[1]:.1f}" x2="{end[0]:.1f}" '
                          f'y2="{end[1]:.1f}" stroke="{colour}" stroke-width="{width}"'
                          + (f' stroke-dasharray="{dash}"' if dash else "") + "/>")

    def polyline(self, points, colour):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                          'stroke-width="2" stroke-linejoin="round"/>')

    def dot(self, point, colour, radius=2.6, opacity=1.0, ring=""):
        edge = f' stroke="{ring}" stroke-width="1"' if ring else ""
        self.parts.append(f'<circle cx="{point[0]:.1f}" cy="{point[1]:.1f}" r="{radius}" '
                          f'fill="{colour}" fill-opacity="{opacity}"{edge}/>')

    def text(self, point, words, size=11, colour=FAINT, anchor="start", weight="normal", turn=0):
        turned = f' transform="rotate({turn} {point[0]:.1f} {point[1]:.1f})"' if turn else ""
        words = str(words).replace("&", "&amp;").replace("<", "&lt;")
        self.parts.append(f'<text x="{point[0]:.1f}" y="{point[1]:.1f}" font-size="{size}" '
                          f'fill="{colour}" text-anchor="{anchor}" font-weight="{weight}"{turned}>'
                          f"{words}</text>")

    def legend(self, point, entries):
        x, y = point
        for name, colour in entries:
            self.dot((x, y - 4), colour, 4)
            self.text((x + 9, y), name, 12, INK)
            x += 26 + 7 * len(str(name))

    def finish(self):
        return "\n".join(self.parts + ["</svg>"]) + "\n"


class Axis:
    """Maps values to pixels, by their logarithm."""

    def __init__(self, low, high, start, end):
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value):
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def ticks(low, high):
    """1, 2 and 5 times powers of ten between the two."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    values = [digit * 10**power for power in powers for digit in (1, 2, 5)]
    return [value for value in values if low <= value <= high]


def ratio_panel(drawing, corner, size, rows, top_ratio):
    """One model: its rows by token count."""
    (left, top), (width, height) = corner, size
    tokens = sorted(rows)
    x = Axis(tokens[0], tokens[-1] if len(tokens) > 1 else 2 * tokens[0], left, left + width)
    y = Axis(1, top_ratio, top + height, top)
    first = rows[tokens[0]]
    drawing.text((left, top - 20), make_readme_table.short_model(first), 12, INK, weight="bold")
    drawing.text((left, top - 7), f"floor {first['floor_us']:.1f} us", 10)
    for ratio in (1, 1.5, 2, 3, 4, 6, 8):
        if ratio > top_ratio:
            break
        drawing.line((left, y(ratio)), (left + width, y(ratio)), INK if ratio == 1 else GRID)
        drawing.text((left - 5, y(ratio) + 3.5), f"{ratio:g}x", 10, anchor="end")
    for count in tokens:
        drawing.text((x(count), top + height + 14), count, 10, anchor="middle")
    for name in reversed(COLOURS):  # ours last, on top
        points = [(x(count), y(ratio)) for count in tokens
                  if (ratio := ratio_of(rows[count], name)) is not None]
        if points:
            drawing.polyline(points, COLOURS[name])
        for point in points:
            drawing.dot(point, COLOURS[name], ring="#ffffff")


def ratio_of(row, name):
    us = row["us"] if name == "Fusebox" else row.get("baselines", {}).get(name)
    return None if us is None else us / row["floor_us"]


def ratio_to_floor(runs):
    """None where there is no row to draw."""
    newest = [(run, row) for run, row in make_readme_table.newest_rows(runs)
              if (row["bench"], row["variant"], row["dtype"], row["neighbours"])
              == ("ffn", "bare", "bf16", "fusebox")]
    if not newest:
        return None
    models = {}
    for _, row in newest:
        models.setdefault((row["model"], row["op"]), {})[row["tokens"]] = row
    ratios = [ratio for _, row in newest for name in COLOURS
              if (ratio := ratio_of(row, name)) is not None]
    names = [name for name in COLOURS if any(ratio_of(row, name) for _, row in newest)]
    columns, cell, panel = 4, (250, 206), (196, 142)
    height = HEAD + 10 + cell[1] * math.ceil(len(models) / columns)
    drawing = Drawing(30 + columns * cell[0], height)
    gpus = sorted({run["gpu"] for run, _ in newest})
    days = sorted({run["date"][:10] for run, _ in newest})
    drawing.text((14, 24), "Time of a feed-forward block over the floor, against tokens", 16, INK,
                 weight="bold")
    drawing.text((14, 42), f"{', '.join(gpus)}; {', '.join(days)}; bf16, behind another Fusebox "
                 "kernel; both axes logarithmic; floor: bytes that must move, at measured bandwidth",
                 11)
    drawing.legend((20, HEAD), [(name, COLOURS[name]) for name in names])
    for index, key in enumerate(sorted(models, key=lambda key: key[0].split("--")[-1])):
        corner = (48 + cell[0] * (index % columns), HEAD + 46 + cell[1] * (index // columns))
        ratio_panel(drawing, corner, panel, models[key], 1.02 * max(ratios))
    return drawing.finish()


def predicted_vs_measured(run):
    """Every plan that was timed; the planner's choices ringed."""
    groups = [group for group in run["rows"] if "points" in group]
    values = [value for group in groups for point in group["points"] for value in point]
    low, high, side, left, top = 0.9 * min(values), 1.1 * max(values), 520, 60, HEAD + 14
    x, y = Axis(low, high, left, left + side), Axis(low, high, top + side, top)
    drawing = Drawing(left + side + 24, top + side + 48)
    summary = run["summary"]
    drawing.text((14, 24), "Predicted and measured time of every plan, us", 16, INK, weight="bold")
    drawing.text((14, 42), f"{run['gpu']}; {run['date'][:10]}; {summary['plans_timed']} plans of "
                 f"{summary['groups']} ops and tiles outside the fit", 11)
    drawing.text((left + side, HEAD), "ringed: the planner's choices; dashed: 15 % off", 11,
                 anchor="end")
    tiles = sorted({group["tokens"] for group in groups})
    drawing.legend((20, HEAD), [(f"tile {tile}", TILE_COLOURS[tile]) for tile in tiles])
    for value in ticks(low, high):
        drawing.line((x(value), top), (x(value), top + side))
        drawing.line((left, y(value)), (left + side, y(value)))
        drawing.text((x(value), top + side + 15), f"{value:g}", 10, anchor="middle")
        drawing.text((left - 6, y(value) + 3.5), f"{value:g}", 10, anchor="end")
    drawing.line((x(low), y(low)), (x(high), y(high)), INK)
    for factor in (1 / 1.15, 1.15):  # predicted = factor * measured, clipped to the square
        ends = (low * max(1, 1 / factor), high * min(1, 1 / factor))
        drawing.line(*((x(end), y(factor * end)) for end in ends), FAINT, 1.0, "4 4")
    drawing.text((left + side / 2, top + side + 36), "measured", 12, INK, "middle")
    drawing.text((18, top + side / 2), "predicted", 12, INK, "middle", turn=-90)
    for group in groups:
        for predicted, measured in group["points"]:
            drawing.dot((x(measured), y(predicted)), TILE_COLOURS[group["tokens"]], 2.2, 0.35)
    for group in groups:
        choice = group["choice"]
        drawing.dot((x(choice["us"]), y(choice["predicted_us"])), TILE_COLOURS[group["tokens"]],
                    3.2, ring=INK)
    return drawing.finish()


def plots():
    """Text of each file by its name."""
    runs = [make_readme_table.read_run(path) for path in sorted((ROOT / "results").glob("*.json"))]
    regrets = [json.loads(path.read_text(encoding="utf-8"))
               for path in sorted((ROOT / "results/regret").glob("*.json"))]
    drawn = {"ratio_to_floor.svg": ratio_to_floor(runs)}
    if regrets:
        newest = max(regrets, key=lambda run: run["date"])
        drawn["predicted_vs_measured.svg"] = predicted_vs_measured(newest)
    return {name: text for name, text in drawn.items() if text is not None}


def main():
    if sys.argv[1:] not in ([], ["--write"], ["--check"]):
        sys.exit(__doc__)
    for name, text in plots().items():
        path = ROOT / "plots" / name
        if sys.argv[1:] != ["--check"]:
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"plots: {name} differs from bench/results; bench/make_plots.py mends it")
    return 0


if __name__ == "__main__":
    sys.exit(main())
