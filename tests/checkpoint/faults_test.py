#!/usr/bin/env python3
"""Slow and full disks, pauses and crashes lose no training.

usage: faults_test.py CHIMERA_BINARY
"""
import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

import runs


class SlowDisk(runs.Runs):
    def test_a_commit_may_take_longer_than_the_deadline(self):
        said = self.train("run", "run.timeout_s=5", "run.save_every=4",
                          "train.steps=12", "run.keep=1", ranks=4,
                          env=self.faults(CHIMERA_FAULT_RENAME_S="12"))
        self.assertEqual(self.state("run"),
                         {"state": "done", "step": 12, "exit": 0}, said)
        self.assertEqual(self.steps("run"), [12])

    def test_the_save_of_survivors_may_take_longer_than_the_deadline(self):
        command = self.command("run", "run.timeout_s=4", "run.recover=true",
                               "train.steps=100000", ranks=4)
        command[1:1] = ["--mca", "odls_base_sigkill_timeout", "20"]
        with open(self.folder / "said", "w") as said:
            run = subprocess.Popen(
                command, stdout=said, stderr=said, cwd=self.folder,
                start_new_session=True,
                env={**os.environ, **self.faults(CHIMERA_FAULT_RENAME_S="9")})
        self.wait_for_steps("run", 3)
        os.kill(self.pids("run")[2], signal.SIGKILL)
        while self.pids("run"):
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGKILL)  # mpirun sleeps for 40 s
        run.wait()
        state = self.state("run")
        self.assertEqual((state["state"], state["exit"]), ("saved", 75),
                         (self.folder / "said").read_text())
        self.assertEqual(self.steps("run"), [state["step"]])


class Evaluation(runs.Runs):
    def test_a_loss_during_an_evaluation_loses_nothing(self):
        # Longer than the second after which state.json is written again.
        text = self.folder / "evaluation.txt"
        text.write_text("It was the season of light. " * 100000)
        command = self.command("run", "run.recover=true", "train.eval_every=2",
                               f"data.eval_path={text}", ranks=4)
        command[1:1] = ["--mca", "odls_base_sigkill_timeout", "5"]
        run = subprocess.Popen(command, text=True, stderr=subprocess.PIPE,
                               stdout=subprocess.DEVNULL, cwd=self.folder)
        self.addCleanup(run.kill)
        self.wait_for_steps("run", 1)
        time.sleep(2)
        os.kill(self.pids("run")[3], signal.SIGKILL)
        said = run.communicate(timeout=60)[1]
        self.assertEqual(self.state("run"),
                         {"state": "saved", "step": 2, "exit": 75}, said)
        self.assertNotIn("is not saved", said)
        self.assertEqual([m[0] for m in self.losses("run")], [1, 2])


class Paused(runs.Runs):
    def test_a_pause_after_sigterm_is_no_loss(self):
        run = self.start("run", "train.steps=100000", ranks=4)
        self.wait_for_steps("run", 3)
        pids = self.pids("run")
        os.kill(pids[2], signal.SIGSTOP)
        os.kill(pids[1], signal.SIGTERM)
        time.sleep(1.2)
        os.kill(pids[2], signal.SIGCONT)
        said = run.communicate(timeout=60)[1]
        state = self.state("run")
        self.assertEqual((state["state"], state["exit"]), ("saved", 75), said)
        self.assertEqual(self.steps("run"), [state["step"]])


class Durable(runs.Runs):
    def calls(self, name, *settings):
        """[[call, path, ...]] of a run, with relative paths."""
        log = self.folder / "calls"
        self.train(name, *settings, env=self.faults(CHIMERA_FAULT_CALLS=log))
        run = str(self.folder / name)
        return [[word.replace(run, "RUN") for word in line.split()]
                for line in log.read_text().splitlines()]

    def test_weights_are_on_the_disk_before_the_run_is_done(self):
        calls = self.calls("run", "train.steps=2")
        renamed = [i for i, call in enumerate(calls)
                   if call[0] == "rename" and call[2] == "RUN/weights"]
        self.assertEqual(len(renamed), 1, calls)
        before, after = calls[:renamed[0]], calls[renamed[0]:]
        synced = [call[1] for call in before if call[0] == "fsync"]
        for name in ("model.safetensors", "config.json"):
            self.assertTrue(any(re.search(rf"/model/{name}", path)
                                for path in synced), (name, calls))
        self.assertTrue(any(path.endswith("/model") for path in synced), calls)
        # Next the directory that contains it; state.json comes last.
        self.assertEqual(after[1], ["fsync", "RUN"], calls)
        self.assertEqual(after[-1][2], "RUN/state.json", calls)

    def test_the_folder_of_checkpoints_is_on_the_disk(self):
        calls = self.calls("run", "train.steps=2", "run.save_every=2")
        committed = [i for i, call in enumerate(calls) if call[0] == "rename"
                     and call[2].startswith("RUN/checkpoints/step-")]
        self.assertEqual(len(committed), 1, calls)
        self.assertEqual(calls[committed[0] + 1:committed[0] + 3],
                         [["fsync", "RUN/checkpoints"], ["fsync", "RUN"]])


class Disk(runs.Runs):
    def test_weights_too_large_for_the_disk_are_refused_at_the_start(self):
        place = self.tmpfs("40k")
        said = self.train("disk/run", code=8)
        self.assertRegex(said, "MB free, and the weights take")
        self.assertEqual(self.losses("disk/run"), [])
        self.assertFalse((place / "run/weights").exists())

    def test_weights_go_elsewhere_when_the_disk_is_full_at_the_end(self):
        place = self.tmpfs("2m")
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        self.train("whole", "train.steps=100")
        run = self.start("disk/run", "train.steps=100",
                         env={"TMPDIR": str(elsewhere)})
        self.wait_for_steps("disk/run", 1)
        ballast = os.open(place / "ballast", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(ballast, bytes(4096))
        os.close(ballast)
        said = run.communicate(timeout=120)[1]
        self.assertEqual(run.returncode, 8, said)
        found = re.search(r"(?m)^weights: (.*/model\.safetensors)$", said)
        self.assertTrue(found, said)
        path = pathlib.Path(found.group(1))
        self.assertIn(elsewhere, path.parents)
        self.assertEqual(path.read_bytes(), self.weights("whole"))


class Memory(runs.Runs):
    def test_the_end_takes_no_more_memory_than_training(self):
        """Rank 0 holds a quarter of 28 M parameters (28 MB of 113 MB)."""
        self.config.write_text(
            self.config.read_text().replace("layers = 4", "layers = 16")
            .replace("hidden = 16", "hidden = 384")
            .replace('"chimera"', '"1f1b"'))
        run = self.start("run", "train.steps=2", 'train.optimizer="sgd"',
                         ranks=4)
        self.wait_for_steps("run", 1)
        status = pathlib.Path(f"/proc/{self.pids('run')[0]}/status")
        trained = 0
        while len(self.losses("run")) < 2:
            trained = self.peak_bytes(status)
        said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 0, said)
        memory = json.loads((self.folder / "run/memory.json").read_text())
        self.assertLess(memory["resident_bytes"] - trained, 40e6)

    def peak_bytes(self, status):
        with contextlib.suppress(OSError):
            found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
            return 1024 * int(found.group(1))
        return 0


class Reader(runs.Runs):
    def test_a_reader_that_stops_does_not_stop_training(self):
        steps = 3000  # more lines than a pipe holds
        run = self.start("run", f"train.steps={steps}", "model.layers=1",
                         "schedule.depth=1", "schedule.micros=1",
                         'schedule.scheme="1f1b"')
        deadline = time.monotonic() + 60
        path = self.folder / "run/state.json"
        while not (path.exists() and "done" in path.read_text()):
            self.assertLess(time.monotonic(), deadline, "training is stuck")
            time.sleep(0.1)
        said = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 0)
        self.assertIn(f"step {steps}/{steps}", said)


if __name__ == "__main__":
    runs.Runs.chimera = os.path.abspath(sys.argv.pop(1))
    unittest.main()
