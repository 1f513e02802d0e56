"""chimera.torch as a contestant: the same modules and processes as the peers,
Gloo over loopback."""
import time

import torch
from torch import nn

from python_spec import schedule_of  # makes chimera importable

import chimera
import chimera.torch
import models
import weights
from emulated import wait_until
from safetensors_file import read_tensors


class SplitWait(torch.autograd.Function):
    """The identity; its backward waits for the input gradient at once, and for
    the weight gradient when the schedule says so."""

    @staticmethod
    def forward(context, x, seconds, weight_s, put_off):
        context.seconds, context.weight_s = seconds, weight_s
        context.put_off = put_off
        return x.view_as(x)

    @staticmethod
    def backward(context, gradient):
        weight_s = context.weight_s
        wait_until(time.monotonic() + context.seconds)
        context.put_off(lambda: wait_until(time.monotonic() + weight_s))
        return gradient, None, None, None


class EmulatedLayer(nn.Module):
    """Like EmulatedStage, for a runtime that splits the backward itself."""

    def __init__(self, seconds, weight_s):
        super().__init__()
        self.seconds, self.weight_s = seconds, weight_s
        self.weight = nn.Parameter(torch.zeros(1))

    def forward(self, x):
        end = time.monotonic() + self.seconds
        x = SplitWait.apply(x + self.weight, self.seconds, self.weight_s,
                            chimera.torch.weight_grad_queue())
        wait_until(end)
        return x


class Pipeline:
    def __init__(self, peer, task, batches, make_optimizer):
        schedule = schedule_of(peer, task)
        self.batches = batches
        if batches.is_real:
            layers = models.make_layers(task.model)
            weights.load(task.model, layers, 0, read_tensors(task.init))
            costs = [float(cost) for cost in models.layer_costs(task.model)]
            cut = chimera._core.balanced_cut(costs, schedule.stages)
            loss_fn = models.loss_of(task.model)
        else:
            share = task.depth / schedule.stages
            layers = [EmulatedLayer(task.model.action_s * share,
                                    task.model.weight_s * share)
                      for _ in range(schedule.stages)]
            cut = list(range(schedule.stages))
            loss_fn = lambda output, target: output.mean()
        self.pipe = chimera.torch.Pipeline(layers, loss_fn, schedule=schedule,
                                           cut=cut)
        parameters = list(self.pipe.parameters())
        self.optimizer = (make_optimizer(parameters, task.lr) if batches.is_real
                          else torch.optim.SGD(parameters, lr=0.0))

    def trace(self):
        """The events of the last step."""
        return self.pipe.trace()

    def step(self, step):
        inputs, targets, _ = self.batches.of_step(step)
        loss = self.pipe.step(inputs, targets)
        self.optimizer.step()
        self.optimizer.zero_grad()
        return [loss]
