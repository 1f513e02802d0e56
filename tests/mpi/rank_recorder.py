#!/usr/bin/env python3
"""Runs one rank under mpirun and records how it ended.

usage: rank_recorder.py PREFIX COMMAND...

Writes PREFIX.RANK.pid, .err (stderr, which a cut link would lose) and .code
(exit status, or 128 + signal, as in a shell).

mpirun signals the process group of the process it started, and kills all of it
as soon as one rank has ended: a parent in that group would die before it could
record how its rank ended. The rank's parent therefore has a separate group,
while the rank is in the group that mpirun signals, as if mpirun had started it
directly.
"""
import os
import signal
import sys


def record(group, prefix, command):
    os.setpgid(0, 0)
    rank = os.fork()
    if rank == 0:
        os.setpgid(0, group)
        stderr = os.open(prefix + ".err", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(stderr, 2)
        os.execvp(command[0], command)
    with open(prefix + ".pid", "w") as file:
        file.write(str(rank))
    _, status = os.waitpid(rank, 0)
    code = os.waitstatus_to_exitcode(status)
    code = 128 - code if code < 0 else code
    with open(prefix + ".code", "w") as file:
        file.write(str(code))
    return code


def end_as(code):
    """End this process, the only one mpirun watches, in the same way."""
    if code > 128:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.kill(os.getpid(), code - 128)
    os._exit(code)


def main():
    prefix = f"{sys.argv[1]}.{os.environ['OMPI_COMM_WORLD_RANK']}"
    group = os.getpgid(0)
    recorder = os.fork()
    if recorder == 0:
        os._exit(record(group, prefix, sys.argv[2:]))
    # The rank decides how to handle SIGTERM.
    signal.signal(signal.SIGTERM, lambda *_: None)
    _, status = os.waitpid(recorder, 0)
    end_as(os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    main()
