"""Checks the arguments of a pipeline."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from chimera._error import refuse
from chimera._schedule import Schedule, schedule as make_schedule


def find_ranks(process_group: dist.ProcessGroup | None, workers: int | None
               ) -> tuple[dist.ProcessGroup | None, int]:
    """The process group, or None for threads, and the number of ranks."""
    if workers is not None:
        if process_group is not None:
            raise refuse("E801", "process_group and workers",
                         "cannot both say what the ranks are",
                         "leave one of them out")
        if workers < 1:
            raise refuse("E801", f"workers={workers}", "must be at least 1")
        return None, workers
    if process_group is None:
        if not dist.is_initialized():
            raise refuse(
                "E801", "neither a process group nor workers",
                "says what the ranks are",
                "call torch.distributed.init_process_group(\"gloo\") in a "
                "program started by torchrun, or give workers=4 for threads")
        process_group = dist.group.WORLD
    if dist.get_world_size(process_group) < dist.get_world_size():
        raise refuse("E801", "a process group of some ranks only",
                     "cannot make the groups of a pipeline",
                     "give the group of all ranks, or leave it out")
    return process_group, dist.get_world_size(process_group)


def find_schedule(schedule: str | Schedule, micros: int | None, width: int,
                  num_ranks: int) -> Schedule:
    """The schedule that was given or named; raises if it does not fit."""
    if isinstance(schedule, str):
        if micros is None:
            raise refuse("E802", "micros", "is missing",
                         "for example micros=8")
        if width < 1 or num_ranks % width:
            raise refuse("E803", f"{num_ranks} ranks",
                         f"cannot be {width} copies of equal depth",
                         "choose a width that divides them")
        schedule = make_schedule(schedule, depth=num_ranks // width,
                                 micros=micros, width=width)
    needed = schedule.depth * schedule.width
    if needed != num_ranks:
        raise refuse("E803", f"{num_ranks} ranks",
                     f"do not fit the schedule, which needs {schedule.depth} x "
                     f"{schedule.width} = {needed}",
                     f"start {needed}, or make a schedule of another depth")
    if micros is not None and micros != schedule.micros:
        raise refuse("E802", f"micros={micros}",
                     f"contradicts the schedule's {schedule.micros}",
                     "leave it out")
    if not schedule.is_synchronous:
        raise refuse("E809", schedule.scheme,
                     "updates weights inside the step, which is your "
                     "optimizer's task",
                     "use a synchronous scheme")
    return schedule


def refuse_lowered(layout: dict[str, Any], is_tied: bool) -> None:
    """Raises if the lowered schedule cannot run these layers."""
    sums_tied = any(len(stages) > 1 for stages in layout["group_stages"])
    if sums_tied != is_tied:
        raise refuse("E810", "the lowered schedule",
                     "does not fit: its first and last stage "
                     + ("share" if sums_tied else "do not share")
                     + " a weight", "give the schedule before lower()")
    if layout["parts"] > 1:
        raise refuse("E811", "scale=\"halving\"",
                     "halves micro-batches in the backward, which "
                     "chimera.torch does not support",
                     "use scale=\"direct\" or \"doubling\"")


def micro_batches(x: Any, y: Any, count: int) -> tuple[list, list]:
    """A mini-batch split along dimension 0."""
    inputs = x if isinstance(x, tuple) else (x,)
    for each in inputs:
        if not isinstance(each, torch.Tensor):
            raise TypeError(f"x holds a {type(each).__name__}: it is a tensor "
                            "or a tuple of tensors, the arguments of the first "
                            "layer")
    sizes = {each.shape[0] if each.dim() else 0
             for each in tree_leaves((inputs, y))
             if isinstance(each, torch.Tensor)}
    if len(sizes) > 1 or any(size == 0 or size % count for size in sizes):
        raise ValueError(
            f"x and y have {sorted(sizes)} samples: both need the same number, "
            f"a multiple of {count} (micros x width)")
    size = sizes.pop() // count

    return _parts(inputs, size, count), _parts(y, size, count)


def _parts(value: Any, size: int, count: int) -> list[Any]:
    """Every tensor of `value` split into `count` parts; the rest is in each."""
    if isinstance(value, torch.Tensor):
        return list(value.split(size))
    leaves, tree = tree_flatten(value)
    split = [_parts(leaf, size, count) if isinstance(leaf, torch.Tensor)
             else [leaf] * count for leaf in leaves]
    return [tree_unflatten(list(each), tree) for each in
            (zip(*split) if split else [()] * count)]
