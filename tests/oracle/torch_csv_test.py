#!/usr/bin/env python3
"""Loads schedules exported as torch-csv into torch.distributed.pipelining.

Every one-way scheme must load in torch's runtime, which checks the order and
adds messages, and torch's simulator must finish it. If torch generates the same
schedule, both must be equal action by action.

usage: torch_csv_test.py CHIMERA_BINARY
"""
import collections
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

from torch.distributed.pipelining import schedules
from torch.distributed.pipelining._schedule_visualizer import get_schedule_ops
from torch.distributed.pipelining.stage import PipelineStage

CHIMERA = sys.argv.pop(1)


def export(scheme, depth, micros, *flags):
    """The csv text; raises with chimera's message if it is refused."""
    command = [CHIMERA, "schedule", scheme, "--depth", str(depth), "--micros",
               str(micros), "--format", "torch-csv", *flags]
    run = subprocess.run(command, capture_output=True, text=True)
    if run.returncode != 0:
        raise ValueError(run.stderr)
    return run.stdout


def load(text, depth, micros, chunks):
    """The csv as torch's runtime reads and lowers it."""
    stage = mock.create_autospec(PipelineStage, instance=True)
    stage.group_rank, stage.group_size = 0, depth
    stage.submod, stage.num_stages = None, chunks * depth
    runtime = schedules._PipelineScheduleRuntime([stage] * chunks, micros)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(text)
        file.flush()
        runtime._load_csv(file.name, format="compute_only")
    return runtime


def cells(text):
    return [row.split(",") for row in text.strip().split("\n")]


# torch actions that concern sharding, not the order.
SHARDING = (schedules.UNSHARD, schedules.RESHARD, schedules.REDUCE_GRAD)
KIND = re.compile("[A-Z]+")


def torch_cells(name, depth, micros, chunks=None):
    """The order that torch generates; overlapped pairs run forward first.

    The k-th forward of a stage is numbered k: torch 2.13 prints the forwards of
    1F1B's last rank one too high (it runs them correctly).
    """
    rows = []
    for row in get_schedule_ops(name, depth, micros, chunks):
        out = []
        forwards = collections.Counter()
        for action in filter(None, row):
            for a in action.sub_actions or [action]:
                if a.computation_type in SHARDING:
                    continue
                kind = KIND.search(str(a)).group()
                micro = a.microbatch_index
                if kind == "F":
                    micro = forwards[a.stage_index]
                    forwards[a.stage_index] += 1
                out.append(f"{a.stage_index}{kind}{micro}")
        rows.append(out)
    return rows


class TorchCsv(unittest.TestCase):
    def test_every_one_way_scheme_loads_and_finishes(self):
        for scheme, chunks, layouts in [
            ("gpipe", 1, [(2, 1), (4, 8), (5, 3)]),
            ("1f1b", 1, [(2, 2), (4, 8), (7, 3)]),
            ("interleaved", 2, [(2, 4), (4, 8), (3, 9)]),
            ("interleaved", 4, [(4, 8)]),
            ("zb-h1", 1, [(4, 8), (8, 8), (4, 2)]),
            ("zb-h2", 1, [(4, 8), (4, 7)]),
            ("zb-v", 2, [(4, 8), (4, 3), (8, 16)]),
            ("dualpipe-v", 2, [(4, 8), (3, 7)]),
            ("v-half", 2, [(4, 8), (5, 3)]),
            ("v-min", 2, [(4, 8), (5, 3)]),
            ("1f1b-v", 2, [(4, 8), (5, 3)]),
            ("looped-bfs", 2, [(4, 8), (5, 3)]),
            ("hanayo", 2, [(4, 4), (3, 5)]),
            ("hanayo", 4, [(4, 8)]),
        ]:
            for depth, micros in layouts:
                with self.subTest(scheme=scheme, D=depth, N=micros):
                    flags = ["--chunks", str(chunks)] if chunks > 1 else []
                    text = export(scheme, depth, micros, *flags)
                    runtime = load(text, depth, micros, chunks)
                    lowered = {
                        rank: [a for a in row
                               if a.computation_type not in SHARDING]
                        for rank, row in
                        runtime.pipeline_order_with_comms.items()
                    }
                    total = sum(len(row) for row in cells(text))
                    computes = sum(a.is_compute_op for row in lowered.values()
                                   for a in row)
                    self.assertEqual(computes, total)
                    schedules._simulate_comms_compute(
                        lowered,
                        lambda s: runtime.stage_index_to_group_rank[s],
                        chunks * depth)

    def test_equals_torch_where_torch_has_the_schedule(self):
        for scheme, name, chunks, layouts in [
            ("gpipe", "GPipe", 1, [(2, 4), (4, 8), (8, 8)]),
            ("1f1b", "1F1B", 1, [(2, 4), (4, 8), (8, 8), (8, 24)]),
            ("interleaved", "Interleaved1F1B", 2, [(2, 4), (4, 8), (8, 16)]),
            ("interleaved", "Interleaved1F1B", 4, [(4, 8)]),
            ("looped-bfs", "LoopedBFS", 2, [(2, 4), (4, 8), (4, 3), (8, 16)]),
            ("looped-bfs", "LoopedBFS", 4, [(4, 8)]),
            ("zb-v", "ZBVZeroBubble", 2, [(2, 4), (4, 8), (4, 3), (8, 32)]),
            ("dualpipe-v", "DualPipeV", 2, [(2, 4), (4, 8), (4, 11), (8, 16)]),
        ]:
            for depth, micros in layouts:
                with self.subTest(scheme=scheme, D=depth, N=micros):
                    flags = ["--chunks", str(chunks)] if chunks > 1 else []
                    ours = cells(export(scheme, depth, micros, *flags))
                    theirs = torch_cells(name, depth, micros, chunks)
                    self.assertEqual(ours, theirs)

    def test_what_torch_cannot_say_is_refused(self):
        for scheme, flags in [("chimera", []), ("gems", []), ("pipedream", []),
                              ("1f1b", ["--lowered"])]:
            with self.subTest(scheme=scheme):
                with self.assertRaisesRegex(ValueError, "E108"):
                    export(scheme, 4, 8, *flags)


if __name__ == "__main__":
    unittest.main()
