"""A peer's stage that waits instead of computing.

The input gradient and the weight gradient wait in separate autograd nodes,
which meet where a linear layer's would: a schedule that splits the backward
runs each once, in its half, and is charged no more than its share.
"""
import os
import time

import torch
from torch import nn


AWAKE_S = 100e-6  # timers wake late; as in Chimera's emulated stages


def wait_until(end):
    """Wait until `end`, a value of time.monotonic()."""
    time.sleep(max(0.0, end - AWAKE_S - time.monotonic()))
    while time.monotonic() < end:
        os.sched_yield()


class Wait(torch.autograd.Function):
    """The identity, whose backward takes some time."""

    @staticmethod
    def forward(context, x, seconds):
        context.seconds = seconds
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        wait_until(time.monotonic() + context.seconds)
        return gradient, None


class EmulatedStage(nn.Module):
    WIDTH = 64  # of the tensor between stages

    def __init__(self, seconds, weight_s, is_first):
        """`seconds` for forward and input gradient each."""
        super().__init__()
        self.seconds, self.weight_s = seconds, weight_s
        self.weight = nn.Parameter(torch.zeros(1))
        # Like embeddings, it makes the first stage need its input gradient.
        self.embedding = nn.Parameter(torch.ones(1)) if is_first else None

    def forward(self, x):
        end = time.monotonic() + self.seconds
        if self.embedding is not None:
            x = x * self.embedding
        x = (Wait.apply(x, self.seconds)
             + Wait.apply(self.weight, self.weight_s))
        wait_until(end)
        return x
