"""The list of layers: names, shared parameters, and the cut into stages."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from chimera import _core
from chimera._error import Error, refuse
from chimera.torch._rank import Layer, Stage


def prefix_of(layer: Any, index: int) -> str:
    """The prefix of the names of a layer's parameters: the index, as in
    ``nn.ModuleList(layers)``, unless the layer has a state_prefix."""
    return getattr(layer, "state_prefix", f"{index}.")


def parameters_of(layer: Any) -> list[torch.nn.Parameter]:
    return (list(layer.parameters()) if isinstance(layer, torch.nn.Module)
            else [])


class LayerList:
    """All layers and the first layer of each stage."""

    def __init__(self, layers: Sequence[Layer], num_stages: int,
                 cut: Sequence[int] | None):
        self.layers = _listed(layers)
        _refuse_wrong_layers(self.layers, num_stages)
        self.cut = _checked_cut(cut, num_stages, self.layers)
        self.tied = self._find_tied(num_stages)
        self.names = [prefix_of(layer, index) + name
                      for index, layer in enumerate(self.layers)
                      if isinstance(layer, torch.nn.Module)
                      for name in layer.state_dict()]

    def stage(self, number: int) -> Stage:
        ends = [*self.cut[1:], len(self.layers)]
        first = self.cut[number]
        return Stage(self.layers[first:ends[number]], first)

    def _stage_of(self, layer: int) -> int:
        return max(stage for stage, first in enumerate(self.cut)
                   if first <= layer)

    def _find_tied(self, num_stages: int) -> set[int]:
        """Ids of the trained parameters that the first and the last stage
        share."""
        users: dict[int, list[int]] = {}
        trained = set()
        for index, layer in enumerate(self.layers):
            for each in parameters_of(layer):
                users.setdefault(id(each), []).append(index)
                if each.requires_grad:
                    trained.add(id(each))
        tied = set()
        for parameter, layers in users.items():
            if len(layers) > 2:
                raise refuse(
                    "E806", f"a parameter is shared by layers {layers}",
                    "but two layers at most may share one",
                    "put layers that share more into one layer")
            stages = sorted({self._stage_of(layer) for layer in layers})
            if len(stages) < 2 or parameter not in trained:
                continue
            if stages != [0, num_stages - 1]:
                raise refuse(
                    "E807",
                    f"layers {layers} share a parameter and lie in stages "
                    f"{stages}", "but only the first and the last stage can",
                    "choose cut= so that they do, or lie in one stage")
            tied.add(parameter)
        return tied


def _listed(layers: Sequence[Layer]) -> list[Layer]:
    try:
        return list(layers)
    except TypeError:
        raise refuse("E804", f"layers is a {type(layers).__name__}",
                     "but a pipeline needs the list of its layers",
                     "for example list(model.children()), or from_transformers"
                     ) from None


def _refuse_wrong_layers(layers: list[Layer], num_stages: int) -> None:
    for index, layer in enumerate(layers):
        if not callable(layer):
            raise refuse("E804", f"layer {index} is a {type(layer).__name__}",
                         "but layers are modules or functions of tensors")
    if len(layers) < num_stages:
        raise refuse("E805", f"{len(layers)} layers",
                     f"are fewer than the schedule's {num_stages} stages",
                     "give a longer list (split large layers), or use fewer "
                     "workers or chunks")


def _checked_cut(cut: Sequence[int] | None, num_stages: int,
                 layers: list[Layer]) -> list[int]:
    # Balances by parameters; a layer without parameters still takes some time.
    if cut is None:
        sizes = [1 + sum(each.numel() for each in parameters_of(layer))
                 for layer in layers]
        return _core.balanced_cut([float(size) for size in sizes], num_stages)
    problems = _core.check_cut(list(cut), num_stages, len(layers))
    if problems:
        raise Error(problems)
    return list(cut)


def balanced_cut(layers: Sequence[Layer], stages: int, x: Any,
                 repeats: int = 3) -> list[int]:
    """A ``cut=`` balanced by measured time: runs every layer forward and
    backward on the sample micro-batch `x`. In a distributed job call it on one
    rank and broadcast the result: all ranks need the same cut."""
    from chimera.torch._shapes import layer_times
    return _core.balanced_cut(layer_times(layers, x, repeats), stages)
