"""The stages and gradient buffers of each rank."""

from __future__ import annotations

import copy
from typing import Any

import torch

from chimera.torch._gradients import GradientBlock
from chimera.torch._layers import LayerList, parameters_of, prefix_of
from chimera.torch._rank import Stage


def named_modules(stages: dict[int, Stage]
                  ) -> list[tuple[str, torch.nn.Module]]:
    """The modules of some stages, each with the prefix of its names in the
    whole model."""
    return [(prefix_of(layer, stage.first + offset), layer)
            for stage in stages.values()
            for offset, layer in enumerate(stage.layers)
            if isinstance(layer, torch.nn.Module)]


def named_parameters(layer: Any,
                     index: int) -> list[tuple[str, torch.nn.Parameter]]:
    """The parameters of layer number `index` by their names in the whole
    model, tied ones under each of their names."""
    if not isinstance(layer, torch.nn.Module):
        return []
    return [(prefix_of(layer, index) + name, each) for name, each
            in layer.named_parameters(remove_duplicate=False)]


def deal(model: LayerList, held: list[list[int]],
         copies: bool) -> list[dict[int, Stage]]:
    """The stages of each rank. Threads that hold the same stage need copies of
    its weights; the first one uses the caller's."""
    dealt = []
    taken: set[int] = set()
    for numbers in held:
        stages = {number: model.stage(number) for number in numbers}
        if copies:
            own = [each for stage in stages.values()
                   for layer in stage.layers
                   for each in [*parameters_of(layer), *_buffers(layer)]]
            memo = {id(each): each for each in own if id(each) not in taken}
            if len(memo) < len({id(each) for each in own}):
                stages = copy.deepcopy(stages, memo)
            taken |= {id(each) for each in own}
        dealt.append(stages)
    return dealt


def _buffers(layer: Any) -> list[torch.Tensor]:
    return list(layer.buffers()) if isinstance(layer, torch.nn.Module) else []


Blocks = dict[tuple[int, ...], GradientBlock]  # [the stages that share it]


def make_blocks(stages: dict[int, Stage], tied_names: set[str],
                num_stages: int) -> Blocks:
    """A gradient buffer for every stage, and one for the weights that the first
    and the last stage share."""
    blocks: Blocks = {}
    tied: dict[int, torch.nn.Parameter] = {}
    for number, stage in stages.items():
        own: dict[int, torch.nn.Parameter] = {}
        for offset, layer in enumerate(stage.layers):
            for name, each in named_parameters(layer, stage.first + offset):
                if each.requires_grad:
                    (tied if name in tied_names else own)[id(each)] = each
        blocks[(number,)] = GradientBlock(list(own.values()),
                                          f"stage {number}")
    if tied:
        blocks[(0, num_stages - 1)] = GradientBlock(list(tied.values()),
                                                    "a tied weight")
    return blocks


def holders(stages: tuple[int, ...], layout: dict[str, Any]) -> list[int]:
    """The ranks that hold one of these stages, ascending."""
    return [rank for rank, held in enumerate(layout["stages"])
            if set(stages) & set(held)]
