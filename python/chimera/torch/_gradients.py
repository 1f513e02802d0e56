"""The gradients of a stage in one buffer, so that one sum covers all of them.
"""

from __future__ import annotations

import torch

from chimera._error import refuse


class GradientBlock:
    """The gradients of some parameters; each ``.grad`` is a view into one
    buffer."""

    def __init__(self, parameters: list[torch.nn.Parameter], where: str):
        self.parameters = parameters
        types = {parameter.dtype for parameter in parameters}
        if len(types) > 1 or not types <= {torch.float32, torch.float64}:
            names = ", ".join(sorted(map(str, types)))
            raise refuse(
                "E808", f"{where} trains parameters of {names}",
                "but gradients are summed in one type, float32 or float64",
                "convert the parameters; torch.autocast around the step "
                "computes in bfloat16")
        size = sum(parameter.numel() for parameter in parameters)
        like = parameters[0] if parameters else torch.empty(0)
        # A stage without trained parameters has a buffer of one zero.
        self.flat = torch.zeros(max(size, 1), dtype=like.dtype,
                                device=like.device)
        pieces = self.flat.split([*(parameter.numel()
                                    for parameter in parameters),
                                  *([] if parameters else [1])])
        self._views = [piece.view_as(parameter)
                       for piece, parameter in zip(pieces, parameters)]
        self._before: torch.Tensor | None = None

    def begin(self) -> None:
        """Zero the gradients before a step. Gradients that the caller kept from
        earlier steps are added once this step is complete, so that steps
        accumulate as in plain torch."""
        kept = [parameter.grad is not None for parameter in self.parameters]
        if any(kept):
            for parameter, view in zip(self.parameters, self._views):
                if parameter.grad is None:
                    view.zero_()
                elif parameter.grad.data_ptr() != view.data_ptr():
                    view.copy_(parameter.grad)
            self._before = self.flat.clone()
        self.flat.zero_()
        for parameter, view in zip(self.parameters, self._views):
            parameter.grad = view

    def end(self) -> None:
        """Add the kept gradients after a step and its sums."""
        if self._before is not None:
            self.flat.add_(self._before)
            self._before = None

    def squared_norm(self, share: int, shares: int) -> float:
        """The squared norm of one share of the elements; holders divide the
        work."""
        size = self.flat.numel()
        part = self.flat[share * size // shares:(share + 1) * size // shares]
        return float(torch.linalg.vector_norm(part, dtype=torch.float64)) ** 2
