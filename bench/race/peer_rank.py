"""One rank of a peer: builds its stages and runs blocks of steps on request.

Peers run as their users would run them: one process per rank, one thread each,
Gloo over loopback, torch's pipeline schedules unchanged, fused AdamW, outputs
not kept, Python's garbage collector off inside a block. Timers are as precise
as Chimera's (1 us instead of 50).
"""
import ctypes
import gc
import os
import time

import torch
import torch.distributed as dist
from torch.distributed import pipelining
from torch.distributed.pipelining import PipelineStage
from torch.nn.parallel import DistributedDataParallel

import models
import peer_spec
import weights
from emulated import EmulatedStage
from safetensors_file import read_tensors
from samples import Samples

PR_SET_TIMERSLACK = 29
CPU = torch.device("cpu")


def adamw(parameters, lr):
    return torch.optim.AdamW(parameters, lr=lr, weight_decay=0.01, fused=True)


class MasterWeights:
    """Fused AdamW on float32 copies of weights, which become bf16."""

    def __init__(self, modules, lr):
        self.weights = [p for module in modules for p in module.parameters()]
        self.masters = [w.detach().clone() for w in self.weights]
        for module in modules:
            module.to(torch.bfloat16)
        for master in self.masters:
            master.grad = torch.zeros_like(master)
        self.optimizer = adamw(self.masters, lr)

    def step(self):
        torch._foreach_copy_([m.grad for m in self.masters],
                             [w.grad for w in self.weights])
        self.optimizer.step()
        with torch.no_grad():
            torch._foreach_copy_(self.weights, self.masters)

    def zero_grad(self):
        for weight in self.weights:
            weight.grad = None


def make_optimizer(peer, modules, lr):
    if peer.bf16 == "masters":
        return MasterWeights(modules, lr)
    return adamw([p for module in modules for p in module.parameters()], lr)


def autocast_of(peer):
    """Around a whole step, so that weights are cast once a step."""
    return torch.autocast("cpu", torch.bfloat16,
                          enabled=peer.bf16 == "autocast")


class Batches:
    """The data of a step, by its number."""

    def __init__(self, task):
        self.task = task
        self.is_real = isinstance(task.model, models.Shape)
        if self.is_real:
            self.samples = Samples(task.model, task.data)

    def of_step(self, step):
        if self.is_real:
            return self.samples.batch(step * self.task.batch, self.task.batch)
        inputs = torch.zeros(self.task.batch, EmulatedStage.WIDTH)
        return inputs, torch.zeros(self.task.batch), {}


class Pipeline:
    """A schedule of torch.distributed.pipelining."""

    def __init__(self, peer, task, rank, defer_receives):
        self.peer = peer
        self.task = task
        self.batches = Batches(task)
        num_stages = peer.chunks * task.depth
        indices = peer_spec.stages_of(peer, rank, task.depth)
        self.is_first = 0 in indices
        self.is_last = num_stages - 1 in indices
        modules = [self.make_module(peer, index) for index in indices]
        self.optimizer = (
            make_optimizer(peer, modules, task.lr) if self.batches.is_real
            else torch.optim.SGD([p for module in modules
                                  for p in module.parameters()], lr=0.0))
        stages = [PipelineStage(module, index, num_stages, CPU)
                  for module, index in zip(modules, indices)]
        options = {"defer_pp_recv": True} if defer_receives else {}
        self.schedule = getattr(pipelining, peer.schedule)(
            stages if peer.chunks > 1 else stages[0], task.micros,
            loss_fn=self.make_loss(), **options)

    def make_module(self, peer, index):
        task = self.task
        if not self.batches.is_real:
            return EmulatedStage(task.model.action_s / peer.chunks,
                                 task.model.weight_s / peer.chunks, index == 0)
        cut = peer_spec.balanced_cut(models.layer_costs(task.model), peer,
                                     task.depth)
        first, end = [*cut, None][index:index + 2]
        layers = models.make_layers(task.model)[first:end]
        weights.load(task.model, layers, first, read_tensors(task.init))
        return models.Stage(layers)

    def make_loss(self):
        if self.batches.is_real:
            return models.loss_of(self.task.model)
        return lambda output, target: output.mean()

    def step(self, step):
        """Returns the losses of the micro-batches, on the last stage's rank."""
        inputs, targets, keywords = self.batches.of_step(step)
        losses = []
        with autocast_of(self.peer):
            self.schedule.step(*((inputs,) if self.is_first else ()),
                               target=targets if self.is_last else None,
                               losses=losses if self.is_last else None,
                               return_outputs=False,
                               **(keywords if self.is_last else {}))
        self.optimizer.step()
        self.optimizer.zero_grad()
        return losses


class DataParallel:
    """DistributedDataParallel with gradient accumulation."""

    def __init__(self, peer, task, rank):
        self.peer = peer
        self.task = task
        self.rank = rank
        self.batches = Batches(task)
        layers = models.make_layers(task.model)
        weights.load(task.model, layers, 0, read_tensors(task.init))
        stage = models.Stage(layers)
        self.optimizer = make_optimizer(peer, [stage], task.lr)
        self.module = DistributedDataParallel(stage,
                                              gradient_as_bucket_view=True)
        self.loss = models.loss_of(task.model)

    def step(self, step):
        parts = [torch.chunk(x, self.task.micros)
                 for x in self.tensors_of(step)]
        share = self.task.micros // self.task.depth
        micros = range(self.rank * share, (self.rank + 1) * share)
        losses = []
        for micro in micros:
            if micro != micros[-1]:
                with self.module.no_sync():
                    losses.append(self.run_micro([x[micro] for x in parts]))
            else:
                losses.append(self.run_micro([x[micro] for x in parts]))
        self.optimizer.step()
        self.optimizer.zero_grad()
        return losses

    def tensors_of(self, step):
        inputs, targets, keywords = self.batches.of_step(step)
        return [inputs, targets, *keywords.values()]

    def run_micro(self, tensors):
        inputs, targets, *places = tensors
        with autocast_of(self.peer):
            loss = self.loss(self.module(inputs, *places), targets)
        (loss / (self.task.micros // self.task.depth)).backward()
        return loss.detach()


def peak_kib():
    for line in open("/proc/self/status"):
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0


def run_block(contestant, first, steps):
    gc.collect()
    gc.disable()
    dist.barrier()
    start = time.monotonic()
    losses = [contestant.step(step) for step in range(first, first + steps)]
    end = time.monotonic()
    gc.enable()
    return {"start": start, "end": end, "peak_kib": peak_kib(),
            "trace": getattr(contestant, "trace", lambda: None)(),
            "losses": [float(torch.stack(of_step).detach().mean())
                       for of_step in losses if of_step]}


def make_contestant(peer, task, rank, defer_receives):
    if peer.schedule.startswith("chimera:"):
        import python_rank
        return python_rank.Pipeline(peer, task, Batches(task), adamw)
    if peer.schedule:
        return Pipeline(peer, task, rank, defer_receives)
    return DataParallel(peer, task, rank)


def serve(peer, task, rank, store, defer_receives, pipe):
    """The body of a rank's process; ends when it receives 0."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0)
    os.environ["GLOO_SOCKET_IFNAME"] = "lo"
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                            world_size=task.depth)
    contestant = make_contestant(peer, task, rank, defer_receives)
    pipe.send("ready")
    done = 0
    while steps := pipe.recv():
        pipe.send(run_block(contestant, done, steps))
        done += steps
    dist.destroy_process_group()
