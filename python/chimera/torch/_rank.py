"""The computation of one rank. The C++ runtime calls the methods of Rank in the
schedule's order and carries tensors between stages
(python/src/python_compute.cc)."""

from __future__ import annotations

from typing import Any, Callable, NamedTuple, Sequence

import torch

from chimera.torch._gradients import GradientBlock
from chimera.torch._split import Building


Layer = Callable[..., Any]  # a module, or a function of tensors
Tensors = list[torch.Tensor]


class TensorSpec(NamedTuple):
    """One tensor that passes between two stages."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    device: torch.device
    has_gradient: bool

    def __str__(self) -> str:
        return f"{list(self.shape)} {str(self.dtype).removeprefix('torch.')}"


Boundary = tuple[TensorSpec, ...]


def as_tuple(output: Any, layer: int, module: Any) -> tuple[torch.Tensor, ...]:
    """The output of a layer, as the arguments of the next one."""
    outputs = output if isinstance(output, (tuple, list)) else (output,)
    for each in outputs:
        if not isinstance(each, torch.Tensor):
            raise TypeError(
                f"layer {layer} ({type(module).__name__}) returned "
                f"{type(output).__name__}{_inside(output)}: a layer returns a "
                "tensor or a tuple of tensors, which the next one takes as "
                "positional arguments. Wrap it in a module that does")
    return tuple(outputs)


def _inside(output: Any) -> str:
    if not isinstance(output, (tuple, list)):
        return ""
    return " of " + ", ".join(type(each).__name__ for each in output)


class Stage:
    """A range of the layers."""

    def __init__(self, layers: Sequence[Layer], first: int):
        self.layers = list(layers)
        self.first = first  # index of layers[0] in the whole list

    def modules(self) -> list[torch.nn.Module]:
        return [layer for layer in self.layers
                if isinstance(layer, torch.nn.Module)]

    def run(self, inputs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
        for index, layer in enumerate(self.layers, self.first):
            try:
                output = layer(*inputs)
            except Exception as error:
                if hasattr(error, "add_note"):  # Python 3.11 and later
                    error.add_note(f"in layer {index} "
                                   f"({type(layer).__name__}) of the pipeline")
                raise
            inputs = as_tuple(output, index, layer)
        return tuple(inputs)


class Rank:
    """All stages of one rank: of this process, or of one thread."""

    def __init__(self, stages: dict[int, Stage], num_stages: int,
                 loss_fn: Callable[[Any, Any], torch.Tensor],
                 by_group: dict[int, GradientBlock],
                 shares: list[tuple[GradientBlock, list[int]]]):
        self.stages = stages
        self.by_group = by_group
        # Gradient buffers, each with the ranks that hold it.
        self.shares = shares
        self._last = num_stages - 1
        self._loss_fn = loss_fn
        self._loss = 0.0

    def begin(self, x: list[tuple[torch.Tensor, ...]], y: list[Any],
              boundaries: list[Boundary], share: float) -> None:
        """Prepare a step: its micro-batches and the weight of each loss."""
        self._x, self._y = x, y
        self._boundaries = boundaries
        self.share = share
        self._loss = 0.0

    # Methods called by the runtime.

    def forward(self, stage: int, micro: int, inputs: Tensors | None,
                deferred: Any, builds: bool) -> tuple[torch.Tensor, ...]:
        """The outputs of a stage, or the loss of the last one. builds: autograd
        records a graph for the backward."""
        given = self._x[micro] if inputs is None else inputs
        if not builds:
            return self._finished(stage, micro, self.stages[stage].run(given))
        with Building(deferred):
            return self._finished(stage, micro, self.stages[stage].run(given))

    def random_state(self) -> torch.Tensor:
        return torch.get_rng_state()

    def recompute(self, stage: int, micro: int, inputs: Tensors | None,
                  deferred: Any, random: torch.Tensor
                  ) -> tuple[torch.Tensor, ...]:
        loss = self._loss
        with torch.random.fork_rng(devices=[]):
            torch.set_rng_state(random)
            outputs = self.forward(stage, micro, inputs, deferred, True)
        self._loss = loss  # already counted
        return outputs

    def gradient(self, group: int) -> torch.Tensor:
        return self.by_group[group].flat

    def take_loss(self) -> float:
        loss, self._loss = self._loss, 0.0
        return float(loss)

    def refuse_shapes(self, stage: int,
                      outputs: tuple[torch.Tensor, ...]) -> None:
        layer = self.stages[stage].first + len(self.stages[stage].layers)
        raise ValueError(
            f"layer {layer - 1} returned {_listed(boundary_of(outputs))}, but "
            f"{_listed(self._boundaries[stage])} when shapes were determined: "
            "for one shape of x the shapes between stages must not change. Pad "
            "them, or move the cut")

    # Helpers of the forward.

    def _finished(self, stage: int, micro: int,
                  outputs: tuple[torch.Tensor, ...]
                  ) -> tuple[torch.Tensor, ...]:
        if stage != self._last:
            return outputs
        loss = self._loss_of(micro, outputs)
        self._loss = self._loss + loss.detach() * self.share
        return (loss,)

    def _loss_of(self, micro: int,
                 outputs: tuple[torch.Tensor, ...]) -> torch.Tensor:
        output = outputs[0] if len(outputs) == 1 else outputs
        loss = self._loss_fn(output, self._y[micro])
        if not isinstance(loss, torch.Tensor) or loss.dim() != 0:
            found = (f"a tensor of shape {list(loss.shape)}"
                     if isinstance(loss, torch.Tensor)
                     else type(loss).__name__)
            raise TypeError(f"loss_fn returned {found}: it has to return a "
                            "tensor with one number, such as loss.mean()")
        return loss


def boundary_of(outputs: Sequence[torch.Tensor]) -> Boundary:
    return tuple(TensorSpec(tuple(each.shape), each.dtype, each.device,
                            each.requires_grad) for each in outputs)


def _listed(boundary: Boundary) -> str:
    return "(" + ", ".join(map(str, boundary)) + ")"
