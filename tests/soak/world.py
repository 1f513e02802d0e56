"""A job that is started again until it is done, and what can be seen of it."""
import contextlib
import ctypes
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path += [str(HERE.parent / "checkpoint"), str(HERE.parent / "mpi")]

import fault_test  # noqa: E402: the network of two hosts
import runs  # noqa: E402

RANKS = 4
SAVE_EVERY = 50
DEADLINE_S = 8  # run.timeout_s
SETTINGS = [f"run.save_every={SAVE_EVERY}", f"run.timeout_s={DEADLINE_S}",
            "run.keep=2"]


def isolate():
    """Moves this process into namespaces of its own: whichever way it ends, its
    processes, mounts, network namespaces and temporary files end with it.
    The process that called this waits and exits with the same code."""
    libc = ctypes.CDLL(None, use_errno=True)
    new_mounts, new_pids, end_with_parent = 0x20000, 0x20000000, 1
    if libc.unshare(new_mounts | new_pids) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    if child := os.fork():
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xff)
    libc.prctl(end_with_parent, signal.SIGKILL)
    # The first process of the namespace collects orphans, whose mpirun was
    # killed.
    if worker := os.fork():
        while True:
            pid, status = os.wait()
            if pid == worker:
                os._exit(os.waitstatus_to_exitcode(status) & 0xff)
    os.makedirs("/run/netns", exist_ok=True)
    for command in ("mount --make-rprivate /", "mount -t proc proc /proc",
                    "mount -t tmpfs tmpfs /run/netns",
                    "mount -t tmpfs tmpfs /dev/shm"):
        subprocess.run(command.split(), check=True)
    tempfile.tempdir = os.environ["TMPDIR"] = "/dev/shm"


def state_of(pid):
    """R, S, D, T (stopped), Z (zombie); Z also where there is no process."""
    with contextlib.suppress(OSError):
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rpartition(")")[2].split()[0]
    return "Z"


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
        self.ranks = {}
        self.next_look = 0
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
        self.said = self.folder / f"said{self.starts}"
        with open(self.said, "wb") as said:
            self.process = subprocess.Popen(command, cwd=self.folder,
                                            stdin=subprocess.DEVNULL,
                                            stdout=said, stderr=said,
                                            start_new_session=True)
        self.starts += 1
        self.ranks = {}

    def rank_pids(self):
        """The processes of the ranks; all of them, once all are there."""
        if len(self.ranks) < RANKS and time.monotonic() > self.next_look:
            self.ranks.update(self.pids("disk/run"))
            self.next_look = time.monotonic() + 0.05
        return self.ranks

    def rank_states(self):
        """The states of those that are left."""
        found = map(state_of, self.rank_pids().values())
        return [state for state in found if state != "Z"]

    def has_ended(self):
        """Whether no process is left. mpirun itself is not waited for: after a
        rank's exit code it sleeps for twice its sigkill_timeout."""
        if self.rank_states():
            return False
        if len(self.ranks) == RANKS and self.process.poll() is None:
            time.sleep(0.2)  # until mpirun has passed on what they said
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
        """What this start said."""
        return self.said.read_text(errors="replace")

    def last_words(self):
        """What the last starts said, without their steps."""
        found = []
        for number in range(max(0, self.starts - 3), self.starts):
            text = (self.folder / f"said{number}").read_text(errors="replace")
            found.append(f"---- start {number}")
            found += [line for line in text.splitlines()
                      if not line.startswith("step ")][-60:]
        return "\n".join(found)

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
        with contextlib.suppress(FileNotFoundError):  # renamed meanwhile
            return any(len(list(folder.glob("*.json"))) >= RANKS
                       for folder in self.saving_folders())
        return False

    def is_recovering(self):
        return any((self.run_dir / "checkpoints/.recovery").glob("rank-*"))

    def saved_step(self):
        """The step of the newest complete checkpoint."""
        folders = self.run_dir.glob("checkpoints/step-*")
        return max((int(each.name[5:]) for each in folders
                    if each.name[5:].isdigit()), default=0)

    def used_bytes(self):
        """Of the disk."""
        space = os.statvfs(self.disk)
        return (space.f_blocks - space.f_bfree) * space.f_frsize

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
            time.sleep(0.004)
        return False
