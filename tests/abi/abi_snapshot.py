#!/usr/bin/env python3
"""Holds libfusebox.so and its headers to the binary interface of their version.

  abi_snapshot.py             compares with tests/abi/snapshots; exits 1 with a sentence per refusal
  abi_snapshot.py --write     keeps the interface of a version that has no snapshot yet
  abi_snapshot.py --rewrite   the same over an older snapshot of this version: only where no one got
                              a library of it. Earlier versions are held to all the same.

The rules are in abi_rules.py. A build is needed (--library, by default the release preset's).
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import sys

import abi_facts
import abi_rules

ROOT = pathlib.Path(__file__).resolve().parents[2]


def read_snapshots(folder):
    snapshots = {}
    for path in sorted(folder.glob("*.json")):
        match = re.fullmatch(r"(\d+)\.(\d+)", path.stem)
        if not match:
            raise abi_facts.AbiError(f"{path.name}: a snapshot is named <major>.<minor>.json")
        snapshots[int(match.group(1)), int(match.group(2))] = json.loads(path.read_text())
    return snapshots


def to_text(facts):
    """JSON with a line for each fact, so that a change shows as its line."""
    text = json.dumps(facts, indent=1)
    return re.sub(r"\[\s+(\d+),\s+(\d+),\s+(\"[^\"]*\")\s+\]", r"[\1, \2, \3]", text) + "\n"


def check(version, facts, snapshots):
    faults = abi_rules.refusals(version, facts, snapshots)
    if not faults and version not in snapshots:
        faults.append(f"version {abi_rules.name_of(version)} has no snapshot yet; run "
                      f"{abi_rules.COMMAND} and commit what it writes")
    return faults


def write(version, facts, snapshots, folder, rewrite):
    kept = {other: old for other, old in snapshots.items() if not (rewrite and other == version)}
    faults = abi_rules.refusals(version, facts, kept)
    if not faults:
        path = folder / f"{abi_rules.name_of(version)}.json"
        path.write_text(to_text(facts))
        print(f"wrote {path}")
    return faults


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--write", action="store_true")
    mode.add_argument("--rewrite", action="store_true")
    parser.add_argument("--library", default=ROOT / "build/release/lib/libfusebox.so")
    parser.add_argument("--include", default=ROOT / "include")
    parser.add_argument("--snapshots", default=ROOT / "tests/abi/snapshots", type=pathlib.Path)
    parser.add_argument("--cc", default=os.environ.get("CC", "cc"), help="C compiler and its flags")
    options = parser.parse_args(arguments)
    compiler = shlex.split(options.cc)
    try:
        facts = abi_facts.gather(options.include, compiler)
        version = abi_facts.header_version(options.include, compiler)
        faults = abi_facts.library_faults(options.library, facts, version)
        snapshots = read_snapshots(options.snapshots)
        if not faults and (options.write or options.rewrite):
            faults = write(version, facts, snapshots, options.snapshots, options.rewrite)
        elif not faults:
            faults = check(version, facts, snapshots)
    except (abi_facts.AbiError, OSError, ValueError) as error:
        faults = [str(error)]
    for fault in faults:
        print(f"abi: {fault}", file=sys.stderr)
    if faults:
        return 1
    num_fields = sum(len(struct["fields"]) for struct in facts["structs"].values())
    print(f"abi {abi_rules.name_of(version)}: {len(facts['functions'])} functions, "
          f"{len(facts['structs'])} structs with {num_fields} fields, "
          f"{len(facts['constants'])} constants, {len(facts['types'])} types")
    return 0


if __name__ == "__main__":
    sys.exit(main())
