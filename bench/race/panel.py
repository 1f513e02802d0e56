"""One setting of the race and its results, for tables and charts."""
import dataclasses


@dataclasses.dataclass
class Panel:
    title: str
    results: list  # of contest.Result
    tokens: int = 0  # of a step; 0 if stages are emulated
    notes: list = dataclasses.field(default_factory=list)
    problems: list = dataclasses.field(default_factory=list)

    def named(self, name):
        return next((r for r in self.results if r.name == name), None)

    @property
    def limit(self):
        return self.named("limit")

    @property
    def ours(self):
        """Chimera's fastest with threads, in the panel's precision."""
        return min((r for r in self.results if r.name.startswith("Chimera")
                    and "mpirun" not in r.name and "float32" not in r.name),
                   key=lambda r: r.median)

    @property
    def peers(self):
        return [r for r in self.results if r.name.startswith("torch")]

    @property
    def best_peer(self):
        return min(self.peers, key=lambda r: r.median)


@dataclasses.dataclass
class Bar:
    """A requirement on the results."""
    text: str
    value: float
    least: float | None = None
    most: float | None = None

    @property
    def is_met(self):
        return ((self.least is None or self.value >= self.least)
                and (self.most is None or self.value <= self.most))

    @property
    def needed(self):
        return (f">= {self.least:g}" if self.least is not None
                else f"<= {self.most:g}")
