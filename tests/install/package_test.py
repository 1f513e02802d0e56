#!/usr/bin/env python3
"""Uses the installed package the way docs/library.md describes it.

package_test.py PREFIX BUILD SOURCE [cmake option...]

Each component that the document names is found alone, and a program that
includes the headers of its row compiles and links with it. At most 20 headers
are public.
"""
import pathlib
import re
import sys

from commands import run

MOST_PUBLIC = 20
PROJECT = """
cmake_minimum_required(VERSION 3.22)
project(uses_{name} LANGUAGES CXX)
find_package(chimera REQUIRED COMPONENTS {components})
add_executable(uses_{name} main.cc)
target_link_libraries(uses_{name} {targets})
"""


def rows(document):
    """(components, headers) of each row of the table."""
    for line in document.splitlines():
        cells = line.split("|")
        if len(cells) == 6 and "`" in cells[2]:
            yield (re.findall(r"`(\w+)`", cells[2]),
                   re.findall(r"`([\w/]+\.h)`", cells[3]))


def build(prefix, folder, components, headers, options):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "CMakeLists.txt").write_text(PROJECT.format(
        name=components[0], components=" ".join(components),
        targets=" ".join(f"chimera::{each}" for each in components)))
    includes = "".join(f'#include "chimera/{each}"\n' for each in headers)
    (folder / "main.cc").write_text(includes + "int main() {}\n")
    run("cmake", "-S", folder, "-B", folder / "build", "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", *options)
    run("cmake", "--build", folder / "build")


def main():
    prefix, work, source = (
        pathlib.Path(word).resolve() for word in sys.argv[1:4])
    document = source / "docs/library.md"
    include = prefix / "include/chimera"
    public = {str(path.relative_to(include)) for path in include.rglob("*.h")
              if "internal" not in path.parts}
    if not 0 < len(public) <= MOST_PUBLIC:
        sys.exit(f"{len(public)} public headers, at most {MOST_PUBLIC}")
    text = document.read_text()
    for header in public - {"chimera.h"}:
        if header not in text:
            sys.exit(f"{header} is public but not in {document.name}")
    found = list(rows(text))
    if len(found) < 8:
        sys.exit(f"{document.name}: the table was not found")
    for components, headers in found:
        build(prefix, work / components[0], components, headers, sys.argv[4:])
    build(prefix, work / "chimera", ["plan", "report"], ["chimera.h"],
          sys.argv[4:])


if __name__ == "__main__":
    main()
