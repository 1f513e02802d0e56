"""A rank dies, stops, hangs or raises: the others soon name it."""

import multiprocessing
import os
import re
import signal
import socket
import time

import pytest

pytest.importorskip("torch")
pytest.importorskip("chimera.torch")

from rank_faults import FAULTY_STEP, Job, Report, run

# Ranks are forked from a process that has imported torch and used nothing of
# it. torchrun would end all ranks when one dies.
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["rank_faults"])


class Ranks:
    """The processes of a job, and what they send."""

    def __init__(self, job):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.processes, self.pipes = [], []
        for rank in range(job.ranks):
            ours, theirs = CONTEXT.Pipe(duplex=False)
            process = CONTEXT.Process(target=run,
                                      args=(job, rank, port, theirs))
            process.start()
            theirs.close()
            self.processes.append(process)
            self.pipes.append(ours)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.join()

    def wait_for_step(self, rank, step):
        while self._next(rank) != step:
            pass

    def report(self, rank):
        """The error that ends a rank."""
        while not isinstance(found := self._next(rank), Report):
            assert found <= FAULTY_STEP, "no fault seen"
        return found

    def _next(self, rank):
        assert self.pipes[rank].poll(60), f"rank {rank} says nothing"
        return self.pipes[rank].recv()


SENTENCE = (r"rank \d+, step 3, .*stage \d+, .*: waited in vain for .* from "
            r"rank {lost}, whose last action was: {action}")
# Of a rank that is gone, its last heartbeat is known.
ACTION = r"step 3, forward of stage \d+, micro-batch \d+"

HANG_S = 6  # the timeout where a rank hangs
JOBS = [Job("die", 3, 2, "1f1b", 60), Job("hang", 2, 1, "chimera", HANG_S)]
if os.environ.get("CHIMERA_GRID") == "full":
    JOBS += [Job("stop", 2, 1, "1f1b", HANG_S),
             Job("die", 4, 3, "chimera", 60), Job("die", 4, 3, "zb-h1", 60)]


@pytest.mark.parametrize("job", JOBS,
                         ids=lambda job: f"{job.kind}-{job.scheme}")
def test_the_others_are_told(job):
    with Ranks(job) as ranks:
        reports = [ranks.report(rank) for rank in range(job.ranks)
                   if rank != job.lost]
    sentence = SENTENCE.format(lost=job.lost, action=ACTION)
    for report in reports:
        assert report.error == "PipelineError", report
        assert re.search(sentence, report.text), report
        assert report.after_s < (5 if job.kind == "die" else HANG_S + 3), report
        # Waiting leaves the GIL to other threads.
        assert report.ticks > report.after_s / 0.05 / 4, report


def test_an_exception_reaches_the_other_ranks():
    with Ranks(Job("raise", 2, 1, "1f1b", 60)) as ranks:
        other, own = ranks.report(0), ranks.report(1)
    assert (own.error, own.text) == ("ZeroDivisionError", "in the layer")
    assert other.error == "PipelineError" and "in the layer" in other.text


def test_ctrl_c_ends_a_wait():
    with Ranks(Job("hang", 2, 1, "1f1b", 60)) as ranks:
        ranks.wait_for_step(0, FAULTY_STEP)
        time.sleep(1)  # by now it waits for the other rank
        os.kill(ranks.processes[0].pid, signal.SIGINT)
        report = ranks.report(0)
    assert report.error == "KeyboardInterrupt"
    assert report.after_s < 10, report
