#!/usr/bin/env python3
"""Compares the speed of two builds of race_worker, in alternating pairs.

bench/old_against_new.py OLD NEW [--pairs 20] [--micros 2] [--precision bf16]

Both programs train the race's GPT-2 (h512 L8, D=2) on the same weights and
data. They stay alive and take turns; a pair is a block of steps of each, and
the one that begins changes from pair to pair. The ratio is NEW's time over
OLD's in each pair. Its median is printed with the range that half of the pairs
are in, and with a range that holds the true median with a probability of 95 %
(order statistics, so nothing is assumed about how times are distributed).

Exit code 1: the median is above --most (1.02), or the losses differ.
"""
import argparse
import math
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "race"))
import bf16_race
from chimera_side import Program, run_toml


def median_range(count):
    """The ranks (from 0) of the ordered values between which the median is with
    a probability of at least 95 %."""
    below = 0
    for rank in range(count // 2):
        below += math.comb(count, rank) / 2 ** count
        if below > 0.025:
            return max(rank - 1, 0), count - 1 - max(rank - 1, 0)
    return 0, count - 1


def run_pairs(programs, pairs, steps):
    """[(old's seconds, new's seconds)]; one pair before does not count."""
    found = []
    for pair in range(pairs + 1):
        order = (0, 1) if pair % 2 == 0 else (1, 0)
        blocks = {which: programs[which].run(steps) for which in order}
        if blocks[0].losses and not all(
                math.isclose(a, b, rel_tol=1e-4)
                for a, b in zip(blocks[0].losses, blocks[1].losses)):
            sys.exit(f"the losses differ: {blocks[0].losses}, "
                     f"{blocks[1].losses}")
        if pair > 0:
            found.append((blocks[0].seconds, blocks[1].seconds))
    return found


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--pairs", type=int, default=20)
    parser.add_argument("--micros", type=int, default=2)
    parser.add_argument("--steps", type=int, default=4, help="of a block")
    parser.add_argument("--precision", default="float32")
    parser.add_argument("--most", type=float, default=1.02)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        task = bf16_race.make_task("gpt2", options.micros, directory,
                                   options.precision)
        programs = [Program(name, [name], run_toml(task, "chimera"), 2)
                    for name in (options.old, options.new)]
        pairs = run_pairs(programs, options.pairs, options.steps)
        for program in programs:
            program.close()
    ratios = sorted(new / old for old, new in pairs)
    low, high = median_range(len(ratios))
    median = statistics.median(ratios)
    quarter = len(ratios) // 4
    for name, times in zip((options.old, options.new), zip(*pairs)):
        print(f"{name}: {1e3 * statistics.median(times) / options.steps:.1f} "
              "ms a step")
    print(f"new over old, {len(ratios)} pairs, {options.precision}, "
          f"N={options.micros}: {median:.4f}; half of the pairs in "
          f"{ratios[quarter]:.4f} to {ratios[-1 - quarter]:.4f}; the median "
          f"with 95 % in {ratios[low]:.4f} to {ratios[high]:.4f}")
    return 0 if median <= options.most else 1


if __name__ == "__main__":
    sys.exit(main())
