#!/usr/bin/env python3
"""Writes src/chimera/tokenizer/unicode_tables.inc.

usage: unicode_tables.py [FILE]

The tables describe Unicode as the pinned Hugging Face `tokenizers` knows it.
That is no single version of Unicode: its regular expressions, its normalizers
and its BERT code each have their own tables. Every code point is therefore
queried.
"""
import pathlib
import sys
import textwrap
import unicodedata

import tokenizers
from tokenizers import Regex, normalizers, pre_tokenizers

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLES = ROOT / "src/chimera/tokenizer/unicode_tables.inc"

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL = "".join(map(chr, CODE_POINTS))
HANGUL = range(0xAC00, 0xD7A4)


def matched(pattern):
    rest = normalizers.Replace(Regex(pattern), "").normalize_str(ALL)
    return set(ALL) - set(rest)


def each(normalize):
    """The normalized form of every code point, each queried between two bars.
    """
    others = ALL.replace("|", "")
    parts = normalize("|" + "|".join(others) + "|").split("|")[1:-1]
    assert len(parts) == len(others) and normalize("|") == "|"
    return {**dict(zip(others, parts)), "|": "|"}


def bert(**only):
    options = dict(clean_text=False, handle_chinese_chars=False,
                   strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**options, **only}).normalize_str


def classes(decomposed, combining):
    """The class bits of each code point, named as in CharClass."""
    space = matched(r"\s")
    cleaned = each(bert(clean_text=True))
    control = {c for c in ALL if cleaned[c] == ""}
    assert {c for c in ALL if cleaned[c] == " "} == space - control
    assert all(cleaned[c] in ("", " ", c) for c in ALL)
    padded = each(bert(handle_chinese_chars=True))
    stripped = each(bert(strip_accents=True))
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str("aa".join(ALL))
    pieces = "".join(piece for piece, _ in split)
    assert set(ALL) - set(pieces) == space
    punctuation = {piece for piece, _ in split if len(piece) == 1}
    composed = each(normalizers.NFC().normalize_str)
    seconds = {d[-1] for c, d in decomposed.items() if len(d) > 1}
    jamo = {*map(chr, range(0x1161, 0x1176)), *map(chr, range(0x11A8, 0x11C3))}
    sets = [
        matched(r"\p{L}"), matched(r"\p{N}"), space,
        control, punctuation,
        {c for c in ALL if padded[c] == f" {c} "},
        {c for c in ALL if c not in decomposed and stripped[c] == ""},
        {c for c in ALL if composed[c] != c} | seconds | jamo | set(combining),
    ]
    return {c: sum(1 << i for i, s in enumerate(sets) if c in s) for c in ALL}


def combining_classes():
    """Non-starters and their order, from how NFD sorts pairs of them."""
    nfd = normalizers.NFD().normalize_str

    def sorts(first, second):
        return nfd(first + second) == second + first != first + second

    low, high = "\u0334", "\u0345"  # of classes 1 and 240
    marks = [c for c in ALL if nfd(c) == c
             and (sorts(c, low) or sorts(high, c))]
    known = {}  # class -> a code point known to be of it
    for c in marks:
        known.setdefault(unicodedata.combining(c), c)
    known.pop(0, None)
    found = {}
    for c in marks:
        found[c], = [k for k, r in known.items()
                     if not sorts(c, r) and not sorts(r, c)]
    return found


def decompositions():
    nfd = each(normalizers.NFD().normalize_str)
    return {c: d for c, d in nfd.items() if d != c and ord(c) not in HANGUL}


def runs(values, absent):
    """(length, value) pairs that cover all code points."""
    out = []
    for code in range(0x110000):
        value = values.get(chr(code), absent)
        if out and out[-1][1] == value:
            out[-1][0] += 1
        else:
            out.append([1, value])
    return [number for run in out for number in run]


def lowercase_runs():
    """(distance from the last, count, stride, offset of the lower case)"""
    lower = each(bert(lowercase=True))
    assert lower["\u0130"] == "i\u0307"  # the only one with two characters
    lower["\u0130"] = "\u0130"
    out = []
    for c in ALL:
        if lower[c] == c:
            continue
        code, offset = ord(c), ord(lower[c]) - ord(c)
        if out and out[-1][3] == offset:
            first, count, stride, _ = out[-1]
            gap = code - (first + (count - 1) * stride)
            if gap == stride or (count == 1 and gap in (1, 2)):
                out[-1][1:3] = count + 1, gap
                continue
        out.append([code, 1, 1, offset])
    last = 0
    for run in out:
        run[0], last = run[0] - last, run[0]
    return [number for run in out for number in run]


def decomposition_list(decomposed):
    """(distance from the last, 2 * length + composes, the code points)"""
    nfc = normalizers.NFC().normalize_str
    out, last = [], 0
    for c, d in decomposed.items():
        out += [ord(c) - last, 2 * len(d) + (nfc(d) == c), *map(ord, d)]
        last = ord(c)
    return out


def array(name, numbers):
    lines = textwrap.wrap(", ".join(map(str, numbers)), 78)
    return f"constexpr std::int32_t {name}[] = {{\n" + "\n".join(lines) + "};\n"


def main():
    decomposed = decompositions()
    combining = combining_classes()
    text = (f"// Written by tools/unicode_tables.py, which asked tokenizers "
            f"{tokenizers.__version__}.\n")
    text += array("kClassRuns", runs(classes(decomposed, combining), 0))
    text += array("kCombiningRuns", runs(combining, 0))
    text += array("kLowercaseRuns", lowercase_runs())
    text += array("kDecompositions", decomposition_list(decomposed))
    pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else TABLES).write_text(text)


if __name__ == "__main__":
    main()
