#!/usr/bin/env python3
"""Fits what nobody measured of the P100's machine to figures 11, 13 and 14.

    python3 experiments/fit_links.py build/chimera [-o experiments/fits.json]

Five numbers are free: how much longer than in the profile's tables a block of
GPT-2 and one of BERT takes in the authors' code, the time of a message
(whatever its bytes: Gloo through host memory and helper threads), the bandwidth
of one ring of a sum, and that of all rings of a node together. They make the
sum of Huber's losses of log(predicted / published) over the bars of the training
figures least: squares up to 5 %, the precision to which bars can be read, and
linear beyond it, where an error is the model's and not the reading's. The search
goes along each of them in turn, and along both bandwidths together. All other
figures are held out.

The same is done again without each of the three figures; run.py shows how far
predictions move with that choice. The results are in fits.json; the numbers of
"all" are those of the built-in p100.
"""
import argparse
import json
import math
from pathlib import Path

from recipes import FIGURES, TRAINING
from simulator import Simulator

ROOT = Path(__file__).resolve().parent.parent
START = dict(gpt2=1.18, bert=1.38, message_ms=12.0, ring_gb_per_s=1.4,
             node_gb_per_s=2.4)
READING = 0.05
MOVES = [(name,) for name in START] + [("ring_gb_per_s", "node_gb_per_s")]


def loss(predicted, published):
    error = abs(math.log(predicted / published))
    if error <= READING:
        return error ** 2
    return 2 * READING * error - READING ** 2


def profile_text(numbers):
    """The built-in p100 with other numbers."""
    text = (ROOT / "src/chimera/plan/profiles/p100.toml").read_text()
    sections = ["[" + part for part in text.split("\n[")[1:]]
    kept = [part for part in sections
            if part.split("]")[0] not in ("[link", "[sum", "[block_factor")]
    return "\n".join(kept) + f"""
[link]
latency_us = 50
gb_per_s = 0
message_us = {1000 * numbers['message_ms']:.6g}
[sum]
latency_us = 50
gb_per_s = {numbers['ring_gb_per_s']:.6g}
node_gb_per_s = {numbers['node_gb_per_s']:.6g}
[block_factor]
gpt2 = {numbers['gpt2']:.6g}
bert = {numbers['bert']:.6g}
"""


class Fit:
    def __init__(self, binary, figures):
        self.simulator = Simulator(binary)
        self.tasks = [(FIGURES[name], row) for name in figures
                      for row in FIGURES[name]["rows"] if row["published"]]
        self.known = {}

    def error(self, numbers):
        key = tuple(round(math.log(value), 6) for value in numbers.values())
        if key not in self.known:
            path = self.simulator.folder / "fit.toml"
            path.write_text(profile_text(numbers))
            values = self.simulator.predict_all(
                [(*task, path) for task in self.tasks])
            self.known[key] = sum(
                loss(value, row["published"])
                for (value, _), (_, row) in zip(values, self.tasks))
        return self.known[key]

    def run(self):
        best = dict(START)
        for step in (1.25, 1.1, 1.04, 1.02):
            improved = True
            while improved:
                improved = False
                for names in MOVES:
                    for factor in (step, 1 / step):
                        changed = {**best, **{name: best[name] * factor
                                              for name in names}}
                        if changed["node_gb_per_s"] < changed["ring_gb_per_s"]:
                            continue
                        if self.error(changed) < self.error(best) - 1e-6:
                            best, improved = changed, True
        return {name: float(f"{value:.3g}") for name, value in best.items()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("-o", "--output",
                        default=Path(__file__).with_name("fits.json"))
    options = parser.parse_args()
    fits = {}
    for left_out in (None, *TRAINING):
        figures = [name for name in TRAINING if name != left_out]
        fit = Fit(options.binary, figures)
        numbers = fit.run()
        name = f"without {left_out}" if left_out else "all"
        fits[name] = numbers
        print(f"{name}: {numbers}, {len(fit.tasks)} bars, loss "
              f"{fit.error(numbers):.4f}", flush=True)
        Path(options.output).write_text(json.dumps(fits, indent=1) + "\n")


if __name__ == "__main__":
    main()
