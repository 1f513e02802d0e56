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
from simulator import Simulator, even_cut, with_ring  # noqa: E402


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

    def test_a_ring_takes_two_latencies_for_each_other_rank(self):
        def latency_us(label, figure="14"):
            row = next(row for row in FIGURES[figure]["rows"]
                       if row["label"] == label)
            text = with_ring("[sum]\nlatency_us = 50\n", row, "bert-48")
            return float(text.split()[-1])
        # The simulator multiplies by 2 log2 of 16, 32 and 8 ranks.
        self.assertAlmostEqual(8 * latency_us("GPipe"), 2 * 15 * 50, 2)
        self.assertAlmostEqual(10 * latency_us("Chimera"), 2 * 31 * 50 * 2, 2)
        parts = 4 * 670e6 / 8 / 25e6
        self.assertAlmostEqual(6 * latency_us("PipeDream"),
                               2 * 7 * 50 * parts / 2, 2)

    def test_the_last_sums_of_a_timed_run_do_not_queue(self):
        simulator = Simulator(CHIMERA)
        figure = FIGURES["18"]
        row = next(row for row in figure["rows"]
                   if row["label"] == "PipeDream-2BW")
        value, result = simulator.predict(figure, row)
        queued = 4 * 2048 / result["window"]
        # 15 of the 16 sums of each of 4 updates would wait for another.
        self.assertGreater(value, 1.05 * queued)
        self.assertLess(value, 4 / 3 * queued)

    def test_the_profile_has_the_fitted_numbers(self):
        fit = json.loads((ROOT / "experiments/fits.json").read_text())["all"]
        text = (ROOT / "src/chimera/plan/profiles/p100.toml").read_text()
        for line in (f"message_us = {1000 * fit['message_ms']:g}",
                     f"gb_per_s = {fit['ring_gb_per_s']}",
                     f"node_gb_per_s = {fit['node_gb_per_s']}",
                     f"gpt2 = {fit['gpt2']}", f"bert = {fit['bert']}"):
            self.assertIn(f"\n{line}\n", text)

    def test_at_least_twenty_bars_are_held_out(self):
        held_out = [row for name in ("1", "17", "18", "19")
                    for row in FIGURES[name]["rows"] if row["published"]]
        self.assertGreaterEqual(len(held_out), 20)


if __name__ == "__main__":
    unittest.main()
