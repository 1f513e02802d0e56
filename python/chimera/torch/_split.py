"""Splits the backward of existing modules: the gradient of the input first,
that of the weights when the schedule says so."""

from __future__ import annotations

import threading
import types
from typing import Any, Callable

import torch

from chimera.torch import _runtime


class _State(threading.local):
    is_building = False
    deferred: Any = None


_state = _State()


class Building:
    """Modules called in this context leave their weight gradients to
    `deferred`; None: they are computed in the backward."""

    def __init__(self, deferred: Any):
        self._deferred = deferred

    def __enter__(self) -> None:
        _state.is_building, _state.deferred = True, self._deferred

    def __exit__(self, *_: object) -> None:
        _state.is_building, _state.deferred = False, None


def weight_grad_queue() -> Callable[[Callable[[], None]], None]:
    """For your own autograd functions whose backward can be split.

    Call it in the forward. In the backward, call its result with the function
    that adds to the weights' ``.grad``: it runs when the schedule says so, or
    at once if the backward is whole. Return no gradient for the weights to
    autograd then.
    """
    if _state.deferred is None:
        return lambda work: work()
    return _state.deferred.push


def _applies(x: torch.Tensor, weight: torch.Tensor) -> bool:
    return (_state.is_building and weight.requires_grad
            and not torch.is_autocast_enabled(x.device.type))


def _linear(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    if not _applies(x, self.weight) or x.dtype != self.weight.dtype:
        return type(self).forward(self, x)
    return _runtime.split_linear(x, self.weight, self.bias, False,
                                 _state.deferred)


def _conv1d(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    if not _applies(x, self.weight) or x.dtype != self.weight.dtype:
        return type(self).forward(self, x)
    return _runtime.split_linear(x, self.weight, self.bias, True,
                                 _state.deferred)


def _embedding(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    if not _applies(x, self.weight):
        return type(self).forward(self, x)
    row = -1 if self.padding_idx is None else self.padding_idx
    return _runtime.split_embedding(x.long(), self.weight, row, _state.deferred)


def _forward_of(module: torch.nn.Module):
    """The split forward of a module, or None. Only the exact classes are
    replaced, because subclasses may compute something else."""
    kind = type(module)
    if "forward" in vars(module):  # already replaced by another library
        return None
    if kind is torch.nn.Linear:
        return _linear
    if kind is torch.nn.Embedding:
        plain = (module.max_norm is None and not module.scale_grad_by_freq
                 and not module.sparse)
        return _embedding if plain else None
    if kind.__name__ == "Conv1D" and kind.__module__.startswith("transformers"):
        return _conv1d
    return None


class SplitReport:
    """Which trained parameters have a split backward."""

    def __init__(self) -> None:
        self.split: list[str] = []
        """Modules whose weight gradients can be deferred."""
        self.whole: list[str] = []
        """Modules whose weight gradients are computed with those of their
        input."""
        self._numbers = [0, 0]  # parameters of each kind

    def add(self, name: str, module: torch.nn.Module, is_split: bool) -> None:
        own = sum(parameter.numel() for parameter
                  in module.parameters(recurse=False)
                  if parameter.requires_grad)
        if own == 0:
            return
        (self.split if is_split else self.whole).append(name)
        self._numbers[0 if is_split else 1] += own

    def __repr__(self) -> str:
        split, whole = self._numbers
        share = 100 * split / max(1, split + whole)
        return (f"<split backward: {len(self.split)} modules with "
                f"{share:.1f} % of this rank's trained parameters; "
                f"{len(self.whole)} modules are whole>")


def split_modules(layers: list[tuple[str, Any]], enabled: bool) -> SplitReport:
    """Replace the forward of every module that can be split."""
    report = SplitReport()
    for prefix, layer in layers:
        if not isinstance(layer, torch.nn.Module):
            continue
        for name, module in layer.named_modules():
            forward = _forward_of(module) if enabled else None
            if forward is not None:
                module.forward = types.MethodType(forward, module)
            report.add(prefix + name, module, forward is not None)
    return report
