#!/usr/bin/env python3
"""Faults, one after the other, cost nothing that was trained.

usage: soak.py CHIMERA [--minutes M] [--faults N] [--seed S] [--only WORD]

Trains a small GPT-2 under mpirun with run.recover and run.save_every, as a job
script does: started again with --resume until state.json says done. Meanwhile
faults drawn from the seed hit the processes, the disk and the link, in every
phase. A lap is one run to its end; its weights must be those of a run that
nobody disturbed, bit for bit. Stops at the first violation and prints how to
repeat it. Ends after M minutes or N faults, whichever comes first.
77 = skipped: not root.
"""
import argparse
import collections
import os
import random
import statistics
import sys
import time

import kinds
import world
from world import DEADLINE_S, RANKS

STEPS = 1500          # of a lap
PATIENCE_S = 90       # for a start, a save by survivors or an end
FAULTS_OF_A_LAP = 25  # then it may come to its end


class Violation(Exception):
    pass


class Table:
    """What happened, by kind of fault."""

    def __init__(self):
        self.rows = collections.defaultdict(list)  # [(steps lost, seconds)]

    def note(self, name, lost, seconds):
        self.rows[name].append((lost, seconds))

    def __len__(self):
        return sum(map(len, self.rows.values()))

    def __str__(self):
        lines = [f"{'fault':44} {'count':>5} {'most steps lost':>15}"
                 f" {'s to the next step: median':>26} {'most':>6}"]
        for name, found in sorted(self.rows.items()):
            seconds = [each for _, each in found]
            lines.append(f"{name:44} {len(found):5}"
                         f" {max(lost for lost, _ in found):15}"
                         f" {statistics.median(seconds):26.1f}"
                         f" {max(seconds):6.1f}")
        return "\n".join(lines)


class Lap:
    """One run, from its first start until it is done."""

    def __init__(self, place, draw, table, only):
        self.place, self.draw, self.table = place, draw, table
        self.deck = []
        self.only = only
        self.faults = 0

    def next_fault(self):
        """(name, phase) from a shuffled deck of all, so that all come up."""
        if not self.deck:
            all_kinds = dict(kinds.KINDS)
            if self.place.network:
                all_kinds.update(kinds.TWO_HOSTS)
            self.deck = [(name, phase) for name, (_, phases, _) in
                         all_kinds.items() for phase in phases.split()
                         if self.only in f"{name} in {phase}"]
            self.deck += [(f"{first} + {second}", "recovery") for first in
                          ("kill", "stop") for second in kinds.SECOND
                          if self.only in f"{first} + {second} in recovery"]
            self.draw.shuffle(self.deck)
        return self.deck.pop()

    def run(self, has_time):
        """Until the run is done; faults as long as there is time for them."""
        self.start()
        while not self.is_done():
            if self.place.has_ended():
                self.go_on()
            elif self.faults < FAULTS_OF_A_LAP and has_time():
                self.hit(*self.next_fault())
            else:
                self.wait(self.place.has_ended, PATIENCE_S, "the run did not end")

    def is_done(self):
        """All steps are done and the weights are written; exit code 8 only
        says that a checkpoint on the way was not."""
        state = self.place.state_now()
        return self.place.has_ended() and (
            state.get("state") == "done" or
            (state.get("step"), state.get("exit")) == (STEPS, 8)
            and (self.place.run_dir / "weights").exists())

    def start(self):
        self.place.start_job(STEPS)

    def go_on(self):
        """A start that nobody disturbed must get on."""
        self.start()
        self.wait(lambda: self.place.first_step() or self.place.has_ended(),
                  PATIENCE_S, f"start {self.place.starts} got to no step")

    def wait(self, happens, seconds, complaint):
        if not self.place.wait_until(happens, seconds) and not happens():
            raise Violation(complaint)

    # ---- one fault

    def reach(self, phase):
        """Waits for the phase; whether it came before the run ended."""
        place = self.place
        first = place.step_now()
        if phase == "start":
            time.sleep(self.draw.uniform(0, 3))
            return True
        if phase == "end":
            if STEPS - first > 3 * world.SAVE_EVERY:
                return False
            return place.wait_until(lambda: place.step_now() >= STEPS, 60)
        if not place.wait_until(lambda: place.step_now() > first, PATIENCE_S):
            return False
        if phase == "save":
            return place.wait_until(place.is_saving, 30)
        if phase == "commit":
            place.wait_until(place.is_committing, 5)
            return True
        time.sleep(self.draw.uniform(0, 0.4))
        return True

    def hit(self, name, phase):
        place = self.place
        if not self.reach(phase) or place.has_ended():
            return
        names = name.split(" + ")
        ranks = self.draw.sample(range(RANKS), 2)
        before, clock = place.step_now(), time.monotonic()
        heal = []
        for number, (each, rank) in enumerate(zip(names, ranks)):
            if number == 1:
                place.wait_until(place.is_recovering, self.draw.uniform(0, 8))
            fault = {**kinds.KINDS, **kinds.TWO_HOSTS}[each][0]
            before = max(before, place.step_now())
            heal.append(fault(place, rank))
        self.faults += 1
        label = f"{name} in {phase}"
        print(f"{time.strftime('%H:%M:%S')} {label}, rank {ranks[0]}, step "
              f"{before}:", end=" ", flush=True)
        lost = self.recover(before, [each for each in heal if each])
        seconds = time.monotonic() - clock
        allowed = (kinds.SINCE_CHECKPOINT if len(names) > 1 else
                   {**kinds.KINDS, **kinds.TWO_HOSTS}[name][2])
        print(f"{lost} steps lost, {seconds:.1f} s", flush=True)
        self.table.note(label, lost, seconds)
        if lost > allowed:
            raise Violation(f"{label} at step {before} lost {lost} steps; at "
                            f"most {allowed} may be lost")

    def recover(self, before, heal):
        """Until the run gets on, by itself or started again. Steps lost."""
        place = self.place
        target = max(place.step_now(), before) + 5

        def gets_on():
            return place.has_ended() or place.step_now() >= target
        place.wait_until(gets_on, DEADLINE_S + 4)
        for each in heal:
            each()
        self.wait(gets_on, PATIENCE_S, "the run neither goes on nor ends")
        if not place.has_ended() or self.is_done():
            return 0
        before = max(before, place.step_now())
        self.start()
        self.wait(lambda: place.has_ended() or place.first_step(),
                  PATIENCE_S, "the run started again does not get to a step")
        if place.has_ended() and not self.is_done():
            raise Violation("the run started again failed")
        return max(0, before + 1 - (place.first_step() or before + 1))


def compare(place, expected):
    if place.weights("disk/run") != expected:
        raise Violation("the weights differ from those of an undisturbed run")
    place.checkpoint("verify", place.run_dir)


def run_laps(options, table):
    end = time.monotonic() + 60 * options.minutes

    def has_time():
        return time.monotonic() < end and len(table) < options.faults
    number = 0
    while has_time():
        draw = random.Random(f"{options.seed}/{number}")
        network = world.fault_test.Network() if number % 3 == 2 else None
        place = world.World()
        try:
            if network:
                network.__enter__()
            place.build(network)
            place.train("calm", *world.SETTINGS, f"train.steps={STEPS}")
            Lap(place, draw, table, options.only).run(has_time)
            compare(place, place.weights("calm"))
            print(f"lap {number}: {place.starts} starts, weights bit-equal",
                  flush=True)
        except Violation:
            print(place.words()[-4000:])
            raise
        finally:
            if place.process:
                place.kill_all()
            place.doCleanups()
            if network:
                network.__exit__()
        number += 1


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chimera")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--faults", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="kinds with this word")
    options = parser.parse_args()
    if os.geteuid() != 0:
        print("SKIPPED: a disk of its own and two hosts need root")
        return 77
    world.runs.Runs.chimera = os.path.abspath(options.chimera)
    print("seed", options.seed, flush=True)
    table = Table()
    try:
        run_laps(options, table)
    except Violation as violation:
        print(table)
        print(f"VIOLATION: {violation}\nrepeat with --seed {options.seed}")
        return 1
    print(table)
    print(f"{len(table)} faults of {len(table.rows)} kinds, no violation")
    return 0


if __name__ == "__main__":
    sys.exit(main())
