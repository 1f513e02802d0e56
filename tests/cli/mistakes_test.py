#!/usr/bin/env python3
"""Holds what chimera says to wrong inputs against tests/golden/mistakes.txt.

That file lists commands, each with the exit code and the complete message.
CHIMERA_UPDATE_GOLDEN=mistakes writes it anew, for a reader to judge.

usage: mistakes_test.py CHIMERA_BINARY
"""
import concurrent.futures
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

CHIMERA = os.path.abspath(sys.argv[1])
GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "golden/mistakes.txt"

GOOD = """\
[model]
kind = "gpt2"
layers = 2
hidden = 16
heads = 2
vocab = 256
seq = 16
[schedule]
scheme = "chimera"
depth = 2
micros = 2
micro_batch = 1
[train]
steps = 5
lr = 1e-3
[data]
path = "text.txt"
"""


def files():
    """What the commands of the golden find in their directory."""
    changed = lambda old, new: GOOD.replace(old, new)
    return {
        "text.txt": "It was the best of times, it was the worst. " * 40,
        "good.toml": GOOD,
        "empty.toml": "",
        "quotes.toml": changed('"gpt2"', "gpt2"),
        "twice.toml": changed("steps = 5", "steps = 5\nsteps = 6"),
        "open.toml": changed("[train]", "[train"),
        "colon.toml": changed("steps = 5", "steps: 5"),
        "comma.toml": changed("lr = 1e-3", "lr = 0,001"),
        "misspelt.toml": changed("[train]", "[trian]").replace(
            "depth =", "dept ="),
        "another.toml": changed("[train]", "[train]\nmicros = 4").replace(
            "[data]", "[data]\nfile = 3"),
        "types.toml": changed("steps = 5", 'steps = "5"').replace(
            "lr = 1e-3", "lr = true"),
        "range.toml": changed("lr = 1e-3", "lr = -1").replace(
            "layers = 2", "layers = 0"),
        "huge.toml": changed("steps = 5", "steps = 99999999999"),
        "bare.toml": '[model]\npreset = "gpt2-tiny"\n',
        "phases.toml": changed("steps = 5", "steps = 0").replace(
            "text.txt", "nowhere.txt").replace(
                'kind = "gpt2"', 'kind = "gpt2"\ninit = "nowhere"'),
        "nodata.toml": changed("text.txt", "nowhere.txt"),
        "noinit.toml": changed('kind = "gpt2"',
                               'kind = "gpt2"\ninit = "nowhere"'),
        "noconfig.toml": changed('kind = "gpt2"',
                                 'kind = "gpt2"\ninit = "folder"'),
        "heads.toml": changed("heads = 2", "heads = 3"),
        "odd.toml": changed("depth = 2", "depth = 3"),
        "deep.toml": changed("depth = 2", "depth = 8").replace(
            "micros = 2", "micros = 8"),
        "short.toml": changed("seq = 16", "seq = 16384"),
        "warmup.toml": changed("steps = 5", "steps = 5\nwarmup = 9"),
        "broken.sched": "chimera-schedule-1\nscheme 1f1b\ndepth 2\n"
                        "worker 0: 0F0 0X0\n",
        "wrong.sched": "chimera-schedule-1\nscheme 1f1b\ndepth 2\nmicros 1\n"
                       "pipe 0: 0 1\nworker 0: 0B0 0F0\nworker 1: 1F0\n",
        "folder/readme": "",
    }


def prepare(folder):
    for name, text in files().items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    # A run with a checkpoint, to be resumed in wrong ways.
    subprocess.run([CHIMERA, "train", "-c", "good.toml", "--run-dir", "saved",
                    "--set", "run.save_every=3", "--set", "train.steps=4"],
                   cwd=folder, check=True, capture_output=True, timeout=120)


def answer(folder, command):
    """The exit code and all that is printed, on either stream."""
    words = shlex.split(command)
    assert words[0] == "chimera", command
    run = subprocess.run([CHIMERA, *words[1:]], cwd=folder, text=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, timeout=120)
    return f"exit {run.returncode}\n{run.stdout}"


def main():
    golden = GOLDEN.read_text()
    commands = re.findall(r"^\$ (.*)$", golden, re.M)
    assert len(commands) >= 60, len(commands)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prepare(folder)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            answers = list(pool.map(lambda c: answer(folder, c), commands))
    found = "\n".join(f"$ {command}\n{text}"
                      for command, text in zip(commands, answers))
    if os.environ.get("CHIMERA_UPDATE_GOLDEN") == "mistakes":
        GOLDEN.write_text(found)
        return 0
    if found == golden:
        print(f"{len(commands)} mistakes are answered as in {GOLDEN.name}")
        return 0
    import difflib
    sys.stdout.writelines(difflib.unified_diff(
        golden.splitlines(True), found.splitlines(True), "golden", "found"))
    return 1


if __name__ == "__main__":
    sys.exit(main())
