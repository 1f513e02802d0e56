"""Real compute on two cores: the same model, data and optimizer for all."""
import pathlib

import contest
import samples
import weights
from chimera_side import Limit, chimera
from models import Shape
from panel import Bar, Panel
from peer_spec import PEERS, Task
from peers import PeerGroup, best_group

SCHEMES = ["chimera", "chimera-zero"]
DEPTH = 2
MICRO_BATCH = 2


def blocks_of(micros, quick):
    """Steps per block: about three seconds, half of that if quick."""
    return max(1, (4 if quick else 8) // micros)


def set_up(kind, directory):
    shape = Shape(kind=kind)
    directory = pathlib.Path(directory, kind)
    weights.write_directory(shape, directory)
    return shape, str(directory), str(samples.write(shape, directory))


def run(kind, micros, directory, quick, tell):
    shape, init, data = set_up(kind, directory)
    task = Task(DEPTH, micros, MICRO_BATCH, shape, init, data)
    steps = blocks_of(micros, quick)
    panel = Panel(f"{kind.upper()} h{shape.hidden} L{shape.layers}, "
                  f"D={DEPTH}, N={micros}", [],
                  tokens=task.batch * shape.seq)
    contestants = [Limit(task), *(chimera(task, s) for s in SCHEMES)]
    for peer in PEERS:
        if peer.can_run(DEPTH, micros):
            tell(f"starting torch {peer.name}")
            contestants.append(PeerGroup(peer, task) if quick else
                               best_group(peer, task, steps, panel.notes))
    panel.results = contest.race(contestants, 3 if quick else 9, steps, tell)
    for contestant in contestants:
        contestant.close()
    panel.problems = contest.problems(panel.results)
    return panel


def bars(panel, micros):
    name = f"{panel.title}: tokens/s of Chimera over"
    ours = panel.ours
    found = [Bar(f"{name} the limit's", ours.times_faster_than(panel.limit),
                 least=0.92 if micros == 2 else 0.95)]
    if micros != 4:
        best = panel.best_peer
        found.append(Bar(f"{name} the best peer's ({best.name})",
                         ours.times_faster_than(best),
                         least=1.15 if micros == 2 else 1.03))
    if micros == 2:
        found.append(Bar(f"{name} those of torch 1F1B",
                         ours.times_faster_than(panel.named("torch 1F1B")),
                         least=1.4))
    return found
