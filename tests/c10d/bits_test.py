#!/usr/bin/env python3
"""Chimera's own models over torch.distributed give the bits of threads.

Starts itself under torchrun with 2 and 4 ranks. mpi_test compares threads with
mpirun, so all three agree.
"""
import datetime
import os
import subprocess
import sys

import torch
import torch.distributed as dist

# Two ranks, then four: scheme, micros, combination, width, shard_update.
CASES = {
    2: [("chimera", 4, 5, 1, False), ("planned", 2, 30, 1, True),
        ("1f1b", 2, 47, 2, False)],
    4: [("chimera", 4, 10, 1, True), ("zb-h1", 4, 61, 1, False),
        ("chimera", 2, 75, 2, False)],
}


def compare(case):
    import c10d_cases
    from chimera.torch import _groups, _runtime
    scheme, micros, combination, width, shard_update = case
    which = c10d_cases.Case(scheme, dist.get_world_size() // width, micros,
                            combination, width, shard_update)
    layout = _runtime.layout(c10d_cases.lowered(which))
    groups = _groups.Groups(dist.group.WORLD, layout)
    numbers, weights = c10d_cases.run_rank(which, groups)
    if dist.get_rank() != 0:
        return
    expected_numbers, expected = c10d_cases.run_threads(which)
    assert numbers == expected_numbers, (case, numbers, expected_numbers)
    assert list(weights) == list(expected) and len(weights) > 10, case
    for name, value in weights.items():
        assert torch.equal(value, expected[name]), (case, name)
    print("same bits", *case, flush=True)


def run_ranks():
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=120))
    for case in CASES[dist.get_world_size()]:
        compare(case)
    dist.barrier()
    dist.destroy_process_group()


def main():
    if "RANK" in os.environ:
        return run_ranks()
    for ranks, cases in CASES.items():
        done = subprocess.run(
            [sys.executable, "-m", "torch.distributed.run", "--standalone",
             f"--nproc_per_node={ranks}", __file__], timeout=300,
            text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        print(done.stdout)
        assert done.returncode == 0
        for case in cases:
            line = " ".join(map(str, ("same bits", *case)))
            assert line in done.stdout, f"missing: {line}"


if __name__ == "__main__":
    main()
