#!/usr/bin/env python3
"""fusebox_api.py mirrors the headers: api_mirror_test.py COMPILER [LIBRARY]. No torch, no GPU.

Field and constant names are read from the headers' text; sizes, offsets and values are what a C
compiler makes of them. With the library its calls are tried too, on an engine without a GPU.
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import fusebox_api

INCLUDE = pathlib.Path(__file__).resolve().parents[2] / "include"
COMPILER = "cc"
LIBRARY = None


def header_text():
    text = "\n".join((INCLUDE / "fusebox" / name).read_text(encoding="utf-8")
                     for name in ("types.h", "ffn.h", "fusebox.h"))
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def fields_of(struct, text):
    body = re.search(rf"typedef struct {struct} \{{(.*?)\}} {struct};", text, re.DOTALL).group(1)
    return [re.search(r"(\w+)$", field.strip()).group(1) for field in body.split(";") if
            field.strip()]


def parameters_of(function, text):
    declared = re.search(rf"FUSEBOX_API [^;]*?\b{function}\(([^)]*)\)", text).group(1)
    return [] if declared.strip() == "void" else declared.split(",")


def evaluate(expressions):
    """The values of C expressions over the headers."""
    program = ["#include <stddef.h>", "#include <stdio.h>", '#include "fusebox/fusebox.h"',
               "int main(void) {"]
    program += [f'  printf("%lld\\n", (long long)({expression}));' for expression in expressions]
    program += ["  return 0;", "}"]
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "mirror.c"
        source.write_text("\n".join(program) + "\n", encoding="utf-8")
        binary = pathlib.Path(folder) / "mirror"
        subprocess.run([COMPILER, "-std=c99", f"-I{INCLUDE}", str(source), "-o", str(binary)],
                       check=True)
        lines = subprocess.run([str(binary)], check=True, capture_output=True, text=True).stdout
    return [int(line) for line in lines.split()]


class ApiMirrorTest(unittest.TestCase):
    def test_fields_are_those_of_the_header_in_its_order(self):
        text = header_text()
        for struct in fusebox_api.STRUCTS:
            with self.subTest(struct.NAME):
                self.assertEqual([name for name, _ in struct._fields_],
                                 fields_of(struct.NAME, text))

    def test_sizes_and_offsets_are_the_compilers(self):
        expressions, mirrored = [], []
        for struct in fusebox_api.STRUCTS:
            expressions.append(f"sizeof({struct.NAME})")
            mirrored.append(ctypes.sizeof(struct))
            for name, _ in struct._fields_:
                field = getattr(struct, name)
                expressions += [f"offsetof({struct.NAME}, {name})",
                                f"sizeof((({struct.NAME}*)0)->{name})"]
                mirrored += [field.offset, field.size]
        self.assertEqual(dict(zip(expressions, mirrored)),
                         dict(zip(expressions, evaluate(expressions))))

    def test_constants_have_the_headers_values(self):
        names = list(fusebox_api.CONSTANTS)
        self.assertEqual(fusebox_api.CONSTANTS, dict(zip(names, evaluate(names))))

    def test_functions_take_as_many_parameters_as_declared(self):
        text = header_text()
        for function, parameters in fusebox_api.FUNCTIONS.items():
            with self.subTest(function):
                self.assertEqual(len(parameters), len(parameters_of(function, text)))

    def test_a_field_in_padding_is_missed_by_its_size_and_found_by_its_name(self):
        class WithoutFlags(ctypes.Structure):
            _fields_ = [field for field in fusebox_api.FfnArgs._fields_ if field[0] != "flags"]
        self.assertEqual(ctypes.sizeof(WithoutFlags), ctypes.sizeof(fusebox_api.FfnArgs))
        self.assertNotEqual([name for name, _ in WithoutFlags._fields_],
                            fields_of("fusebox_ffn_args", header_text()))


class LibraryTest(unittest.TestCase):
    def setUp(self):
        library = fusebox_api.Library(LIBRARY)
        self.engine = fusebox_api.Engine(library, device_ordinal=-1, device_profile=b"h200-sxm",
                                         cache_dirs=b"", compile_mode=fusebox_api.COMPILE_NEVER,
                                         log_level=fusebox_api.LOG_OFF)
        self.desc = {"hidden": 1024, "intermediate": 4096, "gated": 1,
                     "dtype": fusebox_api.DTYPES["fp16"],
                     "activation": fusebox_api.ACTIVATIONS["gelu_tanh"],
                     "norm": fusebox_api.NORMS["rms_plus_one"],
                     "residual_mode": fusebox_api.RESIDUAL_MODES["sandwich"]}

    def tearDown(self):
        self.engine.close()

    def test_an_op_is_made_and_needs_a_workspace(self):
        op = fusebox_api.Op(self.engine, **self.desc)
        self.assertGreater(op.workspace_bytes(), 0)
        op.close()

    def test_fields_arrive_where_they_are_meant(self):
        for field, value, sentence in (("hidden", 1028, "hidden"), ("max_tokens", -3, "max_tokens"),
                                       ("flags", 1 << 9, "flags"), ("biases", 8, "biases"),
                                       ("norm", 77, "norm")):
            with self.subTest(field), self.assertRaises(
                    (fusebox_api.Declined, fusebox_api.Failed)) as raised:
                fusebox_api.Op(self.engine, **(self.desc | {field: value}))
            self.assertIn(sentence, str(raised.exception))
            self.assertIn(str(value), str(raised.exception))

    def test_a_rule_that_declines_is_named(self):
        with self.assertRaisesRegex(fusebox_api.Declined, "^token_limit: "):
            fusebox_api.Op(self.engine, **(self.desc | {"max_tokens": 4096}))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    COMPILER = sys.argv[1]
    if len(sys.argv) > 2:
        LIBRARY = sys.argv[2]
    else:
        del LibraryTest
    unittest.main(argv=sys.argv[:1], verbosity=2)
