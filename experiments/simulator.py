"""What `chimera simulate` says of a recipe's row."""
import json
import math
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = {"bert-48": 48, "gpt2-64": 64, "gpt2-32": 32}
PARAMETERS = {"bert-48": 670e6, "gpt2-64": 1389e6, "gpt2-32": 759e6}
BUCKET_BYTES = 25e6  # of DistributedDataParallel


def even_cut(layers, stages):
    """Layers 0 (embeddings), 1 to `layers` (blocks) and the head behind them:
    every stage has as many blocks, and the ends have theirs on top."""
    return [0] + [1 + stage * layers // stages for stage in range(1, stages)]


def rounds_in_turn(row, preset):
    """How many parts of a stage's sum follow each other."""
    parts = row["parts"]
    if row["flags"]["sync"] == "ddp":
        parts = 4 * PARAMETERS[preset] / row["depth"] / BUCKET_BYTES
    return max(1, parts / row["flags"].get("buckets", 1))


def with_ring(text, row, preset):
    """The profile for Gloo's ring: each part of a sum over r ranks takes 2 (r-1)
    latencies, where the simulator counts 2 log2(r) of a sum."""
    pipes = {"chimera": 2, "gems": 2}.get(row["scheme"], 1)
    ranks = row["width"] * row["flags"].get("pipes", pipes)
    if ranks < 2:
        return text
    longer = rounds_in_turn(row, preset) * (ranks - 1) / math.log2(ranks)
    return re.sub(r"(\[sum\]\nlatency_us = )(\S+)",
                  lambda found: f"{found[1]}{float(found[2]) * longer:.6g}",
                  text)


class Simulator:
    def __init__(self, binary, profile=None):
        self.binary = str(binary)
        self.profile = profile  # instead of a figure's own
        self.folder = Path(tempfile.mkdtemp(prefix="chimera-figures-"))
        self.numbers = count()

    def ring_profile(self, figure, row, profile):
        """A file with the profile that this row runs on."""
        given = profile or self.profile or figure["profile"]
        path = ROOT / f"src/chimera/plan/profiles/{given}.toml"
        text = Path(path if path.exists() else given).read_text()
        path = self.folder / f"row-{next(self.numbers)}.toml"
        path.write_text(with_ring(text, row, row.get("model", figure["model"])))
        return path

    def model(self, figure, row):
        """A file with the model and its cut."""
        preset = row.get("model", figure["model"])
        depth = row["depth"]
        path = self.folder / f"{preset}-{figure.get('seq', 0)}-{depth}.toml"
        if not path.exists():
            seq = f"seq = {figure['seq']}\n" if "seq" in figure else ""
            path.write_text(
                f'[model]\npreset = "{preset}"\n{seq}[schedule]\n'
                f'depth = {depth}\nmicros = {depth}\nmicro_batch = 1\n'
                f'cut = {even_cut(LAYERS[preset], depth)}\n')
        return path

    def run(self, figure, row, profile=None, updates=None, **changes):
        flags = {**row["flags"], **changes}
        flags.pop("pick", None)
        # A step by itself takes longer than one that follows another; work in
        # flight has to fill up before, and drains after.
        steps = 3
        if row["scheme"].startswith("pipedream"):
            steps += 2 * ((row["depth"] - 1) // row["micros"] + 1)
        path = self.ring_profile(figure, row, profile)
        words = [self.binary, "simulate", row["scheme"],
                 "--depth", row["depth"], "--micros", row["micros"],
                 "--width", row["width"], "--micro-batch", row["batch"],
                 "--model", self.model(figure, row),
                 "--profile", path,
                 "--steps", updates or row["updates"] or steps,
                 "--format", "json"]
        for name, value in flags.items():
            words += [f"--{name}", value]
        if row["recompute"]:
            words += ["--recompute", "late"]
        done = subprocess.run([str(word) for word in words],
                              capture_output=True, text=True)
        path.unlink()
        if done.returncode != 0:
            sys.exit(f"{row['label']}: {done.stderr}")
        return json.loads(done.stdout)

    def predict(self, figure, row, profile=None):
        """Samples/s; GB, or a ratio of times, where the figure shows those."""
        result = self.run(figure, row, profile)
        if figure.get("what") == "memory":
            peaks = [worker["peak_bytes"] for worker in result["workers"]]
            pick = min if row["flags"]["pick"] == "least" else max
            return pick(peaks) / 1e9, result
        if figure.get("what") == "ratio":
            other = self.run(figure, row, profile, **figure["against"])
            return other["period"] / result["period"], result
        samples = row["batch"] * row["micros"] * row["width"]
        if row["updates"]:
            return samples * row["updates"] / self.window(
                figure, row, profile, result), result
        return samples / result["period"], result

    def window(self, figure, row, profile, result):
        """What the authors' clock showed. Their loop sums in every N-th
        backward until the last forward, once more there, and never while it
        drains: the sums of updates in flight at that time stand side by side,
        as if the gradient had been sent first, instead of one behind the
        other."""
        last = -(-row["depth"] // row["micros"])
        behind, beside = (
            self.run(figure, row, profile, updates=last, sync=sync)["window"]
            for sync in ("ddp", "eager"))
        return result["window"] - behind + beside

    def predict_all(self, tasks):
        """`tasks`: (figure, row, profile or None); two run at once."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda task: self.predict(*task), tasks))
