"""A list of layers as a pipeline over ranks or threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable, Iterator, Sequence

import torch
import torch.distributed as dist

from chimera._schedule import Schedule
from chimera._trace import to_array
from chimera.torch import _runtime
from chimera.torch._error import PipelineError
from chimera.torch._gradients import GradientBlock
from chimera.torch._groups import Groups
from chimera.torch._holdings import (deal, holders, make_blocks, named_modules,
                                     named_parameters)
from chimera.torch._layers import LayerList
from chimera.torch._rank import Boundary, Layer, Rank, Stage
from chimera.torch._request import (find_ranks, find_schedule, micro_batches,
                                    refuse_lowered)
from chimera.torch._shapes import determine
from chimera.torch._split import split_modules
from chimera.torch._state import first_held, load_state, own_state

if TYPE_CHECKING:
    import numpy


class Pipeline:
    """Trains a list of layers with any synchronous schedule.

    layers: modules or functions; each takes the output of the one before, a
        tensor or a tuple of tensors, as positional arguments. Every rank passes
        the same list and keeps only its own stages.
    loss_fn: called with the last layer's output and a micro-batch of y;
        returns the mean loss of its samples.
    schedule: a scheme's name, or a Schedule.
    micros: micro-batches per step and copy.
    width: data-parallel copies; depth is the number of ranks divided by it.
    cut: the first layer of each stage (default: balanced by parameters;
        ``balanced_cut`` measures time).
    exact: sum gradients in one fixed order, so that the same layout gives the
        same bits in every run.
    process_group: the ranks (default: the default group).
    workers: number of threads that act as ranks, without a process group.
    split_backward: nn.Linear, nn.Embedding and transformers' Conv1D compute
        their weight gradients when the schedule says so.
    """

    def __init__(self, layers: Sequence[Layer],
                 loss_fn: Callable[[Any, Any], torch.Tensor], *,
                 schedule: str | Schedule = "chimera",
                 micros: int | None = None, width: int = 1,
                 cut: Sequence[int] | None = None, exact: bool = False,
                 process_group: dist.ProcessGroup | None = None,
                 workers: int | None = None, split_backward: bool = True):
        group, num_ranks = find_ranks(process_group, workers)
        chosen = find_schedule(schedule, micros, width, num_ranks)
        self.schedule = chosen
        model = LayerList(layers, chosen.stages, cut)
        self.cut = model.cut
        self._names = model.names
        if not chosen.is_lowered:
            # Sums run beside compute, on threads of the process group.
            chosen = chosen.lower(sync="eager", tied=bool(model.tied))
        self._lowered = chosen.to_json()
        self._layout = _runtime.layout(self._lowered)
        refuse_lowered(self._layout, bool(model.tied))
        self._groups = Groups(group, self._layout) if group else None
        mine = range(num_ranks) if group is None else [self._groups.rank]
        self._mine = list(mine)
        self._layers: list[dict[int, Stage]] = deal(
            model, [self._layout["stages"][rank] for rank in self._mine],
            copies=group is None)
        self._make_ranks(model, loss_fn, split_backward)
        if group is None:
            self._runner = _runtime.Runner.threads(self._lowered)
        else:
            self._share_weights()
            self._runner = self._connect(exact)
        # [shapes of x]: the shapes between stages, for messages and in the
        # runtime's form.
        self._boundaries: dict[Any, tuple[list[Boundary],
                                          _runtime.Boundaries]] = {}
        self._failed: str | None = None

    # Training.

    def step(self, x: Any, y: Any) -> torch.Tensor:
        """Run forward and backward of one mini-batch, split along dimension 0.

        Every rank passes the same x (a tensor, or a tuple of tensors: the first
        layer's arguments) and y, and gets the mean of the micro-batches'
        losses. Afterwards the gradients are complete on every rank; without
        zero_grad() between them, the gradients of several steps accumulate.
        """
        for block in self._blocks():
            block.begin()
        loss = self._run(x, y, training=True)
        for block in self._blocks():
            block.end()
        return loss

    def eval_step(self, x: Any, y: Any) -> torch.Tensor:
        """The loss of one mini-batch in evaluation mode, without gradients."""
        modules = [module for stages in self._layers
                   for stage in stages.values() for layer in stage.modules()
                   for module in layer.modules() if module.training]
        for module in modules:
            module.training = False
        try:
            return self._run(x, y, training=False)
        finally:
            for module in modules:
                module.training = True

    def clip_grad_norm_(self, max_norm: float) -> torch.Tensor:
        """Like torch.nn.utils.clip_grad_norm_, over the whole model. All ranks
        call it; returns the norm before clipping."""
        self._refuse_failed()
        squared = 0.0
        for rank, compute in zip(self._mine, self._ranks):
            for block, members in compute.shares:
                squared += block.squared_norm(members.index(rank), len(members))
        norm = self._call(lambda: self._runner.sum(squared)) ** 0.5
        scale = max_norm / (norm + 1e-6)
        if scale < 1:
            for block in self._blocks():
                block.flat.mul_(scale)
        return torch.tensor(norm)

    # Parameters.

    def parameters(self) -> Iterator[torch.nn.Parameter]:
        """This rank's parameters, each once; with threads, those of all ranks,
        copies included."""
        for _, parameter in self.named_parameters():
            yield parameter

    def named_parameters(self) -> Iterator[tuple[str, torch.nn.Parameter]]:
        """parameters() with their names in the whole model."""
        seen = set()
        for stages in self._layers:
            for prefix, layer in named_modules(stages):
                for name, parameter in layer.named_parameters():
                    if id(parameter) not in seen:
                        seen.add(id(parameter))
                        yield prefix + name, parameter

    def state_dict(self, *, gather: bool = True) -> dict[str, torch.Tensor]:
        """Weights and buffers under their names in the whole model.

        gather=True: all of them, on every rank (all ranks must call it).
        gather=False: only those of this rank's stages.
        """
        own = own_state(self._layers)
        if self._groups is not None and gather:
            first = first_held(self._layout["stages"], self._groups.rank)
            share = own_state([{stage: self._layers[0][stage]
                                for stage in first}])
            for part in self._groups.gather(share):
                own.update(part)
        return {name: own[name] for name in self._names if name in own}

    def load_state_dict(self, state: dict[str, torch.Tensor]) -> None:
        """Load weights and buffers: the whole model's, or this rank's part."""
        load_state(self._layers, state, self._names)

    # Traces and drawings.

    def trace(self) -> numpy.ndarray:
        """The events of the last step, as Simulation.trace; times in seconds.
        All ranks call it."""
        return to_array(_runtime.trace_rows(self._lowered, self._events()))

    def svg(self) -> str:
        """A drawing of the last step. All ranks call it."""
        return _runtime.trace_svg(self._lowered, self._events(),
                                  self.schedule._headline())

    def __repr__(self) -> str:
        kind = "threads" if self._groups is None else "ranks"
        return (f"<chimera.torch.Pipeline {self.schedule._headline()}, "
                f"{len(self._layout['stages'])} {kind}, cut {self.cut}; "
                f"{self.split!r}>")

    # Construction.

    def _make_ranks(self, model: LayerList, loss_fn: Callable[..., Any],
                    split_backward: bool) -> None:
        tied_names = {name for index, layer in enumerate(model.layers)
                      for name, each in named_parameters(layer, index)
                      if id(each) in model.tied}
        groups = {tuple(each): number for number, each
                  in enumerate(self._layout["group_stages"])}
        self._ranks = []
        for stages in self._layers:
            blocks = make_blocks(stages, tied_names, self.schedule.stages)
            self._ranks.append(Rank(
                stages, self.schedule.stages, loss_fn,
                by_group={groups[key]: block for key, block in blocks.items()
                          if key in groups},
                shares=[(block, holders(key, self._layout))
                        for key, block in blocks.items()]))
        named = [pair for stages in self._layers
                 for pair in named_modules(stages)]
        self.split = split_modules(named, split_backward)

    def _share_weights(self) -> None:
        """Make replicas equal: every holder takes the weights of the first one.
        """
        for number, group in enumerate(self._groups.sums):
            if group is None:
                continue
            members = self._layout["group_ranks"][number]
            stages = self._layout["group_stages"][number]
            source = self._groups.ranks[members[0]]
            if len(stages) > 1:  # tied weights
                values = self._ranks[0].by_group[number].parameters
            else:
                values = [value for layer
                          in self._layers[0][stages[0]].modules()
                          for value in [*layer.parameters(),
                                        *layer.buffers()]]
            for value in values:
                dist.broadcast(value.data, src=source, group=group)

    def _connect(self, exact: bool) -> Any:
        device = next((parameter.device for parameter in self.parameters()),
                      torch.device("cpu"))
        groups = self._groups
        return self._call(lambda: _runtime.Runner.rank(
            self._lowered, groups.world, groups.edges, groups.sums,
            groups.store, groups.timeout.total_seconds(), exact, str(device)))

    # Running.

    def _blocks(self) -> list[GradientBlock]:
        return [block for rank in self._ranks for block, _ in rank.shares]

    def _run(self, x: Any, y: Any, training: bool) -> torch.Tensor:
        self._refuse_failed()
        xs, ys = micro_batches(x, y, self.schedule.micros
                               * self.schedule.width)
        boundaries, kept = self._boundaries_for(xs[0])
        micros = self.schedule.micros
        for number, rank in zip(self._mine, self._ranks):
            # First micro-batch of its copy.
            first = number // self.schedule.depth * micros
            rank.begin(xs[first:first + micros], ys[first:first + micros],
                       boundaries, 1 / len(xs))
        loss = self._call(lambda: self._runner.run(self._ranks, kept,
                                                   training))
        return torch.tensor(loss)

    def _boundaries_for(self, x: tuple[torch.Tensor, ...]
                        ) -> tuple[list[Boundary], _runtime.Boundaries]:
        key = tuple((each.shape, each.dtype) for each in x)
        if key not in self._boundaries:
            first = {stage: rank for rank in reversed(range(
                len(self._layout["stages"])))
                for stage in self._layout["stages"][rank]}
            by_rank = dict(zip(self._mine, self._layers))

            def stage_of(number: int) -> Stage | None:
                return by_rank.get(first[number], {}).get(number)

            def share(number: int, found: Any) -> Any:
                if self._groups is None:
                    return found
                return self._groups.broadcast(found, first[number])

            found = determine(x, self.schedule.stages, stage_of, share)
            self._boundaries[key] = found, _runtime.Boundaries(found)
        return self._boundaries[key]

    def _call(self, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except BaseException as error:
            self._failed = str(error) or type(error).__name__
            raise

    def _refuse_failed(self) -> None:
        if self._failed is not None:
            raise PipelineError("the pipeline has failed before: "
                                + self._failed)

    def _events(self) -> list[bytes]:
        events = self._runner.events()
        if self._groups is None:
            return events
        return self._groups.gather(events[self._groups.rank])
