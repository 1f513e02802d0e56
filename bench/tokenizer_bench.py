#!/usr/bin/env python3
"""Measures the speed of `chimera tokenize`, alternating with Hugging Face's
tokenizers on one core, and on one and two cores.

usage: tokenizer_bench.py CHIMERA_BINARY [--text FILE] [--tokenizer JSON]
                          [--rounds 5]

Without --text: the project's sources, forty times. Without --tokenizer: a
byte-level BPE of 8000 tokens with GPT-2's pattern, trained on them. chimera's
time is that of the whole command, reading and writing included; that of
tokenizers is its fastest call alone, on text in memory.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core

from tokenizers import Tokenizer, models, pre_tokenizers, trainers  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent


def own_text():
    paths = [p for pattern in ("*.md", "docs/*.md", "src/**/*.h", "src/**/*.cc",
                               "tests/**/*.py", "bench/**/*.py")
             for p in sorted(ROOT.glob(pattern))]
    return "".join(p.read_text() for p in paths)


def train(text):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train_from_iterator(text.split("\n\n"), trainers.BpeTrainer(
        vocab_size=8000, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def seconds(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("chimera")
    parser.add_argument("--text", type=pathlib.Path)
    parser.add_argument("--tokenizer")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    text = options.text.read_bytes().decode() if options.text else own_text()
    tokenizer = (Tokenizer.from_file(options.tokenizer) if options.tokenizer
                 else train(text))
    if not options.text:
        text *= 40
    size = len(text.encode())
    # A fortieth is enough to time tokenizers, in documents of usual size.
    share = text[:len(text) // 40]
    documents = [share[i:i + 10000] for i in range(0, len(share), 10000)]
    share_size = len(share.encode())

    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        tokenizer.save(str(folder / "tokenizer.json"))
        (folder / "text.txt").write_bytes(text.encode())

        def chimera(threads):
            subprocess.run([options.chimera, "tokenize", folder / "text.txt",
                            "-o", folder / "text.bin", "--tokenizer",
                            folder / "tokenizer.json", "--threads",
                            str(threads)], check=True,
                           stdout=subprocess.DEVNULL)

        rows = []
        for _ in range(options.rounds):
            peer = seconds(lambda: tokenizer.encode_batch_fast(documents))
            rows.append((share_size / peer, size / seconds(lambda: chimera(1)),
                         size / seconds(lambda: chimera(2))))
    print(f"{size / 1e6:.1f} MB, {options.rounds} rounds, MB/s:")
    for peer, one, two in rows:
        print(f"tokenizers {peer / 1e6:6.2f}  chimera, one core "
              f"{one / 1e6:6.1f}  two {two / 1e6:6.1f}  "
              f"ratios {one / peer:6.1f} {two / one:5.2f}")
    print("median: one core against tokenizers "
          f"{statistics.median(one / peer for peer, one, _ in rows):.1f} x, "
          "two cores against one "
          f"{statistics.median(two / one for _, one, two in rows):.2f} x")


if __name__ == "__main__":
    main()
