"""The weights and buffers of a model whose stages lie on several ranks."""

from __future__ import annotations

from typing import Iterator

import torch

from chimera.torch._holdings import named_modules
from chimera.torch._rank import Stage

Held = list[dict[int, Stage]]  # [rank of this process][stage]


def _modules(held: Held) -> Iterator[tuple[str, torch.nn.Module]]:
    for stages in held:
        yield from named_modules(stages)


def own_state(held: Held) -> dict[str, torch.Tensor]:
    """Weights and buffers by their names in the whole model. Of replicas, the
    first counts."""
    own: dict[str, torch.Tensor] = {}
    for prefix, module in _modules(held):
        for name, value in module.state_dict().items():
            own.setdefault(prefix + name, value)
    return own


def first_held(stages_of: list[list[int]], rank: int) -> list[int]:
    """The stages of a rank that no rank before it holds."""
    before = {stage for stages in stages_of[:rank] for stage in stages}
    return [stage for stage in stages_of[rank] if stage not in before]


def load_state(held: Held, state: dict[str, torch.Tensor],
               names: list[str]) -> None:
    """Load the part of `state` that is held. Raises KeyError if some of it is
    missing, or if `state` has other names than the whole model's."""
    unknown = sorted(set(state) - set(names))
    missing = sorted(set(own_state(held)) - set(state))
    if unknown or missing:
        raise KeyError(f"load_state_dict: missing {missing[:5]}, "
                       f"unknown {unknown[:5]}")
    for prefix, module in _modules(held):
        module.load_state_dict({name: state[prefix + name]
                                for name in module.state_dict()})
