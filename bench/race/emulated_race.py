"""Emulated compute: waits instead of work, many workers on two cores."""
import contest
from chimera_side import Processes, chimera
from panel import Bar, Panel
from peer_spec import PEERS, Emulated, Task
from peers import PeerGroup, best_group

SCHEMES = ["chimera", "chimera-zero"]
# More chunks per worker and pipe, and shorter actions: faster to fill.
SHAPES = ["chimera-zero vee 2", "planned wave 4"]


def steps_of(task):
    """Steps per block: about a second and a half."""
    ideal = 3 * task.micros * task.model.action_s
    return max(3, min(40, round(1.2 / ideal)))


def run(depth, micros, action_s, quick, tell, alone=False):
    """`alone`: without peers, and as threads only."""
    task = Task(depth, micros, 1, Emulated(action_s, action_s))
    panel = Panel(f"emulated, F = I = W = {1e3 * action_s:g} ms, D={depth}, "
                  f"N={micros}", [])
    contestants = [chimera(task, scheme) for scheme in SCHEMES + SHAPES]
    if not alone:
        contestants += [Processes(task, scheme) for scheme in SCHEMES]
    for peer in [] if alone else PEERS:
        # A model that fits one worker needs no pipeline: no DDP here.
        if peer.schedule and peer.can_run(depth, micros):
            tell(f"starting torch {peer.name}")
            contestants.append(
                PeerGroup(peer, task) if quick else
                best_group(peer, task, steps_of(task), panel.notes))
    panel.results = contest.race(contestants, 3 if quick else 8,
                                 steps_of(task), tell)
    for contestant in contestants:
        contestant.close()
    # The inputs are zeros, and the stages only wait.
    panel.problems = [f"{result.name}: what arrived was not what was sent"
                      for result in panel.peers if any(result.losses)]
    return panel


def bars(panel, depth, micros, action_s):
    found = []
    for result in panel.results:
        has_shape = any(shape in result.name for shape in SHAPES)
        if not result.simulated or depth > 8 or has_shape:
            continue
        processes = "mpirun" in result.name
        if processes and action_s < 0.01:
            continue
        threads_most = 1.02 if action_s >= 0.01 else 1.05
        found.append(Bar(f"{panel.title}: {result.name}, measured over "
                         "simulated", result.median / result.simulated,
                         most=1.05 if processes else threads_most))
    if panel.peers and (depth, micros) == (8, 8) and action_s >= 0.01:
        best, ours = panel.best_peer, panel.ours
        found.append(Bar(f"{panel.title}: {ours.name} over the best peer "
                         f"({best.name})", ours.times_faster_than(best),
                         least=1.3))
    return found
