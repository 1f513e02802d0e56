"""One rank of a job in which a rank dies, hangs or raises in the third step;
the others print the error they get and after how long."""

import datetime
import os
import signal
import sys
import time

import torch
import torch.distributed as dist

import chimera.torch
import models

TIMEOUT_S = 15


class Fault(torch.nn.Module):
    """Fails in its third step on the chosen rank."""

    def __init__(self, kind, rank):
        super().__init__()
        self.kind, self.rank, self.calls = kind, rank, 0

    def forward(self, x):
        if self.training and torch.is_grad_enabled():
            self.calls += 1
        if self.calls == 6 and dist.get_rank() == self.rank:
            if self.kind == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if self.kind == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            if self.kind == "hang":
                time.sleep(60)
            if self.kind == "raise":
                raise ZeroDivisionError("in the layer")
        return x


def main():
    kind, rank, scheme = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", timeout=datetime.timedelta(seconds=TIMEOUT_S))
    layers = models.language_model(blocks=dist.get_world_size() * 2)
    layers = [torch.nn.Sequential(layer, Fault(kind, rank))
              for layer in layers]
    # Two micro-batches go through every stage of every rank.
    pipe = chimera.torch.Pipeline(layers, models.tokens_loss, schedule=scheme,
                                  micros=4 if scheme == "chimera" else 2)
    batches = models.token_batches(4)
    try:
        for step, batch in enumerate(batches):
            print("step", step + 1, flush=True)
            start = time.monotonic()
            pipe.step(*batch)
    except (chimera.torch.PipelineError, ZeroDivisionError) as error:
        print(f"told after {time.monotonic() - start:.1f} s: "
              f"{type(error).__name__}: {error}", flush=True)
        os._exit(3)
    print("no fault seen", flush=True)
    os._exit(4)


if __name__ == "__main__":
    main()
