#!/usr/bin/env python3
"""Tests what a newcomer types without having read anything.

usage: first_use_test.py CHIMERA_BINARY
"""
import unittest

from program import ROOT, Base


class FirstUse(Base):
    LAYOUT = ["1f1b", "--depth", 4, "--micros", 4]

    def test_help_for_a_command(self):
        self.assertEqual(self.ok("help", "train"), self.ok("train", "--help"))
        self.assertEqual(self.ok("help"), self.ok("--help"))
        self.assertIn('"trian" is not a command', self.refused(
            "help", "trian")[1])

    def test_nothing_runs_behind_a_word_that_is_not_understood(self):
        for word in ("please", "--fast"):
            codes, text = self.refused(word, "schemes")
            self.assertEqual((codes, "gpipe" in text), (["E401"], False))

    def test_an_unknown_flag_takes_its_value_along(self):
        codes, text = self.refused("schedule", "--dept", 4, *self.LAYOUT)
        self.assertEqual(codes, ["E401"], text)
        self.assertIn("did you mean --depth?", text)

    def test_only_what_is_missing_is_said_to_be_missing(self):
        self.assertEqual(self.refused("schedule", "chimera")[0],
                         ["E402", "E402"])
        self.assertEqual(self.refused("schedule", "chimera", "--micros", 3,
                                      "--scale", "double")[0],
                         ["E402", "E404"])

    def test_the_name_of_the_file_gives_the_format(self):
        for end in ("svg", "json", "sched", "csv"):
            path = self.folder / ("a." + end)
            self.ok("schedule", *self.LAYOUT, "-o", path)
            self.assertEqual(path.read_text(), self.ok(
                "schedule", *self.LAYOUT, "--format", end))
        for end in ("svg", "json"):
            path = self.folder / ("b." + end)
            self.ok("simulate", *self.LAYOUT, "-o", path)
            self.assertEqual(path.read_text(), self.ok(
                "simulate", *self.LAYOUT, "--format", end))
        drawing = self.folder / "c.svg"
        self.ok("schedule", *self.LAYOUT, "--format", "text", "-o", drawing)
        self.assertIn("P0 F0", drawing.read_text())

    def test_a_file_is_drawn_converted_and_checked_from_a_pipe(self):
        path = self.folder / "a.sched"
        self.ok("schedule", *self.LAYOUT, "-o", path)
        self.assertEqual(self.ok("schedule", path),
                         self.ok("schedule", *self.LAYOUT))
        self.assertEqual(self.ok("schedule", path, "--format", "json"),
                         self.ok("schedule", *self.LAYOUT, "--format", "json"))
        self.assertEqual(self.ok("simulate", path),
                         self.ok("simulate", "--schedule", path))
        self.assertEqual(self.ok("check", "-", stdin=path.read_text()),
                         self.ok("check", path))
        self.assertEqual(self.ok("schedule", "-", stdin=path.read_text()),
                         self.ok("schedule", path))
        self.assertEqual(self.refused("schedule", path, "--depth", 4)[0],
                         ["E406"])

    def test_a_run_toml_is_no_schedule(self):
        example = ROOT / "examples/gpt2_tiny.toml"
        for command in (["check"], ["schedule"], ["simulate", "--schedule"]):
            codes, text = self.refused(*command, example)
            self.assertEqual(codes, ["E101"])
            self.assertIn("a run.toml", text)


if __name__ == "__main__":
    unittest.main()
