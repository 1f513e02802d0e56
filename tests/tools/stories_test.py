#!/usr/bin/env python3
"""The stories of examples/stories are the same everywhere and read as English.

usage: stories_test.py
"""
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/stories"
SCRIPT = EXAMPLE / "make_stories.py"


def make(name, *flags):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / name
        subprocess.run([sys.executable, SCRIPT, "-o", path, *flags],
                       check=True)
        return path.read_text()


class Stories(unittest.TestCase):
    def test_a_seed_gives_the_same_text_on_every_machine(self):
        text = make("a.txt", "--megabytes", "0.1")
        self.assertEqual(
            hashlib.sha256(text.encode()).hexdigest(),
            "51fdf83ca22c7e4794ecc467d0428a64cf2e64df590abf87aed2a76dc974ba87")

    def test_a_larger_file_begins_with_the_smaller_one(self):
        small = make("a.txt", "--megabytes", "0.02")
        self.assertTrue(make("a.txt", "--megabytes", "0.05").startswith(small))
        self.assertLessEqual(len(small), 20000)
        self.assertGreater(len(small), 19000)

    def test_seeds_differ(self):
        size = ("--megabytes", "0.02")
        self.assertNotEqual(make("a.txt", *size),
                            make("a.txt", *size, "--seed", "1"))

    def test_lines_of_jsonl_are_the_stories(self):
        size = ("--megabytes", "0.05")
        texts = [json.loads(line)["text"]
                 for line in make("a.jsonl", *size).splitlines()]
        self.assertEqual(make("a.txt", *size).split("\n\n"), texts + [""])

    def test_every_choice_is_filled_in(self):
        text = make("a.txt", "--megabytes", "1")
        self.assertFalse(set("{}:") & set(text))
        self.assertFalse(re.findall(r"\ba [aeiou]|\ban [^aeiou]|  |\. [a-z]",
                                    text))
        stories = text.split("\n\n")[:-1]
        self.assertGreater(len(set(stories)), 0.99 * len(stories))

    def test_every_word_of_them_can_be_a_token(self):
        """The vocabulary stops growing when each word is one token, and is
        smaller if asked for."""
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            subprocess.run([sys.executable, SCRIPT, "-o", folder / "a.jsonl"],
                           check=True)
            vocabularies = []
            for size in (300, 5000):
                subprocess.run(
                    [sys.executable, EXAMPLE / "train_tokenizer.py",
                     folder / "a.jsonl", folder / "t.json", "--vocab",
                     str(size)], check=True)
                vocabularies.append(json.loads(
                    (folder / "t.json").read_text())["model"]["vocab"])
            small, large = vocabularies
            self.assertEqual(len(small), 300)
            self.assertEqual(len(large), 768)  # model.vocab of stories.toml
            self.assertTrue(set(large).issuperset(small))
            for word in (" girl", " named", "There", " Sam", "."):
                self.assertIn(word.replace(" ", "\u0120"), large)


if __name__ == "__main__":
    unittest.main()
