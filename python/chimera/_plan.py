"""The planner: the fastest layout for a model, workers and memory."""

from __future__ import annotations

import json
import os
from typing import Any, Iterator, Sequence

from chimera import _core
from chimera._schedule import Schedule, schedule

_SPEC = ("depth", "micros", "pipes", "scale", "chunks", "shape", "cap", "width")


class Plan:
    """One layout. Attributes are the fields of ``chimera plan --format json``:
    scheme, depth, width, pipes, scale, chunks, shape, micro_batch, micros,
    recompute, sync, step_s, samples_per_s, bubble_ratio, peak_bytes, cut, ...
    """

    def __init__(self, fields: dict[str, Any]):
        self.__dict__.update(fields)

    def schedule(self) -> Schedule:
        """The plan's schedule; a planned order is made for unit times."""
        spec = {key: getattr(self, key) for key in _SPEC if hasattr(self, key)}
        return schedule(self.scheme, **spec)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"a plan has no field {name!r}")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Plan) and self.__dict__ == other.__dict__

    def __repr__(self) -> str:
        return (f"<chimera.Plan {self.scheme}, D={self.depth}, W={self.width}, "
                f"N={self.micros}: {self.step_s:.4g} s a step>")


class PlanReport:
    """The best plan of each scheme, the fastest first."""

    def __init__(self, fields: dict[str, Any]):
        self.plans = [Plan(each) for each in fields["plans"]]
        self.too_large = [Plan(each) for each in fields["too_large"]]
        """A plan that is faster than the best but needs more memory; at most
        one."""
        self.changes: list[dict[str, Any]] = fields["changes"]
        """The changes of hardware or batch that would make another plan the
        best."""

    @property
    def best(self) -> Plan:
        """The fastest plan that fits the memory."""
        return self.plans[0]

    def __iter__(self) -> Iterator[Plan]:
        return iter(self.plans)

    def __len__(self) -> int:
        return len(self.plans)

    def __getitem__(self, index: int) -> Plan:
        return self.plans[index]

    def __repr__(self) -> str:
        return f"<chimera.PlanReport of {len(self)}, best: {self.best!r}>"


def plan(model: str | os.PathLike[str], *, workers: int, batch: int,
         memory: str | int | None = None, profile: str = "",
         schemes: Sequence[str] = (), model_of: str = "simulate",
         precision: str | None = None,
         ranks_per_node: int | None = None) -> PlanReport:
    """Find the fastest way to train a model.

    model: a run.toml, or a preset such as "gpt2-64".
    workers: number of workers (width x depth).
    batch: samples per step, over all copies.
    memory: memory of one worker: "16GB", "15GiB" or bytes (default: the
        profile's).
    profile: a profile.toml, or "p100" (default), "v100", "rtx3090",
        "a100", "h100".
    schemes: consider only these (default: every synchronous one).
    model_of: performance model: "simulate", or "paper" for the paper's formula.
    precision: "float32" or "bf16" (default: the run.toml's).
    ranks_per_node: ranks that share a node (default: the profile's).

    Raises Error with every reason why the request cannot be met.
    """
    return PlanReport(json.loads(_core.plan(
        os.fspath(model), workers, batch, "" if memory is None else str(memory),
        profile, list(schemes), model_of, precision or "", ranks_per_node)))
