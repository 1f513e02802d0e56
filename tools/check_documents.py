#!/usr/bin/env python3
"""Checks error codes, configuration keys, links and paths in the documents.

Every code in the sources must be in docs/errors.md and the other way round,
in the section of its kind; likewise every key of a run.toml in
docs/configuration.md; every relative link must lead to a file; every path
that ARCHITECTURE.md names must exist.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def documents():
    return sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"),
                   *ROOT.glob("bench/results/*.md"),
                   *ROOT.glob("experiments/*.md")])


def code_problems():
    in_sources = set()
    for path in [*ROOT.glob("src/**/*.cc"), *ROOT.glob("python/*/**/*.py"),
                 *ROOT.glob("python/src/*.cc")]:
        if not path.name.endswith("_test.cc") and "tests" not in path.parts:
            in_sources |= set(re.findall(r'"(E\d{3})"', path.read_text()))
    listed = re.findall(r"^\| (E\d{3}) \|",
                        (ROOT / "docs/errors.md").read_text(), re.M)
    for code in sorted(in_sources - set(listed)):
        yield f"docs/errors.md: {code} is missing"
    for code in sorted(set(listed) - in_sources):
        yield f"docs/errors.md: {code} is nowhere in the sources"
    for code in sorted({c for c in listed if listed.count(c) > 1}):
        yield f"docs/errors.md: {code} is there twice"


def kind_problems():
    """A Diagnostic's kind is the one of its section in docs/errors.md."""
    kinds = {"3": "kData", "4": "kCheckpoint"}
    kind_of = {}
    kind = None
    for line in (ROOT / "docs/errors.md").read_text().splitlines():
        if line.startswith("## "):
            section = re.search(r"\(exit code (\d)\)", line)
            kind = kinds.get(section.group(1)) if section else None
        code = re.match(r"\| (E\d{3}) \|", line)
        if code:
            kind_of[code.group(1)] = kind
    pattern = r"(?:\.kind = DiagnosticKind::(\w+),\s*)?\.code = \"(E\d{3})\""
    for path in ROOT.glob("src/**/*.cc"):
        if path.name.endswith("_test.cc"):
            continue
        for kind, code in re.findall(pattern, path.read_text()):
            needed = kind_of.get(code)
            if (kind or None) != needed:
                yield (f"{path.relative_to(ROOT)}: {code} needs .kind = "
                       f"DiagnosticKind::{needed or 'kUsage'}")


def key_problems():
    """docs/configuration.md has one row for each key of config/keys.cc."""
    in_sources = [".".join(key) for key in re.findall(
        r'^ +(?:path_key\()?\{"(\w+)", "(\w+)",',
        (ROOT / "src/chimera/config/keys.cc").read_text(), re.M)]
    rows = re.findall(r"^\| `(\w+\.\w+)` \|",
                      (ROOT / "docs/configuration.md").read_text(), re.M)
    if not in_sources:
        yield "src/chimera/config/keys.cc: no key was found"
    for key in sorted(set(in_sources) - set(rows)):
        yield f"docs/configuration.md: {key} is missing"
    for key in sorted(set(rows) - set(in_sources)):
        yield f"docs/configuration.md: {key} is not a key"
    for key in sorted({key for key in rows if rows.count(key) > 1}):
        yield f"docs/configuration.md: {key} is there twice"


def link_problems():
    for document in documents():
        for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)",
                                 document.read_text()):
            if target.startswith("../build/"):  # made by ./dev
                continue
            if "://" not in target and not (document.parent / target).exists():
                yield f"{document.relative_to(ROOT)}: no {target}"


def path_problems():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for path in re.findall(r"`((?:[a-z_]+/)+[a-z_*]*(?:\.\w+)?)`", text):
        places = [ROOT, ROOT / "src/chimera"]
        if not any(list(place.glob(path.rstrip("/"))) for place in places):
            yield f"ARCHITECTURE.md: no {path}"


def ascii_problems():
    for path in sorted(ROOT.glob("src/**/*")):
        if path.is_file() and not path.read_bytes().isascii():
            yield f"{path.relative_to(ROOT)}: not ASCII"


def main():
    found = [*code_problems(), *kind_problems(), *key_problems(),
             *link_problems(), *path_problems(), *ascii_problems()]
    for problem in found:
        print(problem, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
