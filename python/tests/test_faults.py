"""A rank dies, stops, hangs or raises: the others soon name it."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("chimera.torch")

HERE = pathlib.Path(__file__).parent
TIMEOUT_S = 15  # as in rank_faults.py


def start(ranks, *arguments):
    """Start the ranks without torchrun, which would end all ranks when one
    dies."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return [subprocess.Popen(
        [sys.executable, "rank_faults.py", *arguments], cwd=HERE, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks),
             "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)})
        for rank in range(ranks)]


def finish(processes, lost):
    """The outputs of all ranks but the lost one."""
    outputs = []
    try:
        for rank, process in enumerate(processes):
            if rank != lost:
                outputs.append(process.communicate(timeout=120)[0])
    finally:
        for process in processes:
            process.kill()
            process.wait()
    return outputs


SENTENCE = (r"rank \d+, step 3, .*: waited in vain for .* from rank {lost}, "
            r"whose last action was: ")


FAULTS = [("die", 3, 2, "1f1b", 3),
          ("stop", 2, 1, "chimera", TIMEOUT_S + 3)]
if os.environ.get("CHIMERA_GRID") == "full":
    FAULTS += [("hang", 2, 1, "1f1b", TIMEOUT_S + 3),
               ("die", 4, 3, "chimera", 5),
               ("die", 4, 3, "zb-h1", 5)]


@pytest.mark.parametrize("kind, ranks, lost, scheme, most_s", FAULTS)
def test_the_others_are_told(kind, ranks, lost, scheme, most_s):
    processes = start(ranks, kind, str(lost), scheme)
    for output in finish(processes, lost):
        told = re.search(r"told after ([\d.]+) s: PipelineError: (.*)", output)
        assert told, output
        assert re.search(SENTENCE.format(lost=lost), told[2]), output
        assert float(told[1]) <= most_s, output


def test_an_exception_reaches_the_other_ranks():
    processes = start(2, "raise", "1", "1f1b")
    own, other = finish(processes, None)[::-1]
    assert "ZeroDivisionError: in the layer" in own
    assert "PipelineError" in other and "in the layer" in other


def test_ctrl_c_ends_a_wait():
    processes = start(2, "hang", "1", "1f1b")
    try:
        waiting = processes[0]
        while "step 3" not in waiting.stdout.readline():
            assert waiting.poll() is None
        time.sleep(1)  # by now it waits for the other rank
        waiting.send_signal(signal.SIGINT)
        output = waiting.communicate(timeout=TIMEOUT_S / 2)[0]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    assert "KeyboardInterrupt" in output
