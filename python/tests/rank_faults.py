"""One rank of a job in which a rank dies, hangs or raises in the third step.
It sends what happens through a pipe: the number of every step it begins, and in
the end the Report of its error."""

import datetime
import os
import signal
import threading
import time
from typing import NamedTuple

import torch
import torch.distributed as dist

import chimera.torch
import models

FAULTY_STEP = 3
HEARD_S = 0.6  # the last heartbeat is then from the faulty step


class Job(NamedTuple):
    kind: str  # of the fault: "die", "stop", "hang" or "raise"
    ranks: int
    lost: int  # the rank with the fault
    scheme: str
    timeout_s: float  # of the process group


class Report(NamedTuple):
    error: str  # its class
    text: str
    after_s: float  # seconds since the begin of the step
    ticks: int  # of another Python thread in that time, one in 50 ms


class Fault(torch.nn.Module):
    """Fails in its third step on the lost rank."""

    def __init__(self, job):
        super().__init__()
        self.job, self.calls = job, 0

    def forward(self, x):
        if self.training and torch.is_grad_enabled():
            self.calls += 1
        # Two micro-batches go through every stage of every rank.
        if (self.calls == 2 * FAULTY_STEP
                and dist.get_rank() == self.job.lost):
            if self.job.kind in ("die", "stop"):
                time.sleep(HEARD_S)
            if self.job.kind == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.job.kind == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            if self.job.kind == "hang":
                time.sleep(60)
            if self.job.kind == "raise":
                raise ZeroDivisionError("in the layer")
        return x


class Ticker:
    """Counts on a Python thread, which needs the GIL to do so."""

    def __init__(self):
        self.ticks = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            time.sleep(0.05)
            self.ticks += 1


def run(job, rank, port, pipe):
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
        world_size=job.ranks)
    group = dist.new_group(
        timeout=datetime.timedelta(seconds=job.timeout_s))
    layers = [torch.nn.Sequential(layer, Fault(job))
              for layer in models.language_model(blocks=2 * job.ranks)]
    pipeline = chimera.torch.Pipeline(
        layers, models.tokens_loss, schedule=job.scheme, process_group=group,
        micros=4 if job.scheme == "chimera" else 2)
    ticker = Ticker()
    for step, batch in enumerate(models.token_batches(FAULTY_STEP + 1)):
        pipe.send(step + 1)
        ticker.ticks = 0
        start = time.monotonic()
        try:
            pipeline.step(*batch)
        except BaseException as error:
            pipe.send(Report(type(error).__name__, str(error),
                             time.monotonic() - start, ticker.ticks))
            break
    pipe.close()
    os._exit(0)  # connections to a lost rank would hold up a tidy end
