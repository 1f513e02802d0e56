#!/usr/bin/env python3
"""Races Chimera and its peers on one machine, in one run, taking turns.

./dev bench race [--quick] [--only real|bf16|emulated|python|overhead] [--out DIR]

Peers are the pipeline schedules of torch.distributed.pipelining and
DistributedDataParallel with gradient accumulation, one process per rank, on
Gloo. Every contestant has the same model, weights, data, optimizer (fused
AdamW) and one thread per worker. A round is a block of steps of each, one after
the other; the first round is not counted. Times are medians over the rounds,
spreads the median distance from them, ratios the medians of blocks of the same
round.

Writes DIR/race.md and DIR/race.svg (build/race). Exit code 1: a limit is
missed, or a contestant did not train like all others.
"""
import argparse
import pathlib
import subprocess
import sys
import time

import bf16_race
import chart
import emulated_race
import machine
import overhead
import real_race
import report
from chimera_side import BUILD

PEERS_AND_ROUNDS = __doc__.split("\n\n")[2]


class Race:
    def __init__(self, options):
        self.quick = options.quick
        self.out = pathlib.Path(options.out)
        self.out.mkdir(parents=True, exist_ok=True)
        self.start = time.monotonic()
        self.panels, self.bars, self.sections = [], [], []

    def tell(self, text):
        print(f"[{time.monotonic() - self.start:4.0f} s] {text}",
              file=sys.stderr, flush=True)

    def add(self, panel, bars):
        self.panels.append(panel)
        self.bars += bars
        self.sections.append(report.panel_text(panel))
        print(self.sections[-1], flush=True)

    def run_real(self):
        for kind in ["gpt2"] if self.quick else ["gpt2", "bert"]:
            for micros in [2, 8] if self.quick else [2, 4, 8]:
                self.tell(f"{kind}, N = {micros}")
                panel = real_race.run(kind, micros, self.out / "inputs",
                                      self.quick, self.tell)
                self.add(panel, real_race.bars(panel, micros))

    def run_bf16(self):
        for name, counts in self.bf16_settings():
            if name != bf16_race.LARGER:
                self.tell(f"{name}, bf16: the faster way of each peer")
                task = bf16_race.make_task(name, 4, self.out / "inputs")
                peers = [peer for _, peer
                         in bf16_race.faster_ways(task, self.tell)]
            for micros in counts:
                self.tell(f"{name}, bf16, N = {micros}")
                panel = bf16_race.run(name, micros, peers,
                                      self.out / "inputs", self.quick,
                                      self.tell)
                self.add(panel, bf16_race.bars(panel, name, micros))

    def bf16_settings(self):
        """(shape, numbers of micro-batches). The larger shape comes after
        GPT-2, whose fastest peers it takes."""
        if self.quick:
            return [("gpt2", (2, 8)), (bf16_race.LARGER, (2,))]
        return [("bert", (2, 4, 8)), ("gpt2", (2, 4, 8)),
                (bf16_race.LARGER, (2, 4, 8))]

    def run_emulated(self):
        for depth, micros, action_s, alone in self.emulated_settings():
            self.tell(f"emulated, D = {depth}, N = {micros}, "
                      f"{1e3 * action_s:g} ms")
            panel = emulated_race.run(depth, micros, action_s, self.quick,
                                      self.tell, alone)
            self.add(panel,
                     emulated_race.bars(panel, depth, micros, action_s))

    def emulated_settings(self):
        """(D, N, seconds, whether Chimera runs alone)"""
        if self.quick:
            return [(8, 8, 0.010, False), (8, 8, 0.002, True),
                    (32, 32, 0.010, True)]
        return [(depth, times * depth, action_s, depth > 8)
                for action_s in (0.010, 0.002) for depth in (4, 8, 16, 32)
                for times in (1, 2)]

    def run_python(self):
        import python_race  # needs the Python package

        for micros in (2, 8):
            self.tell(f"Python modules, N = {micros}")
            panel = python_race.run_real(micros, self.out / "inputs",
                                         self.quick, self.tell)
            self.add(panel, python_race.bars(panel, least=1.0))
        # Weight gradients that take half as long are closer to real blocks.
        for action_s, weight_s in [(0.010, 0.010), (0.010, 0.005),
                                   (0.020, 0.010)]:
            self.tell(f"Python modules, emulated, {1e3 * action_s:g} and "
                      f"{1e3 * weight_s:g} ms")
            panel = python_race.run_emulated(action_s, weight_s, self.quick,
                                             self.tell)
            self.add(panel, python_race.bars(panel, least=1.2))

    def run_overhead(self):
        self.tell("overhead of the runtime")
        command = [BUILD / "race_overhead", *(["--quick"] if self.quick else [])]
        table = subprocess.run(command, capture_output=True, text=True,
                               check=True).stdout
        self.bars += overhead.bars(table)
        self.sections.append("### The runtime alone: empty compute, threads, "
                             "per action\n\n" + table)
        print(self.sections[-1], flush=True)
        import python_overhead  # needs the Python package

        self.tell("overhead of Python")
        self.sections.append(python_overhead.section(overhead.rows(table)))
        print(self.sections[-1], flush=True)

    def write(self, command, load):
        seconds = time.monotonic() - self.start
        (self.out / "race.svg").write_text(chart.draw(self.panels))
        text = "\n".join([
            "# The race\n",
            f"`{command}`, {time.strftime('%Y-%m-%d')}, {seconds / 60:.0f} "
            f"minutes. {machine.text()}. Load before {load}, after "
            f"{machine.load()}.\n",
            PEERS_AND_ROUNDS + "\n",
            "## Bars\n", report.bars_text(self.bars),
            "## Results\n", *self.sections, "![the race](race.svg)\n"])
        (self.out / "race.md").write_text(text)
        print(report.bars_text(self.bars))
        self.tell(f"written: {self.out / 'race.md'}, {self.out / 'race.svg'}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true",
                        help="a part of it, in a few minutes")
    parser.add_argument("--only", choices=["real", "bf16", "emulated", "python",
                                 "overhead"])
    parser.add_argument("--out", default=BUILD / "race")
    options = parser.parse_args()
    load = machine.load()
    race = Race(options)
    for name, run in [("real", race.run_real), ("bf16", race.run_bf16),
                      ("emulated", race.run_emulated),
                      ("python", race.run_python),
                      ("overhead", race.run_overhead)]:
        if options.only in (None, name):
            run()
    race.write(" ".join(["./dev bench race", *sys.argv[1:]]), load)
    is_right = not any(panel.problems for panel in race.panels)
    return 0 if is_right and all(bar.is_met for bar in race.bars) else 1


if __name__ == "__main__":
    sys.exit(main())
