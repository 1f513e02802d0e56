#!/usr/bin/env python3
"""Builds an example as its reader does: against an installed copy.

example_test.py EXAMPLE BUILD PREFIX [cmake option...]

Configures, builds and runs the example, and compares its output with the
expected output in the comment on top of its main.cc. Numbers with a fraction
may differ: they are measured or learned. If that comment names mpirun, four
processes must leave the same weights, bit for bit.
"""
import json
import pathlib
import re
import shutil
import sys

from commands import run


def expected_output(source):
    comment = source.partition("// Expected output")[2]
    lines = []
    for line in comment.splitlines()[1:]:
        if not line.startswith("//   "):
            break
        lines.append(line[5:])
    return lines


def masked(lines):
    return [re.sub(r"\d*\.\d+(e-?\d+)?", "<number>", line) for line in lines]


def weights_of(run_dir):
    if not any((run_dir / "checkpoints").iterdir()):
        sys.exit(f"{run_dir} has no checkpoint")
    return (run_dir / "weights/model.safetensors").read_bytes()


def main():
    example, build, prefix = (
        pathlib.Path(word).resolve() for word in sys.argv[1:4])
    run("cmake", "-S", example, "-B", build, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", "-DCMAKE_EXPORT_COMPILE_COMMANDS=ON",
        *sys.argv[4:])
    commands = json.loads((build / "compile_commands.json").read_text())
    if any("-Werror" in entry["command"] for entry in commands):
        sys.exit("the package passes on its own warning flags")
    run("cmake", "--build", build)
    # The binary has the name of the folder without its number.
    program = build / example.name.partition("_")[2]
    runs = build / "runs"
    shutil.rmtree(runs, ignore_errors=True)
    found = run(program, runs / "threads").splitlines()
    source = (example / "main.cc").read_text()
    expected = expected_output(source)
    if not expected:
        sys.exit("main.cc states no expected output")
    if masked(found) != masked(expected):
        sys.exit("\n".join(["expected:", *expected, "found:", *found]))
    if "mpirun" in source:
        run("mpirun", "-n", 4, "--oversubscribe", "--bind-to", "none", program,
            runs / "ranks")
        if weights_of(runs / "threads") != weights_of(runs / "ranks"):
            sys.exit("mpirun gives other bits than threads")
    print("\n".join(found))


if __name__ == "__main__":
    main()
