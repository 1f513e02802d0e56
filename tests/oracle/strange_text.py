"""Random text on which tokenizers tend to disagree, and the project's sources.
"""
import pathlib
import random
import unicodedata

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent

EMOJI = ["\U0001F468\u200d\U0001F469\u200d\U0001F467", "\u2764\ufe0f",
         "\U0001F1E9\U0001F1EA", "\U0001F44D\U0001F3FD", "\U0001F600"]
SPACES = [" ", "  ", "\n", "\n\n", "\t", "\r\n", "\r", "\x0b", "\x0c", "\x85",
          "\xa0", "\u1680", "\u2003", "\u2028", "\u202f", "\u3000", " \n ",
          "   \n", "\n   "]
PIECES = ["'s", "'S", "'re", "'LL", "'\u017f", "\u2019s", "don't", "I'VE",
          "<|endoftext|>", "<|end", "[MASK]", "[SEP]", "##ing", "...", "!?",
          "\u4e2d\u6587", "\ud55c\uad6d\uc5b4", "\u1112\u1161\u11ab", "123456",
          "\u0663\u0664", "\u2160", "\xbd", "e\u0301", "A\u030a\u0327",
          "\u0130", "\u03a3\u03c3\u03c2", "\ufb03", "\u1e9e", "\x00", "\x7f",
          "\ufeff", "\u200b", "\ufffd", "def f(x):\n    return x\n"]
MARKS = [c for c in map(chr, range(0x20000)) if unicodedata.combining(c)]


def code_point(rng):
    """A code point of any plane; low ones more often, surrogates never."""
    while True:
        code = rng.randrange(rng.choice([0x80, 0x250, 0x3000, 0x11000, 0x32000,
                                         0x110000]))
        if not 0xD800 <= code < 0xE000:
            return chr(code)


def word(rng):
    kind = rng.randrange(8)
    if kind == 0:
        return code_point(rng) * rng.randrange(1, 6)
    if kind == 1:
        return "".join(code_point(rng) for _ in range(rng.randrange(1, 9)))
    if kind == 2:
        return code_point(rng) + "".join(rng.choices(MARKS, k=rng.randrange(4)))
    if kind == 3:
        return rng.choice(EMOJI)
    if kind == 4:
        return rng.choice(PIECES)
    if kind == 5:
        return str(rng.randrange(10 ** rng.randrange(1, 12)))
    return "".join(rng.choices("abcdefghijklmnopqrstuvwxyzABCDEF'-_.",
                               k=rng.randrange(1, 12)))


def document(rng, words):
    out = []
    for _ in range(words):
        out.append(word(rng))
        if rng.random() < 0.6:
            out.append(rng.choice(SPACES) if rng.random() < 0.5 else " ")
    return "".join(out)


def long_words():
    yield "a" * 20000
    yield "ab" * 10000 + " " * 5000 + "x"
    yield "\u00e9" * 3000 + "1" * 3000 + "!" * 3000 + "\n" * 3000
    yield "".join(map(chr, range(0x4E00, 0x5E00)))


def broken_bytes(rng, length):
    """Bytes that are mostly UTF-8."""
    out = bytearray()
    while len(out) < length:
        part = bytearray(document(rng, 5).encode())
        for _ in range(rng.randrange(4)):
            part[rng.randrange(len(part))] = rng.randrange(256)
        out += part[:rng.randrange(1, len(part) + 1)]
    return bytes(out)


def every_code_point(step=1, offset=0):
    """Each code point between letters, blanks, digits and line ends: all of the
    planes that have characters, and one of 61 in the others."""
    codes = [*range(offset, 0x32000, step), *range(0x32000, 0x110000, 61)]
    codes = [c for c in codes if not 0xD800 <= c < 0xE000]
    for first in range(0, len(codes), 512):
        yield "".join(f"a{c}b {c} 1{c}2\n{c}\n'{c} A{c}{c}"
                      for c in map(chr, codes[first:first + 512]))


def sources():
    """The project's files, as bytes."""
    paths = [p for pattern in ("*.md", "docs/*.md", "src/**/*.cc", "src/**/*.h",
                               "src/**/*.inc", "tests/**/*.py", "bench/**/*.py")
             for p in ROOT.glob(pattern)]
    return {str(p.relative_to(ROOT)): p.read_bytes() for p in sorted(paths)}


def documents(seed, count):
    rng = random.Random(seed)
    return [document(rng, rng.randrange(1, 200)) for _ in range(count)]
