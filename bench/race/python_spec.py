"""The schedule that a contestant of chimera.torch runs."""
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]
                    / "build/python"))

import chimera


def schedule_of(peer, task):
    """The schedule of "chimera:SCHEME" or "chimera:SCHEME:SHAPE:CHUNKS"."""
    scheme, *shape = peer.schedule.split(":")[1:]
    spec = {"shape": shape[0], "chunks": int(shape[1])} if shape else {}
    return chimera.schedule(scheme, depth=task.depth, micros=task.micros,
                            **spec)
