"""Which changes of the binary interface a version allows.

An addition (a field at or beyond a struct's old end, a constant, a type, a function, a greater limit)
needs a new minor version; a break (anything removed, moved, renumbered, retyped; a field inside a
struct's old size) a new major one, and the soname with it. The same holds before 1.0: every 0.x
serves the callers of all 0.x before it, so a break makes 1.0.
"""

ADDITION, BREAK = "addition", "break"
VERSION_FILE = "include/fusebox/export.h"
COMMAND = "tests/abi/abi_snapshot.py --write"


def compare_named(kind, old, new, changed):
    """Changes of a table of facts; `changed(name, old, new)` judges what is in both."""
    for name in old:
        if name not in new:
            yield BREAK, f"{kind} {name} was removed"
        elif old[name] != new[name]:
            yield from changed(name, old[name], new[name])
    for name in new:
        if name not in old:
            yield ADDITION, f"{kind} {name} was added"


def changed_constant(name, old, new):
    if "_MAX_" in name and new > old:  # a limit: what an older caller asks for is still served
        yield ADDITION, f"limit {name} grew from {old} to {new}"
    else:
        yield BREAK, f"constant {name} changed from {old} to {new}"


def changed_text(kind):
    return lambda name, old, new: [(BREAK, f"{kind} {name} changed from '{old}' to '{new}'")]


def changed_field(struct):
    def judge(name, old, new):
        (old_offset, *old_kind), (offset, *kind) = old, new
        if old_offset != offset:
            yield BREAK, f"{struct}: field {name} moved from offset {old_offset} to {offset}"
        if old_kind != kind:
            yield BREAK, (f"{struct}: field {name} changed from {old_kind[1]} ({old_kind[0]} bytes) "
                          f"to {kind[1]} ({kind[0]} bytes)")
    return judge


def changed_struct(name, old, new):
    old_bytes, bytes_ = old["bytes"], new["bytes"]
    inside = {field: fact for field, fact in new["fields"].items()
              if field not in old["fields"] and fact[0] < old_bytes}
    for field, (offset, *_) in inside.items():
        yield BREAK, (f"{name}: field {field} was added at offset {offset}, inside the {old_bytes} "
                      "bytes that older callers pass without having set it; append it at offset "
                      f"{old_bytes} or beyond (behind padding: a field that is aligned to 8 bytes)")
    others = {field: fact for field, fact in new["fields"].items() if field not in inside}
    yield from compare_named(f"{name}: field", old["fields"], others, changed_field(name))
    if old["alignment"] != new["alignment"]:
        yield BREAK, f"{name}: alignment changed from {old['alignment']} to {new['alignment']}"
    if bytes_ < old_bytes:
        yield BREAK, f"{name}: shrank from {old_bytes} to {bytes_} bytes"


def compare(old, new):
    """[(severity, sentence)] of everything that differs."""
    return [
        *compare_named("constant", old["constants"], new["constants"], changed_constant),
        *compare_named("type", old["types"], new["types"], changed_text("type")),
        *compare_named("struct", old["structs"], new["structs"], changed_struct),
        *compare_named("function", old["functions"], new["functions"], changed_text("function")),
    ]


def name_of(version):
    return f"{version[0]}.{version[1]}"


def refusals(version, facts, snapshots):
    """Sentences saying why `facts` may not be those of `version`; none when they may.

    `snapshots`: {(major, minor): facts} of the versions that are kept.
    """
    out = []
    newest = max(snapshots, default=version)
    if newest > version:
        out.append(f"the version is {name_of(version)}, but {name_of(newest)} has a snapshot "
                   f"already; a version does not go back: see {VERSION_FILE}")
    for kept, kept_facts in sorted(snapshots.items()):
        if kept[0] != version[0] or kept > version:
            continue
        changes = compare(kept_facts, facts)
        for _, sentence in (change for change in changes if change[0] == BREAK):
            out.append(f"{sentence}: callers built for {name_of(kept)} break. Take it back, or make "
                       f"the version {version[0] + 1}.0 in {VERSION_FILE} and run {COMMAND}")
        for _, sentence in (change for change in changes if change[0] == ADDITION):
            if kept == version:
                out.append(f"{sentence} since {name_of(kept)} was kept. Make the version "
                           f"{version[0]}.{version[1] + 1} in {VERSION_FILE} and run {COMMAND}")
    return out
