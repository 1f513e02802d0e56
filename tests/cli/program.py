"""The binary under test, and helpers for its tests."""
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import unittest

CHIMERA = os.path.abspath(sys.argv.pop(1))
# A sanitizer reserves terabytes of address space, so no limit can be set.
LIMITED = not os.environ.get("CHIMERA_SANITIZED")
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def chimera(*args, stdin=None, limit_mb=None):
    def limit():
        size = limit_mb << 20
        resource.setrlimit(resource.RLIMIT_AS, (size, size))

    return subprocess.run([CHIMERA, *map(str, args)], input=stdin, text=True,
                          capture_output=True, timeout=60,
                          preexec_fn=limit if limit_mb and LIMITED else None)


def profile(sizes=(1,), machine=""):
    """A profile.toml whose blocks take one millisecond per sample."""
    times = list(sizes)
    return f"""
[machine]
name = "mine"
{machine}
[link]
latency_us = 1
gb_per_s = 10
[block]
layer = "block"
hidden = 1024
heads = 16
ffn = 4096
seq = 128
micro_batch = {times}
forward_ms = {times}
input_grad_ms = {times}
weight_grad_ms = {times}
"""


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def ok(self, *args, **options):
        run = chimera(*args, **options)
        self.assertEqual((run.returncode, run.stderr), (0, ""), args)
        return run.stdout

    def refused(self, *args, **options):
        """The error codes and the text of a command that is refused with exit
        code 2."""
        run = chimera(*args, **options)
        self.assertEqual(run.returncode, 2, (args, run.stdout, run.stderr))
        self.assertNotIn("internal error", run.stderr)
        text = run.stdout + run.stderr
        return re.findall(r"error\[(E\d+)\]", text), text
