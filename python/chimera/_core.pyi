# Types of the extension module in python/src/core*.cc.

from typing import Any

op_names: tuple[str, ...]

class Times:
    def __init__(self, forward: float, backward: float,
                 weight_grad: float | None, p2p: float,
                 allreduce: float) -> None: ...

class Schedule:
    scheme: str
    depth: int
    micros: int
    width: int
    pipes: int
    stages: int
    is_lowered: bool
    is_synchronous: bool
    @staticmethod
    def make(scheme: str, depth: int, micros: int, pipes: int | None,
             scale: str, chunks: int | None, shape: str | None,
             cap: float | None, width: int, times: Times) -> Schedule: ...
    @staticmethod
    def load(path: str) -> Schedule: ...
    @staticmethod
    def parse(text: str) -> Schedule: ...
    def lower(self, sync: str, recompute: bool, recompute_late: bool,
              tied: bool) -> Schedule: ...
    def check(self, cap: float | None
              ) -> list[tuple[str, str, str, str, str]]: ...
    def to_json(self) -> str: ...
    def to_torch_csv(self) -> str: ...

class Simulation:
    makespan: float
    ideal: float
    bound: float
    bubble_ratio: float
    period: float
    def workers(self) -> list[tuple[float, float, float, float, float]]: ...
    def trace(self) -> bytes: ...
    def svg(self, title: str) -> str: ...

def simulate(schedule: Schedule, times: Times, steps: int,
             cores: int) -> Simulation: ...
def balanced_cut(costs: list[float], stages: int) -> list[int]: ...
def check_cut(cut: list[int], stages: int,
              layers: int) -> list[tuple[str, str, str, str, str]]: ...
def schemes() -> list[dict[str, Any]]: ...
def plan(model: str, workers: int, batch: int, memory: str, profile: str,
         schemes: list[str], model_of: str, precision: str,
         ranks_per_node: int | None) -> str: ...
