#!/usr/bin/env python3
"""Training with one process per rank, as launchers start it.

usage: launch_test.py CHIMERA_BINARY
Exit code 77: skipped, because there is no mpirun.
CHIMERA_PYTHON, if set, is a Python whose torchrun is tested too.
"""
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
import unittest

CHIMERA = pathlib.Path(sys.argv.pop(1)).resolve()
LIBRARY = "libchimera_commands.so"  # beside the binary
HOST = socket.gethostname()

# Variables of a launcher under which this test itself may run are removed.
LAUNCHERS = ("OMPI_", "PMIX_", "PMI_", "PRTE_", "SLURM_", "TORCHELASTIC_")
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(LAUNCHERS) and
               name not in ("LOCAL_RANK", "MASTER_ADDR", "WORLD_SIZE")}
# The tests run more ranks than cores, possibly as root.
MPI_ENVIRONMENT = ENVIRONMENT | {
    "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_mpi_yield_when_idle": "1"}
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none")
# By default mpirun kills the other ranks milliseconds after one has failed.
# These options let each rank end by itself, so that its exit code is visible.
PATIENT = ("--mca", "orte_abort_on_non_zero_status", "0",
           "--mca", "orte_allowed_exit_without_sync", "1")

# Steps of 10 ms and more that need no core.
EMULATED = """
[model]
kind = "emulated"
forward_ms = [2]
input_grad_ms = [2]
weight_grad_ms = [2]
boundary_bytes = 1000
grad_bytes = 1000
[schedule]
depth = 2
micros = 2
micro_batch = 1
[train]
steps = 5
[run]
timeout_s = 60
"""
GPT2 = """
[model]
kind = "gpt2"
layers = 4
hidden = 16
heads = 2
vocab = 256
seq = 16
[schedule]
depth = {depth}
micros = 4
micro_batch = 2
[train]
steps = 5
lr = 1e-3
threads = 1
[data]
path = "text.txt"
[run]
timeout_s = 60
"""
TEXT = "It was the best of times, it was the worst of times. "
FOREVER = "train.steps=1000000"

# Starts a rank and writes its process id and exit code to the folder $0.
# Signals to the process group are meant for the rank, so this shell ignores
# them. A file that grows too large must be an error, not a signal.
RANK = """
trap : INT TERM USR1
trap '' XFSZ
sh -c 'echo $$ >"$0"; exec "$@"' "$0/pid.$OMPI_COMM_WORLD_RANK" "$@"
code=$?
echo $code >"$0/code.$OMPI_COMM_WORLD_RANK"
exit $code
"""


def wait_until(what, is_true, seconds=40):
    end = time.monotonic() + seconds
    while not is_true():
        if time.monotonic() > end:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


class Job:
    """chimera under mpirun, with the output and exit code of each rank."""

    def __init__(self, folder, parts, flags):
        self.folder = folder
        folder.mkdir()
        command = [*MPIRUN, *flags, "--output-filename", f"{folder}:nocopy"]
        for i, (options, arguments) in enumerate(parts):
            command += [":"] if i > 0 else []
            command += [*options, "sh", "-c", RANK, folder, *arguments]
        with open(folder / "mpirun.log", "wb") as log:
            self.mpirun = subprocess.Popen(
                [*map(str, command)], cwd=folder.parent, env=MPI_ENVIRONMENT,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def wait(self, seconds=60):
        """Wait for the end and return self."""
        try:
            self.mpirun.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(
                f"hangs for {seconds} s:\n{self.story()}") from None
        return self

    def pid(self, rank):
        return int((self.folder / f"pid.{rank}").read_text())

    def codes(self):
        """{rank: exit code}, without ranks that mpirun has killed."""
        return {int(path.suffix[1:]): int(path.read_text() or -1)
                for path in self.folder.glob("code.*")}

    def says(self, rank, stream="stderr"):
        path = self.folder / "1" / f"rank.{rank}" / stream
        return path.read_text() if path.exists() else ""

    def said(self, stream="stderr"):
        """{rank: text} of the ranks that printed anything."""
        ranks = range(len(list(self.folder.glob("1/rank.*"))))
        return {rank: self.says(rank, stream) for rank in ranks
                if self.says(rank, stream)}

    def story(self):
        texts = [f"codes {self.codes()}\nstdout {self.said('stdout')}\n"]
        for rank, text in self.said().items():
            steps = re.sub(r"(?m)^(step \d+/.*\n)+(?=step)", "...\n", text)
            texts.append(f"rank {rank}: {steps}")
        log = (self.folder / "mpirun.log").read_text(errors="replace")
        return "".join(texts) + log

    def end(self):
        """Clean up, however the test ended."""
        if self.mpirun.poll() is not None:
            return
        for path in self.folder.glob("pid.*"):
            try:
                os.kill(int(path.read_text()), signal.SIGKILL)
            except (ValueError, ProcessLookupError):
                pass
        self.mpirun.terminate()
        try:
            self.mpirun.wait(10)
        except subprocess.TimeoutExpired:
            self.mpirun.kill()
            self.mpirun.wait()


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name).resolve()
        self.write("text.txt", TEXT * 80)
        self.emulated = self.write("emulated.toml", EMULATED)
        self.gpt2 = self.write("gpt2.toml", GPT2.format(depth=2))
        self.run_dir = self.folder / "run"
        self.num_jobs = 0

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return path

    def train(self, *settings, config=None, chimera=CHIMERA):
        """The command line of a run."""
        sets = [word for pair in settings for word in ("--set", pair)]
        return [chimera, "train", "-c", config or self.emulated, "--run-dir",
                self.run_dir, *sets]

    def alone(self, *arguments, **environment):
        """Run one process without a launcher."""
        return subprocess.run([*map(str, arguments)], text=True, timeout=60,
                              capture_output=True, cwd=self.folder,
                              env=ENVIRONMENT | environment)

    def start(self, *parts, flags=PATIENT):
        """Start mpirun with several parts: (options of mpirun, command line).
        """
        self.num_jobs += 1
        job = Job(self.folder / f"job{self.num_jobs}", parts, flags)
        self.addCleanup(job.end)
        return job

    def start_ranks(self, ranks, *arguments, **options):
        return self.start((("-n", ranks), arguments), **options)

    def steps(self):
        path = self.run_dir / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["step"] for line in lines]

    def state(self):
        return json.loads((self.run_dir / "state.json").read_text())

    def wait_for_steps(self, count):
        path = self.run_dir / "metrics.jsonl"
        wait_until(f"step {count}", lambda: path.exists() and
                   path.read_bytes().count(b"\n") >= count)

    def assert_codes(self, job, ranks, code):
        self.assertEqual(job.codes(), {rank: code for rank in range(ranks)},
                         job.story())

    def refused(self, job, ranks, code=2):
        """Check that all ranks refuse alike and write nothing; return rank 0's
        text."""
        job.wait()
        self.assert_codes(job, ranks, code)
        self.assertEqual(job.said("stdout"), {})
        self.assertNotIn("internal error", job.story())
        self.assertFalse(self.run_dir.exists())
        self.assertFalse((self.folder / "runs").exists())
        return job.says(0)


class Trains(Base):
    def test_four_ranks_train_as_four_threads_do(self):
        config = self.write("four.toml", GPT2.format(depth=4))
        job = self.start_ranks(4, CHIMERA, "train", "-c", config, "--set",
                               "run.trace=true").wait()
        self.assert_codes(job, 4, 0)
        self.assertEqual(job.mpirun.returncode, 0)

        # There is one run directory, and rank 0 names it.
        (made,) = (self.folder / "runs").iterdir()
        self.assertEqual(job.said("stdout"), {0: f"runs/{made.name}\n"})
        self.assertEqual(list(job.said()), [0])
        self.assertEqual(sorted(os.listdir(made)), [
            ".lock", "config.toml", "machine.json", "memory.json", "metrics.jsonl",
            "schedule.sched", "state.json", "timeline.svg", "trace.json",
            "weights"])
        detected = r"^chimera: 4 workers as MPI ranks on 1 host \(mpirun, " \
                   r"Open MPI v[\d.]+\), 2 pipes, 4 stages"
        self.assertEqual(len(re.findall(detected, job.says(0), re.M)), 1,
                         job.says(0))
        self.assertEqual(re.findall(r"^step (\d)/5 ", job.says(0), re.M),
                         list("12345"))

        by_ranks, self.run_dir = made, self.folder / "threads"
        run = self.alone(*self.train("run.trace=true", config=config))
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("4 workers as threads", run.stderr)
        self.assert_same_run(by_ranks, self.run_dir)

    def assert_same_run(self, a, b):
        for name in ("model.safetensors", "config.json"):
            self.assertEqual((a / "weights" / name).read_bytes(),
                             (b / "weights" / name).read_bytes(), name)
        self.assertEqual((a / "state.json").read_text(),
                         (b / "state.json").read_text())
        metrics = []
        slices = []
        for run in (a, b):
            lines = (run / "metrics.jsonl").read_text().splitlines()
            metrics.append([
                [json.loads(line)[key]
                 for key in ("step", "loss", "grad_norm", "lr", "tokens")]
                for line in lines])
            # The events of all ranks, equally many: only their times differ.
            slices.append(sorted(
                (event["pid"], event["name"])
                for event in json.loads((run / "trace.json").read_text())
                if event["ph"] == "X"))
        self.assertEqual([m[0] for m in metrics[0]], [1, 2, 3, 4, 5])
        self.assertEqual(metrics[0], metrics[1])
        self.assertEqual({pid for pid, _ in slices[0]}, {0, 1, 2, 3})
        self.assertEqual(slices[0], slices[1])

    def test_links_within_a_node_are_those_of_the_ranks_that_share_it(self):
        """Copies of two ranks: only sums and votes leave a node of two, and
        nothing leaves a node of four. A sum over two nodes takes two latencies,
        and steps wait for it."""
        for ranks in (2, 4):
            self.run_dir = self.folder / f"nodes_of_{ranks}"
            job = self.start_ranks(4, *self.train(
                "schedule.width=2", "model.link_latency_ms=300",
                f"model.node_ranks={ranks}", "model.node_latency_ms=1",
                "train.steps=2")).wait()
            self.assert_codes(job, 4, 0)
            lines = (self.run_dir / "metrics.jsonl").read_text().splitlines()
            seconds = min(json.loads(line)["step_s"] for line in lines)
            if ranks == 2:
                self.assertGreater(seconds, 0.59)
            else:
                self.assertLess(seconds, 0.3)

    def test_where_results_go_is_the_business_of_rank_0(self):
        other = self.folder / "other"
        one = ("-n", 1)
        job = self.start((one, self.train("train.threads=1")),
                         (one, [CHIMERA, "train", "-c", self.emulated,
                                "--run-dir", other])).wait()
        self.assert_codes(job, 2, 0)
        self.assertEqual(self.state(), {"state": "done", "step": 5, "exit": 0})
        self.assertFalse(other.exists())

    def test_not_a_number_ends_all_ranks(self):
        job = self.start_ranks(2, *self.train(
            "train.lr=1e30", "train.optimizer=sgd", "train.steps=9",
            config=self.gpt2)).wait()
        self.assert_codes(job, 2, 7)
        self.assertRegex(job.says(0), r"step \d+: stage \d, micro-batch \d: "
                                      "not a number")
        self.assertEqual(list(job.said()), [0])
        self.assertEqual(job.said("stdout"), {})
        state = self.state()
        self.assertEqual((state["state"], state["exit"]), ("failed", 7))
        self.assertEqual(self.steps()[-1], state["step"])
        self.assertFalse((self.run_dir / "weights").exists())


class Launchers(Base):
    def test_another_number_of_ranks_than_workers(self):
        train = self.train("schedule.width=2")
        patient = self.start_ranks(3, *train)
        self.refused(patient, 3)
        # A default mpirun kills the others too late to silence them.
        plain = self.start_ranks(3, *train, flags=()).wait()
        self.assertEqual(plain.mpirun.returncode, 2, plain.story())
        self.assertFalse(self.run_dir.exists())
        for job in (patient, plain):
            for rank in range(3):  # each may have a separate log
                self.assertEqual(
                    job.says(rank),
                    f"error[E571] rank {rank} ({HOST}): 3 MPI ranks, but width "
                    "2 x depth 2 is 4 workers; hint: mpirun -n 4\n")

    def refused_alone(self, *settings, **environment):
        run = self.alone(*self.train(*settings), **environment)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertEqual(run.stdout, "")
        self.assertEqual(run.stderr.count("error"), 1, run.stderr)
        self.assertFalse(self.run_dir.exists())
        return run.stderr

    def test_processes_that_are_no_mpi_world(self):
        instead = "mpirun -n RANKS chimera train -c run.toml"
        for environment in ({"TORCHELASTIC_RUN_ID": "none"},
                            {"LOCAL_RANK": "1", "MASTER_ADDR": "localhost"}):
            text = self.refused_alone(WORLD_SIZE="2", **environment)
            self.assertIn("error[E571]: torchrun starts separate processes",
                          text)
            self.assertIn(instead, text)
        text = self.refused_alone(SLURM_STEP_ID="0", SLURM_STEP_NUM_TASKS="2")
        self.assertIn("error[E571]: srun without --mpi=pmix", text)
        self.assertIn("hint: srun --mpi=pmix chimera train", text)
        text = self.refused_alone("run.transport=mpi")
        self.assertIn('error[E571]: run.transport = "mpi" needs a launcher',
                      text)
        self.assertIn(instead, text)
        # A mistake in the file does not hide the missing launcher.
        text = self.refused_alone("train.stepz=1", WORLD_SIZE="2",
                                  TORCHELASTIC_RUN_ID="none")
        self.assertIn("error[E571]: torchrun", text)

    def test_a_launcher_of_one_process_is_as_a_shell(self):
        # In a batch script SLURM_NTASKS counts the tasks of the job.
        for environment in (
                {"TORCHELASTIC_RUN_ID": "none", "WORLD_SIZE": "1"},
                {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1"},
                {"SLURM_NTASKS": "4", "SLURM_PROCID": "0"}):
            self.run_dir = self.folder / "".join(environment)
            run = self.alone(*self.train(), **environment)
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertIn("2 workers as threads", run.stderr)

    def test_srun_with_pmix_may_have_started_one(self):
        verify = [CHIMERA, "verify", "-c", self.gpt2]
        for tasks, code in ("1", 0), ("2", 2):
            srun = {"PMIX_RANK": "0", "SLURM_STEP_ID": "0",
                    "SLURM_STEP_NUM_TASKS": tasks}
            for arguments in verify, self.train("run.transport=threads"):
                run = self.alone(*arguments, **srun)
                self.assertEqual(run.returncode, code, run.stderr)
                self.assertEqual("error[E571]" in run.stderr, code == 2)

    def test_what_runs_in_one_process_is_refused_by_each(self):
        verify = [CHIMERA, "verify", "-c", self.gpt2]
        for what, arguments in (
                ('run.transport = "threads"',
                 self.train("run.transport=threads")), ("verify", verify)):
            job = self.start_ranks(2, *arguments)
            self.refused(job, 2)
            for rank in range(2):
                self.assertEqual(
                    job.says(rank),
                    f"error[E571]: {what} runs in one process, but mpirun has "
                    "started several; hint: start it without mpirun\n")

    def test_a_real_torchrun(self):
        python = os.environ.get("CHIMERA_PYTHON", "")
        torchrun = pathlib.Path(shutil.which(python) or "/").with_name(
            "torchrun") if python else pathlib.Path("torchrun")
        if not python or not torchrun.exists():
            self.skipTest("CHIMERA_PYTHON has no torchrun")
        run = self.alone(torchrun, "--no-python", "--standalone",
                         "--nproc-per-node=2", *self.train())
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("error[E571]: torchrun starts separate processes",
                      run.stderr)
        self.assertFalse(self.run_dir.exists())


class Calibrate(Base):
    def start_calibrating(self, ranks):
        return self.start_ranks(ranks, CHIMERA, "calibrate", "-c", self.gpt2,
                                "--micro-batches", "1,2,4,8,16,32,64")

    def test_a_lost_rank_is_named(self):
        job = self.start_calibrating(2)
        wait_until("a measurement", lambda: "measuring" in job.says(0))
        os.kill(job.pid(1), signal.SIGKILL)
        job.wait()
        self.assertEqual(job.codes(), {0: 5, 1: 128 + signal.SIGKILL},
                         job.story())
        self.assertIn(f"error: rank 0 ({HOST}): lost rank 1: its process has "
                      "died\n", job.says(0))

    def test_another_number_of_ranks_than_workers(self):
        text = self.refused(self.start_calibrating(3), 3)
        self.assertIn("error[E571]: 3 ranks by mpirun must be 2", text)


class Handshake(Base):
    def differs(self, rank, found, needed, hint):
        return (f"error[E572] rank {rank} ({HOST}): {found}, but rank 0 "
                f"({HOST}) has {needed}; hint: {hint}\n")

    def pattern(self, text):
        """A pattern for a whole line; NUMBER stands for any hash."""
        return "(?m)^" + re.escape(text).replace("NUMBER", "[0-9a-f]{16}")

    def another_binary(self, name, patch):
        """A copy of the program with other bytes in the library."""
        folder = self.folder / name
        folder.mkdir()
        shutil.copy(CHIMERA, folder)
        library = (CHIMERA.parent / LIBRARY).read_bytes()
        self.assertIn(patch[0], library)
        (folder / LIBRARY).write_bytes(library.replace(*patch))
        return folder / CHIMERA.name

    def note_of_build_id(self):
        """The header of the ELF note NT_GNU_BUILD_ID (3), and its 20 bytes."""
        head = b"".join(number.to_bytes(4, sys.byteorder)
                        for number in (4, 20, 3)) + b"GNU\0"
        library = (CHIMERA.parent / LIBRARY).read_bytes()
        at = library.index(head) + len(head)
        return head, library[at:at + 20]

    def test_flags_and_binaries(self):
        head, build = self.note_of_build_id()
        other_build = bytes([build[0] ^ 0xff]) + build[1:]
        version = self.alone(CHIMERA, "--version").stdout.split()[1]
        other_version = ("8" if version[0] == "9" else "9") + version[1:]
        rebuilt = self.another_binary("rebuilt",
                                      (head + build, head + other_build))
        # Compilers store so short a text as numbers, the first of 4 bytes.
        newer = self.another_binary("newer", (version[:4].encode(),
                                              other_version[:4].encode()))
        config = self.write("four.toml", GPT2.format(depth=4))
        one = ("-n", 1)
        job = self.start(
            (one, self.train(config=config)),
            (one, self.train("train.lr=0.25", config=config)),
            (one, self.train(config=config, chimera=rebuilt)),
            (one, self.train(config=config, chimera=newer)))
        self.assertEqual(
            self.refused(job, 4),
            self.differs(1, "train.lr = 0.25", "train.lr = 0.001",
                         "give every rank the same run.toml and flags") +
            self.differs(2, f"build {other_build.hex()}",
                         f"build {build.hex()}",
                         "run the same binary everywhere; others may give "
                         "other bits") +
            self.differs(3, f"chimera {other_version}", f"chimera {version}",
                         "install one version everywhere"))
        self.assertEqual(list(job.said()), [0])

    # Two orders of one scheme with the same names and sizes.
    EAGER, LATE = ("""chimera-schedule-1
scheme gpipe
depth 2
micros 4
width 1
parts 1
pipe 0: 0 1
worker 0: 0F0 0F1 0F2 0F3 0B0 0B1 0B2 0B3
worker 1: 1F0 %s 1B1 1B2 1B3
""" % order for order in ("1B0 1F1 1F2 1F3", "1F1 1F2 1F3 1B0"))

    def test_files_of_one_name(self):
        """Each rank runs in a separate directory with the same command line."""
        where = [self.folder / f"host{rank}" for rank in range(4)]
        for folder in where:
            self.write(f"{folder.name}/a.sched", self.EAGER)
            self.write(f"{folder.name}/text.txt", TEXT * 80)
        self.write("host1/a.sched", self.LATE)
        self.write("host2/text.txt", TEXT * 79)
        # A file of the same length with other contents.
        self.write("host3/text.txt", TEXT.upper() * 80)
        config = self.write("file.toml", GPT2.format(depth=2).replace(
            "depth = 2\nmicros = 4\n", "width = 2\n"))
        job = self.start(*((("-n", 1, "-wdir", folder),
                            self.train("schedule.file=a.sched",
                                       "data.path=text.txt", config=config))
                           for folder in where))
        text = self.refused(job, 4)
        self.assertRegex(text, self.pattern(self.differs(
            1, "the schedule NUMBER", "the schedule NUMBER",
            "is schedule.file the same everywhere?")))
        for rank, samples in ((2, 261), (3, 264)):
            self.assertRegex(text, self.pattern(self.differs(
                rank, f"data: {samples} samples (NUMBER)",
                "data: 264 samples (NUMBER)",
                "is data.path the same file everywhere?")))
        self.assertEqual(text.count("\n"), 3, text)
        self.assertEqual(list(job.said()), [0])

    def test_a_schedule_file_of_another_name(self):
        for name in ("a", "b"):
            self.write(f"{name}.sched", self.EAGER)
        plain = self.write("file.toml", EMULATED.replace(
            "depth = 2\nmicros = 2\n", ""))
        one = ("-n", 1)
        job = self.start(
            (one, self.train("schedule.file=a.sched", config=plain)),
            (one, self.train("schedule.file=b.sched", config=plain)))
        self.assertEqual(
            self.refused(job, 2),
            self.differs(1, 'schedule.file = "b.sched"',
                         'schedule.file = "a.sched"',
                         "give every rank the same run.toml and flags"))

    def test_a_file_that_one_rank_has_not(self):
        empty = self.folder / "empty"
        empty.mkdir()
        train = self.train("data.path=text.txt", config=self.gpt2)
        job = self.start((("-n", 1), train), (("-n", 1, "-wdir", empty), train))
        text = self.refused(job, 2, 3)
        self.assertRegex(text, rf"^on rank 1 \({HOST}\):\nerror\[E501\].*"
                               r"text\.txt.*\n$")
        self.assertEqual(list(job.said()), [0])

    def test_a_data_file_is_read_through_by_one_rank(self):
        """The others read the same samples, so they trust that the file is the
        same."""
        ids = struct.pack("<999H", *[300] * 999)
        (self.folder / "ids.bin").write_bytes(ids)
        job = self.start_ranks(2, *self.train("data.path=ids.bin",
                                              config=self.gpt2))
        self.assertRegex(self.refused(job, 2, 3),
                         rf"^on rank 0 \({HOST}\):\nerror\[E505\].*id 300.*\n$")

    def test_a_mistake_of_some_ranks(self):
        """The mistakes of all ranks are reported; the gravest one sets the exit
        code."""
        one = ("-n", 1)
        job = self.start(
            (one, self.train('data.path="/nowhere"', config=self.gpt2)),
            (one, self.train("train.stepz=5", config=self.gpt2)))
        self.assertRegex(
            self.refused(job, 2),
            rf"^on rank 0 \({HOST}\):\nerror\[E501\].*/nowhere.*\n"
            rf"on rank 1 \({HOST}\):\nerror\[E005\].*train\.stepz.*\n$")
        self.assertEqual(list(job.said()), [0])

    def test_a_mistake_of_all_ranks_is_told_once(self):
        job = self.start_ranks(2, *self.train("train.stepz=5"))
        self.assertRegex(self.refused(job, 2), r"^error\[E005\].*train\.stepz.*"
                                               r"did you mean steps\?\n$")
        self.assertEqual(list(job.said()), [0])

    def test_a_run_is_never_overwritten(self):
        self.run_dir.mkdir()
        kept = self.write("run/metrics.jsonl", "kept\n")
        job = self.start_ranks(2, *self.train()).wait()
        self.assert_codes(job, 2, 2)
        self.assertIn("error[E566]", job.says(0))
        self.assertEqual(list(job.said()), [0])
        self.assertEqual(os.listdir(self.run_dir), [kept.name])
        self.assertEqual(kept.read_text(), "kept\n")


class Speed(Base):
    def test_mfu_is_that_of_all_ranks(self):
        """mpirun binds two ranks to one core each: the peak counts both."""
        config = self.write("large.toml", GPT2.format(depth=2).replace(
            "hidden = 16", "hidden = 512").replace("seq = 16", "seq = 128"))
        self.write("text.txt", TEXT * 2000)
        run = subprocess.run(
            ["mpirun", "-n", "2", *map(str, self.train(
                "train.steps=3", "schedule.micro_batch=4", config=config))],
            text=True, capture_output=True, cwd=self.folder, timeout=120,
            env=MPI_ENVIRONMENT)
        self.assertEqual(run.returncode, 0, run.stderr)
        shares = [float(share) for share in
                  re.findall(r"MFU +([\d.]+)%", run.stderr)]
        self.assertEqual(len(shares), 3, run.stderr)
        print("MFU in per cent:", shares)
        self.assertLess(statistics.median(shares), 100)


class Signals(Base):
    def start_training(self, *settings, ranks=2, **options):
        job = self.start_ranks(ranks, *self.train(FOREVER, *settings),
                               **options)
        self.wait_for_steps(3)
        return job

    def assert_ended_after_a_step(self, job):
        self.assertEqual(job.said("stdout"), {0: f"{self.run_dir}\n"})
        steps = self.steps()
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(self.state(), {"state": "interrupted", "exit": 130,
                                        "step": len(steps)}, job.story())
        self.assertEqual(list(job.said()), [0], job.story())
        self.assertNotIn("error", job.says(0))

    def test_usr1_ends_after_the_step(self):
        job = self.start_training("run.transport=mpi", "schedule.width=2",
                                  ranks=4)
        job.mpirun.send_signal(signal.SIGUSR1)  # mpirun forwards it
        job.wait()
        self.assert_codes(job, 4, 130)
        self.assert_ended_after_a_step(job)
        self.assertEqual(job.says(0).count("asked to end: ending after this "
                                           "step"), 1)

    def test_ctrl_c_and_a_kill_of_mpirun(self):
        """mpirun sends SIGTERM, and SIGKILL a second later: enough time for a
        step of 10 ms, but not for MPI_Finalize, which waits for mpirun. There
        are no exit codes, therefore."""
        for end in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(end.name):
                self.run_dir = self.folder / end.name
                job = self.start_training(flags=())
                job.mpirun.send_signal(end)
                job.wait()
                self.assert_ended_after_a_step(job)

    def test_quit_asks_one_rank_what_it_does(self):
        job = self.start_training()
        os.kill(job.pid(1), signal.SIGQUIT)
        flight = self.run_dir / "flight"
        wait_until("a flight recorder",
                   lambda: (flight / "rank_1.txt").exists())
        lines = (flight / "rank_1.txt").read_text().splitlines()
        self.assertRegex(lines[0], rf"^rank 1 \({HOST}, .*\): SIGQUIT$")
        for line in lines[1:-1]:
            self.assertRegex(line, r"^ *\d+\.\d{6} s ago: step \d+, \w")
        self.assertEqual(lines[-1], "the last one is under way")
        self.assertGreater(len(lines), 10)
        self.assertEqual(os.listdir(flight), ["rank_1.txt"])
        self.wait_for_steps(len(self.steps()) + 3)  # it continues
        self.assertIsNone(job.mpirun.poll())
        os.kill(job.pid(1), signal.SIGUSR1)  # one rank is enough
        job.wait()
        self.assert_codes(job, 2, 130)
        self.assert_ended_after_a_step(job)


class Failures(Base):
    def test_a_run_directory_that_cannot_be(self):
        self.run_dir = pathlib.Path("/proc/chimera")
        job = self.start_ranks(2, *self.train())
        self.assertRegex(self.refused(job, 2, 8),
                         "^error: cannot make the run directory /proc/chimera: .*\n$")
        self.assertEqual(list(job.said()), [0])

    def limit_files(self, job, size):
        """Limit the file size of rank 0 from now on, as if its disk were full.
        """
        resource.prlimit(job.pid(0), resource.RLIMIT_FSIZE, (size, size))

    def test_a_limit_of_file_sizes_is_as_a_full_disk(self):
        """Exceeding the limit raises SIGXFSZ, which must not kill the run."""
        train = self.train("run.trace=true", "train.steps=50",
                           "run.log_every=50")
        run = self.alone("sh", "-c", 'ulimit -f 20; exec "$@"', "sh", *train)
        self.assertEqual(run.returncode, 8, run.stderr)
        state = self.state()
        self.assertEqual((state["state"], state["exit"]), ("failed", 8))

    def test_a_disk_that_is_full_at_a_step(self):
        """Training continues, and the run reports the full disk at its end."""
        job = self.start_ranks(4, *self.train("train.steps=60",
                                              "schedule.width=2"))
        self.wait_for_steps(5)
        metrics = self.run_dir / "metrics.jsonl"
        self.limit_files(job, metrics.stat().st_size + 1000)
        job.wait()
        self.assert_codes(job, 4, 8)
        self.assertRegex(job.says(0), rf"(?m)^warning: cannot write {metrics}"
                                      ".*training goes on$")
        self.assertEqual(job.says(0).count("warning"), 1)
        self.assertEqual(self.state(),
                         {"state": "failed", "step": 60, "exit": 8})
        # Lines are whole and in order; a short one may fit where a long one did
        # not.
        steps = [json.loads(line)["step"]
                 for line in metrics.read_text().splitlines()]
        self.assertEqual(steps[:5], [1, 2, 3, 4, 5])
        self.assertEqual(steps, sorted(set(steps)))
        self.assertLess(len(steps), 60)

    def test_a_disk_that_is_full_at_the_end(self):
        job = self.start_ranks(2, *self.train(
            "run.trace=true", "train.steps=100"))
        self.wait_for_steps(1)
        self.limit_files(job, 16000)  # metrics fit, a trace does not
        job.wait()
        self.assert_codes(job, 2, 8)
        trace = self.run_dir / "trace.json"
        self.assertIn(f"cannot write {trace}", job.says(0))
        self.assertRegex(job.says(1), rf"rank 0.*cannot write {trace}")
        self.assertEqual(self.state(), {"state": "failed", "step": 100,
                                        "exit": 8})

    def test_a_run_directory_that_is_lost_before_the_end(self):
        """Neither the trace nor state.json can then be written, as on a full
        disk. A step takes 0.4 s: enough time to remove the directory while
        state.json is not being written."""
        job = self.start_ranks(2, *self.train(
            "run.trace=true", "train.steps=3", "model.forward_ms=[70]",
            "model.input_grad_ms=[70]", "model.weight_grad_ms=[70]"))
        self.wait_for_steps(1)
        self.run_dir.rename(self.folder / "elsewhere")
        self.run_dir.write_text("not a directory")
        job.wait(20)
        self.assert_codes(job, 2, 8)
        for rank in range(2):
            self.assertIn(f"cannot write {self.run_dir}/", job.says(rank))
        self.assertEqual(self.run_dir.read_text(), "not a directory")


    @unittest.skipIf(os.environ.get("CHIMERA_SANITIZED"),
                     "AddressSanitizer ends a program that gets no memory")
    def test_a_rank_that_gets_no_more_memory(self):
        # A message of this size is always a separate allocation.
        job = self.start_ranks(2, *self.train(
            FOREVER, "model.boundary_bytes=40000000"))
        self.wait_for_steps(1)
        resource.prlimit(job.pid(1), resource.RLIMIT_AS, (2**20, 2**20))
        job.wait()
        self.assert_codes(job, 2, 9)
        self.assertRegex(job.says(1), rf"^error: rank 1 \({HOST}, .*\), step "
                                      r"\d+, .*: out of memory; .*\n$")
        self.assertRegex(
            job.says(0), rf"(?m)^error: rank 0 \({HOST}, .*\), step \d+, .*: "
            rf"ended.* rank 1 \({HOST}, .*out of memory")
        state = self.state()
        self.assertEqual((state["state"], state["exit"]), ("failed", 9))


def listening(pid):
    """The TCP and UDP ports that a process has open to others."""
    inodes = set()
    for path in pathlib.Path(f"/proc/{pid}/fd").iterdir():
        try:
            target = os.readlink(path)
        except FileNotFoundError:
            continue
        if target.startswith("socket:["):
            inodes.add(target[len("socket:["):-1])
    ports = []
    for table in ("tcp", "tcp6", "udp", "udp6"):
        path = pathlib.Path(f"/proc/{pid}/net/{table}")
        for line in path.read_text().splitlines()[1:] if path.exists() else []:
            fields = line.split()
            local, state, inode = fields[1], fields[3], fields[9]
            is_open = state == "0A" or table.startswith("udp")
            if inode in inodes and is_open:
                ports.append(f"{table} {int(local.rpartition(':')[2], 16)}")
    return ports


class Ports(Base):
    def test_the_test_sees_a_port(self):
        with socket.create_server(("localhost", 0)) as server:
            self.assertEqual(listening(os.getpid()),
                             [f"tcp {server.getsockname()[1]}"])

    def test_threads_open_none(self):
        run = subprocess.Popen([*map(str, self.train(FOREVER))],
                               cwd=self.folder, env=ENVIRONMENT,
                               stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
        self.addCleanup(run.kill)
        self.wait_for_steps(2)
        self.assertEqual(listening(run.pid), [])
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(20), 130)

    def test_ranks_open_none_but_those_of_mpi(self):
        """MPI's ports are those that disappear when MPI uses only shared
        memory: Open MPI's TCP transport then opens none, and the ports it needs
        to start and watch ranks are in mpirun, to which ranks connect. Any port
        that a rank still listens on would be Chimera's."""
        job = self.start_ranks(2, *self.train(FOREVER),
                               flags=(*PATIENT, "--mca", "pml", "ob1", "--mca",
                                      "btl", "self,vader"))
        self.wait_for_steps(2)
        for rank in range(2):
            self.assertEqual(listening(job.pid(rank)), [])
        job.mpirun.send_signal(signal.SIGUSR1)
        job.wait()
        self.assert_codes(job, 2, 130)


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    if shutil.which("mpirun") is None:
        print("SKIPPED: no mpirun to test with", file=sys.stderr)
        return 77
    # Jobs end however this test ends. The alarm comes before ctest's timeout,
    # which would kill at once.
    for end in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(end, interrupt)
    signal.alarm(280)
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
