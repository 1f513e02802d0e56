#!/usr/bin/env python3
"""Measures what passes between the loss of a rank and the next step.

usage: recovery.py CHIMERA_BINARY [FOLDER]

A GPT-2 of 100 M parameters on four ranks under mpirun with run.recover and
AdamW. One rank is killed, the others save the run, and it is started again
with --resume as soon as they are gone. The run is on the disk of FOLDER
(default: the temporary folder).
"""
import json
import os
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests/checkpoint"))

import runs  # noqa: E402

RANKS = 4
ROUNDS = 3
SHAPE = {"layers = 4": "layers = 12", "hidden = 16": "hidden = 768",
         "heads = 2": "heads = 12", "vocab = 256": "vocab = 20000",
         "micro_batch = 2": "micro_batch = 1"}
PARTS = ["the others know", "the run is saved", "the ranks are gone",
         "started again: all ranks agree", "first step"]


class Bench(runs.Runs):
    def runTest(self):
        pass

    def launch(self, name, number):
        command = self.command(name, "run.recover=true", "train.steps=1000",
                               resume=True, ranks=RANKS)
        command[1:1] = ["--mca", "odls_base_sigkill_timeout", "60"]
        self.said = self.folder / f"said{number}"
        with open(self.said, "wb") as out:
            return subprocess.Popen(command, stdout=out, stderr=out,
                                    cwd=self.folder, start_new_session=True)

    def wait(self, happens):
        end = time.monotonic() + 300
        while not happens():
            assert time.monotonic() < end, self.said.read_text()
            time.sleep(0.002)
        return time.monotonic()

    def says(self, pattern):
        return re.search(pattern, self.said.read_text(errors="replace"), re.M)

    def state_is(self, name, state):
        path = self.folder / name / "state.json"
        return path.exists() and json.loads(path.read_text())["state"] == state

    def measure(self, number):
        """The seconds of each of PARTS."""
        name = f"run{number}"
        job = self.launch(name, 2 * number)
        self.wait(lambda: self.says(r"^step +5/"))
        pids = self.pids(name)
        times = [time.monotonic()]
        os.kill(pids[1 + number % 3], signal.SIGKILL)
        recovery = self.folder / name / "checkpoints/.recovery"
        times.append(self.wait(lambda: any(recovery.glob("rank-*"))))
        times.append(self.wait(lambda: self.state_is(name, "saved")))
        times.append(self.wait(lambda: not self.pids(name)))
        os.killpg(job.pid, signal.SIGKILL)
        job.wait()
        job = self.launch(name, 2 * number + 1)
        times.append(self.wait(lambda: self.says("^going on after")))
        times.append(self.wait(lambda: self.says(r"^step +\d+/")))
        os.killpg(job.pid, signal.SIGKILL)
        self.wait(lambda: not self.pids(name))
        subprocess.run(["rm", "-rf", self.folder / name], check=True)
        return [after - before for before, after in zip(times, times[1:])]


def main():
    runs.Runs.chimera = os.path.abspath(sys.argv[1])
    if len(sys.argv) > 2:
        tempfile.tempdir = os.path.abspath(sys.argv[2])
    bench = Bench()
    bench.setUp()
    text = bench.config.read_text()
    for before, after in SHAPE.items():
        text = text.replace(before, after)
    bench.config.write_text(text)
    try:
        rounds = [bench.measure(number) for number in range(ROUNDS)]
    finally:
        bench.doCleanups()
    print(f"| part | seconds (median of {ROUNDS}) |\n|---|---|")
    for part, found in zip(PARTS, zip(*rounds)):
        print(f"| {part} | {statistics.median(found):.2f} |")
    print(f"| in all | {statistics.median(map(sum, rounds)):.2f} |")


if __name__ == "__main__":
    main()
