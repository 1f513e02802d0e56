#!/usr/bin/env python3
"""Compares planned orders with an exact solver (OR-tools CP-SAT).

For small layouts the solver is asked for an order that ends one tick sooner
than chimera's, on the same placement, with the same costs and cap. It must
prove that there is none. It does not know chimera's lower bound, and may order
the micro-batches of every stage independently.

usage: planned_test.py CHIMERA_BINARY
"""
import json
import subprocess
import sys
import unittest

from ortools.sat.python import cp_model

CHIMERA = sys.argv.pop(1)
SECONDS = 120  # for one proof; most take less than one
HALF_W = {"backward": 1.5, "weight_grad": 0.5}  # F = I = 2 W


class Case:
    def __init__(self, depth, micros, pipes=2, shape="linear", chunks=1, p2p=0.0,
                 backward=2.0, weight_grad=1.0, cap=None, ticks=4):
        self.depth, self.micros, self.pipes = depth, micros, pipes
        self.shape, self.chunks, self.p2p = shape, chunks, p2p
        self.backward, self.weight_grad = backward, weight_grad
        self.cap = cap or max(depth, pipes)
        self.ticks = ticks  # ticks per unit of time

    def __str__(self):
        return (f"D={self.depth} N={self.micros} pipes={self.pipes} {self.shape} "
                f"p2p={self.p2p} B={self.backward} W={self.weight_grad} "
                f"cap={self.cap}")

    def flags(self):
        return ["planned", "--depth", str(self.depth), "--micros", str(self.micros),
                "--pipes", str(self.pipes), "--shape", self.shape, "--chunks",
                str(self.chunks), "--p2p", str(self.p2p), "--backward",
                str(self.backward), "--weight-grad", str(self.weight_grad),
                "--cap", str(self.cap)]


def chimera(command, case, form, *more):
    run = subprocess.run([CHIMERA, command, *case.flags(), *more, "--format", form],
                         capture_output=True, text=True)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    return json.loads(run.stdout)


def whole(time):
    assert abs(time - round(time)) < 1e-9, time
    return round(time)


def exists(case, placement, makespan, period=None):
    """True if some order ends by `makespan` ticks; fails if the solver cannot
    tell.

    With `period` the order must also fit behind itself, shifted by that many
    ticks: a worker does a step within a window of that length, and a stage's
    next forward comes after the last weight gradient of all its holders.
    """
    model = cp_model.CpModel()
    scale = case.ticks / case.chunks
    times = {"F": whole(scale), "I": whole(scale * (case.backward - case.weight_grad)),
             "W": whole(scale * case.weight_grad)}
    delay = whole(case.ticks * case.p2p)
    stages = case.depth * case.chunks
    busy = [[] for _ in range(case.depth)]
    held = [[] for _ in range(case.depth)]
    start = {}
    for micro in range(case.micros):
        of = placement[micro % case.pipes]
        for stage in range(stages):
            for op, time in times.items():
                at = model.NewIntVar(0, makespan - time, "")
                start[op, micro, stage] = at
                busy[of[stage]].append(model.NewFixedSizeIntervalVar(at, time, ""))
        hops = [0 if of[s] == of[s + 1] else delay for s in range(stages - 1)]
        for stage in range(stages):
            f, i, w = (start[op, micro, stage] for op in "FIW")
            if stage > 0:
                before = start["F", micro, stage - 1]
                model.Add(f >= before + times["F"] + hops[stage - 1])
            if stage < stages - 1:
                after = start["I", micro, stage + 1]
                model.Add(i >= after + times["I"] + hops[stage])
            model.Add(i >= f + times["F"])
            model.Add(w >= i + times["I"])
            length = model.NewIntVar(0, makespan, "")
            end = model.NewIntVar(0, makespan, "")
            model.Add(end == w + times["W"])
            held[of[stage]].append(model.NewIntervalVar(f, length, end, ""))
        if micro >= case.pipes:  # breaks the symmetry between micro-batches
            model.Add(start["F", micro - case.pipes, 0] < start["F", micro, 0])
    if period is not None:
        windows = [model.NewIntVar(0, makespan, "") for _ in range(case.depth)]
        for (op, micro, stage), at in start.items():
            # Micro-batches in turn lose nothing (docs/planned-orders.md).
            if micro >= case.pipes:
                before = start[op, micro - case.pipes, stage]
                model.Add(before + times[op] <= at)
            window = windows[placement[micro % case.pipes][stage]]
            model.Add(at >= window)
            model.Add(at + times[op] <= window + period)
            if op == "F":
                for other in range(case.micros):
                    model.Add(at + period >= start["W", other, stage] + times["W"])
    for worker in range(case.depth):
        model.AddNoOverlap(busy[worker])
        model.AddCumulative(held[worker], [1] * len(held[worker]),
                            int(case.cap * case.chunks))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = SECONDS
    solver.parameters.num_workers = 2
    status = solver.Solve(model)
    if status == cp_model.UNKNOWN:
        raise TimeoutError(f"{case}: open after {SECONDS} s")
    return status in (cp_model.OPTIMAL, cp_model.FEASIBLE)


class Planned(unittest.TestCase):
    def check(self, case):
        placement = chimera("schedule", case, "json")["placement"]
        ours = chimera("simulate", case, "json")
        ticks = whole(ours["makespan"] * case.ticks)
        self.assertTrue(exists(case, placement, ticks),
                        f"{case}: the solver says that {ours['makespan']} is impossible")
        self.assertFalse(exists(case, placement, ticks - 1),
                         f"{case}: {ours['makespan']} is not the best")

    def check_all(self, cases):
        for case in cases:
            with self.subTest(str(case)):
                self.check(case)

    def test_every_small_n(self):
        self.check_all(Case(depth, micros, ticks=1) for depth in (2, 3, 4, 5, 6)
                       for micros in range(1, depth + 2))

    def test_other_placements(self):
        self.check_all([Case(4, 4, 1, "linear", 1), Case(4, 5, 1, "linear", 1),
                        Case(3, 3, 1, "vee", 2), Case(4, 4, 1, "vee", 2),
                        Case(4, 3, 2, "vee", 2), Case(4, 4, 1, "loop", 2),
                        Case(4, 4, 4, "linear", 1), Case(4, 5, 4, "linear", 1, ticks=1),
                        Case(2, 3, 1, "wave", 4)])

    def test_message_delay_and_unequal_halves(self):
        self.check_all([Case(4, 4, p2p=0.25), Case(4, 4, p2p=0.5, ticks=2),
                        Case(4, 6, p2p=0.5, ticks=2),
                        Case(4, 4, weight_grad=0.5, ticks=2),
                        Case(4, 6, weight_grad=0.5, ticks=2),
                        Case(4, 4, 1, "vee", 2, p2p=0.5, ticks=2)])

    def period_bound(self, case):
        """The placement, and chimera's lower bound on the period in ticks."""
        placement = chimera("schedule", case, "json")["placement"]
        bound = chimera("simulate", case, "json", "--steps", "4")["period_bound"]
        return placement, whole(bound * case.ticks)

    def test_no_period_is_below_its_bound(self):
        for case in [Case(2, 4, ticks=2, **HALF_W), Case(4, 4, ticks=2, **HALF_W),
                     Case(2, 4, 1, cap=2, ticks=2, **HALF_W)]:
            with self.subTest(str(case)):
                placement, ticks = self.period_bound(case)
                self.assertFalse(exists(case, placement, 2 * ticks, ticks - 1))

    def test_the_bound_on_a_period_is_reached(self):
        for case, ticks in [(Case(2, 4, ticks=2, **HALF_W), 20),
                            (Case(2, 4, 1, cap=2, ticks=2, **HALF_W), 23),
                            (Case(4, 8, ticks=2, **HALF_W), 41),
                            (Case(4, 8, p2p=0.5, ticks=2, **HALF_W), 49)]:
            with self.subTest(str(case)):
                placement, bound = self.period_bound(case)
                self.assertEqual(bound, ticks)
                self.assertTrue(exists(case, placement, 2 * ticks, ticks))

    def test_a_tight_cap(self):
        self.check_all([Case(4, 6, cap=3, ticks=1), Case(4, 6, cap=2, ticks=1),
                        Case(4, 6, 1, cap=2, ticks=1)])


if __name__ == "__main__":
    unittest.main()
