"""Races chimera.torch against torch's pipelines, with the same Python modules.
"""
import contest
import real_race
from chimera_side import chimera
from panel import Bar, Panel
from peer_spec import PEERS, Emulated, Peer, Task
from peers import PeerGroup, best_group
from python_spec import schedule_of

# D=2 has at least two stages per pipe; the last one has more, shorter ones.
REAL = ["chimera", "planned", "planned:vee:2"]
EMULATED = ["chimera", "planned", "planned:vee:2", "planned:wave:4"]
NATIVE = "C++, threads: planned"


class OwnGroup(PeerGroup):
    def __init__(self, scheme, task):
        peer = Peer(scheme, f"chimera:{scheme}")
        super().__init__(peer, task)
        self.name = f"Chimera, Python: {scheme.replace(':', ' ')}"
        self.simulated = 0.0
        if isinstance(task.model, Emulated):
            self.simulated = schedule_of(peer, task).simulate(
                **task.model.times).makespan

    def run(self, steps):
        block = super().run(steps)
        block.simulated = self.simulated * steps
        return block


def _race(panel, task, schemes, steps, quick, tell):
    # The same schedule without Python: Chimera's own model, workers as threads.
    native = chimera(task, "planned")
    native.name = NATIVE
    contestants = [native]
    for scheme in schemes:
        tell(f"starting chimera.torch, {scheme}")
        contestants.append(OwnGroup(scheme, task))
    for peer in PEERS:
        if peer.schedule and peer.can_run(task.depth, task.micros):
            tell(f"starting torch {peer.name}")
            contestants.append(
                PeerGroup(peer, task) if quick else
                best_group(peer, task, steps, panel.notes))
    panel.results = contest.race(contestants, 3 if quick else 8, steps, tell)
    for contestant in contestants:
        contestant.close()
    return panel


def run_real(micros, directory, quick, tell):
    shape, init, data = real_race.set_up("gpt2", directory)
    task = Task(2, micros, real_race.MICRO_BATCH, shape, init, data)
    panel = Panel(f"Python modules, GPT-2 h{shape.hidden} L{shape.layers}, "
                  f"Gloo, D=2, N={micros}", [])
    _race(panel, task, REAL, real_race.blocks_of(micros, quick), quick, tell)
    panel.problems = contest.problems(panel.results)
    return panel


def run_emulated(action_s, weight_s, quick, tell):
    task = Task(4, 4, 1, Emulated(action_s, weight_s))
    panel = Panel(f"Python modules, emulated, F = I = {1e3 * action_s:g} ms, "
                  f"W = {1e3 * weight_s:g} ms, Gloo, D=4, N=4", [])
    return _race(panel, task, EMULATED, 10, quick, tell)


def bars(panel, least):
    best, ours = panel.best_peer, panel.ours
    found = [Bar(f"{panel.title}: {ours.name} over the best peer ({best.name})",
                 ours.times_faster_than(best), least=least)]
    for result in panel.results:
        if result.simulated and result.name != NATIVE:
            found.append(Bar(f"{panel.title}: {result.name}, measured over "
                             "simulated", result.median / result.simulated,
                             most=1.05))
    return found
