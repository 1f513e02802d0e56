"""Contestants that take turns, and what their blocks of steps took.

A contestant has a name, run(steps) -> Block, and close().
"""
import dataclasses
import statistics


@dataclasses.dataclass
class Block:
    seconds: float
    losses: list = dataclasses.field(default_factory=list)
    peak_kib: float = 0  # of one rank
    simulated: float = 0  # seconds, where it is known


@dataclasses.dataclass
class Result:
    """One contestant's rounds, in seconds a step."""
    name: str
    steps: list
    losses: list  # of all steps, from the first
    peak_kib: float = 0
    simulated: float = 0  # seconds a step

    @property
    def median(self):
        return statistics.median(self.steps)

    @property
    def spread(self):
        """Half of the rounds lie within so much of the median."""
        return statistics.median(abs(step - self.median)
                                 for step in self.steps) / self.median

    def times_faster_than(self, other):
        """Rounds compared in pairs: what slows both does not count."""
        return statistics.median(theirs / ours for ours, theirs
                                 in zip(self.steps, other.steps))


def race(contestants, rounds, steps, tell=lambda text: None):
    """A B C, A B C, ...: every contestant a block of steps in each round, after
    one block that does not count."""
    results = [Result(contestant.name, [], []) for contestant in contestants]
    for turn in range(rounds + 1):
        for contestant, result in zip(contestants, results):
            block = contestant.run(steps)
            result.losses += block.losses
            result.peak_kib = max(result.peak_kib, block.peak_kib)
            result.simulated = block.simulated / steps
            if turn > 0:
                result.steps.append(block.seconds / steps)
        tell(f"round {turn}/{rounds}")
    return results


def problems(results):
    """What is wrong with how they trained: those with the same weights and data
    must agree from the start, and all losses must fall."""
    found = []
    trained = [result for result in results if result.losses]
    for result in trained:
        quarter = max(1, len(result.losses) // 4)
        first = statistics.mean(result.losses[:quarter])
        last = statistics.mean(result.losses[-quarter:])
        if not last < first:
            found.append(f"{result.name}: loss {first:.4f} -> {last:.4f}")
        apart = difference(trained[0], result)
        if not apart < 1e-4:
            found.append(f"{result.name}: losses differ by {apart:.2g} from "
                         f"{trained[0].name}'s")
    return found


def difference(a, b):
    """Of the first losses, relative."""
    return max(abs(x - y) / max(abs(x), 1e-6)
               for x, y in list(zip(a.losses, b.losses))[:4])
