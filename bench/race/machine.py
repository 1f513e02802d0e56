"""Describes the machine and the versions of a measurement."""
import os
import pathlib
import platform
import subprocess

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True,
                              check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def processor():
    for line in open("/proc/cpuinfo"):
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def load():
    return " ".join(f"{number:.1f}" for number in os.getloadavg())


def text():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    commit = output("git", "describe", "--always", "--dirty")
    return (f"{os.cpu_count()} cores ({processor()}), {memory:.0f} GiB, Linux "
            f"{platform.release()}; torch {torch.__version__}, Python "
            f"{platform.python_version()}, "
            f"{output('mpirun', '--version').splitlines()[0]}, "
            f"{output('c++', '--version').splitlines()[0]}; commit {commit}")
