#!/usr/bin/env python3
"""Runs part of the paper's evaluation, as experiments/README.md says.

usage: experiments_test.py CHIMERA_BINARY
"""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from program import CHIMERA, ROOT

sys.path.insert(0, str(ROOT / "experiments"))
from recipes import FIGURES, TRAINING  # noqa: E402
from simulator import even_cut  # noqa: E402


class Experiments(unittest.TestCase):
    def run_figures(self, *figures):
        with tempfile.TemporaryDirectory() as folder:
            bars = pathlib.Path(folder) / "bars.json"
            run = subprocess.run(
                [sys.executable, ROOT / "experiments/run.py", CHIMERA, *figures,
                 "-o", folder, "--json", bars],
                capture_output=True, text=True, timeout=120)
            self.assertEqual(run.returncode, 0, run.stderr)
            for name in figures:
                picture = pathlib.Path(folder) / f"figure_{name}.svg"
                self.assertIn("</svg>", picture.read_text())
            return run.stdout, json.loads(bars.read_text())

    def test_bars(self):
        text, bars = self.run_figures("12", "13", "19")
        self.assertIn("| Bert-48 W=8 D=4 B=8 |", text)
        self.assertIn("Held out: 6 bars", text)
        self.assertEqual(len(bars), 12)
        for bar in bars:
            self.assertEqual(set(bar), {"figure", "scheme", "layout",
                                        "predicted", "published", "fitted"})
            self.assertEqual(bar["fitted"], bar["figure"] in TRAINING)
            self.assertGreater(bar["published"], 0)
            # Loose: this is about the recipes, not about the machine.
            self.assertLess(abs(bar["predicted"] / bar["published"] - 1), 0.5)

    def test_figures_without_published_bars_of_the_p100_are_not_listed(self):
        self.assertEqual(self.run_figures("9")[1], [])

    def test_the_cut_is_even(self):
        self.assertEqual(even_cut(48, 4), [0, 13, 25, 37])
        self.assertEqual(even_cut(64, 1), [0])

    def test_at_least_twenty_bars_are_held_out(self):
        held_out = [row for name in ("1", "17", "18", "19")
                    for row in FIGURES[name]["rows"] if row["published"]]
        self.assertGreaterEqual(len(held_out), 20)


if __name__ == "__main__":
    unittest.main()
