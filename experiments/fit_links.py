#!/usr/bin/env python3
"""Fits what is not known of the P100's machine to figure 13, the one figure that
predictions may see.

    python3 experiments/fit_links.py build/chimera

Three numbers are free: the bandwidth of messages, that of sums, and a factor on
the times of GPT-2's block, which nobody measured (the profile has them derived
by FLOPs from t5-large's, times 1.18 from this fit: a factor of 1 confirms it).
Three rows of the figure are known, all of Chimera: Bert-48 at W=8 D=4 B=8 (166
samples/s), GPT-2 at W=16 D=32 B=1 (130) and at W=64 D=8 B=1 with recomputation
(145, the least certain reading). Sends block, since Gloo moved tensors through
host memory. What this does to all other figures is run.py's business.
"""
import re
import sys
import tempfile
from pathlib import Path

from recipes import row
from run import Simulator, predicted

ROOT = Path(__file__).resolve().parent.parent
BERT = ("bert-48", row("", "chimera", 8, 4, 8, 8, 166))
DEEP = ("gpt2-64", row("", "chimera", 16, 32, 1, 32, 130))
WIDE = ("gpt2-64", row("", "chimera", 64, 8, 1, 8, 145, recompute=True))


def profile_text(message, total, factor):
    """The built-in p100 with other links (GB/s) and another GPT-2 block."""
    source = (ROOT / "src/chimera/plan/profiles/p100.cc").read_text()
    text = source.split('R"toml(')[1].split(')toml"')[0]
    text = re.sub(r"\[(link|sum)\]\n(?:\w.*\n)+", "", text)
    before, block = text.split("[gpt2-1280]")
    scaled = lambda match: match[1] + ", ".join(
        f"{factor * float(number):.6g}" for number in match[2].split(","))
    block = re.sub(r"((?:forward|input_grad|weight_grad)_ms = \[)([^\]]*)",
                   scaled, block)
    return (f"{before}[link]\nlatency_us = 50\ngb_per_s = {message}\n"
            f"blocking = true\n[sum]\nlatency_us = 50\ngb_per_s = {total}\n"
            f"[gpt2-1280]{block}")


class Fit:
    def __init__(self, binary):
        self.path = Path(tempfile.mkdtemp()) / "fit.toml"
        self.simulator = Simulator(binary, self.path)

    def throughput(self, case, message, total, factor=1.0):
        self.path.write_text(profile_text(message, total, factor))
        figure = dict(model=case[0])
        return predicted(figure, case[1], self.simulator.run(figure, case[1]))

    @staticmethod
    def bisect(function, low, high):
        """Where a growing function changes its sign."""
        for _ in range(14):
            middle = (low * high) ** 0.5
            if function(middle) < 0:
                low = middle
            else:
                high = middle
        return (low * high) ** 0.5

    def run(self):
        """Bert-48's row gives the sums, the deep one the factor; of all message
        bandwidths the best for the wide one."""
        best = None
        for step in range(16):
            message = 0.12 * 1.2 ** step
            total = self.bisect(lambda gb_per_s: self.throughput(
                BERT, message, gb_per_s) - BERT[1]["published"], 0.2, 20)
            factor = self.bisect(lambda times: DEEP[1]["published"] -
                                 self.throughput(DEEP, message, total, times),
                                 0.3, 4)
            wide = self.throughput(WIDE, message, total, factor)
            error = abs(wide / WIDE[1]["published"] - 1)
            if best is None or error < best[0]:
                best = (error, message, total, factor, wide)
        return best


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    _, message, total, factor, wide = Fit(sys.argv[1]).run()
    print(f"messages {message:.2f} GB/s, sums {total:.2f} GB/s, GPT-2's block "
          f"times {factor:.2f}; the wide GPT-2 {wide:.0f} of 145 samples/s")


if __name__ == "__main__":
    main()
