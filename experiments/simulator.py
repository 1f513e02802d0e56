"""What `chimera simulate` says of a recipe's row."""
import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

LAYERS = {"bert-48": 48, "gpt2-64": 64, "gpt2-32": 32}


def even_cut(layers, stages):
    """Layers 0 (embeddings), 1 to `layers` (blocks) and the head behind them:
    every stage has as many blocks, and the ends have theirs on top."""
    return [0] + [1 + stage * layers // stages for stage in range(1, stages)]


class Simulator:
    def __init__(self, binary, profile=None):
        self.binary = str(binary)
        self.profile = profile  # instead of a figure's own
        self.folder = Path(tempfile.mkdtemp(prefix="chimera-figures-"))

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

    def run(self, figure, row, profile=None, **changes):
        flags = {**row["flags"], **changes}
        flags.pop("pick", None)
        # A step by itself takes longer than one that follows another; work in
        # flight has to fill up before, and drains after.
        steps = 3
        if row["scheme"].startswith("pipedream"):
            steps += 2 * ((row["depth"] - 1) // row["micros"] + 1)
        words = [self.binary, "simulate", row["scheme"],
                 "--depth", row["depth"], "--micros", row["micros"],
                 "--width", row["width"], "--micro-batch", row["batch"],
                 "--model", self.model(figure, row),
                 "--profile", profile or self.profile or figure["profile"],
                 "--steps", row["updates"] or steps, "--format", "json"]
        for name, value in flags.items():
            words += [f"--{name}", value]
        if row["recompute"]:
            words += ["--recompute", "late"]
        done = subprocess.run([str(word) for word in words],
                              capture_output=True, text=True)
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
            return samples * row["updates"] / result["window"], result
        return samples / result["period"], result

    def predict_all(self, tasks):
        """`tasks`: (figure, row, profile or None); two run at once."""
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(lambda task: self.predict(*task), tasks))
