#!/usr/bin/env python3
"""kill -9 at any moment of a save loses nothing.

usage: kill_test.py CHIMERA_BINARY [--all [--first N]] [--points N]

Trains with a checkpoint after every step, and kills the process before its N-th
call that changes a file of a checkpoint (kill_at.c counts them, over all
threads). After each kill the run is resumed: it must find a valid checkpoint,
continue, and end with the same bits as an undisturbed run. Without --all,
twenty of the points, spread evenly; with it, every one.
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import struct
import subprocess
import sys

import runs

STEPS = 3
SETTINGS = ["run.save_every=1", "run.keep=1", f"train.steps={STEPS}"]


class Killer(runs.Runs):
    """Trains, kills and compares, with the helpers of runs.py."""

    def runTest(self):
        pass

    def build(self):
        source = pathlib.Path(__file__).with_name("kill_at.c")
        self.preload = self.folder / "kill_at.so"
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", self.preload,
                        source, "-ldl"], check=True)

    def disturbed(self, name, at):
        """Train with a kill; returns the number of calls made. It differs from
        run to run, so a run may end before its kill."""
        counter = self.folder / f"{name}.count"
        env = {**os.environ, "LD_PRELOAD": str(self.preload),
               "CHIMERA_KILL_COUNT": str(counter)}
        if at:
            env["CHIMERA_KILL_AT"] = str(at)
        run = subprocess.run(self.command(name, *SETTINGS), env=env, text=True,
                             capture_output=True, timeout=120)
        calls = struct.unpack("l", counter.read_bytes())[0]
        self.assertEqual(run.returncode, -9 if 0 < at <= calls else 0,
                         run.stderr)
        return calls

    def check(self, at):
        """Returns the step from which the run continued; None if it ended
        before its kill."""
        name = f"run{at}"
        if self.disturbed(name, at) < at:
            self.assertEqual(self.saved(name, STEPS), self.expected)
            return None
        said = self.train(name, *SETTINGS, resume=True)
        self.assertEqual(self.saved(name, STEPS), self.expected, f"call {at}")
        left = sorted(p.name for p in
                      (self.folder / name / "checkpoints").iterdir())
        # A kill just before the removal may leave an old checkpoint.
        self.assertEqual(left[-1], f"step-{STEPS:08}", f"call {at}")
        self.assertLessEqual(len(left), 2, f"call {at}")
        self.assertFalse([name for name in left if name.startswith(".")])
        self.assertNotIn("skipped", said)  # an interrupted save hides nothing
        shutil.rmtree(self.folder / name)
        for step in range(1, STEPS + 1):
            if f"going on after step {step} " in said:
                return step
        return 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--points", type=int, default=20)
    options = parser.parse_args()
    runs.Runs.chimera = os.path.abspath(options.binary)
    killer = Killer()
    killer.setUp()
    try:
        killer.build()
        calls = killer.disturbed("whole", 0)
        killer.expected = killer.saved("whole", STEPS)
        every = 1 if options.all else max(1, calls // options.points)
        points = range(options.first, calls + 1, every)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            resumed = list(pool.map(killer.check, points))
    finally:
        killer.doCleanups()
    resumed = [step for step in resumed if step is not None]
    assert len(resumed) > 0.9 * len(points), "most runs end before their kill"
    by_step = {step: resumed.count(step) for step in sorted(set(resumed))}
    print(f"ok: {len(points)} kill points of {calls} calls; went on after "
          f"step: times {by_step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
