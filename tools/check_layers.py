#!/usr/bin/env python3
"""Fails on an #include against the room table in ARCHITECTURE.md.

The table is the single source: each row names a room and the rooms it may
include. Rooms below "the line" may also include torch; nobody else may.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ROW = re.compile(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|")
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def read_table(text):
    """Room -> rooms it may include, in the table's order."""
    table = {}
    for line in text.splitlines():
        if row := ROW.match(line):
            table[row.group(1)] = re.findall(r"\w+", row.group(2))
    return table


def problems():
    table = read_table((ROOT / "ARCHITECTURE.md").read_text())
    if len(table) < 5:
        yield "ARCHITECTURE.md: the room table was not found"
    order = list(table)
    for room, allowed in table.items():
        for other in allowed:
            if other not in order or order.index(other) >= order.index(room):
                yield f"ARCHITECTURE.md: {room} may not include {other}"
    for folder in sorted((ROOT / "src/chimera").iterdir()):
        if folder.name not in table:
            yield f"src/chimera/{folder.name}: not a room of ARCHITECTURE.md"
            continue
        allowed = {folder.name, *table[folder.name]}
        for path in sorted(folder.rglob("*.h")) + sorted(folder.rglob("*.cc")):
            for include in INCLUDE.findall(path.read_text()):
                parts = include.split("/")
                name = path.relative_to(ROOT)
                if parts[0] == "chimera" and parts[1] not in allowed:
                    yield f"{name}: {folder.name} may not include {include}"
                if parts[0] in ("torch", "ATen", "c10") and folder.name not in (
                        "model", "train", "cli"):
                    yield f"{name}: {include} is below the line"
                if parts[0] == "..":
                    yield f"{name}: include {include} from the root instead"


def main():
    found = list(problems())
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
