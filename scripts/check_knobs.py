#!/usr/bin/env python3
"""Checks that README's table of knobs equals runtime/config/knob_table.h in names and defaults.

README holds the table between two `<!-- knobs -->` lines: | `FUSEBOX_NAME` | default | meaning |.
An empty default is an empty cell or a dash. `--print` writes the table as README should have it.
"""

import pathlib
import re
import sys

TABLE = "runtime/config/knob_table.h"
MARKER = "<!-- knobs -->"
ROW = re.compile(r'\bFUSEBOX_KNOB\(\s*(\w+)\s*,\s*"((?:\\.|[^"\\])*)"\s*,'
                 r'\s*((?:"(?:\\.|[^"\\])*"\s*)+)\)')
LITERAL = re.compile(r'"((?:\\.|[^"\\])*)"')


def fail(sentence):
    print(f"knobs: {sentence}")
    sys.exit(1)


def unescape(text):
    return re.sub(r"\\(.)", r"\1", text)


def declared_knobs(root):
    path = root / TABLE
    if not path.is_file():
        fail(f"{TABLE} does not exist")
    text = re.sub(r"^\s*(//|#)[^\n]*", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    knobs = []
    for name, default, meaning in ROW.findall(text):
        name = name if name.startswith("FUSEBOX_") else "FUSEBOX_" + name
        knobs.append((name, unescape(default), unescape("".join(LITERAL.findall(meaning)))))
    if len(knobs) != len(re.findall(r"\bFUSEBOX_KNOB\(\s*\w+\s*,", text)) or not knobs:
        fail(f"a row of {TABLE} is not FUSEBOX_KNOB(NAME, \"default\", \"meaning\")")
    return knobs


def documented_knobs(root):
    path = root / "README.md"
    if not path.is_file():
        fail("README.md does not exist")
    parts = path.read_text(encoding="utf-8").split(MARKER)
    if len(parts) != 3:
        fail(f"README.md must hold the table between two lines {MARKER}; scripts/check_knobs.py "
             "--print writes it")
    knobs = []
    for line in parts[1].splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().strip("|"))]
        name = cells[0].strip("` ")
        if name.startswith("FUSEBOX_"):
            default = cells[1].strip("` ") if len(cells) > 1 else ""
            knobs.append((name, "" if default in ("-", "\u2013") else default))
    return knobs


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    declared = declared_knobs(root)
    if "--print" in sys.argv[1:]:
        print(MARKER)
        print("| variable | default | meaning |\n|---|---|---|")
        for name, default, meaning in declared:
            cell = f"`{default}`" if default else "-"
            print(f"| `{name}` | {cell} | {meaning.replace('|', chr(92) + '|')} |")
        print(MARKER)
        return 0

    documented = documented_knobs(root)
    wanted = [(name, default) for name, default, _ in declared]
    if documented != wanted:
        for knob in wanted:
            if knob not in documented:
                print(f"knobs: README.md lacks {knob[0]} with default '{knob[1]}'")
        for knob in documented:
            if knob not in wanted:
                print(f"knobs: {TABLE} lacks {knob[0]} with default '{knob[1]}'")
        fail("README.md and the table differ in rows or order; scripts/check_knobs.py --print "
             "writes the table")
    print(f"knobs: {len(declared)} knobs, README.md equals {TABLE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
