#!/usr/bin/env python3
"""Compares the planned orders of two builds at random costs.

bench/orders_old_new.py OLD NEW [--settings 200] [--seed 1]

Both programs simulate the same settings: a single step (its makespan) and six
steps (their period). Prints every setting at which NEW is slower, and how much
it gains on average. Exit code 1: NEW is slower somewhere.
"""
import argparse
import json
import random
import statistics
import subprocess
import sys


def random_setting(draw):
    """Flags of `chimera simulate planned`."""
    shape, pipes = draw.choice([("linear", 1), ("linear", 2), ("vee", 1),
                                ("vee", 2), ("loop", 1), ("wave", 1)])
    depth = draw.choice([4, 8])
    forward = round(draw.uniform(1, 3), 2)
    input_grad = round(forward * draw.uniform(0.8, 1.5), 2)
    weight_grad = round(forward * draw.uniform(0.3, 1.1), 2)
    flags = {"depth": depth, "micros": depth * draw.choice([1, 2, 4]),
             "pipes": pipes, "shape": shape,
             "cap": draw.choice([depth, depth, depth + 1, 2 * depth]),
             "forward": forward, "backward": round(input_grad + weight_grad, 2),
             "weight-grad": weight_grad,
             "p2p": draw.choice([0, round(forward * draw.uniform(0, 0.5), 2)])}
    words = [f"--{name}={value}" for name, value in flags.items()]
    return words + ["--recompute"] * (draw.random() < 0.2)


def simulated(program, setting, steps):
    """The makespan of one step, or the period of several."""
    command = [program, "simulate", "planned", *setting, f"--steps={steps}",
               "--format=json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True,
                                      text=True).stdout)
    return found["makespan"] if steps == 1 else found["period"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--settings", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    draw = random.Random(options.seed)
    settings = [random_setting(draw) for _ in range(options.settings)]
    slower = 0
    for name, steps in [("makespan", 1), ("period", 6)]:
        ratios = []
        for setting in settings:
            old, new = (simulated(program, setting, steps)
                        for program in (options.old, options.new))
            ratios.append(new / old)
            if new > old * (1 + 1e-9):
                slower += 1
                print(f"slower: {name} {old:g} -> {new:g}: {' '.join(setting)}",
                      flush=True)
        print(f"{name}: {len(ratios)} settings, new over old: mean "
              f"{statistics.mean(ratios):.4f}, least {min(ratios):.4f}, most "
              f"{max(ratios):.4f}, shorter at "
              f"{sum(r < 1 - 1e-9 for r in ratios)}", flush=True)
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
