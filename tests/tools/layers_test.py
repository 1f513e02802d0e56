#!/usr/bin/env python3
"""Checks that tools/check_layers.py finds violations planted in a copy."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Layers(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for name in ("ARCHITECTURE.md", "CMakeLists.txt"):
            shutil.copy(ROOT / name, self.root)
        shutil.copytree(ROOT / "src", self.root / "src")

    def check(self):
        run = subprocess.run(
            [sys.executable, ROOT / "tools/check_layers.py", self.root],
            text=True, capture_output=True)
        self.assertEqual(run.returncode, 1 if run.stderr else 0)
        return run.stderr

    def plant(self, module, include):
        path = self.root / "src/chimera" / module / "planted.cc"
        path.write_text(f"#include {include}\n")

    def test_the_tree_is_clean(self):
        self.assertEqual(self.check(), "")

    def test_torch_in_a_module_above_the_line(self):
        self.plant("data", "<ATen/ATen.h>")
        self.assertEqual(self.check(), "src/chimera/data/planted.cc: "
                                       "ATen/ATen.h is below the line\n")

    def test_an_include_down_the_table(self):
        self.plant("schedule", '"chimera/simulate/simulate.h"')
        self.assertIn("schedule may not include chimera/simulate", self.check())

    def test_a_target_that_links_more_than_the_table_allows(self):
        path = self.root / "CMakeLists.txt"
        path.write_text(path.read_text().replace(
            "chimera_module(trace USES base schedule)",
            "chimera_module(trace USES base schedule comm)"))
        self.assertIn("CMakeLists.txt: trace uses", self.check())


if __name__ == "__main__":
    unittest.main()
