"""The shapes of tensors between stages, determined once for each shape of x by
running every stage on one micro-batch of those shapes."""

from __future__ import annotations

import time
from typing import Any, Callable, Sequence

import torch

from chimera.torch._error import PipelineError
from chimera.torch._rank import (Boundary, Layer, Stage, as_tuple,
                                 boundary_of)


def blank(boundary: Boundary) -> list[torch.Tensor]:
    return [torch.zeros(spec.shape, dtype=spec.dtype, device=spec.device
                        ).requires_grad_(spec.has_gradient)
            for spec in boundary]


def _boundary_after(stage: Stage, inputs: Sequence[torch.Tensor]) -> Boundary:
    """Run a stage without side effects: evaluation mode keeps running means as
    they are, and the random state is restored."""
    modules = [module for layer in stage.modules() for module in layer.modules()
               if module.training]
    for module in modules:
        module.training = False
    try:
        with torch.random.fork_rng(devices=[]), torch.enable_grad():
            return boundary_of(stage.run(inputs))
    finally:
        for module in modules:
            module.training = True


def determine(x: tuple[torch.Tensor, ...], num_stages: int,
              stage_of: Callable[[int], Stage | None],
              share: Callable[[int, Any], Any]) -> list[Boundary]:
    """The outputs of all stages but the last.

    stage_of: returns a stage on the rank that runs it here, None elsewhere.
    share: gives every rank the result of the rank that ran the stage.
    """
    boundaries: list[Boundary] = []
    for number in range(num_stages - 1):
        stage = stage_of(number)
        found: Any = None
        error: Exception | None = None
        if stage is not None:
            try:
                found = _boundary_after(
                    stage, x if number == 0 else blank(boundaries[-1]))
            except Exception as raised:  # raised after the others know
                error, found = raised, f"stage {number}: {raised}"
        found = share(number, found)
        if error is not None:
            raise error
        if isinstance(found, str):
            raise PipelineError(f"another rank could not run {found}")
        boundaries.append(found)
    return boundaries


def layer_times(layers: Sequence[Layer], x: Any,
                repeats: int) -> list[float]:
    """Seconds of each layer's forward and backward; the best of `repeats` runs.
    """
    inputs = x if isinstance(x, tuple) else (x,)
    times = []
    for index, layer in enumerate(layers):
        best = float("inf")
        for _ in range(repeats):
            start = time.perf_counter()
            outputs = as_tuple(layer(*inputs), index, layer)
            roots = [each for each in outputs if each.requires_grad]
            if roots:
                torch.autograd.backward(roots,
                                        [torch.ones_like(each)
                                         for each in roots])
            best = min(best, time.perf_counter() - start)
        times.append(best)
        if isinstance(layer, torch.nn.Module):
            layer.zero_grad()
        inputs = blank(boundary_of(outputs))
    return times
