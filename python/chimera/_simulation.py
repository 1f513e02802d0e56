"""The result of simulating a schedule."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from chimera import _core
from chimera._trace import to_array

if TYPE_CHECKING:
    import numpy


class WorkerStats(NamedTuple):
    """Times and memory of one worker of one copy."""

    busy: float
    """Time in compute."""
    idle: float
    """The rest of the makespan."""
    first: float
    """Start of its first compute."""
    last: float
    """End of its last compute."""
    peak_activations: float
    """The most micro-batches held at once, in D-ths of the model."""
    peak_bytes: float | None = None
    """None: bytes need a profile, as ``chimera simulate --profile`` has."""


class Simulation:
    """The result of ``Schedule.simulate``."""

    __slots__ = ("_core", "_title")

    def __init__(self, core: _core.Simulation, title: str):
        self._core = core
        self._title = title

    @property
    def makespan(self) -> float:
        """Time from the first action to the end of the last."""
        return self._core.makespan

    @property
    def period(self) -> float:
        """Time of one more step; equal to the makespan if there is one step."""
        return self._core.period

    @property
    def ideal(self) -> float:
        """Compute time of the busiest worker."""
        return self._core.ideal

    @property
    def bound(self) -> float:
        """Lower bound: no order on this placement ends sooner."""
        return self._core.bound

    @property
    def bubble_ratio(self) -> float:
        """Fraction of all workers' time in which they are idle."""
        return self._core.bubble_ratio

    @property
    def workers(self) -> list[WorkerStats]:
        """Times and memory of each worker."""
        return [WorkerStats(*each) for each in self._core.workers()]

    @property
    def trace(self) -> numpy.ndarray:
        """Every event, as a structured numpy array in order of time.

        Fields: op, worker, pipe, stage, micro, part, step, peer, group,
        cause, start, end. op is the action's name ("F", "B", "SF", ...), cause
        the row whose end this one waited for; -1 where there is none.
        """
        return to_array(self._core.trace())

    def svg(self) -> str:
        """A drawing with one row per worker, widths proportional to time."""
        return self._core.svg(f"{self._title}: {self._summary()}")

    def _summary(self) -> str:
        return (f"makespan {self.makespan:g}, "
                f"bubble {100 * self.bubble_ratio:.1f} %")

    def _repr_svg_(self) -> str:
        return self.svg()

    def __repr__(self) -> str:
        return f"<chimera.Simulation {self._title}: {self._summary()}>"
