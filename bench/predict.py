#!/usr/bin/env python3
"""Compares predicted and measured step times and peak bytes of real layouts.

    ./dev bench predict [--only PART] [--rounds K] [--first K]

A layout is measured in turns: the layers of its model alone, then a block of
steps, and so on. The layers give a profile, with which `chimera simulate` makes
the prediction; messages and sums are calibrated once for each model and
transport. A temporary slow-down of the machine therefore affects both sides,
and no layout is fitted: calibration runs none. Prints Markdown; takes an hour
on two otherwise idle cores.

Parts: real (as many workers as cores), shared (4 workers on 2 cores), emulated
(D up to 8), planner (measures the best layout of every scheme, then the
planner's first choice again against the fastest).
"""
import argparse
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "race"))
import contest  # noqa: E402
from chimera_side import BUILD, MPIRUN, Program  # noqa: E402

MODELS = {
    "gpt2": dict(kind="gpt2", layers=8, hidden=256, heads=4, vocab=512, seq=128),
    "bert": dict(kind="bert", layers=8, hidden=256, heads=4, vocab=512, seq=128),
}
BLOCK_SECONDS = 1.5
PLAN_STEPS = 2  # steps per block
FINAL_ROUNDS = 25  # of the planner's first choice and the fastest other one


def layout(model, scheme, depth, micros, batch, transport="threads", **more):
    return dict(model=model, scheme=scheme, depth=depth, micros=micros,
                micro_batch=batch, transport=transport, **more)


REAL = [
    layout("gpt2", "1f1b", 1, 4, 4),
    layout("gpt2", "1f1b", 1, 2, 8, recompute=True),
    layout("gpt2", "1f1b", 1, 4, 2, width=2),
    layout("gpt2", "gpipe", 1, 2, 8, width=2),
    layout("gpt2", "1f1b", 2, 4, 2),
    layout("gpt2", "gpipe", 2, 8, 2),
    layout("gpt2", "chimera", 2, 2, 4),
    layout("gpt2", "chimera", 2, 8, 2, recompute=True),
    layout("gpt2", "zb-h1", 2, 4, 4),
    layout("bert", "1f1b", 2, 8, 4),
    layout("bert", "chimera", 2, 8, 2),
    layout("bert", "gpipe", 2, 4, 4, recompute=True),
    layout("bert", "1f1b", 1, 4, 4, width=2),
    layout("gpt2", "1f1b", 2, 4, 4, "mpi"),
    layout("gpt2", "chimera", 2, 4, 4, "mpi"),
    layout("gpt2", "1f1b", 1, 4, 4, "mpi", width=2),
    layout("bert", "chimera", 2, 4, 8, "mpi"),
]
SHARED = [
    layout("gpt2", "1f1b", 4, 8, 2),
    layout("gpt2", "chimera", 4, 4, 4),
    layout("gpt2", "chimera", 4, 8, 2, recompute=True),
    layout("gpt2", "1f1b", 2, 4, 4, width=2),
    layout("bert", "chimera", 2, 4, 4, width=2),
    layout("bert", "gpipe", 4, 8, 4),
]
EMULATED = [
    layout("emulated", "1f1b", 4, 8, 1),
    layout("emulated", "chimera", 4, 8, 1),
    layout("emulated", "chimera", 8, 8, 1),
    layout("emulated", "gpipe", 8, 16, 1),
    layout("emulated", "zb-h1", 8, 16, 1),
    layout("emulated", "interleaved", 4, 8, 1),
]
EMULATED_MODEL = dict(kind="emulated", forward_ms=10, input_grad_ms=11,
                      weight_grad_ms=9, update_ms=2, boundary_bytes=1 << 20,
                      grad_bytes=1 << 20, link_latency_ms=1, link_gbps=8)


def toml(value):
    if isinstance(value, bool):
        return str(value).lower()
    return json.dumps(value)


class Bench:
    def __init__(self, options):
        self.rounds = options.rounds
        self.folder = Path(tempfile.mkdtemp(prefix="chimera-predict-"))
        self.profiles = {}
        data = self.folder / "tokens.bin"
        numbers = random.Random(1)
        data.write_bytes(b"".join(numbers.randrange(128).to_bytes(2, "little")
                                  for _ in range(200_000)))
        self.data = data

    def run(self, *words, ranks=1):
        words = [str(BUILD / "chimera"), *map(str, words)]
        if ranks > 1:
            words = [*MPIRUN, str(ranks), *words]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)}\n{done.stderr}")
        return done.stdout

    def config(self, name, spec):
        """The run.toml of a layout."""
        emulated = spec["model"] == "emulated"
        model = dict(EMULATED_MODEL if emulated else MODELS[spec["model"]])
        schedule = {key: spec[key] for key in
                    ("scheme", "depth", "micros", "micro_batch")}
        schedule["width"] = spec.get("width", 1)
        schedule["recompute"] = spec.get("recompute", False)
        sections = {
            "model": model,
            "schedule": schedule,
            "train": dict(steps=100000, lr=1e-4, threads=1),
            "run": dict(log_every=0, transport=spec["transport"]),
        }
        if not emulated:
            sections["data"] = dict(path=str(self.data))
        path = self.folder / f"{name}.toml"
        path.write_text("".join(
            f"[{section}]\n" + "".join(
                f"{key} = {toml(value)}\n" for key, value in keys.items())
            for section, keys in sections.items()))
        return path

    def profile(self, model, transport):
        """The links' profile, calibrated once for each model and transport."""
        key = (model, transport)
        if key not in self.profiles:
            spec = layout(model, "1f1b", 2, 2, 4, transport)
            config = self.config(f"calibrate_{model}_{transport}", spec)
            path = self.folder / f"profile_{model}_{transport}.toml"
            self.run("calibrate", "-c", config, "-o", path, "--micro-batches",
                     "1,2,4,8", ranks=2 if transport == "mpi" else 1)
            self.profiles[key] = path
        return self.profiles[key]

    def worker(self, name, config, spec, profile=None):
        """The layout's run, kept alive between its turns."""
        words = [BUILD / "race_worker"]
        if spec["transport"] == "mpi":
            ranks = spec["depth"] * spec.get("width", 1)
            words = [*MPIRUN, str(ranks), *words, "--mpi"]
        if profile:
            words += ["--profile", profile]
        return Program(name, words, config.read_text(), 1)

    def measure(self, name, config, spec, profile):
        """(seconds per step, steps per block)"""
        program = self.worker(name, config, spec, profile)
        program.run(1)
        steps = max(1, round(BLOCK_SECONDS / program.run(1).seconds))
        times = [program.run(steps).seconds / steps
                 for _ in range(self.rounds + 1)]
        program.close()
        return statistics.median(times[1:]), steps

    def peaks(self, config, name, ranks):
        run_dir = self.folder / name
        self.run("train", "-c", config, "--run-dir", run_dir, "--set",
                 "train.steps=2", ranks=ranks)
        memory = run_dir / "memory.json"
        return json.loads(memory.read_text())["peak_bytes"]

    def predict(self, config, profile, cores, steps):
        words = ["simulate", "--model", config, "--steps", steps, "--format",
                 "json"]
        if profile:
            words += ["--profile", profile]
        if cores:
            words += ["--cores", cores]
        result = json.loads(self.run(*words))
        # A profile with jitter predicts the mean over many steps.
        return (result.get("expected", result["makespan"]) / steps,
                [worker["peak_bytes"] for worker in result["workers"]])

    def join(self, layers, links, path):
        """A profile with the layers of one and the links of another."""
        parts = {profile: re.split(r"\n(?=\[)", profile.read_text())
                 for profile in (layers, links)}
        linking = lambda part: part.startswith(("[link]", "[sum]"))
        path.write_text("\n".join(
            [part for part in parts[layers] if not linking(part)] +
            [part for part in parts[links] if linking(part)]))
        return path

    def compare(self, title, layouts, limits, cores=0):
        print(f"\n## {title}\n\n| layout | workers | predicted ms | measured ms "
              "| error | bytes |\n|---|---|---|---|---|---|")
        errors = []
        for number, spec in enumerate(layouts):
            name = f"{title.split()[0].lower()}_{number}"
            error = self.compare_one(name, spec, cores)
            errors.append(abs(error))
        median, worst = statistics.median(errors), max(errors)
        print(f"\nmedian {100 * median:.1f} % (wanted: {limits[0]}), "
              f"worst {100 * worst:.1f} % (wanted: {limits[1]})")

    def compare_one(self, name, spec, cores):
        config = self.config(name, spec)
        workers = spec["depth"] * spec.get("width", 1)
        profile, peaks = None, []
        if spec["model"] != "emulated":
            profile = self.folder / f"{name}_layers.toml"
            links = self.profile(spec["model"], spec["transport"])
            ranks = workers if spec["transport"] == "mpi" else 1
            peaks = self.peaks(config, name, ranks)
        measured, steps = self.measure(name, config, spec, profile)
        if profile:
            profile = self.join(profile, links, self.folder / f"{name}_p.toml")
        predicted, bytes_predicted = self.predict(config, profile, cores, steps)
        worst = max((abs(bytes_predicted[i % len(bytes_predicted)] / peak - 1)
                     for i, peak in enumerate(peaks)), default=None)
        error = predicted / measured - 1
        print(f"| {describe(spec)} | {workers} {spec['transport']} "
              f"| {1e3 * predicted:.2f} | {1e3 * measured:.2f} "
              f"| {100 * error:+.1f} % "
              f"| {'' if worst is None else f'{100 * worst:.1f} %'} |",
              flush=True)
        return error

    def judge_planner(self):
        """Measure the planner's first choice and the best layout of every other
        scheme."""
        profile = self.profile("gpt2", "threads")
        base = self.config("base", layout("gpt2", "1f1b", 2, 2, 4))
        asked = ["plan", "--model", base, "--workers", 2, "--batch", 16,
                 "--memory", "8GB", "--profile", profile, "--format", "json"]
        plans = json.loads(self.run(*asked))["plans"]
        print("\n## Planner: 2 workers, 16 samples a step\n\n"
              "| plan | predicted ms | measured ms |\n|---|---|---|")
        programs, predictions = [], []
        firsts = {}  # of data parallel and a scheme, which may both be one
        for plan in plans:
            firsts.setdefault(plan["scheme"], plan)
        for plan in firsts.values():
            path = self.folder / f"plan_{plan['scheme']}.toml"
            self.run(*asked, "--schemes", plan["scheme"], "-o", path)
            name = (f"{plan['scheme']} D={plan['depth']} W={plan['width']} "
                    f"B={plan['micro_batch']} N={plan['micros']}")
            predictions.append(self.predict(path, profile, 0, PLAN_STEPS)[0])
            programs.append(self.worker(name, path, dict(transport="threads")))
        results = contest.race(programs, self.rounds, PLAN_STEPS)
        for result, predicted in zip(results, predictions):
            print(f"| {result.name} | {1e3 * predicted:.2f} "
                  f"| {1e3 * result.median:.2f} |")
        fastest = min(range(1, len(results)),
                      key=lambda i: 1 / results[i].times_faster_than(results[0]))
        # The fastest of many is partly the luckiest, so its lead is measured in
        # new rounds that had no part in choosing it.
        final = contest.race([programs[0], programs[fastest]], FINAL_ROUNDS,
                             PLAN_STEPS)
        for program in programs:
            program.close()
        gap = final[1].times_faster_than(final[0]) - 1
        print(f"\nThe fastest other one was {results[fastest].name}. In "
              f"{FINAL_ROUNDS} more rounds of these two the first choice is "
              f"{100 * max(0, gap):.1f} % behind it (wanted: 3 %; gap "
              f"{100 * gap:+.1f} %).")


def describe(spec):
    text = (f"{spec['model']} {spec['scheme']} D={spec['depth']} "
            f"W={spec.get('width', 1)} N={spec['micros']} "
            f"B={spec['micro_batch']}")
    return text + (" recompute" if spec.get("recompute") else "")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", choices=["real", "shared", "emulated",
                                           "planner"])
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--first", type=int, default=1000,
                        help="only so many layouts of each part")
    options = parser.parse_args()
    bench = Bench(options)
    print(f"# Predicted against measured\n\n{os.cpu_count()} cores, "
          f"{options.rounds} rounds each, medians.")
    wanted = lambda part: options.only in (None, part)
    if wanted("real"):
        bench.compare("Real training", REAL[:options.first], ("5 %", "12 %"))
    if wanted("shared"):
        bench.compare("Shared cores: 4 workers on 2", SHARED[:options.first],
                      ("10 %", "none"), cores=2)
    if wanted("emulated"):
        bench.compare("Emulated stages", EMULATED[:options.first],
                      ("2 %", "2 %"))
    if wanted("planner"):
        bench.judge_planner()
    shutil.rmtree(bench.folder)


if __name__ == "__main__":
    main()
