"""A job that is started again until it is done, and what can be seen of it."""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "checkpoint"), str(HERE.parent / "mpi")]

import fault_test  # noqa: E402: the network of two hosts
import runs  # noqa: E402

RANKS = 4
SAVE_EVERY = 50
DEADLINE_S = 6  # run.timeout_s
SETTINGS = [f"run.save_every={SAVE_EVERY}", f"run.timeout_s={DEADLINE_S}",
            "run.keep=2"]


def is_alive(pid):
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    return False


class World(runs.Runs):
    """A folder, a disk of its own for the run, and perhaps two hosts."""

    def runTest(self):
        pass

    def build(self, network):
        self.setUp()
        self.network = network
        self.disk = self.tmpfs("64m")
        self.run_dir = self.disk / "run"
        self.delay = self.folder / "delay"
        self.process = None
        self.starts = 0
        library = self.folder / "faults.so"
        subprocess.run(["c++", "-O1", "-shared", "-fPIC", "-o", library, "-xc",
                        HERE.parent / "checkpoint/faults.c", "-xc++",
                        HERE / "layer_fault.cc", "-ldl"], check=True)
        self.environment = {"LD_PRELOAD": str(library),
                            "CHIMERA_FAULT_DELAY": str(self.delay)}

    # ---- the job

    def start_job(self, steps):
        """As a job script does: what an earlier start said does not count.
        Every second start has late votes, which must not change a bit."""
        (self.run_dir / "state.json").unlink(missing_ok=True)
        vote = ["late", "wait"][self.starts % 2]
        command = self.command("disk/run", *SETTINGS, "run.recover=true",
                               f"train.vote={vote}", f"train.steps={steps}",
                               resume=True, ranks=RANKS)
        command[1:1] = ["--mca", "odls_base_sigkill_timeout", "20"]
        for name, value in self.environment.items():
            command[1:1] = ["-x", f"{name}={value}"]
        if self.network:
            before, options = self.network.launch(self.folder)
            command = [*before, command[0], *options, *command[1:]]
        self.said = open(self.folder / "said", "wb")
        self.process = subprocess.Popen(command, cwd=self.folder,
                                        stdin=subprocess.DEVNULL,
                                        stdout=self.said, stderr=self.said,
                                        start_new_session=True)
        self.starts += 1
        self.ranks = {}

    def rank_pids(self):
        """The processes of the ranks; all of them, once all are there."""
        if len(self.ranks) < RANKS:
            self.ranks = self.pids("disk/run")
        return self.ranks

    def has_ended(self):
        """Whether no process is left. mpirun itself is not waited for: after a
        rank's exit code it sleeps for twice its sigkill_timeout."""
        if any(map(is_alive, self.rank_pids().values())):
            return False
        if len(self.ranks) == RANKS and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        return self.process.poll() is not None

    def kill_all(self):
        for pid in [*self.pids("disk/run").values(), self.process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        while self.pids("disk/run"):
            time.sleep(0.05)

    def words(self):
        return (self.folder / "said").read_text(errors="replace")

    # ---- what can be seen of it

    def state_now(self):
        """state.json, or {} where this start has not written it."""
        with contextlib.suppress(OSError, json.JSONDecodeError):
            return json.loads((self.run_dir / "state.json").read_text())
        return {}

    def step_now(self):
        """The last step that was reported; 0 before the first."""
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(self.run_dir / "metrics.jsonl", "rb") as file:
                file.seek(max(0, os.path.getsize(file.name) - 4096))
                whole = file.read().rpartition(b"\n")[0]
            return json.loads(whole.rpartition(b"\n")[2])["step"]
        return 0

    def first_step(self):
        """The first step of this start; None before it is done."""
        found = re.search(r"(?m)^step +(\d+)/", self.words())
        return int(found.group(1)) if found else None

    def is_saving(self):
        """Parts of a checkpoint are being written."""
        return any(self.saving_folders())

    def is_committing(self):
        """All parts are there; the rename is all that is missing."""
        return any(len(list(folder.glob("*.json"))) >= RANKS
                   for folder in self.saving_folders())

    def is_recovering(self):
        return any((self.run_dir / "checkpoints/.recovery").glob("rank-*"))

    def saving_folders(self):
        with contextlib.suppress(OSError):
            yield from (self.run_dir / "checkpoints").glob(".step-*")

    def wait_until(self, happens, seconds):
        """Whether it happened, while the job ran, within so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if happens():
                return True
            if self.has_ended():
                return happens()
            time.sleep(0.002)
        return False
