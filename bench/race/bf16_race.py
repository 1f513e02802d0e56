"""Training in bf16: Chimera, its float32, the peers, and the machine's rate."""
import dataclasses
import pathlib

import contest
import samples
import weights
from chimera_side import Limit, Products, chimera
from models import Shape
from panel import Bar, Panel
from peer_spec import BF16_WAYS, PEERS, Task, in_bf16
from peers import PeerGroup

SHAPES = {"gpt2": Shape(), "bert": Shape(kind="bert"),
          "larger gpt2": Shape(layers=12, hidden=768, heads=12, vocab=50257,
                               seq=256)}
LARGER = "larger gpt2"
DEPTH = 2
MICRO_BATCH = 2
# Peers of the larger shape: as many as fit into memory beside Chimera.
LARGER_PEERS = 2
TOLERANCE = 2e-3  # of the first losses, relative


def make_task(name, micros, directory, precision="bf16"):
    """Writes weights and data once for all numbers of micro-batches."""
    shape = SHAPES[name]
    directory = pathlib.Path(directory, name.replace(" ", "-"))
    data = directory / ("tokens.bin" if shape.kind == "gpt2"
                        else "prepared.jsonl")
    if not (directory / "config.json").exists():
        samples.write(shape, directory)
        weights.write_directory(shape, directory)
    return Task(DEPTH, micros, MICRO_BATCH, shape, str(directory), str(data),
                precision=precision)


def faster_ways(task, tell):
    """[(seconds, peer)]: each peer in its faster way, the fastest first."""
    found = []
    for peer in PEERS:
        if not peer.can_run(task.depth, task.micros):
            continue
        peers = [in_bf16(peer, way) for way in BF16_WAYS]
        groups = [PeerGroup(each, task) for each in peers]
        results = contest.race(groups, rounds=2, steps=1)
        for group in groups:
            group.close()
        times = [result.median for result in results]
        tell(f"torch {peer.name}: " + ", ".join(
            f"{way} {1e3 * time:.0f} ms"
            for way, time in zip(BF16_WAYS, times)))
        found.append(min(zip(times, peers), key=lambda entry: entry[0]))
    return sorted(found, key=lambda entry: entry[0])


def contestants_of(name, task, peers):
    ours = [chimera(task, scheme) for scheme in ("chimera", "chimera-zero")]
    # Float32 takes four times as long: of the larger shape, at N = 2 only.
    if name != LARGER or task.micros == 2:
        ours.append(chimera(dataclasses.replace(task, precision="float32"),
                            "chimera", ", float32"))
    # The limit holds the model twice.
    limits = [Products(task)] + ([] if name == LARGER else [Limit(task)])
    return [*limits, *ours, *(PeerGroup(peer, task) for peer in peers)]


def run(name, micros, peers, directory, quick, tell):
    """Race `peers`, in the order of their speed; only the first ones if the
    shape is the larger one."""
    task = make_task(name, micros, directory)
    shape = task.model
    peers = [peer for peer in peers if peer.can_run(DEPTH, micros)]
    if name == LARGER or quick:
        peers = peers[:LARGER_PEERS]
    panel = Panel(f"bf16, {shape.kind.upper()} h{shape.hidden} "
                  f"L{shape.layers}, D={DEPTH}, N={micros}", [],
                  tokens=task.batch * shape.seq)
    contestants = contestants_of(name, task, peers)
    rounds = 2 if name == LARGER else 3 if quick else 5
    steps = 1 if name == LARGER else max(1, 8 // micros)
    panel.results = contest.race(contestants, rounds, steps, tell)
    for contestant in contestants:
        contestant.close()
    panel.problems = contest.problems(panel.results, TOLERANCE)
    return panel


def bars(panel, name, micros):
    ours = panel.ours
    found = []

    def bar(text, other, least):
        found.append(Bar(f"{panel.title}: tokens/s of Chimera over {text}",
                         ours.times_faster_than(other), least=least))

    best = panel.best_peer
    if name == LARGER:
        bar(f"the best peer's ({best.name})", best, 1.1)
    if name == "gpt2" and micros in (2, 8):
        bar("its own in float32", panel.named("Chimera: chimera, float32"),
            1.55 if micros == 2 else 1.65)
        bar(f"the best peer's ({best.name})", best,
            1.15 if micros == 2 else 1.08)
        bar("the rate of bf16 matrix products", panel.named("products"), 0.57)
    return found
