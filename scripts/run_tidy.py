#!/usr/bin/env python3
"""Runs clang-tidy on the library's .cc files that a build folder compiles.

Tests and bench are left out: they cost as much time again and ship nothing.
A file that passed is not run again until it, any header of ours or .clang-tidy changes.
Usage: run_tidy.py build/<preset>
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("src", "runtime")
# The commands are g++'s: clang knows neither every warning in them nor this flag.
EXTRA = ["--extra-arg=-Wno-error", "--extra-arg=-Wno-unknown-warning-option"]
GCC_ONLY = " -fno-gnu-unique"


def shared_state():
    """What every file's verdict depends on: the configuration and our headers."""
    state = hashlib.sha256((ROOT / ".clang-tidy").read_bytes())
    for folder in FOLDERS + ("include", "kernels_templates/abi"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.name.endswith((".h", ".hpp")):
                state.update(path.read_bytes())
    return state.digest()


def run(commands_folder, path):
    done = subprocess.run(["clang-tidy", "--quiet", "-p", str(commands_folder), *EXTRA, str(path)],
                          capture_output=True, text=True, check=False)
    return path, done.returncode, done.stdout or done.stderr


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    commands = build / "compile_commands.json"
    if not shutil.which("clang-tidy"):
        print("tidy: clang-tidy is not installed")
        return 1
    if not commands.is_file():
        print(f"tidy: {commands.relative_to(ROOT)} does not exist; configure the preset first")
        return 1

    paths = set()
    for entry in json.loads(commands.read_text()):
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS:
            paths.add(path)
    if not paths:
        print("tidy: the build compiles no file of ours")
        return 1

    passed_folder = build / "tidy"
    passed_folder.mkdir(exist_ok=True)
    (passed_folder / commands.name).write_text(commands.read_text().replace(GCC_ONLY, ""))
    shared = shared_state()
    stamps = {path: passed_folder / hashlib.sha256(
        shared + str(path).encode() + path.read_bytes()).hexdigest() for path in paths}
    to_run = [path for path in sorted(paths) if not stamps[path].exists()]

    num_failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, code, output in pool.map(lambda path: run(passed_folder, path), to_run):
            if code == 0:
                stamps[path].touch()
            else:
                num_failed += 1
                print(output.replace(f"{ROOT}/", ""))
    print(f"tidy: {len(paths)} files, {len(to_run)} run now, {num_failed} with findings")
    return 1 if num_failed else 0


if __name__ == "__main__":
    sys.exit(main())
