"""The process groups of a pipeline: one for every used direction between two
ranks and one for every gradient sum, so that unrelated operations never wait
for each other."""

from __future__ import annotations

import datetime
from typing import Any

import torch
import torch.distributed as dist

_pipelines: dict[Any, int] = {}  # [process group]: pipelines made so far


def timeout_of(group: dist.ProcessGroup) -> datetime.timedelta:
    for device in ("cpu", "cuda"):
        try:
            return group._get_backend(torch.device(device)).options._timeout
        except (RuntimeError, AttributeError):
            continue
    return datetime.timedelta(minutes=30)


class Groups:
    """The child groups of `parent` in which this rank takes part."""

    def __init__(self, parent: dist.ProcessGroup, layout: dict[str, Any]):
        self.parent = parent
        self.ranks = dist.get_process_group_ranks(parent)
        self.rank = dist.get_rank(parent)
        self.timeout = timeout_of(parent)
        self.world = self._make(range(len(self.ranks)))
        # Every rank makes every group, in the same order, as new_group
        # requires.
        edges = {tuple(edge): self._make(edge)
                 for edge in sorted(layout["edges"])}
        self.edges = {edge: group for edge, group in edges.items()
                      if self.rank in edge}
        sums = [self._make(members) if len(members) > 1 else None
                for members in layout["group_ranks"]]
        self.sums = [group if self.rank in members else None
                     for group, members in zip(sums, layout["group_ranks"])]
        number = _pipelines.setdefault(parent, 0)
        _pipelines[parent] += 1
        store = dist.distributed_c10d._get_process_group_store(parent)
        self.store = dist.PrefixStore(f"chimera/{number}", store)

    def _make(self, members: Any) -> dist.ProcessGroup:
        return dist.new_group([self.ranks[each] for each in sorted(members)],
                              timeout=self.timeout)

    def broadcast(self, value: Any, source: int) -> Any:
        """The value of rank `source`, on every rank."""
        values = [value]
        dist.broadcast_object_list(values, src=self.ranks[source],
                                   group=self.world)
        return values[0]

    def gather(self, value: Any) -> list[Any]:
        """The values of all ranks, on every rank."""
        values = [None] * len(self.ranks)
        dist.all_gather_object(values, value, group=self.world)
        return values
