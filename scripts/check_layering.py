#!/usr/bin/env python3
"""Checks who includes whom, sizes and banned names (cmake/layers.txt).

Prints what it checked; exits 1 with one line per finding. Usage: check_layering.py [root]
"""

import pathlib
import re
import sys

FOLDERS = ("include", "src", "runtime", "kernels_templates", "tests", "bench", "examples")
SUFFIXES = (".h", ".hpp", ".cc", ".c", ".cuh", ".cu.in")
SHARED_HEADER = "kernels_templates/abi/kernel_params.h"  # the only file both sides include
ORACLE_MAY_INCLUDE = ("src/base/", "src/shape/", "tests/reference/")
THIRD_PARTY = re.compile(
    r"^(absl|gtest|gmock|benchmark|spdlog|fmt|nlohmann|CLI|nvtx3)/|^xxhash\.h$|^(cuda|nvrtc)\.h$")
CUDA_HEADER = re.compile(
    r"^(cuda|nvrtc|cublas|cudnn|nvml|vector_types|device_launch|cooperative_groups|mma\.h|crt/|cub/"
    r"|thrust/|cute/|cutlass/|nvtx3/|nv/)")
# src/ takes values and gives values: no file, clock, environment, thread, lock or log.
IMPURE_HEADER = re.compile(
    r"^(thread|stop_token|mutex|shared_mutex|condition_variable|future|semaphore|latch|barrier"
    r"|fstream|filesystem|iostream|chrono|ctime|time\.h|unistd\.h|pthread\.h|dlfcn\.h|fcntl\.h"
    r"|random|spdlog/.*|CLI/.*|absl/(synchronization|time|log|random)/.*|sys/.*)$")
LINE_LIMITS = ((".cu.in", 300), (".cuh", 300), (".hpp", 150), (".h", 150), (".cc", 400), (".c", 400))

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([A-Za-z0-9_]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"', re.DOTALL)
ENVIRONMENT = re.compile(r"\b(getenv|secure_getenv|setenv|putenv|unsetenv|environ)\b")
QUALIFIED = re.compile(r"\b(?:testing|absl|std|spdlog|fmt|nlohmann|CLI|benchmark)::[\w:]+")
NAME = re.compile(r"\b[A-Za-z_]\w*\b")
BANNED_CAMEL = re.compile(r"[A-Za-z0-9](Manager|Helper|Util|Info)s?(?![a-z])|^(Manager|Helper|Util)")
BANNED_SNAKE = {"manager", "helper", "helpers", "util", "utils", "info"}
FOREIGN_NAMES = {  # log levels, the C library, GoogleTest
    "kInfo", "test_info", "siginfo_t", "addrinfo", "Dl_info"}


def layer_levels(root):
    levels = {}
    lines = (root / "cmake/layers.txt").read_text().splitlines()
    for level, line in enumerate(l for l in lines if l and not l.startswith("#")):
        for folder in line.split():
            levels[folder] = level
    return levels


def source_files(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.is_file() and path.name.endswith(SUFFIXES):
                yield path.relative_to(root).as_posix()


def folder_of(path):
    return "/".join(path.split("/")[:2])


def blank(match):
    """Replaces comments and literals by their line ends, so that line numbers stay."""
    return "\n" * match.group(0).count("\n") or " "


class Checker:
    def __init__(self, root):
        self.root = root
        self.levels = layer_levels(root)
        self.findings = []
        self.num_includes = 0

    def report(self, path, text, position, sentence):
        line = text.count("\n", 0, position) + 1
        self.findings.append(f"{path}:{line}: {sentence}")

    def check_include(self, path, target, quoted):
        """Returns what is wrong with `path` including `target`, or None."""
        top = path.split("/")[0]
        public = target.startswith("fusebox/")
        ours = public or target.split("/")[0] in FOLDERS
        if ours and not quoted:
            return f"<{target}> is ours; include it with quotes"
        if ours and not ((self.root / "include" / target).is_file() if public
                         else (self.root / target).is_file()):
            return f"{target} does not exist; spell includes from the repository root"
        if quoted and not ours and not THIRD_PARTY.match(target):
            return f'"{target}" is not spelled from the repository root'
        if top == "include" and ours and not public:
            return f"the public headers include nothing of ours, not {target}"
        if top in ("include", "src", "kernels_templates") and CUDA_HEADER.match(target):
            return f"no CUDA header in {top}/, so not {target}"
        if top == "kernels_templates":
            if not target.startswith("kernels_templates/") or not quoted:
                return f"device code includes only kernels_templates/, not {target}"
            if path == SHARED_HEADER:
                return f"{SHARED_HEADER} includes nothing, not {target}"
            return None
        if target.startswith("kernels_templates/") and target != SHARED_HEADER:
            return f"host code includes only {SHARED_HEADER} of the device code, not {target}"
        if path.startswith("tests/reference/") and ours:
            if not target.startswith(ORACLE_MAY_INCLUDE):
                return f"the oracle shares no code with what it judges, so not {target}"
        if top in ("src", "runtime") and target.startswith(("tests/", "bench/")):
            return f"the library does not include {target}"
        if top == "src":
            if IMPURE_HEADER.match(target):
                return f"src/ knows no file, clock, environment, thread, lock or log, so not {target}"
            if target.startswith("runtime/") or public or target.startswith("include/"):
                return f"src/ decides and writes, runtime/ touches the machine, so not {target}"
        mine, theirs = folder_of(path), folder_of(target)
        if mine in self.levels and theirs in self.levels and mine != theirs:
            if self.levels[theirs] >= self.levels[mine]:
                return f"{mine} may not include {theirs}; the order is in cmake/layers.txt"
        return None

    def check_names(self, path, text, code):
        stem = path.split("/")[-1].split(".")[0]
        if BANNED_SNAKE & set(stem.split("_")):
            self.findings.append(f"{path}:1: the file's name says the pattern, not the stage")
        qualified_away = QUALIFIED.sub(lambda m: " " * len(m.group(0)), code)
        seen = set()
        for match in NAME.finditer(qualified_away):
            name = match.group(0)
            if name in seen or name in FOREIGN_NAMES or name.startswith(("CU", "cu", "nvrtc")):
                continue
            seen.add(name)
            parts = name.strip("_").split("_")
            if BANNED_CAMEL.search(name) or (len(parts) > 1 and BANNED_SNAKE & set(parts)):
                self.report(path, code, match.start(),
                            f"{name}: name the stage, not Manager, Helper, Util or Info")

    def check_file(self, path):
        text = (self.root / path).read_text(encoding="utf-8")
        code = COMMENT_OR_TEXT.sub(blank, text)
        top = path.split("/")[0]

        num_lines = text.count("\n")
        for suffix, limit in LINE_LIMITS:
            if path.endswith(suffix):
                if num_lines > limit:
                    self.findings.append(f"{path}:{limit}: {num_lines} lines; the limit is {limit}")
                break

        without_block_comments = re.sub(r"/\*.*?\*/", blank, text, flags=re.DOTALL)
        for match in INCLUDE.finditer(without_block_comments):
            self.num_includes += 1
            target = match.group(1) or match.group(2)
            wrong = self.check_include(path, target, match.group(1) is not None)
            if wrong:
                self.report(path, without_block_comments, match.start(1 if match.group(1) else 2),
                            wrong)

        for match in re.finditer(r"\busing\s+namespace\b", code):
            self.report(path, code, match.start(), "no `using namespace`")
        if top in ("src", "runtime", "include") and not path.startswith("runtime/config/"):
            for match in ENVIRONMENT.finditer(code):
                self.report(path, code, match.start(), "only runtime/config reads the environment")
        for match in re.finditer(r"\bTODO\b(?!\()", text):
            self.report(path, text, match.start(), "a TODO names its owner or issue: TODO(owner)")
        for match in re.finditer(r"\bTEST\w*\s*\(\s*\w+\s*,\s*DISABLED_", code):
            self.report(path, code, match.start(), "no disabled tests; delete it or fix it")
        self.check_names(path, text, code)


def main():
    default_root = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else default_root
    checker = Checker(root)
    paths = list(source_files(root))
    for path in paths:
        checker.check_file(path)
    for finding in checker.findings:
        print(finding)
    print(f"layering: {len(paths)} files, {checker.num_includes} includes, "
          f"{len(checker.findings)} findings")
    if not paths:
        print("layering: no source file found; is this the repository root?")
        return 1
    return 1 if checker.findings else 0


if __name__ == "__main__":
    sys.exit(main())
