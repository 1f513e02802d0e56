#!/usr/bin/env python3
"""Tests `chimera tokenize` as a script outside the project sees it.

usage: tokenize_test.py CHIMERA_BINARY
"""
import array
import gzip
import json
import os
import pty
import subprocess
import unittest

from program import CHIMERA, Base, chimera

BYTES = [b for b in range(256)
         if 33 <= b <= 126 or 161 <= b <= 172 or b >= 174]
LETTERS = {b: chr(b) for b in BYTES}
for number, byte in enumerate(b for b in range(256) if b not in BYTES):
    LETTERS[byte] = chr(256 + number)
END = 256


class Tokenize(Base):
    def setUp(self):
        super().setUp()
        vocabulary = {LETTERS[b]: b for b in range(256)}
        vocabulary["<|endoftext|>"] = END
        vocabulary["th"] = 257
        self.file("vocab.json", json.dumps(vocabulary))
        self.file("merges.txt", "#version: 0.2\nt h\n")
        self.output = self.folder / "corpus.bin"

    def tokenize(self, *inputs, tokenizer=None, flags=()):
        self.ok("tokenize", *inputs, "-o", self.output, "--tokenizer",
                tokenizer or self.folder, *flags)
        about = json.loads((self.folder / "corpus.json").read_text())
        ids = array.array({"uint16": "H", "uint32": "I"}[about["dtype"]])
        ids.frombytes(self.output.read_bytes())
        self.assertEqual(about["tokens"], len(ids))
        return list(ids), about

    def refused_data(self, *inputs, tokenizer=None):
        run = chimera("tokenize", *inputs, "-o", self.output, "--tokenizer",
                      tokenizer or self.folder)
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertFalse(self.output.exists())
        return run.stderr

    def test_text_and_jsonl(self):
        ids, about = self.tokenize(
            self.file("a.txt", "the"),
            self.file("b.jsonl", '{"text": "x"}\n{"text": "\\u0074h"}\n'))
        self.assertEqual(ids, [257, ord("e"), END, ord("x"), END, 257, END])
        self.assertEqual(about["documents"], 3)
        self.assertEqual(about["dtype"], "uint16")
        self.assertRegex(about["tokenizer_hash"], "^[0-9a-f]{16}$")

    def test_packed_files_and_directories(self):
        (self.folder / "d").mkdir()
        self.file("d/1.txt.gz", gzip.compress(b"on") + gzip.compress(b"e"))
        self.file("d/2.jsonl.gz", gzip.compress(b'{"text": "two"}\n'))
        # A zstd frame that stores its bytes uncompressed.
        self.file("d/3.txt.zst",
                  bytes.fromhex("28b52ffd2005290000") + b"three")
        ids, _ = self.tokenize(self.folder / "d")
        self.assertEqual(ids, [*b"one", END, *b"two", END,
                               257, *b"ree", END])

    def test_end_of_document_is_what_the_directory_says(self):
        self.file("tokenizer_config.json", json.dumps(
            {"eos_token": {"content": "th"}}))
        self.assertEqual(self.tokenize(self.file("a.txt", "a"))[0],
                         [ord("a"), 257])

    def test_a_large_vocabulary_takes_four_bytes(self):
        vocabulary = json.loads((self.folder / "vocab.json").read_text())
        vocabulary["far"] = 65536
        self.file("vocab.json", json.dumps(vocabulary))
        ids, about = self.tokenize(self.file("a.txt", "a"))
        self.assertEqual((ids, about["dtype"]), ([ord("a"), END], "uint32"))

    def test_files_and_directory_are_one_tokenizer(self):
        text = self.file("a.txt", "a")
        hashes = {self.tokenize(text, tokenizer=path)[1]["tokenizer_hash"]
                  for path in (self.folder, self.folder / "vocab.json",
                               self.folder / "merges.txt")}
        self.assertEqual(len(hashes), 1)

    def test_threads_do_not_show(self):
        lines = "".join(json.dumps({"text": f"the {i} " * (i % 50)}) + "\n"
                        for i in range(20000))
        text = self.file("a.jsonl", lines)
        one = self.tokenize(text, flags=["--threads", 1])
        self.assertEqual(self.tokenize(text, flags=["--threads", 5]), one)

    def test_bounded_memory(self):
        text = self.file("long.txt", b"a few words\n" * 3_000_000)
        run = chimera("tokenize", text, "-o", self.output, "--tokenizer",
                      self.folder, "--threads", 2, limit_mb=300)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(self.output.stat().st_size, 2 * (36_000_000 + 1))

    def test_mistakes(self):
        good = self.file("a.txt", "a")
        self.assertIn("E701", self.refused_data(good, tokenizer="/nowhere"))
        self.assertIn("E501", self.refused_data(self.folder / "missing.txt"))
        self.assertIn("E712", self.refused_data(self.file(
            "cut.txt.gz", gzip.compress(bytes(range(256)) * 99)[:-9])))
        self.assertIn("b.jsonl:2", self.refused_data(
            self.file("b.jsonl", '{"text": "a"}\n{"txt": "a"}\n')))
        self.assertIn("Unigram", self.refused_data(good, tokenizer=self.file(
            "u.json", '{"pre_tokenizer": null, "model": {"type": "Unigram"}}')))
        codes, _ = self.refused("tokenize", "--threads", 0)
        self.assertEqual(codes, ["E402", "E402", "E402", "E403"])

    def test_nothing_of_the_users_is_replaced(self):
        text = self.file("a.jsonl", '{"text": "a"}\n')
        run = chimera("tokenize", text, "-o", text, "--tokenizer", self.folder)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("must end in .bin", run.stderr)
        mine = self.file("corpus.json", '{"format": "mine"}')
        self.assertIn("E713", self.refused_data(text))
        self.assertEqual((text.read_text(), mine.read_text()),
                         ('{"text": "a"}\n', '{"format": "mine"}'))
        mine.unlink()
        for _ in range(2):  # its own files are replaced
            self.tokenize(text)

    def test_progress_on_a_terminal(self):
        text = self.file("long.txt", b"a few words\n" * 3_000_000)
        master, slave = pty.openpty()
        subprocess.run([CHIMERA, "tokenize", text, "-o", self.output,
                        "--tokenizer", self.folder, "--threads", "1"],
                       stderr=slave, stdout=subprocess.DEVNULL, check=True)
        os.close(slave)
        shown = os.read(master, 1 << 16).decode()
        self.assertRegex(shown, r"\[=* *\] \d+ of 36 MB +[\d.]+ MB/s .* left \d")


if __name__ == "__main__":
    unittest.main()
