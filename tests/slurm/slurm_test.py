#!/usr/bin/env python3
"""Training under a real SLURM: two nodes on this machine, see cluster.py.

usage: slurm_test.py CHIMERA_BINARY
Exit code 77: skipped, because SLURM is not installed or this is not root.
"""
import json
import os
import pathlib
import signal
import subprocess
import sys
import unittest

import cluster as slurm

CHIMERA = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent

# 24 slots of 2 ms: a step of about 50 ms. Real stages would need real cores.
RUN = """
[model]
kind = "emulated"
forward_ms = [2]
input_grad_ms = [2]
weight_grad_ms = [2]
boundary_bytes = 1000
grad_bytes = 1000
[schedule]
depth = 4
micros = 8
micro_batch = 1
[train]
steps = 20
[run]
timeout_s = 30
"""

# A run that can be saved and resumed.
REAL = """
[model]
kind = "gpt2"
layers = 4
hidden = 16
heads = 2
vocab = 256
seq = 16
[schedule]
depth = 4
micros = 4
micro_batch = 1
[train]
steps = {steps}
lr = 1e-3
[data]
path = "run.toml"
[run]
timeout_s = 30
log_every = 1000
"""

cluster = None  # started by main()


class Job(unittest.TestCase):
    def setUp(self):
        # A blank and a quote: the script must quote names for the shell.
        self.folder = cluster.folder / f"{self.id().rpartition('.')[2]} it's"
        self.folder.mkdir()
        (self.folder / "run.toml").write_text(RUN)

    def init(self, *flags):
        subprocess.run([CHIMERA, "init", "slurm", "-c", "run.toml", "--nodes",
                        "2", "-o", "job.sh", *flags], cwd=self.folder,
                       check=True)

    def submit(self, *flags):
        """Submit a script of `chimera init slurm`; returns the job."""
        self.init(*flags)
        return cluster.submit("job.sh", cwd=self.folder)

    def run_dir(self, job):
        return self.folder / "runs" / f"run-{job}"

    def log(self, job):
        path = self.folder / f"run-{job}.log"
        return path.read_text() if path.exists() else "(no log)"

    def steps(self, job):
        path = self.run_dir(job) / "metrics.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line)["step"] for line in lines]

    def wait_for_steps(self, job):
        """Wait until the job has done five steps."""
        try:
            slurm.wait_until("five steps", 60,
                             lambda: len(self.steps(job)) >= 5)
        except TimeoutError:
            print(cluster.describe(job), self.log(job), file=sys.stderr)
            raise

    def state(self, job):
        return json.loads((self.run_dir(job) / "state.json").read_text())

    def test_a_job_trains_on_two_nodes(self):
        job = self.submit("--time", "00:05:00")
        ended = cluster.wait_for(job, 40)
        self.assertEqual(ended, "COMPLETED", self.log(job))
        self.assertEqual(self.state(job),
                         {"state": "done", "step": 20, "exit": 0})
        self.assertEqual(self.steps(job), list(range(1, 21)))
        self.assertIn("4 workers on 2 nodes (n[1-2])", self.log(job))

    def test_the_warning_signal_ends_a_run_cleanly(self):
        job = self.submit("--set", "train.steps=100000")
        self.wait_for_steps(job)
        # As SLURM does at --signal=USR1@120: signals the steps, not the script.
        cluster.run("scancel", "--signal=USR1", job)
        cluster.wait_for(job, 15)
        steps = self.steps(job)
        self.assertLess(len(steps), 100000)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        state = self.state(job)
        self.assertEqual(state["step"], len(steps), self.log(job))
        self.assertIn(state["state"], ("interrupted", "saved"), self.log(job))
        self.assertIn(state["exit"], (75, 130), self.log(job))

    def test_a_saved_run_goes_on_in_the_queue(self):
        (self.folder / "run.toml").write_text(REAL.format(steps=500))
        job = self.submit()
        self.wait_for_steps(job)
        cluster.run("scancel", "--signal=USR1", job)
        slurm.wait_until("the restart", 60, lambda: "going on after step" in
                         self.log(job))
        self.assertEqual(cluster.wait_for(job, 120), "COMPLETED",
                         self.log(job))
        self.assertEqual(self.state(job),
                         {"state": "done", "step": 500, "exit": 0})
        self.assertEqual(self.steps(job), list(range(1, 501)))

    def pid_of(self, job, rank):
        """The process id of a job's task."""
        wanted = {b"SLURM_JOB_ID=" + job.encode(),
                  b"SLURM_PROCID=%d" % rank}
        for path in pathlib.Path("/proc").glob("[0-9]*/environ"):
            try:
                found = wanted <= set(path.read_bytes().split(b"\0"))
                command = path.with_name("cmdline").read_bytes()
            except OSError:
                continue  # the process has ended
            if found and command.split(b"\0")[0] == CHIMERA.encode():
                return int(path.parent.name)
        raise AssertionError(f"task {rank} of job {job} is not there")

    def test_a_lost_task_loses_nothing(self):
        """The others save the run, without periodic checkpoints, on a slow
        disk, and the job is requeued."""
        (self.folder / "run.toml").write_text(REAL.format(steps=500))
        library = cluster.folder / "slow_rename.so"  # a path without blanks
        subprocess.run(["cc", "-shared", "-fPIC", "-o", library, HERE /
                        "slow_rename.c", "-ldl"], check=True)
        self.init("--set", "run.recover=true")
        script = self.folder / "job.sh"
        script.write_text(script.read_text().replace(
            "srun ", f"srun --export=ALL,LD_PRELOAD={library} "))
        job = cluster.submit("job.sh", cwd=self.folder)
        self.wait_for_steps(job)
        os.kill(self.pid_of(job, 2), signal.SIGKILL)
        slurm.wait_until("the restart", 60, lambda: "going on after step" in
                         self.log(job))
        self.assertIn("without rank 2", self.log(job))
        self.assertEqual(cluster.wait_for(job, 120), "COMPLETED",
                         self.log(job))
        self.assertEqual(self.state(job),
                         {"state": "done", "step": 500, "exit": 0})
        self.assertEqual(self.steps(job), list(range(1, 501)))

    @unittest.skipUnless(os.environ.get("CHIMERA_GRID") == "full",
                         "takes minutes: ./dev test --slow")
    def test_the_time_limit_is_no_end(self):
        """SLURM warns before each time limit; the job is requeued until it is
        done."""
        (self.folder / "run.toml").write_text(REAL.format(steps=12000))
        job = self.submit("--time", "00:02:00", "--signal-s", "60")
        self.assertEqual(cluster.wait_for(job, 900), "COMPLETED",
                         self.log(job))
        self.assertEqual(self.state(job),
                         {"state": "done", "step": 12000, "exit": 0})
        self.assertGreater(self.log(job).count("going on after step"), 0)

    def test_one_task_with_pmix(self):
        """One rank for train, and a single process for verify."""
        (self.folder / "run.toml").write_text(REAL.format(steps=2).replace(
            "depth = 4", 'scheme = "1f1b"\ndepth = 1'))
        for command in (["train", "--run-dir", "one"], ["verify"]):
            run = cluster.run("srun", "--mpi=pmix", "-n", 1, CHIMERA, *command,
                              "-c", "run.toml", cwd=self.folder, check=False)
            self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue((self.folder / "one" / "weights").exists())

    def test_srun_without_pmix_is_refused(self):
        # Refused: otherwise each process would train the whole model.
        run = cluster.run("srun", "-n", 4, "-N", 2, "--ntasks-per-node", 2,
                          CHIMERA, "train", "-c", "run.toml", "--run-dir",
                          "alone", cwd=self.folder, check=False)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("srun --mpi=pmix", run.stderr)
        self.assertFalse((self.folder / "alone").exists())


def interrupt(*_):
    raise KeyboardInterrupt


def main():
    global cluster
    reason = slurm.missing()
    if reason:
        print("SKIPPED: no SLURM to test with:", reason, file=sys.stderr)
        return 77
    # `finally` must be reached however this ends: no daemon may stay behind.
    # The alarm comes before ctest's timeout, which would kill at once.
    for end in (signal.SIGTERM, signal.SIGALRM):
        signal.signal(end, interrupt)
    signal.alarm(1500 if os.environ.get("CHIMERA_GRID") == "full" else 300)
    cluster = slurm.Cluster()
    try:
        cluster.start()
        return 0 if unittest.main(exit=False).result.wasSuccessful() else 1
    except Exception:
        print(cluster.logs(), file=sys.stderr)
        raise
    finally:
        cluster.stop()


if __name__ == "__main__":
    sys.exit(main())
