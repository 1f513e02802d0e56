#!/usr/bin/env python3
"""Faults, one after the other, cost nothing that was trained.

usage: soak.py CHIMERA [--minutes M] [--faults N] [--seed S] [--lap K]
               [--jobs J] [--only WORD]

Trains a small GPT-2 under mpirun with run.recover and run.save_every, as a job
script does: started again with --resume until state.json says done. Meanwhile
faults drawn from the seed hit the processes, the disk and the link, in every
phase. A lap deals every fault once, on one host or on two. Its run is extended
leg by leg; the weights at the end of each leg must be those of a run that
nobody disturbed, bit for bit. Stops at the first violation and prints how to
repeat it. Ends after M minutes or N faults, whichever comes first. J laps run
at a time.
77 = skipped: not root, or not allowed to mount.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

import kinds
import world
from world import DEADLINE_S, RANKS

LEG = 600         # steps until the run may end
SHORT_LEG = 200   # the same, once only faults at the end are left
PATIENCE_S = 120  # without a step: for a start, a save by survivors or an end
MOST_BYTES = 16 << 20  # on the disk at the end of a leg; the state has 210 KB
STARTS = 3        # that may fail by themselves: MPI_Init has a deadline, too


class Violation(Exception):
    pass


class Table:
    """What happened, by kind of fault."""

    def __init__(self):
        self.rows = collections.defaultdict(list)
        self.failed_starts = 0  # that nobody disturbed

    def note(self, name, ended, lost, seconds):
        self.rows[name].append((ended, lost, seconds))

    def __len__(self):
        return sum(map(len, self.rows.values()))

    def kinds(self):
        return {name.partition(" in ")[0] for name in self.rows}

    def __str__(self):
        lines = [f"{'fault':32} {'count':>5} {'ended the start':>15}"
                 f" {'most steps lost':>15} {'s to the next step: median':>26}"
                 f" {'most':>6}"]
        for name, found in sorted(self.rows.items()):
            ended, lost, seconds = zip(*found)
            lines.append(f"{name:32} {len(found):5} {sum(ended):15}"
                         f" {max(lost):15} {statistics.median(seconds):26.1f}"
                         f" {max(seconds):6.1f}")
        return "\n".join(lines)


class Calm:
    """The run that nobody disturbs."""

    def __init__(self):
        self.place = world.World()
        self.place.setUp()
        self.found = {}
        self.lock = threading.Lock()

    def weights(self, steps):
        with self.lock:
            if steps not in self.found:
                self.found[steps] = self.train(steps)
            return self.found[steps]

    def train(self, steps):
        """Goes on from the longest run that is shorter."""
        name = f"calm{steps}"
        before = max((each for each in self.found if each < steps), default=0)
        if before:
            shutil.copytree(self.place.folder / f"calm{before}",
                            self.place.folder / name)
            shutil.rmtree(self.place.folder / name / "weights")
        self.place.train(name, *world.SETTINGS, "run.timeout_s=300",
                         f"train.steps={steps}", resume=True)
        return self.place.weights(name)


class Lap:
    """One run under all faults, each once."""

    def __init__(self, number, place, draw, table, only):
        self.number, self.place = number, place
        self.draw, self.table = draw, table
        self.faults = kinds.TWO_HOSTS if place.network else kinds.ONE_HOST
        deck = [(name, phase) for name, (_, phases, _) in self.faults.items()
                for phase in phases.split()]
        deck += [(f"{first} + {second}", "recovery")
                 for first in kinds.FIRST for second in kinds.SECOND]
        deck = [(name, phase) for name, phase in deck
                if only in f"{name} in {phase}"]
        draw.shuffle(deck)
        self.at_end = [each for each in deck if each[1] == "end"]
        self.deck = [each for each in deck if each[1] != "end"]
        self.end = 0  # of this leg

    def run(self, has_time, calm):
        while (self.deck or self.at_end) and has_time():
            self.end += LEG if self.deck else SHORT_LEG
            shutil.rmtree(self.place.run_dir / "weights", ignore_errors=True)
            self.start()
            self.run_leg(has_time)
            if self.place.weights("disk/run") != calm.weights(self.end):
                raise Violation("the weights differ from those of an "
                                "undisturbed run")
            if (used := self.place.used_bytes()) > MOST_BYTES:
                raise Violation(f"{used} bytes are left on the disk")
            self.say(f"step {self.end}: weights bit-equal")
        self.place.checkpoint("verify", self.place.run_dir)

    def run_leg(self, has_time):
        """Until the run is done; faults as long as there is time for them."""
        while not self.is_done():
            if self.place.has_ended():
                self.start()
                self.wait_for_a_step()
            elif self.deck and has_time() and not self.is_near_end():
                self.hit(*self.deck.pop())
            elif self.at_end and has_time():
                self.hit(*self.at_end.pop())
            else:
                self.wait(self.place.has_ended, "the run did not end")

    def is_near_end(self):
        return self.place.step_now() > self.end - 3 * world.SAVE_EVERY

    def is_done(self):
        """All steps are done and the weights are written; exit code 8 only
        says that a checkpoint on the way was not."""
        state = self.place.state_now()
        return (self.place.has_ended() and state.get("step") == self.end and
                (state["state"] == "done" or state["exit"] == 8
                 and (self.place.run_dir / "weights").exists()))

    def start(self):
        self.place.start_job(self.end)

    def wait_for_a_step(self):
        """Until the run that was started again has done a step."""
        place = self.place
        for _ in range(STARTS):
            self.wait(lambda: place.has_ended() or place.first_step(),
                      "the run started again gets to no step")
            if place.first_step() or self.is_done():
                return
            self.table.failed_starts += 1
            self.say("a start failed: " + place.words()[-500:])
            self.start()
        raise Violation(f"the run started again failed {STARTS} times")

    def wait(self, happens, complaint):
        """Patience begins again with every step: the machine may be busy."""
        step = -1
        while not self.place.wait_until(happens, PATIENCE_S) and not happens():
            if self.place.step_now() == step:
                raise Violation(complaint)
            step = self.place.step_now()

    def say(self, text):
        print(f"{time.strftime('%H:%M:%S')} lap {self.number}: {text}\n",
              end="", flush=True)

    # ---- one fault

    def reach(self, phase):
        """Waits for the phase; whether it came before the run ended."""
        place = self.place
        first = place.step_now()
        if phase == "start":  # of a run that goes on
            kinds.usr1(place, 0)
            self.wait(place.has_ended, "SIGUSR1 ended nothing")
            if self.is_done():
                return False
            self.start()
            time.sleep(self.draw.uniform(0, 4))
            return True
        if phase == "end":
            reached = place.wait_until(lambda: place.step_now() >= self.end,
                                       PATIENCE_S)
            time.sleep(self.draw.uniform(0, 0.2))
            return reached
        if not place.wait_until(lambda: place.step_now() > first, PATIENCE_S):
            return False
        if phase == "save":
            return place.wait_until(place.is_saving, 30)
        if phase == "commit":
            return place.wait_until(place.is_committing, 30)
        time.sleep(self.draw.uniform(0, 0.4))
        return True

    def wait_for_a_checkpoint(self):
        """Until saves succeed again: the fault before may have prevented some,
        and the steps since the last one are counted."""
        place, first = self.place, self.place.step_now()
        self.wait(lambda: place.has_ended() or place.saved_step() > first,
                  "no save succeeds although the fault is over")

    def hit(self, name, phase):
        place = self.place
        names = name.split(" + ")
        allowed = (kinds.SINCE_CHECKPOINT if len(names) > 1 else
                   self.faults[name][2])
        if allowed > 0:
            self.wait_for_a_checkpoint()
        if not self.reach(phase) or place.has_ended():
            return
        ranks = self.draw.sample(range(RANKS), 2)
        before, clock = place.step_now(), time.monotonic()
        heal = []
        for number, (each, rank) in enumerate(zip(names, ranks)):
            if number == 1:
                place.wait_until(place.is_recovering,
                                 self.draw.uniform(0, DEADLINE_S + 2))
            before = max(before, place.step_now())
            heal.append(self.faults[each][0](place, rank))
        label = f"{name} in {phase}"
        state, lost = self.recover(before, [each for each in heal if each])
        seconds = time.monotonic() - clock
        self.say(f"{label}, rank {ranks[0]}, step {before}: "
                 f"{state and state + ', '}{lost} steps lost, {seconds:.1f} s")
        self.table.note(label, bool(state), lost, seconds)
        is_wrong = state not in ("", "saved")
        if is_wrong and allowed == 0 and phase in kinds.IN_STEPS:
            raise Violation(f"{label} at step {before}: state.json says "
                            f"{state}, not saved")
        if lost > allowed:
            raise Violation(f"{label} at step {before} lost {lost} steps; at "
                            f"most {allowed} may be lost")

    def recover(self, before, heal):
        """Until the run gets on, by itself or started again. What state.json
        said if it ended, else "", and the steps lost."""
        place = self.place
        target = max(place.step_now(), before) + 5

        def gets_on():
            return place.has_ended() or place.step_now() >= target
        if heal:
            place.wait_until(lambda: gets_on() or
                             set(place.rank_states()) == {"T"}, DEADLINE_S + 4)
        for each in heal:
            each()
        self.wait(gets_on, "the run neither goes on nor ends")
        if not place.has_ended() or self.is_done():
            return "", 0
        before = max(before, place.step_now())
        state = place.state_now().get("state", "no state")
        self.start()
        self.wait_for_a_step()
        return state, max(0, before + 1 - (place.first_step() or before + 1))


def run_lap(number, options, table, calm, has_time):
    """One lap; every second one is between two hosts."""
    network = world.fault_test.Network() if number % 2 else None
    place = world.World()
    try:
        if network:
            network.__enter__()
        place.build(network)
        draw = random.Random(f"{options.seed}/{number}")
        Lap(number, place, draw, table, options.only).run(has_time, calm)
        print(f"lap {number}: {place.starts} starts, {len(table)} faults so "
              "far", flush=True)
    except (Violation, AssertionError) as violation:
        print(place.last_words())
        print(*sorted(place.run_dir.rglob("*")), sep="\n")
        raise Violation(f"{violation}\nrepeat with --seed {options.seed} "
                        f"--lap {number}") from violation
    finally:
        if place.process:
            place.kill_all()
        place.doCleanups()
        if network:
            network.__exit__()


def run_laps(options, table):
    end = time.monotonic() + 60 * options.minutes

    def has_time():
        return time.monotonic() < end and len(table) < options.faults
    calm = Calm()
    numbers = itertools.count(options.lap)

    def work():
        while has_time():
            run_lap(next(numbers), options, table, calm, has_time)
    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    jobs = [pool.submit(work) for _ in range(options.jobs)]
    for job in concurrent.futures.as_completed(jobs):
        job.result()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chimera")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--lap", type=int, default=0, help="the first one")
    parser.add_argument("--jobs", type=int, default=1, help="laps at a time")
    parser.add_argument("--only", default="", help="kinds with this word")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: a disk of its own and two hosts need root")
        return 77
    try:
        world.isolate()
    except (OSError, subprocess.CalledProcessError) as error:
        print("SKIPPED: no namespaces of its own:", error)
        return 77
    world.runs.Runs.chimera = os.path.abspath(options.chimera)
    print("seed", options.seed, flush=True)
    table = Table()
    clock = time.monotonic()
    try:
        run_laps(options, table)
    except Violation as violation:
        print(f"{table}\nVIOLATION: {violation}", flush=True)
        os._exit(1)  # without waiting for the other laps, which end with it
    print(table)
    print(f"{len(table)} faults of {len(table.kinds())} kinds in "
          f"{(time.monotonic() - clock) / 60:.1f} minutes, "
          f"{table.failed_starts} starts failed undisturbed, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
