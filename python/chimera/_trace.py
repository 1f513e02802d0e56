"""Traces as numpy arrays; numpy is imported on first use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chimera import _core

if TYPE_CHECKING:
    import numpy

# The fields of TraceRow in python/src/trace_rows.h.
_NUMBERS = ("op", "worker", "pipe", "stage", "micro", "part", "step", "peer",
            "group", "cause")


def to_array(rows: bytes) -> numpy.ndarray:
    """A structured array, one row per event in order of time.

    op is the action's name ("F", "B", "SF", ...); start and end are times.
    Fields that an action does not have are -1. cause is the row whose end this
    one waited for, or -1.
    """
    import numpy

    packed = numpy.frombuffer(rows, dtype=[("start", "f8"), ("end", "f8"),
                                           *((name, "i4")
                                             for name in _NUMBERS)])
    named = numpy.empty(len(packed), dtype=[
        ("op", "U2"), *((name, "i4") for name in _NUMBERS[1:]),
        ("start", "f8"), ("end", "f8")])
    for name in named.dtype.names:
        named[name] = packed[name] if name != "op" else numpy.array(
            _core.op_names)[packed["op"]]
    return named
