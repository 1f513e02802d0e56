"""Chimera in the race: build/race_worker, which stays alive between turns."""
import json
import pathlib
import subprocess
import tempfile

from contest import Block
from models import Shape

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to",
          "none", "-n"]


def run_toml(task, name):
    """The run.toml that a user would write for this task; `name` is a scheme,
    or "SCHEME SHAPE CHUNKS" with the chunks of each pipe per worker."""
    scheme, *shape = name.split()
    chunks = [f'shape = "{shape[0]}"', f"chunks = {shape[1]}"] if shape else []
    lines = ["[schedule]", f'scheme = "{scheme}"', *chunks,
             f"depth = {task.depth}", f"micros = {task.micros}",
             f"micro_batch = {task.micro_batch}",
             "[run]", "timeout_s = 600", "[train]", "steps = 1000000"]
    # Left out if it is the default, which builds from before the key know too.
    precision = ([] if task.precision == "float32"
                 else [f'precision = "{task.precision}"'])
    if isinstance(task.model, Shape):
        return "\n".join([
            *lines, f"lr = {task.lr}", "threads = 1", "shard_update = true",
            *precision,
            "[model]", f'kind = "{task.model.kind}"', f'init = "{task.init}"',
            f"seq = {task.model.seq}",
            "[data]", f'path = "{task.data}"', 'order = "sequential"'])
    action_ms = 1e3 * task.model.action_s
    return "\n".join([
        *lines, "[model]", 'kind = "emulated"', f"forward_ms = {action_ms}",
        f"input_grad_ms = {action_ms}",
        f"weight_grad_ms = {1e3 * task.model.weight_s}",
        "boundary_bytes = 256", "grad_bytes = 4"])


class Program:
    """A program that runs blocks of steps; see blocks.h."""

    def __init__(self, name, command, config, ranks):
        self.name = name
        self.ranks = ranks
        self.directory = tempfile.TemporaryDirectory()
        path = pathlib.Path(self.directory.name, "run.toml")
        path.write_text(config)
        self.process = subprocess.Popen(
            [*command, str(path)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def run(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.name} has died")
        told = json.loads(line)
        return Block(seconds=told["seconds"], losses=told["losses"],
                     peak_kib=told["peak_kib"] / self.ranks,
                     simulated=told["simulated"])

    def close(self):
        self.process.stdin.close()
        self.process.wait(60)
        self.directory.cleanup()


def chimera(task, scheme, remark=""):
    """Chimera with workers as threads of one process."""
    return Program(f"Chimera: {scheme}{remark}", [BUILD / "race_worker"],
                   run_toml(task, scheme), task.depth)


class Limit(Program):
    """The limit of two cores without a pipeline; see limit.cc."""

    def __init__(self, task):
        lines = run_toml(task, "gpipe").replace(
            f"depth = {task.depth}", "depth = 1").replace(
            f"micros = {task.micros}", f"micros = {task.micros // 2}")
        super().__init__("limit", [BUILD / "race_limit"], lines, 2)

    def run(self, steps):
        block = super().run(steps)
        block.losses = []  # of other data: half of each batch
        return block


class Products(Program):
    """A step at the rate of large matrix products; see products.cc."""

    def __init__(self, task):
        super().__init__("products", [BUILD / "race_products"],
                         run_toml(task, "chimera"), 1)


class Processes:
    """Chimera with workers as processes of an mpirun, started anew for each
    block: idle processes would poll for messages during others' turns."""

    def __init__(self, task, scheme):
        self.name = f"Chimera: {scheme}, mpirun"
        self.task = task
        self.scheme = scheme

    def run(self, steps):
        program = Program(
            self.name, [*MPIRUN, str(self.task.depth), BUILD / "race_worker",
                        "--mpi"], run_toml(self.task, self.scheme), 1)
        try:
            program.run(2)
            return program.run(steps)
        finally:
            program.close()

    def close(self):
        pass
