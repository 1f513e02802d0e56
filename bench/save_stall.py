#!/usr/bin/env python3
"""Measures how long a save stalls training, against torch.save of the same
state.

usage: save_stall.py CHIMERA_BINARY [FOLDER]     (with a Python that has torch)

A GPT-2 of 100 M parameters, AdamW, two workers. Alternates a run of Chimera
that saves three times and torch.save of weights and optimizer state, on the
same disk: that of FOLDER (default: the temporary folder). The memory of the
first save is made in the background of the steps before it. ROUNDS=1 in the
environment makes a short measurement.
"""
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

import torch

ROUNDS = int(os.environ.get("ROUNDS", "3"))
CONFIG = """
[model]
kind = "gpt2"
layers = 12
hidden = 768
heads = 12
vocab = 20000
seq = 16
[schedule]
depth = 2
micros = 2
micro_batch = 1
[train]
steps = 45
lr = 1e-4
[run]
save_every = 15
keep = 1
[data]
path = "{text}"
"""
SAVED = re.compile(r"saved \S+ in ([\d.]+) s, of which training waited "
                   r"([\d.]+) s")


def train(chimera, folder, number):
    """[(seconds in total, seconds that training waited)] of each save."""
    text = folder / "text.txt"
    text.write_text("It was the best of times, it was the worst. " * 99)
    config = folder / "run.toml"
    config.write_text(CONFIG.format(text=text))
    run = subprocess.run([chimera, "train", "-c", config, "--run-dir",
                          folder / f"run{number}"], check=True, text=True,
                         capture_output=True)
    saves = [tuple(map(float, found)) for found in SAVED.findall(run.stderr)]
    size = sum(path.stat().st_size for path in
               (folder / f"run{number}/checkpoints").rglob("*.safetensors"))
    subprocess.run(["rm", "-rf", folder / f"run{number}"], check=True)
    return saves, size


def save_plainly(folder, size):
    """torch.save the same number of bytes: weights and two moments."""
    count = size // 4 // 3
    names = ("weights", "exp_avg", "exp_avg_sq")
    state = {name: torch.randn(count) for name in names}
    begin = time.perf_counter()
    with open(folder / "plain.pt", "wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    seconds = time.perf_counter() - begin
    os.remove(folder / "plain.pt")
    return seconds


def main():
    chimera = os.path.abspath(sys.argv[1])
    parent = sys.argv[2] if len(sys.argv) > 2 else None
    first, later, whole, plain = [], [], [], []
    with tempfile.TemporaryDirectory(dir=parent) as name:
        folder = pathlib.Path(name)
        for number in range(ROUNDS):
            saves, size = train(chimera, folder, number)
            whole += [total for total, _ in saves]
            first.append(saves[0][1])
            later += [wait for _, wait in saves[1:]]
            plain.append(save_plainly(folder, size))
    print(f"| {size / 1e6:.0f} MB, medians of {ROUNDS} rounds | ms |")
    print("|---|---|")
    for what, times in (("training waits, first save", first),
                        ("training waits, later saves", later),
                        ("Chimera's save in all (background)", whole),
                        ("torch.save and fsync (training waits)", plain)):
        print(f"| {what} | {1e3 * statistics.median(times):.0f} |")
    ratio = statistics.median(first) / statistics.median(later)
    print(f"| the first save's wait as a multiple of a later one's | "
          f"{ratio:.1f} |")


if __name__ == "__main__":
    main()
