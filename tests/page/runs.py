"""Run directories for the tests of report and watch, made without training."""
import json
import math
import os
import pathlib
import subprocess
import sys

CHIMERA = os.path.abspath(sys.argv.pop(1))

CONFIG = """[model]
kind = "gpt2"
layers = 62
hidden = 64
heads = 4
vocab = 256
seq = 32
[schedule]
scheme = "chimera"
depth = {workers}
micros = {workers}
micro_batch = 2
[train]
steps = {steps}
lr = 0.001
[data]
path = "{data}"
"""


def chimera(*args):
    run = subprocess.run([CHIMERA, *map(str, args)], text=True,
                         capture_output=True, timeout=120)
    if run.returncode != 0:
        raise RuntimeError(f"{args}: {run.stderr}")
    return run


def metrics_line(step):
    return json.dumps({
        "step": step, "loss": 2 + 3 * math.exp(-step / 900) + 0.1 * math.sin(step * 1.7),
        "grad_norm": 1 + 0.2 * math.sin(step), "lr": 1e-3 / (1 + step / 1000),
        "tokens": 4096, "tokens_per_s": 9000 + 500 * math.sin(step / 7),
        "step_s": 0.45 + 0.02 * math.sin(step / 3), "bubble": 0.3,
        "mfu": 0.4, **({"eval_loss": 2.5} if step % 50 == 0 else {})}) + "\n"


def make_run(path, workers=4, steps=50, traced=2, data="text.txt"):
    """A finished run of `steps` steps, `traced` of them simulated."""
    path = pathlib.Path(path)
    path.mkdir(parents=True)
    (path / "config.toml").write_text(
        CONFIG.format(workers=workers, steps=steps, data=data))
    with open(path / "metrics.jsonl", "w") as metrics:
        for step in range(1, steps + 1):
            metrics.write(metrics_line(step))
    schedule = path / "schedule.sched"
    chimera("schedule", "chimera", "--depth", workers, "--micros", workers,
            "--tied", "--lowered", "--format", "sched", "-o", schedule)
    if traced:
        chimera("simulate", "--schedule", schedule, "--p2p", "0.05",
                "--allreduce", "0.5", "--steps", traced,
                "--format", "trace", "-o", path / "trace.json")
    (path / "state.json").write_text(
        json.dumps({"state": "done", "step": steps, "exit": 0}))
    (path / "memory.json").write_text(
        json.dumps({"peak_bytes": [1e6 * (1 + w % 3) for w in range(workers)]}))
    return path
