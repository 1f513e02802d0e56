#!/usr/bin/env python3
"""Builds examples/04 against the installed package and trains with it.

follow_a_run_test.py PREFIX BUILD SOURCE [cmake option...]

In threads and under mpirun it leaves metrics, state, checkpoints and weights,
and a resumed run ends with the bits of one that never stopped.
"""
import json
import pathlib
import random
import shutil
import sys

from commands import run

CONFIG = """
[model]
kind = "gpt2"
layers = 2
hidden = 32
heads = 2
vocab = 256
seq = 32
[schedule]
depth = 4
micros = 4
micro_batch = 2
[train]
steps = {steps}
lr = 1e-3
seed = 3
threads = 1
[data]
path = "{data}"
[run]
save_every = 3
"""


def check_directory(folder, steps):
    state = json.loads((folder / "state.json").read_text())
    assert (state["state"], state["step"]) == ("done", steps), state
    metrics = [json.loads(line) for line in
               (folder / "metrics.jsonl").read_text().splitlines()]
    assert [each["step"] for each in metrics] == list(range(1, steps + 1))
    assert (folder / "config.toml").exists()
    assert any((folder / "checkpoints").iterdir())
    return (folder / "weights/model.safetensors").read_bytes()


def main():
    prefix, work, source = (
        pathlib.Path(word).resolve() for word in sys.argv[1:4])
    build = work / "build"
    run("cmake", "-S", source / "examples/04_follow_a_run", "-B", build, "-G",
        "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}", *sys.argv[4:])
    run("cmake", "--build", build)
    program = build / "follow_a_run"

    runs = work / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    runs.mkdir(parents=True)
    data = runs / "text.txt"
    data.write_bytes(random.Random(1).randbytes(20_000))
    for steps in (3, 6):
        (runs / f"{steps}.toml").write_text(
            CONFIG.format(steps=steps, data=data))

    printed = run(program, runs / "6.toml", runs / "threads")
    assert "step 6: loss" in printed, printed
    weights = check_directory(runs / "threads", 6)
    mpirun = ("mpirun", "-n", 4, "--oversubscribe", "--bind-to", "none")
    run(*mpirun, program, runs / "3.toml", runs / "ranks")
    check_directory(runs / "ranks", 3)
    run(*mpirun, program, runs / "6.toml", runs / "ranks", "--resume")
    if check_directory(runs / "ranks", 6) != weights:
        sys.exit("mpirun with a resume gives other bits than threads")


if __name__ == "__main__":
    main()
