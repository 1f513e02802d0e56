"""The faults of the soak test: what each does, and what it may cost.

A fault is a function of the world and a rank. It returns a function that puts
the world right again, or None.
"""
import contextlib
import os
import signal
import subprocess
import time

from world import DEADLINE_S, SAVE_EVERY


def send(world, rank, number):
    pid = world.rank_pids().get(rank)
    if pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill(world, rank):
    send(world, rank, signal.SIGKILL)


def stop(world, rank):
    """Silent for longer than the deadline; then its host is back."""
    pid = world.rank_pids().get(rank)
    send(world, rank, signal.SIGSTOP)

    def kill_stopped():
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    return kill_stopped


def pause(world, rank):
    send(world, rank, signal.SIGSTOP)
    time.sleep(DEADLINE_S / 4)
    send(world, rank, signal.SIGCONT)


def slow_rank(world, rank):
    for _ in range(15):
        send(world, rank, signal.SIGSTOP)
        time.sleep(0.08)
        send(world, rank, signal.SIGCONT)
        time.sleep(0.02)


def exception(world, rank):
    send(world, rank, signal.SIGRTMIN)


def no_memory(world, rank):
    send(world, rank, signal.SIGUSR2)


def memory_limit(world, rank):
    """What it has stays; for two seconds nothing more can be mapped."""
    pid = world.rank_pids().get(rank)

    def allow(size):  # the soft limit; not everybody may raise the hard one
        subprocess.run(["prlimit", f"--pid={pid}", f"--as={size}:"],
                       capture_output=True)
    if pid is not None:
        allow(1 << 20)
        time.sleep(2)
        allow("unlimited")


def term(world, rank):
    send(world, rank, signal.SIGTERM)


def usr1(world, rank):
    send(world, rank, signal.SIGUSR1)


def full_disk(world, _):
    ballast = world.disk / "ballast"
    with contextlib.suppress(OSError), open(ballast, "wb", 0) as file:
        while True:
            file.write(bytes(1 << 16))
    time.sleep(1.5)
    ballast.unlink()


def read_only_disk(world, _):
    """mount(8) refuses while files are open for writing, so a disk that turns
    read-only is played by a folder which nobody may write to, root included."""
    folder = world.run_dir / "checkpoints"
    if not folder.exists():
        return
    subprocess.run(["mount", "--bind", folder, folder], check=True)
    subprocess.run(["mount", "-o", "remount,bind,ro", folder], check=True)
    time.sleep(1.5)
    subprocess.run(["umount", "-l", folder], check=True)


def slow_disk(world, _):
    world.delay.write_text("700")
    time.sleep(2)
    world.delay.unlink()


def cut_link(world, _):
    world.network.cut("down")
    return world.network.join


# What a fault may cost: the steps that training may fall back by. A lost rank
# costs no step that was reported; without survivors who can save, those since
# the last checkpoint, one that is under way not counted.
NOTHING = 0
SINCE_CHECKPOINT = 2 * SAVE_EVERY

# name: (fault, phases, most steps lost)
ONE_HOST = {
    "kill": (kill, "start step save commit end", NOTHING),
    "stop": (stop, "start step save commit end", NOTHING),
    "pause": (pause, "start step save commit end", NOTHING),
    "slow rank": (slow_rank, "step save", NOTHING),
    "exception in a layer": (exception, "start step", NOTHING),
    "no memory": (no_memory, "step save", NOTHING),
    "memory limit": (memory_limit, "start step", NOTHING),
    "SIGTERM": (term, "start step save commit end", NOTHING),
    "SIGUSR1": (usr1, "start step save commit end", NOTHING),
    "full disk": (full_disk, "start step save end", SINCE_CHECKPOINT),
    "read-only disk": (read_only_disk, "step save", SINCE_CHECKPOINT),
    "slow disk": (slow_disk, "step save end", NOTHING),
}
TWO_HOSTS = {**ONE_HOST,
             "cut link": (cut_link, "start step save end", SINCE_CHECKPOINT)}
# Phases in which the others save the run if a rank is lost; a script starts it
# again only if state.json says so.
IN_STEPS = ["step", "save", "commit"]
# Two faults at once: the second strikes in the middle of the first, or of the
# recovery from it.
FIRST = ["kill", "stop"]
SECOND = ["kill", "stop", "pause", "SIGTERM", "SIGUSR1", "full disk",
          "slow disk", "exception in a layer"]
