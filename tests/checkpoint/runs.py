"""Small runs to stop, damage and continue, for the tests in this folder."""
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

CONFIG = """
[model]
kind = "gpt2"
layers = 4
hidden = 16
heads = 2
vocab = 256
seq = 16
dropout = 0.1
[schedule]
scheme = "chimera"
depth = 4
micros = 4
micro_batch = 2
[train]
steps = 20
lr = 1e-3
clip = 1.0
[run]
timeout_s = 30
[data]
path = "{text}"
"""
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to",
          "none"]


class Runs(unittest.TestCase):
    """A folder with a run.toml and a text, and helpers to inspect runs in it.
    """
    chimera = None  # path of the binary; set by main

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        text = self.folder / "text.txt"
        text.write_text("It was the best of times, it was the worst. " * 99)
        self.config = self.folder / "run.toml"
        self.config.write_text(CONFIG.format(text=text))

    def command(self, name, *settings, resume=False, ranks=0):
        """The command line of a run in the directory `name`."""
        command = [*MPIRUN, "-n", str(ranks)] if ranks else []
        command += [self.chimera, "train", "-c", str(self.config), "--run-dir",
                    str(self.folder / name)]
        for setting in settings:
            command += ["--set", setting]
        return command + (["--resume"] if resume else [])

    def start(self, *args, env=None, **options):
        run = subprocess.Popen(self.command(*args, **options), text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               cwd=self.folder,
                               env={**os.environ, **(env or {})})
        self.addCleanup(run.kill)  # a test that fails leaves nothing running
        return run

    def wait_for_steps(self, name, steps):
        """Wait until a run that was just started has done so many steps."""
        path = self.folder / name / "metrics.jsonl"
        while not path.exists() or len(path.read_text().splitlines()) < steps:
            time.sleep(0.005)

    def pids(self, name):
        """The process ids of a run's ranks, by rank."""
        run = str(self.folder / name).encode()
        found = {}
        for stat in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                environ = stat.read_bytes().split(b"\0")
                command = stat.with_name("cmdline").read_bytes()
            except OSError:
                continue
            if run not in command or b"mpirun" in command:
                continue
            for word in environ:
                if word.startswith(b"OMPI_COMM_WORLD_RANK="):
                    found[int(word.partition(b"=")[2])] = int(stat.parent.name)
        return found

    def faults(self, **settings):
        """An environment that loads faults.c with these settings."""
        library = self.folder / "faults.so"
        if not library.exists():
            source = pathlib.Path(__file__).with_name("faults.c")
            subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library,
                            source, "-ldl"], check=True)
        return {"LD_PRELOAD": str(library),
                **{key: str(value) for key, value in settings.items()}}

    def tmpfs(self, size, name="disk"):
        """A separate disk of this size."""
        place = self.folder / name
        place.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}",
                               "tmpfs", place])
        if made.returncode != 0:
            self.skipTest("not allowed to mount")
        self.addCleanup(subprocess.run, ["umount", "-l", place])
        return place

    def train(self, *args, code=0, env=None, **options):
        """Run to the end; returns the output."""
        run = subprocess.run(self.command(*args, **options), text=True,
                             capture_output=True, timeout=300, cwd=self.folder,
                             env={**os.environ, **(env or {})})
        self.assertEqual(run.returncode, code, run.stderr)
        return run.stderr

    def checkpoint(self, *args, code=0):
        run = subprocess.run([self.chimera, "checkpoint", *map(str, args)],
                             text=True, capture_output=True, timeout=60)
        self.assertEqual(run.returncode, code, run.stderr)
        return run

    def state(self, name):
        return json.loads((self.folder / name / "state.json").read_text())

    def events(self, name):
        lines = (self.folder / name / "events.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def steps(self, name):
        """The steps of the checkpoints, ascending."""
        folder = self.folder / name / "checkpoints"
        return sorted(int(path.name[len("step-"):])
                      for path in folder.glob("step-????????"))

    def saved(self, name, step):
        """Hashes of a checkpoint's tensors, by kind, parameter and range."""
        path = self.path(name, step) / "manifest.json"
        manifest = json.loads(path.read_text())
        return {(t["kind"], t["parameter"], t["first"], t["count"]): t["hash"]
                for t in manifest["tensors"]}

    def path(self, name, step):
        return self.folder / name / "checkpoints" / f"step-{step:08}"

    def losses(self, name):
        """[(step, loss, norm)] as printed."""
        path = self.folder / name / "metrics.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        return [(m["step"], m["loss"], m["grad_norm"]) for m in lines]

    def weights(self, name):
        return (self.folder / name / "weights/model.safetensors").read_bytes()
