#!/usr/bin/env python3
"""Tests what a newcomer meets when training for the first time.

usage: first_run_test.py CHIMERA_BINARY
"""
import json
import os
import re
import signal
import struct
import subprocess
import unittest

from train_test import CHIMERA, EMULATED, MODEL, REST, Base

HUGE = ["model.vocab=100000000", "model.hidden=2048"]


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


class DryRun(Base):
    def dry(self, *settings, config=None):
        before = sorted(self.folder.rglob("*"))
        sets = [word for pair in settings for word in ("--set", pair)]
        run = self.chimera("train", "-c", config or self.config, "--dry-run",
                           "--run-dir", self.run_dir, *sets)
        self.assertEqual(sorted(self.folder.rglob("*")), before)
        return run

    def test_it_predicts_and_writes_nothing(self):
        run = self.dry("run.save_every=2")
        self.assertEqual(run.returncode, 0, run.stderr)
        for line in (r"chimera: 4 workers as threads, 2 pipes",
                     r"\d+ parameters",
                     r"step +[\d.e-]+ s predicted, bubble [\d.]+ %",
                     r"if all 4 workers share the \d+ cores of this machine",
                     r"\d+ tokens/s, MFU [\d.]+ %", r"time +\d+:\d+ for 5 steps",
                     r"memory +[\d.]+ to [\d.]+ MB", r"disk +[\d.]+ MB: weights "
                     r"[\d.]+, 3 checkpoints of"):
            self.assertRegex(run.stdout, line)
        self.assertIn("nothing was written", run.stderr)

    def test_memory_and_disk_are_those_of_the_run(self):
        text = self.dry().stdout
        self.trained()
        peaks = json.loads((self.run_dir / "memory.json").read_text())
        most = float(re.search(r"to ([\d.]+) MB", text)[1])
        self.assertAlmostEqual(most / (max(peaks["peak_bytes"]) / 1e6), 1,
                               delta=0.05)
        stored = (self.run_dir / "weights/model.safetensors").stat().st_size
        weights = float(re.search(r"weights ([\d.]+)", text)[1])
        self.assertAlmostEqual(weights, stored / 1e6, delta=0.06)

    def test_emulated_steps_take_what_the_simulator_says(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST)
        # Four workers, a forward of 1 ms and a backward of 2: 16 ms.
        run = self.dry(config=config)
        self.assertEqual(run.returncode, 0, run.stderr)
        step = float(re.search(r"step +([\d.]+) s predicted", run.stdout)[1])
        self.assertTrue(0.012 <= step <= 0.016, run.stdout)

    def test_all_mistakes_come_at_once(self):
        self.run_dir.mkdir()
        (self.run_dir / "state.json").write_text("{}")
        run = self.dry("schedule.depth=3", "data.path=nowhere")
        self.assertEqual(re.findall(r"error\[(E\d+)\]", run.stderr),
                         ["E202", "E012", "E566"])
        run = self.chimera("train", "-c", self.config, "--dry-run",
                           "--run-dir", self.text / "run")
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"error[E576] {self.text}/run: the run directory cannot "
                      "be written", run.stderr)

    def test_a_model_too_large_for_the_host_is_told(self):
        run = self.dry(*HUGE)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("not predicted", run.stdout)
        self.assertRegex(run.stderr, r"warning: the run needs about [\d.]+ GB "
                         r"on this host, where [\d.]+ GB are free")


class Calibrate(Base):
    def test_what_does_not_fit_is_refused_before_it_is_tried(self):
        sets = [word for pair in HUGE for word in ("--set", pair)]
        run = self.chimera("calibrate", "-c", self.config, *sets)
        self.assertEqual(run.returncode, 9, run.stderr)
        self.assertRegex(run.stderr, r"error: measuring one layer of each kind "
                         r"takes about \d+\.\d GB")

    def test_a_plan_for_thousands_of_workers_is_measured_here(self):
        planned = self.folder / "planned.toml"
        run = self.chimera("plan", "--model", "gpt2-tiny", "--workers", 2048,
                           "--batch", 2048, "--memory", "1GB", "-o", planned)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("before training, give train.steps, train.lr, data.path "
                      f"in {planned}", run.stderr)
        self.assertIn("#   set steps = 1000 below [train]\n",
                      planned.read_text())
        run = self.chimera("calibrate", "-c", planned, "--micro-batches", 1)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("note: 8 workers are measured here, as threads; the run "
                      "has 2048", run.stderr)


class Screen(Base):
    def test_step_lines_fit_and_their_columns_stay(self):
        run = self.trained("train.steps=12", "train.eval_every=6",
                           f"data.eval_path={self.text}")
        lines = [line for line in run.stderr.splitlines()
                 if line.startswith("step ")]
        self.assertEqual(len(lines), 12)
        for line in lines:
            self.assertRegex(
                line, r"^step [ \d]\d/12  loss +\d+\.\d{4}  +[\d.]+[kM]? tok/s  "
                r"MFU +[\d.]+%  +[\d.]+ m?s  bubble +[\d.]+%$")
            self.assertLessEqual(len(line), 80)
        self.assertEqual(len({tuple(m.start() for m in re.finditer(
            "loss|tok/s|MFU|bubble", line)) for line in lines}), 1)
        for word in ("MFU", "bubble", "loss", "tok/s"):
            self.assertRegex(self.chimera("help", "train").stdout,
                             rf"(?m)^  {word} ")

    def ended_by(self, number, *settings):
        run = subprocess.Popen(
            [CHIMERA, "train", "-c", self.config, "--run-dir", self.run_dir,
             "--set", "train.steps=100000", *settings], text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder)
        for line in run.stderr:
            if line.startswith("step "):
                break
        run.send_signal(number)
        _, said = run.communicate(timeout=60)
        return run.returncode, said

    def test_a_run_that_is_ended_says_how_to_go_on(self):
        code, said = self.ended_by(signal.SIGTERM)
        self.assertEqual(code, 75, said)
        found = re.search(r"ended by a signal after step (\d+) of 100000; to go "
                          r"on after step \1: chimera (train .*)\n", said)
        self.assertTrue(found, said)
        again = self.chimera(*found[2].split(), "--set",
                             f"train.steps={int(found[1]) + 1}")
        self.assertEqual(again.returncode, 0, again.stderr)

    def test_without_a_checkpoint_it_says_so(self):
        code, said = self.ended_by(signal.SIGINT)
        self.assertEqual(code, 130, said)
        self.assertRegex(said, r"ended by Ctrl-C after step \d+ of 100000; there "
                         "is no checkpoint to go on from")


def records(path):
    """The payloads of a file of TensorFlow records, lengths and checksums of
    lengths and payloads left aside."""
    data = path.read_bytes()
    while data:
        length = struct.unpack("<Q", data[:8])[0]
        yield data[12:12 + length]
        data = data[16 + length:]


class Files(Base):
    def test_tensorboard_gets_scalars_and_the_config(self):
        self.trained("run.tensorboard=true")
        files = list((self.run_dir / "tensorboard").iterdir())
        self.assertEqual(len(files), 1)
        self.assertIn("tfevents", files[0].name)
        events = list(records(files[0]))
        # Version, config, five steps.
        self.assertEqual(len(events), 7)
        self.assertIn(b"brain.Event:2", events[0])
        saved = (self.run_dir / "config.toml").read_text()
        shown = "".join(f"    {line}\n" for line in saved.splitlines())
        self.assertIn(shown[:shown.index("[data]")].encode(), events[1])
        for event, line in zip(events[2:], self.metrics()):
            at = event.index(b"train/loss") + len(b"train/loss")
            self.assertEqual(event[at], 0x15)  # field 2, a float
            loss = struct.unpack("<f", event[at + 1:at + 5])[0]
            self.assertAlmostEqual(loss, line["loss"], places=5)

    def timeline(self, *settings, config=None):
        self.trained("run.trace=true", *settings, config=config)
        return (self.run_dir / "timeline.svg").read_text()

    def test_the_timeline_says_what_was_planned_and_what_was_not(self):
        svg = self.timeline()
        self.assertRegex(svg, r"<title>chimera, step 5: planned [\d.e-]+ s, ran "
                         r"[\d.e-]+ s</title>")
        for name in ("plan P0", "run P3", "time (s)"):
            self.assertTrue(name in svg, name)

    def test_the_timeline_of_many_workers_and_copies_is_short(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST.replace("depth = 4", "depth = 20")
                          .replace("micros = 4", "micros = 20"))
        svg = self.timeline("schedule.width=2", "train.steps=1", config=config)
        self.assertRegex(svg, r"the first of 2 copies; 16 of 20 workers</title>")
        names = re.findall(r">(plan|run) P(\d+)<", svg)
        self.assertEqual(len(names), 32)
        self.assertEqual([int(n) for kind, n in names if kind == "run"],
                         [*range(8), *range(12, 20)])

    def test_machine_and_events_are_on_the_page(self):
        self.trained("run.save_every=2")
        machine = json.loads((self.run_dir / "machine.json").read_text())
        self.assertEqual(machine["hosts"][0]["ranks"], [0, 1, 2, 3])
        self.assertEqual(machine["hosts"][0]["cores"],
                         len(os.sched_getaffinity(0)))

        def events():
            text = (self.run_dir / "events.jsonl").read_text()
            return [(event["kind"], event["step"]) for event in
                    map(json.loads, text.splitlines())]
        # The last checkpoint is the end of the run.
        self.assertEqual(events()[:2], [("save", 2), ("save", 4)])
        run = self.chimera("train", "-c", self.run_dir / "config.toml",
                           "--resume", "--set", "train.steps=7")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("resume", [kind for kind, _ in events()])
        page = self.folder / "report.html"
        run = self.chimera("report", self.run_dir, "-o", page)
        self.assertEqual(run.returncode, 0, run.stderr)
        machine = json.loads((self.run_dir / "machine.json").read_text())
        started = machine["started"].replace("T", " ")[:len("2026-11-18 12:00")]
        for text in ("checkpoint in", '"resume"', started + " UTC"):
            self.assertTrue(text in page.read_text(), text)


if __name__ == "__main__":
    unittest.main()
