#!/usr/bin/env python3
"""A lost rank loses nothing: the others save the run.

usage: recover_test.py CHIMERA_BINARY [--kills N] [--seed S]
                       [--vote wait|late|both]

Trains GPT-2 on four ranks under mpirun with run.recover and without periodic
checkpoints. At a random moment one rank is killed, or stopped (silent, like a
rank whose host is gone), or runs out of memory. The others must leave a
complete checkpoint and state.json = saved, and the resumed run must end with
the same bits as an undisturbed one, which waits for votes. Gradients are
clipped in some of the steps, so late votes undo some updates.
"""
import argparse
import contextlib
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

import runs

RANKS = 4
STEPS = 60
# Norms are near 1.36, so about half of the steps are clipped.
SETTINGS = ["run.recover=true", f"train.steps={STEPS}", "train.clip=1.36"]
VOTES = {"both": ["wait", "late"], "wait": ["wait"], "late": ["late"]}
# Ways to lose a rank, each with a timeout that keeps the test short.
LOSSES = [("killed", signal.SIGKILL, []),
          ("stopped", signal.SIGSTOP, ["run.timeout_s=4"]),
          ("out of memory", signal.SIGUSR2, [])]


class Killer(runs.Runs):
    def runTest(self):
        pass

    def lose(self, name, rank, wait, number, settings):
        """Send signal `number` to `rank`, `wait` seconds after the first step;
        returns the output."""
        command = self.command(name, *SETTINGS, *settings, ranks=RANKS)
        # Leaves time to write: by default mpirun kills two seconds after a
        # death.
        command[1:1] = ["--mca", "odls_base_sigkill_timeout", "5"]
        run = subprocess.Popen(command, text=True, stdout=subprocess.DEVNULL,
                               stderr=subprocess.PIPE, cwd=self.folder,
                               env={**os.environ, **self.faults()})
        self.wait_for_steps(name, 1)
        pids = self.pids(name)
        self.assertEqual(sorted(pids), list(range(RANKS)))
        time.sleep(wait)
        os.kill(pids[rank], number)
        end = time.monotonic() + 60
        while (run.poll() is None and time.monotonic() < end and
               self.state(name)["state"] != "done"):
            time.sleep(0.1)
        # A rank that was stopped behind the last step: mpirun waits for it.
        with contextlib.suppress(ProcessLookupError):
            os.kill(pids[rank], signal.SIGCONT)
        return run.communicate(timeout=60)[1]

    def check(self, name, rank, wait, loss, vote):
        number, settings = loss
        vote = f"train.vote={vote}"
        said = self.lose(name, rank, wait, number, [*settings, vote])
        state = self.state(name)
        if state["state"] == "done":  # the signal came too late
            return None
        self.assertEqual((state["state"], state["exit"]), ("saved", 75), said)
        self.assertEqual(self.steps(name), [state["step"]], said)
        # Told once, for the page of the run.
        faults = [event["text"] for event in self.events(name)
                  if event["kind"] == "fault"]
        self.assertEqual(len(faults), 1, faults)
        self.assertIn(f"rank {rank} (", faults[0])
        # At least the last step that any rank has reported.
        self.assertGreaterEqual(state["step"],
                                max(m[0] for m in self.losses(name)), said)
        self.assertEqual(self.saved(name, state["step"]),
                         self.saved("each", state["step"]), said)
        self.train(name, *SETTINGS, f"run.save_every={STEPS}", vote,
                   resume=True, ranks=RANKS)
        self.assertEqual(self.saved(name, STEPS), self.saved("each", STEPS))
        # Rank 0 writes metrics.jsonl. As a survivor it leaves no gap, even if
        # it had not read the vote of the saved step.
        if rank != 0:
            self.assertEqual([m[0] for m in self.losses(name)],
                             list(range(1, STEPS + 1)), said)
        return state["step"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("binary")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--vote", choices=VOTES, default="both")
    options = parser.parse_args()
    runs.Runs.chimera = os.path.abspath(options.binary)
    print("seed", options.seed)
    random.seed(options.seed)
    killer = Killer()
    killer.setUp()
    steps = []
    try:
        killer.train("each", *SETTINGS, "run.save_every=1", f"run.keep={STEPS}")
        number = 0
        while len(steps) < options.kills:
            rank, wait = number % RANKS, random.uniform(0, 0.5)
            how, *loss = LOSSES[number % len(LOSSES)]
            votes = VOTES[options.vote]
            vote = votes[number % len(votes)]
            step = killer.check(f"run{number}", rank, wait, loss, vote)
            number += 1
            if step is not None:
                steps.append(step)
                print(f"ok     rank {rank} {how}, vote {vote}: saved step "
                      f"{step}", flush=True)
    finally:
        killer.doCleanups()
    return 0


if __name__ == "__main__":
    sys.exit(main())
