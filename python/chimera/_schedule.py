"""Schedules as values."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from chimera import _core
from chimera._error import Diagnostic, refuse
from chimera._simulation import Simulation


class Scheme(NamedTuple):
    """A named way to place stages on workers and to order their work."""

    name: str
    alias: str
    """Another name for it; may be empty."""
    summary: str
    legal: str
    """The depths and numbers of micro-batches that it allows."""
    makespan: str
    """Closed form, with messages and sums that take no time."""
    peak_activations: str
    """In D-ths of the model."""
    weight_copies: str
    """Copies of the weights, or versions of them, over all workers."""
    synchronous: bool
    """False if updates do not wait for the whole mini-batch."""


class Schedule:
    """Who computes what in which order, for one step.

    A value: equal to any schedule with the same lists. ``schedule()`` and
    ``Schedule.load()`` make one.
    """

    __slots__ = ("_core",)

    def __init__(self, core: _core.Schedule):
        self._core = core

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Schedule:
        """Reads a file in any of the text forms (json, sched, csv).

        Raises Error with every mistake and every violation found in it.
        """
        return Schedule(_core.Schedule.load(os.fspath(path)))

    @property
    def scheme(self) -> str:
        """Name of the scheme, as in ``schemes()``."""
        return self._core.scheme

    @property
    def depth(self) -> int:
        """Workers of one copy of the model (D)."""
        return self._core.depth

    @property
    def micros(self) -> int:
        """Micro-batches per copy and step (N)."""
        return self._core.micros

    @property
    def width(self) -> int:
        """Data-parallel copies (W)."""
        return self._core.width

    @property
    def pipes(self) -> int:
        """Pipes over the same workers; each runs through all stages."""
        return self._core.pipes

    @property
    def stages(self) -> int:
        """Stages of one pipe."""
        return self._core.stages

    @property
    def is_lowered(self) -> bool:
        """True if messages, sums, vote and updates are listed too."""
        return self._core.is_lowered

    @property
    def is_synchronous(self) -> bool:
        """False if updates do not wait for the whole mini-batch."""
        return self._core.is_synchronous

    def lower(self, *, sync: str = "eager-opt", recompute: bool | str = False,
              tied: bool = False) -> Schedule:
        """The schedule with everything a runtime does as explicit actions.

        sync: when gradient sums start: "eager-opt", "eager" or "end"; "ddp"
            and "blocking" are those of other systems.
        recompute: run each forward again before its backward, while the
            gradient is on its way (True or "early") or once it is there
            ("late").
        tied: the first and the last stage share a weight.
        """
        if recompute not in (False, True, "early", "late"):
            raise refuse("E403", f"recompute={recompute!r}",
                         'must be a bool, "early" or "late"')
        return Schedule(self._core.lower(sync, bool(recompute),
                                         recompute == "late", tied))

    def check(self, *, cap: float | None = None,
              omega: float = 1) -> list[Diagnostic]:
        """Every violation; an empty list proves that the schedule finishes.

        cap: the most activations a worker may hold, in D-ths of the model.
        omega: share of an activation that counts between I and W.
        """
        return [Diagnostic(*each) for each in self._core.check(cap, omega)]

    def simulate(self, forward: float = 1, backward: float = 2,
                 weight_grad: float | None = None, p2p: float = 0,
                 steps: int = 1, *, allreduce: float = 0, cores: int = 0,
                 omega: float = 1) -> Simulation:
        """Simulate the schedule. Times are those of one D-th of the model.

        weight_grad: weight half of the backward (default: half of it).
        p2p: latency of each message between two workers.
        allreduce: time of one stage's gradient sum.
        steps: number of consecutive steps, without a barrier between them.
        cores: processors that all workers share (0: one for each).
        omega: share of an activation that is held between the end of I and
            the end of W.
        """
        times = _core.Times(forward, backward, weight_grad, p2p, allreduce,
                            omega)
        played = _core.simulate(self._core, times, steps, cores)
        return Simulation(played, self._headline())

    def to_json(self) -> str:
        """The text that ``Schedule.load`` and the program ``chimera`` read."""
        return self._core.to_json()

    def to_torch_csv(self) -> str:
        """The compute-only csv that torch.distributed.pipelining reads.

        Raises Error if torch cannot express the schedule: a stage on several
        workers, halved backwards, updates inside the step.
        """
        return self._core.to_torch_csv()

    def _headline(self) -> str:
        text = f"{self.scheme}, D={self.depth}, N={self.micros}"
        if self.pipes > 1:
            text += f", {self.pipes} pipes"
        if self.stages > self.depth:
            text += f", {self.stages // self.depth} chunks"
        if self.width > 1:
            text += f", W={self.width}"
        return text

    def __repr__(self) -> str:
        lowered = ", lowered" if self.is_lowered else ""
        return f"<chimera.Schedule {self._headline()}{lowered}>"

    def _repr_svg_(self) -> str:
        return self.simulate().svg()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Schedule):
            return NotImplemented
        return self._core == other._core

    def __hash__(self) -> int:
        return hash(self.to_json())

    def __reduce__(self) -> tuple[Any, ...]:
        return Schedule._from_json, (self.to_json(),)

    @staticmethod
    def _from_json(text: str) -> Schedule:
        return Schedule(_core.Schedule.parse(text))


def schedule(scheme: str, *, depth: int, micros: int, pipes: int | None = None,
             scale: str = "direct", chunks: int | None = None,
             shape: str | None = None, cap: float | None = None,
             width: int = 1, forward: float = 1, backward: float = 2,
             weight_grad: float | None = None, p2p: float = 0,
             allreduce: float = 0, omega: float = 1) -> Schedule:
    """Make a schedule; ``schemes()`` lists the available ones.

    depth: workers in the pipeline (D).
    micros: micro-batches per step and copy (N).
    pipes: pipes over the same workers ("chimera", "planned").
    scale: how "chimera" handles N > D: "direct", "doubling", "halving".
    chunks: stages per worker in one pipe.
    shape: path of a pipe over the workers: "linear", "loop", "vee", "wave".
    cap: the most activations a worker may hold, in D-ths of the model. A
        planned order keeps to it; another scheme that needs more is refused.
    width: data-parallel copies.
    forward, backward, weight_grad, p2p, allreduce: times for which a planned
        order is optimised; other schemes do not depend on them.
    omega: share of an activation that a planned order holds, under its cap,
        between the end of I and the end of W.

    Raises Error with every reason why the request cannot be met.
    """
    times = _core.Times(forward, backward, weight_grad, p2p, allreduce, omega)
    return Schedule(_core.Schedule.make(scheme, depth, micros, pipes, scale,
                                        chunks, shape, cap, width, times))


def schemes() -> list[Scheme]:
    """Every scheme, with its legal values and closed forms."""
    return [Scheme(**each) for each in _core.schemes()]
