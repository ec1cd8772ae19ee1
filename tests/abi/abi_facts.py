"""What a caller of libfusebox.so has compiled in, as facts that can be compared: the layout of each
struct, the value of each constant, each type and each function's signature.

Names come from the preprocessed headers, everything else from the compiler: a C program made of the
names prints sizes, offsets and values. It does not compile when the names are not all of them: a
struct's fields must fill an initialiser exactly, and a declaration of an unknown kind is refused.
"""

import json
import pathlib
import re
import shlex
import subprocess
import tempfile

WARNINGS = ["-std=gnu99", "-Wall", "-Wextra", "-Werror"]
NOT_ABI = re.compile(r"^FUSEBOX_(\w+_H_|API|NOEXCEPT|VERSION_\w+)$")


class AbiError(Exception):
    """The facts could not be told; the text says why."""


def run(command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise AbiError(f"{shlex.join(map(str, command))} failed:\n{done.stderr.strip()}")
    return done.stdout


def tidy_type(text):
    """One spelling of a type: single spaces, none around stars."""
    return re.sub(r"\s*\*\s*", "*", " ".join(text.split())).replace("*const", "* const")


def split_declarator(text, where):
    """'const void* name' -> ('const void*', 'name')."""
    match = re.fullmatch(r"(.*[\s*])(\w+)", text.strip(), re.DOTALL)
    if not match or re.search(r"[,\[\](){}:=]", text):
        raise AbiError(f"{where}: '{' '.join(text.split())}' is not one plain type and one name; "
                       "write it so, or teach tests/abi/abi_facts.py")
    return tidy_type(match.group(1)), match.group(2)


def parameter_types(text, where):
    if text.strip() == "void":
        return []
    return [split_declarator(parameter, where)[0] for parameter in text.split(",")]


class Header:
    """The public headers' declarations, by name."""

    def __init__(self, include, compiler):
        self.structs, self.constants, self.types, self.functions = {}, [], {}, {}
        for statement in self.statements(include, compiler):
            self.read(statement)

    @staticmethod
    def statements(include, compiler):
        """The top-level declarations of our own headers; every one of them must be reached."""
        own = (pathlib.Path(include) / "fusebox").resolve()
        source = '#include "fusebox/fusebox.h"\n'
        text = run([*compiler, "-std=c99", "-E", f"-I{include}", "-x", "c", "-"], input=source)
        lines, reached, inside = [], set(), False
        for line in text.splitlines():
            marker = re.match(r'# \d+ "([^"]+)"', line)
            if marker:
                path = pathlib.Path(marker.group(1)).resolve()
                inside = path.parent == own
                if inside:
                    reached.add(path.name)
            elif inside:
                lines.append(line)
        missing = sorted({path.name for path in own.glob("*.h")} - reached)
        if missing:
            raise AbiError(f"fusebox.h does not include {', '.join(missing)}, so callers do not see "
                           "what is declared there; include it")
        macros = run([*compiler, "-std=c99", "-E", "-dM", f"-I{include}", "-x", "c", "-"],
                     input=source)
        for name in re.findall(r"^#define (FUSEBOX_\w+)", macros, re.MULTILINE):
            if not NOT_ABI.match(name):
                raise AbiError(f"{name} is a macro; make it an enum constant, whose value the "
                               "snapshot keeps")
        code = re.sub(r"__attribute__\s*\(\(.*?\)\)\)?", " ", "\n".join(lines))
        statement = re.compile(r"\s*((?:[^;{}]|\{[^{}]*\})+);")
        if unread := " ".join(statement.sub("", code).split()):
            raise AbiError(f"'{unread[:60]}' was not read; write declarations without braces in "
                           "braces, or teach tests/abi/abi_facts.py")
        return statement.findall(code)

    def read(self, statement):
        where = " ".join(statement.split())[:60]
        if match := re.fullmatch(r"typedef\s+struct\s+(\w+)\s*\{(.*)\}\s*(\w+)", statement, re.DOTALL):
            self.structs[match.group(3)] = [
                split_declarator(field, match.group(3)) for field in match.group(2).split(";")
                if field.strip()]
        elif match := re.fullmatch(r"enum\s*\{(.*)\}", statement, re.DOTALL):
            for entry in filter(str.strip, match.group(1).split(",")):
                name = entry.split("=")[0].strip()
                if "=" not in entry:
                    raise AbiError(f"{name} has no fixed value; write '{name} = <number>'")
                self.constants.append(name)
        elif match := re.fullmatch(r"typedef\s+struct\s+(\w+)\s+\1", statement):
            self.types[match.group(1)] = "opaque"
        elif re.fullmatch(r"struct\s+\w+", statement):
            pass  # a type of the driver's, named only
        elif match := re.fullmatch(r"typedef\s+(.+?)\(\s*\*\s*(\w+)\s*\)\s*\((.*)\)", statement,
                                   re.DOTALL):
            types = ", ".join(parameter_types(match.group(3), match.group(2)))
            self.types[match.group(2)] = f"{tidy_type(match.group(1))} (*)({types or 'void'})"
        elif match := re.fullmatch(r"typedef\s+(\w+)\s+(\w+)", statement):
            self.types[match.group(2)] = match.group(1)
        elif match := re.fullmatch(r"(\w[\w\s*]*[\s*])(\w+)\s*\((.*)\)\s*", statement, re.DOTALL):
            types = ", ".join(parameter_types(match.group(3), match.group(2)))
            self.functions[match.group(2)] = (tidy_type(match.group(1)), types or "void")
        else:
            raise AbiError(f"'{where}' is a declaration of an unknown kind; teach "
                           "tests/abi/abi_facts.py to read it")


def probe_source(header):
    """A C program that prints the facts as JSON lines, and compiles only if `header` is complete."""
    out = ['#include <stddef.h>\n#include <stdio.h>\n#include "fusebox/fusebox.h"\n']
    for name, fields in header.structs.items():  # too many or too few do not compile
        out.append(f"const {name} whole_{name} = {{{', '.join('0' for _ in fields)}}};\n")
    for name, (result, types) in header.functions.items():
        out.append(f"_Static_assert(__builtin_types_compatible_p(__typeof__(&{name}), "
                   f'{result} (*)({types})), "signature of {name}");\n')
    for name, (_, kind) in scalar_types(header):
        out.append(f"_Static_assert(__builtin_types_compatible_p({name}, {kind}), "
                   f'"type of {name}");\n')
    out.append("int main(void) {\n")
    for name in header.constants:
        out.append(f'  printf("[\\"constant\\", \\"{name}\\", %lld]\\n", (long long)({name}));\n')
    for name, fields in header.structs.items():
        out.append(f'  printf("[\\"struct\\", \\"{name}\\", %zu, %zu]\\n", sizeof({name}), '
                   f"__alignof__({name}));\n")
        for _, field in fields:
            out.append(f'  printf("[\\"field\\", \\"{name}\\", \\"{field}\\", %zu, %zu]\\n", '
                       f"offsetof({name}, {field}), sizeof((({name}*)0)->{field}));\n")
    for name, (size, _) in scalar_types(header):
        out.append(f'  printf("[\\"type\\", \\"{name}\\", %zu]\\n", {size});\n')
    out.append("  return 0;\n}\n")
    return "".join(out)


def scalar_types(header):
    return [(name, (f"sizeof({name})", kind)) for name, kind in header.types.items()
            if kind != "opaque"]


def gather(include, compiler=("cc",), header=None):
    """The facts of the headers under `include`; `header` only to show that a lack is noticed."""
    header = header or Header(include, compiler)
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "probe.c"), pathlib.Path(folder, "probe")
        source.write_text(probe_source(header))
        run([*compiler, *WARNINGS, f"-I{include}", source, "-o", program])
        rows = [json.loads(line) for line in run([program]).splitlines()]
    facts = {"constants": {}, "types": {}, "structs": {}, "functions": {}}
    types = {name: dict((field, kind) for kind, field in fields)
             for name, fields in header.structs.items()}
    for kind, name, *values in rows:
        if kind == "constant":
            facts["constants"][name] = values[0]
        elif kind == "struct":
            facts["structs"][name] = {"bytes": values[0], "alignment": values[1], "fields": {}}
        elif kind == "field":
            field, offset, size = values
            facts["structs"][name]["fields"][field] = [offset, size, types[name][field]]
        else:
            facts["types"][name] = f"{header.types[name]}, {values[0]} bytes"
    for name, kind in header.types.items():
        facts["types"].setdefault(name, kind)
    for name, (result, parameters) in header.functions.items():
        facts["functions"][name] = f"{result} ({parameters})"
    return facts


def header_version(include, compiler=("cc",)):
    """(major, minor), after checking that the version's text is made of its numbers."""
    source = '#include "fusebox/export.h"\n'
    macros = dict(re.findall(
        r"^#define FUSEBOX_VERSION_(\w+) (.+)$",
        run([*compiler, "-E", "-dM", f"-I{include}", "-x", "c", "-"], input=source), re.MULTILINE))
    numbers = [macros.get(part, "missing") for part in ("MAJOR", "MINOR", "PATCH")]
    if macros.get("STRING") != f'"{".".join(numbers)}"':
        raise AbiError(f"FUSEBOX_VERSION_STRING is {macros.get('STRING')}, but the numbers are "
                       f"{'.'.join(numbers)}; make them agree in include/fusebox/export.h")
    return int(numbers[0]), int(numbers[1])


def library_faults(library, facts, version):
    """Sentences about a library that does not export what the headers declare."""
    lines = run(["nm", "--dynamic", "--defined-only", "--format=posix", library]).splitlines()
    exported = {line.split()[0] for line in lines}
    faults = [f"{name} is exported but not declared in the headers; hide it, or declare it"
              for name in sorted(exported - set(facts["functions"]))]
    faults += [f"{name} is declared but not exported; define it in runtime/engine/c_api.cc"
               for name in sorted(set(facts["functions"]) - exported)]
    soname = re.search(r"SONAME.*\[(.+)\]", run(["readelf", "--dynamic", library]))
    wanted = f"libfusebox.so.{version[0]}"
    if not soname or soname.group(1) != wanted:
        faults.append(f"the library's soname is {soname and soname.group(1)}, but that of version "
                      f"{version[0]}.{version[1]} is {wanted}; build it again")
    return faults
