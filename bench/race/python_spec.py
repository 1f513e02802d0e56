"""The schedule that a contestant of chimera.torch runs."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]
                    / "build/python"))

import chimera
from peer_spec import Emulated


# The latency of a Gloo message between two Python ranks on one machine, which
# planned orders take into account.
MESSAGE_S = 0.2e-3


def schedule_of(peer, task):
    """The schedule of "chimera:SCHEME" or "chimera:SCHEME:SHAPE:CHUNKS"."""
    scheme, *shape = peer.schedule.split(":")[1:]
    spec = {"shape": shape[0], "chunks": int(shape[1])} if shape else {}
    if isinstance(task.model, Emulated):
        spec |= {**task.model.times, "p2p": MESSAGE_S}
    return chimera.schedule(scheme, depth=task.depth, micros=task.micros,
                            **spec)
