"""Contestants that take turns, and the times of their blocks of steps.

A contestant has a name, run(steps) -> Block, and close().
"""
import dataclasses
import statistics


@dataclasses.dataclass
class Block:
    seconds: float
    losses: list = dataclasses.field(default_factory=list)
    peak_kib: float = 0  # of one rank
    simulated: float = 0  # seconds, if known


@dataclasses.dataclass
class Result:
    """The rounds of one contestant, in seconds per step."""
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
        """Half of the rounds are within this distance of the median."""
        return statistics.median(abs(step - self.median)
                                 for step in self.steps) / self.median

    def times_faster_than(self, other):
        """The ratio of rounds compared in pairs, so that a slow moment cancels
        out."""
        return statistics.median(theirs / ours for ours, theirs
                                 in zip(self.steps, other.steps))


def race(contestants, rounds, steps, tell=lambda text: None):
    """Run A B C, A B C, ...: a block of steps of every contestant in each
    round, after one block that is not counted."""
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


def problems(results, tolerance=1e-4):
    """Mistakes in training: contestants with the same weights and data must
    agree from the start, and all losses must fall."""
    found = []
    trained = [result for result in results if result.losses]
    for result in trained:
        quarter = max(1, len(result.losses) // 4)
        first = statistics.mean(result.losses[:quarter])
        last = statistics.mean(result.losses[-quarter:])
        if not last < first:
            found.append(f"{result.name}: loss {first:.4f} -> {last:.4f}")
        apart = difference(trained[0], result)
        if not apart < tolerance:
            found.append(f"{result.name}: losses differ by {apart:.2g} from "
                         f"{trained[0].name}'s")
    return found


def difference(a, b):
    """The relative difference of the first losses."""
    return max(abs(x - y) / max(abs(x), 1e-6)
               for x, y in list(zip(a.losses, b.losses))[:4])
