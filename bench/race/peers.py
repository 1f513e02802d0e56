"""A peer in the race: its ranks as processes that stay alive between turns."""
import multiprocessing
import os
import pathlib
import tempfile

from contest import Block, difference, race

# Loads torch once; each rank is forked from that process.
os.environ["PYTHONPATH"] = os.pathsep.join(
    [str(pathlib.Path(__file__).parent),
     *filter(None, [os.environ.get("PYTHONPATH")])])
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["peer_rank"])


class PeerGroup:
    def __init__(self, peer, task, defer_receives=False):
        self.name = f"torch {peer.name}"
        self.defer_receives = defer_receives
        self.directory = tempfile.TemporaryDirectory()
        store = f"{self.directory.name}/store"
        self.pipes, self.processes = [], []
        for rank in range(task.depth):
            ours, theirs = PROCESSES.Pipe()
            process = PROCESSES.Process(
                target=_serve, daemon=True,
                args=(peer, task, rank, store, defer_receives, theirs))
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)
        for pipe in self.pipes:
            self.receive(pipe)

    def receive(self, pipe):
        try:
            return pipe.recv()
        except EOFError as error:
            raise RuntimeError(f"{self.name}: a rank has died") from error

    def ask(self, steps):
        """Run a block of steps; what every rank has to say about it."""
        for pipe in self.pipes:
            pipe.send(steps)
        return [self.receive(pipe) for pipe in self.pipes]

    def run(self, steps):
        ranks = self.ask(steps)
        told = [rank["losses"] for rank in ranks if rank["losses"]]
        return Block(
            seconds=(max(rank["end"] for rank in ranks)
                     - min(rank["start"] for rank in ranks)),
            losses=[sum(of_step) / len(told) for of_step in zip(*told)],
            peak_kib=sum(rank["peak_kib"] for rank in ranks) / len(ranks))

    def close(self):
        for pipe in self.pipes:
            pipe.send(0)
        for process in self.processes:
            process.join(20)
            if process.is_alive():
                process.kill()
        self.directory.cleanup()


def best_group(peer, task, steps, notes):
    """The peer with receives deferred or not (torch's defer_pp_recv, for ranks
    with several stages): the one that is right, and of two the faster."""
    if peer.chunks == 1:
        return PeerGroup(peer, task)
    groups = [PeerGroup(peer, task, defer) for defer in (False, True)]
    plain, deferred = race(groups, rounds=2, steps=steps)
    for group in groups:
        group.close()
    apart = difference(plain, deferred)
    is_right = apart < 1e-4
    defers = is_right and deferred.median < plain.median
    if not is_right:
        notes.append(f"{plain.name}: with defer_pp_recv its losses are others "
                     f"(by {apart:.1g}), so it runs without.")
    elif defers:
        notes.append(f"{plain.name}: with defer_pp_recv, which is faster here.")
    return PeerGroup(peer, task, defers)


def _serve(*arguments):
    import peer_rank
    peer_rank.serve(*arguments)
