"""The test of the ABI test: doctored interfaces and headers, and what must be said about each.

Usage: abi_snapshot_test.py, with CC naming the C compiler and LIBRARY the built library.
"""

import contextlib
import copy
import io
import os
import pathlib
import shlex
import shutil
import tempfile
import unittest

import abi_facts
import abi_rules
import abi_snapshot

INCLUDE = abi_snapshot.ROOT / "include"
SNAPSHOTS = abi_snapshot.ROOT / "tests/abi/snapshots"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
LIBRARY = os.environ.get("LIBRARY", str(abi_snapshot.ROOT / "build/release/lib/libfusebox.so"))

KEPT = {
    "constants": {"FUSEBOX_OK": 0, "FUSEBOX_DECLINED": 1, "FUSEBOX_FFN_MAX_TOKENS": 32},
    "types": {"fusebox_status": "int32_t, 4 bytes", "fusebox_op": "opaque"},
    "structs": {"fusebox_args": {"bytes": 24, "alignment": 8, "fields": {
        "struct_size": [0, 8, "size_t"], "x": [8, 8, "const void*"], "flags": [16, 4, "uint32_t"]}}},
    "functions": {"fusebox_launch": "fusebox_status (const fusebox_args*)"},
}


def doctored(change):
    facts = copy.deepcopy(KEPT)
    change(facts)
    return facts


def fields(facts):
    return facts["structs"]["fusebox_args"]["fields"]


def append_field(facts):
    fields(facts)["y"] = [24, 8, "void*"]
    facts["structs"]["fusebox_args"]["bytes"] = 32


def renamed_field(facts):
    struct = facts["structs"]["fusebox_args"]
    struct["fields"] = {"struct_size": [0, 8, "size_t"], "input": [8, 8, "const void*"],
                        "flags": [16, 4, "uint32_t"]}


def widened_field(facts):
    fields(facts)["flags"] = [16, 8, "uint64_t"]


def swapped_fields(facts):
    fields(facts)["x"][0], fields(facts)["flags"][0] = 16, 8


BREAKS = {
    "constant FUSEBOX_DECLINED was removed": lambda f: f["constants"].pop("FUSEBOX_DECLINED"),
    "FUSEBOX_DECLINED changed from 1 to 7": lambda f: f["constants"].update(FUSEBOX_DECLINED=7),
    "FUSEBOX_FFN_MAX_TOKENS changed from 32 to 16":
        lambda f: f["constants"].update(FUSEBOX_FFN_MAX_TOKENS=16),
    "type fusebox_status changed": lambda f: f["types"].update(fusebox_status="int64_t, 8 bytes"),
    "type fusebox_op was removed": lambda f: f["types"].pop("fusebox_op"),
    "struct fusebox_args was removed": lambda f: f["structs"].pop("fusebox_args"),
    "field x was removed": lambda f: fields(f).pop("x"),
    "field input was added at offset 8, inside the 24 bytes": renamed_field,
    "field flags changed from uint32_t (4 bytes) to uint64_t (8 bytes)": widened_field,
    "field x moved from offset 8 to 16": swapped_fields,
    "field late was added at offset 20, inside": lambda f: fields(f).update(late=[20, 4, "int32_t"]),
    "alignment changed from 8 to 16": lambda f: f["structs"]["fusebox_args"].update(alignment=16),
    "shrank from 24 to 16 bytes": lambda f: f["structs"]["fusebox_args"].update(bytes=16),
    "function fusebox_launch was removed": lambda f: f["functions"].pop("fusebox_launch"),
    "function fusebox_launch changed":
        lambda f: f["functions"].update(fusebox_launch="fusebox_status (void)"),
}
ADDITIONS = {
    "constant FUSEBOX_NEW was added": lambda f: f["constants"].update(FUSEBOX_NEW=9),
    "FUSEBOX_FFN_MAX_TOKENS grew from 32 to 256":
        lambda f: f["constants"].update(FUSEBOX_FFN_MAX_TOKENS=256),
    "type fusebox_new was added": lambda f: f["types"].update(fusebox_new="opaque"),
    "struct fusebox_new was added": lambda f: f["structs"].update(fusebox_new={}),
    "fusebox_args: field y was added": append_field,
    "function fusebox_new was added": lambda f: f["functions"].update(fusebox_new="void (void)"),
}


class RulesTest(unittest.TestCase):
    def test_an_unchanged_interface_is_allowed(self):
        self.assertEqual(abi_rules.refusals((1, 2), KEPT, {(1, 2): KEPT}), [])

    def test_a_break_needs_a_major_version(self):
        for sentence, change in BREAKS.items():
            for version in ((1, 2), (1, 3)):
                with self.subTest(sentence, version=version):
                    found = " | ".join(abi_rules.refusals(version, doctored(change), {(1, 2): KEPT}))
                    self.assertIn(sentence, found)
                    self.assertIn("make the version 2.0", found)
            with self.subTest(sentence, version="2.0"):
                self.assertEqual(abi_rules.refusals((2, 0), doctored(change), {(1, 2): KEPT}), [])

    def test_an_addition_needs_a_minor_version(self):
        for sentence, change in ADDITIONS.items():
            with self.subTest(sentence):
                (found,) = abi_rules.refusals((1, 2), doctored(change), {(1, 2): KEPT})
                self.assertIn(sentence, found)
                self.assertIn("Make the version 1.3", found)
                self.assertEqual(abi_rules.refusals((1, 3), doctored(change), {(1, 2): KEPT}), [])

    def test_the_rules_hold_before_1_0(self):
        found = abi_rules.refusals((0, 9), doctored(swapped_fields), {(0, 1): KEPT})
        self.assertIn("make the version 1.0", found[0])

    def test_all_earlier_versions_of_the_major_count(self):
        added = doctored(append_field)
        found = abi_rules.refusals((1, 3), KEPT, {(1, 1): KEPT, (1, 2): added})
        self.assertIn("field y was removed", found[0])

    def test_a_version_does_not_go_back(self):
        self.assertIn("does not go back", abi_rules.refusals((1, 1), KEPT, {(1, 2): KEPT})[0])


class HeaderTest(unittest.TestCase):
    """Changes of the real headers, compiled; the real snapshots; the real library."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.include = pathlib.Path(folder.name, "include")
        self.snapshots = pathlib.Path(folder.name, "snapshots")
        shutil.copytree(INCLUDE, self.include)
        shutil.copytree(SNAPSHOTS, self.snapshots)
        self.version = abi_facts.header_version(INCLUDE, COMPILER)

    def edit(self, header, before, after):
        path = self.include / "fusebox" / header
        text = path.read_text()
        self.assertEqual(text.count(before), 1, before)
        path.write_text(text.replace(before, after))

    def outcome(self, *arguments, library=LIBRARY):
        """(exit code, what was said)"""
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = abi_snapshot.main([
                *arguments, "--library", str(library), "--include", str(self.include), "--snapshots",
                str(self.snapshots), "--cc", shlex.join(COMPILER)])
        return code, said.getvalue()

    def assert_refused(self, *sentences, arguments=()):
        code, said = self.outcome(*arguments)
        self.assertEqual(code, 1, said)
        for sentence in sentences:
            self.assertIn(sentence, said)

    def raise_minor(self):
        major, minor = self.version
        self.edit("export.h", f"FUSEBOX_VERSION_MINOR {minor}", f"FUSEBOX_VERSION_MINOR {minor + 1}")
        text = (self.include / "fusebox/export.h").read_text()
        patch = text.split("FUSEBOX_VERSION_PATCH ")[1].split()[0]
        self.edit("export.h", f'"{major}.{minor}.{patch}"', f'"{major}.{minor + 1}.{patch}"')
        return f"{major}.{minor + 1}"

    def append_field(self):
        self.edit("ffn.h", "} fusebox_ffn_args;", "  int64_t appended;\n} fusebox_ffn_args;")

    def test_the_headers_as_they_are_pass(self):
        code, said = self.outcome()
        self.assertEqual(code, 0, said)

    def test_a_moved_field_is_refused(self):
        self.edit("ffn.h", "  void* y; ", "  int64_t before_y;\n  void* y; ")
        self.assert_refused("field y moved", "field before_y was added at offset")

    def test_a_field_in_padding_is_refused(self):
        facts = abi_facts.gather(self.include, COMPILER)
        desc = facts["structs"]["fusebox_ffn_desc"]
        end = max(offset + size for offset, size, _ in desc["fields"].values())
        if end == desc["bytes"]:  # nothing pads it: make what does
            self.edit("ffn.h", "} fusebox_ffn_desc;", "  int32_t one;\n} fusebox_ffn_desc;")
            facts = abi_facts.gather(self.include, COMPILER)
            (self.snapshots / f"{abi_rules.name_of(self.version)}.json").write_text(
                abi_snapshot.to_text(facts))
        self.edit("ffn.h", "} fusebox_ffn_desc;", "  int32_t late;\n} fusebox_ffn_desc;")
        self.assert_refused("field late was added at offset", "without having set it")

    def test_a_renumbered_constant_is_refused(self):
        self.edit("types.h", "FUSEBOX_NOT_READY = 2", "FUSEBOX_NOT_READY = 12")
        self.assert_refused("constant FUSEBOX_NOT_READY changed from 2 to 12")

    def test_an_appended_field_is_refused_until_the_version_is_raised(self):
        self.append_field()
        self.assert_refused("fusebox_ffn_args: field appended was added")
        self.assert_refused("field appended was added", arguments=("--write",))
        version = self.raise_minor()
        self.assert_refused(f"version {version} has no snapshot yet")
        self.assertEqual(self.outcome("--write")[0], 0)
        self.assertEqual(self.outcome()[0], 0)

    def test_a_rewrite_replaces_its_own_version_and_no_promise_to_others(self):
        self.append_field()
        self.assertEqual(self.outcome("--rewrite")[0], 0)
        self.assertEqual(self.outcome()[0], 0)
        self.raise_minor()
        self.edit("ffn.h", "  int64_t appended;\n", "")
        self.assert_refused("field appended was removed", arguments=("--rewrite",))

    def test_a_function_that_the_library_lacks_is_refused(self):
        self.edit("ffn.h", "FUSEBOX_API fusebox_status fusebox_binding_destroy(",
                  "FUSEBOX_API fusebox_status fusebox_absent(int32_t tokens) FUSEBOX_NOEXCEPT;\n"
                  "FUSEBOX_API fusebox_status fusebox_binding_destroy(")
        self.assert_refused("fusebox_absent is declared but not exported")

    def test_a_function_that_is_not_declared_is_refused(self):
        facts = abi_facts.gather(self.include, COMPILER)
        del facts["functions"]["fusebox_version"]
        (fault,) = abi_facts.library_faults(LIBRARY, facts, self.version)
        self.assertIn("fusebox_version is exported but not declared", fault)

    def test_a_soname_of_another_major_version_is_refused(self):
        facts = abi_facts.gather(self.include, COMPILER)
        (fault,) = abi_facts.library_faults(LIBRARY, facts, (self.version[0] + 1, 0))
        self.assertIn("soname", fault)

    def test_a_field_that_was_not_read_does_not_compile(self):
        header = abi_facts.Header(self.include, COMPILER)
        header.structs["fusebox_ffn_args"].pop()
        with self.assertRaisesRegex(abi_facts.AbiError, "missing initializer|missing field"):
            abi_facts.gather(self.include, COMPILER, header)

    def test_a_signature_that_was_misread_does_not_compile(self):
        header = abi_facts.Header(self.include, COMPILER)
        header.functions["fusebox_version"] = ("int32_t", "void")
        with self.assertRaisesRegex(abi_facts.AbiError, "signature of fusebox_version"):
            abi_facts.gather(self.include, COMPILER, header)

    def test_declarations_that_cannot_be_read_are_refused(self):
        for declaration, sentence in (
                ("typedef struct fusebox_new { int32_t many[4]; } fusebox_new;", "one plain type"),
                ("typedef struct fusebox_new { int32_t bit : 1; } fusebox_new;", "one plain type"),
                ("typedef union { int32_t a; float b; } fusebox_new;", "unknown kind"),
                ("typedef struct fusebox_new { struct { int32_t a; } b; } fusebox_new;",
                 "was not read"),
                ("enum { FUSEBOX_NEW };", "has no fixed value"),
                ("extern const int32_t fusebox_new;", "unknown kind"),
                ("#define FUSEBOX_NEW 3\n", "is a macro")):
            with self.subTest(declaration):
                text = (INCLUDE / "fusebox/types.h").read_text()
                (self.include / "fusebox/types.h").write_text(text.replace(
                    "struct CUstream_st;", declaration + "\nstruct CUstream_st;", 1))
                self.assert_refused(sentence)

    def test_a_header_that_nobody_includes_is_refused(self):
        (self.include / "fusebox/forgotten.h").write_text("int fusebox_forgotten(void);\n")
        self.assert_refused("fusebox.h does not include forgotten.h")

    def test_a_version_text_beside_its_numbers_is_refused(self):
        self.edit("export.h", "FUSEBOX_VERSION_PATCH ", "FUSEBOX_VERSION_PATCH 9")
        self.assert_refused("FUSEBOX_VERSION_STRING is")


if __name__ == "__main__":
    unittest.main()
