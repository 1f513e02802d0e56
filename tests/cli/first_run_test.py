#!/usr/bin/env python3
"""Tests what a newcomer meets when training for the first time.

usage: first_run_test.py CHIMERA_BINARY
"""
import unittest

from train_test import MODEL, REST, Base


class Config(Base):
    def test_paths_start_at_the_file_and_are_saved_absolute(self):
        jobs = self.folder / "jobs"
        jobs.mkdir()
        (jobs / "run.toml").write_text(
            MODEL + REST + '[data]\npath = "../text.txt"\n[run]\ndir = "mine"\n')
        run = self.chimera("train", "-c", "jobs/run.toml", "--set",
                           "train.steps=1")
        self.assertEqual((run.returncode, run.stdout), (0, "jobs/mine\n"),
                         run.stderr)
        saved = (jobs / "mine/config.toml").read_text()
        self.assertIn(f'path = "{self.text}"\n', saved)
        self.assertIn(f'dir = "{jobs}/mine"\n', saved)

    def test_what_overrides_change_beside_is_said(self):
        self.config.write_text(self.config.read_text().replace(
            "[train]", "[train]\nwarmup = 5"))
        run = self.trained("train.steps=1", "model.preset=gpt2-tiny")
        self.assertIn("note: train.warmup = 5 is shortened to train.steps = 1",
                      run.stderr)
        self.assertIn("note: --set model.preset=gpt2-tiny replaces model.kind",
                      run.stderr)


if __name__ == "__main__":
    unittest.main()
