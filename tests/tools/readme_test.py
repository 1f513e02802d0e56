#!/usr/bin/env python3
"""README's quickstart runs as printed, in order, in a fresh copy of the tree.

usage: readme_test.py CHIMERA FOLDER [--all]

The copy holds the files that git tracks, as they are in the working tree, and
nothing else. Without --all it borrows the finished build and leaves out the
commands of ./dev; with --all those run too, in an empty build folder.
"""
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def quickstart_commands():
    readme = (ROOT / "README.md").read_text()
    block = re.search(r"<!-- quickstart:[^>]*-->\n```\n(.*?)```", readme, re.S)
    assert block, "README.md has no block marked <!-- quickstart: ... -->"
    return block.group(1).splitlines()


def copy_tree(folder):
    shutil.rmtree(folder, ignore_errors=True)
    files = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True,
                           capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).exists():
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target)


def main():
    chimera, folder = map(pathlib.Path, sys.argv[1:3])
    builds = "--all" in sys.argv
    commands = quickstart_commands()
    ours = [line for line in commands if not line.startswith("./dev")]
    assert len(ours) >= 5 and len(commands) > len(ours), commands
    copy_tree(folder)
    if not builds:
        (folder / "build").symlink_to(chimera.resolve().parent)
    for line in commands if builds else ours:
        print("$", line, flush=True)
        subprocess.run(shlex.split(line), cwd=folder, check=True, timeout=1800,
                       stdin=subprocess.DEVNULL)
    for result in ["runs/report.html", "runs/first-hf/model.safetensors",
                   "runs/second/weights"]:
        assert (folder / result).exists(), f"{result} was not written"
    print(f"{len(commands if builds else ours)} commands of README ran")


if __name__ == "__main__":
    main()
