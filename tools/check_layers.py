#!/usr/bin/env python3
"""Checks the tree against the module table in ARCHITECTURE.md.

usage: check_layers.py [ROOT]

Each row of the table names a module and the modules it may include; "torch"
among them allows the module to include torch. The folders of src/chimera, their
#include lines and the chimera_module() calls of CMakeLists.txt must agree with
the table.
"""
import pathlib
import re
import sys

ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)
MODULE = re.compile(r"chimera_module\((\w+)([^)]*)\)")
TORCH = ("torch", "ATen", "c10")


def read_table(text):
    """Module -> modules it may include, in the table's order."""
    return {row.group(1): re.findall(r"\w+", row.group(2))
            for row in map(ROW.match, text.splitlines()) if row}


def read_targets(text):
    """Module -> modules CMake lets it include, in the file's order."""
    targets = {}
    for name, words in MODULE.findall(text):
        uses = re.split("LIBS|WITHOUT", words.partition("USES")[2])[0].split()
        targets[name] = uses + ["torch"] * ("TORCH" in words.split())
    return targets


def check_table(table):
    if len(table) < 5:
        yield "ARCHITECTURE.md: the module table was not found"
    order = ["torch", *table]
    for module, allowed in table.items():
        for other in allowed:
            if other not in order or order.index(other) >= order.index(module):
                yield f"ARCHITECTURE.md: {module} may not include {other}"


def check_targets(table, targets):
    for module, uses in targets.items():
        if sorted(uses) != sorted(table.get(module, [])):
            yield (f"CMakeLists.txt: {module} uses {' '.join(uses)}, but "
                   f"ARCHITECTURE.md says {' '.join(table.get(module, []))}")


def check_include(name, module, include, allowed):
    parts = include.split("/")
    if parts[0] == "chimera" and parts[1] not in allowed:
        yield f"{name}: {module} may not include {include}"
    if parts[0] in TORCH and "torch" not in allowed:
        yield f"{name}: {include} is below the line"
    if parts[0] == "..":
        yield f"{name}: include {include} from the root instead"


def problems(root):
    table = read_table((root / "ARCHITECTURE.md").read_text())
    yield from check_table(table)
    targets = read_targets((root / "CMakeLists.txt").read_text())
    yield from check_targets(table, targets)
    for folder in sorted((root / "src/chimera").iterdir()):
        module = folder.name
        if module == "chimera.h":  # includes the public headers
            continue
        if module not in table:
            yield f"src/chimera/{module}: not a module of ARCHITECTURE.md"
            continue
        allowed = {module, *table[module]}
        for path in sorted(folder.rglob("*.h")) + sorted(folder.rglob("*.cc")):
            for include in INCLUDE.findall(path.read_text()):
                yield from check_include(path.relative_to(root), module,
                                         include, allowed)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    if len(sys.argv) > 1:
        root = pathlib.Path(sys.argv[1])
    found = list(problems(root))
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
