#!/usr/bin/env python3
"""Nothing is lost in runs that are stopped, damaged, moved and continued.

usage: checkpoint_test.py CHIMERA_BINARY [unittest options]
"""
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest

import runs

runs.Runs.chimera = os.path.abspath(sys.argv.pop(1))


class Resume(runs.Runs):
    def compare(self, *settings, ranks=0, whole=(), norms=20):
        """20 steps equal 10 steps, a stop and 10 more: weights, optimizer
        state, losses, and norms (only of the first steps if updates continue
        after their step's vote)."""
        self.train("whole", "run.save_every=20", *settings, *whole, ranks=ranks)
        self.train("parts", "run.save_every=10", "train.steps=10", *settings,
                   ranks=ranks)
        self.assertEqual(self.steps("parts"), [10])
        said = self.train("parts", "run.save_every=10", *settings, resume=True,
                          ranks=ranks)
        self.assertIn("going on after step 10", said)
        self.assertEqual(self.saved("parts", 20), self.saved("whole", 20))
        self.assertEqual(self.losses("parts")[:norms],
                         self.losses("whole")[:norms])
        self.assertEqual([m[:2] for m in self.losses("parts")],
                         [m[:2] for m in self.losses("whole")])
        self.assertEqual(self.weights("parts"), self.weights("whole"))
        kinds = {kind for kind, *_ in self.saved("parts", 20)}
        self.assertIn("weights", kinds)
        for name in ("whole", "parts"):
            shutil.rmtree(self.folder / name)
        return kinds

    def test_in_threads(self):
        self.assertEqual(self.compare(), {"weights", "exp_avg", "exp_avg_sq"})

    def test_schemes_and_optimizers(self):
        for settings in (["schedule.scheme=1f1b", "train.clip=0"],
                         ["schedule.scheme=planned", "train.clip=0"],
                         ["schedule.width=2", "schedule.depth=2",
                          "schedule.micros=2"],
                         ["schedule.pipes=4"],
                         ["train.optimizer=sgd", "train.momentum=0.9"],
                         ["model.tie_embeddings=false",
                          "schedule.recompute=true"],
                         ["train.shard_update=true"],
                         ["train.precision=bf16", "train.shard_update=true"]):
            with self.subTest(settings):
                self.compare(*settings)

    def test_the_precision_may_change(self):
        """A checkpoint holds float32 weights whatever the precision."""
        self.train("run", "run.save_every=2", "train.steps=2",
                   "train.precision=bf16")
        said = self.train("run", "train.steps=3", resume=True)
        self.assertRegex(said, "note: train.precision = .*float32.* so far had "
                               ".*bf16")
        self.assertEqual(len(self.losses("run")), 3)

    def test_bert(self):
        self.compare('model.kind="bert"')

    def test_asynchronous_schemes_at_the_same_saves(self):
        """Asynchronous runs drain at a save, so the uninterrupted run saves
        there too."""
        for scheme in ("pipedream", "pipedream-2bw"):
            with self.subTest(scheme):
                kinds = self.compare(
                    f"schedule.scheme={scheme}", "train.clip=0",
                    "model.tie_embeddings=false", whole=["run.save_every=10"],
                    norms=10)
                self.assertEqual("previous_weights" in kinds,
                                 scheme == "pipedream-2bw")

    def test_under_mpirun(self):
        self.compare(ranks=4)

    def test_from_threads_to_mpirun_and_back(self):
        self.train("whole", "run.save_every=20")
        self.train("parts", "run.save_every=5", "train.steps=5")
        self.train("parts", "run.save_every=5", "train.steps=10", resume=True,
                   ranks=4)
        self.train("parts", "run.save_every=20", resume=True)
        self.assertEqual(self.saved("parts", 20), self.saved("whole", 20))

    def test_into_other_layouts(self):
        """The state is the same; losses agree up to the rounding of another
        order of sums."""
        self.train("whole", "run.save_every=10")
        for number, settings in enumerate((
                ["schedule.depth=2", "schedule.micros=4"],
                ["schedule.depth=2", "schedule.micros=2", "schedule.width=2"],
                ["schedule.scheme=1f1b"],
                ["schedule.scheme=zb-h1", "schedule.depth=2"],
                ["schedule.cut=[0, 2, 3, 5]", "train.shard_update=true"])):
            with self.subTest(settings):
                name = f"other{number}"
                shutil.copytree(self.folder / "whole", self.folder / name)
                shutil.rmtree(self.path(name, 20))
                self.train(name, *settings, resume=True)
                for mine, theirs in zip(self.losses(name),
                                        self.losses("whole")):
                    self.assertEqual(mine[0], theirs[0])
                    self.assertLess(abs(mine[1] - theirs[1]),
                                    1e-5 * abs(theirs[1]))

    def test_another_mini_batch_goes_on_at_the_next_sample(self):
        self.train("run", "run.save_every=10", "train.steps=10")
        said = self.train("run", "run.save_every=5", "schedule.micros=8",
                          "train.steps=15", resume=True)
        self.assertIn("another size than before: going on at sample 80", said)
        manifest = json.loads(
            (self.path("run", 15) / "manifest.json").read_text())
        self.assertEqual(manifest["samples"], 80 + 5 * 16)

    def test_a_finished_run_can_be_made_longer(self):
        self.train("run", "run.save_every=7", "train.steps=9")
        self.assertEqual(self.steps("run"), [7, 9])
        self.train("run", "run.save_every=7", "train.steps=12", resume=True)
        self.assertEqual(self.state("run"),
                         {"state": "done", "step": 12, "exit": 0})
        self.assertEqual([m[0] for m in self.losses("run")],
                         list(range(1, 13)))
        self.assertEqual(self.steps("run"), [9, 12])

    def test_without_a_checkpoint_it_starts(self):
        said = self.train("run", "train.steps=2", resume=True)
        self.assertIn("starting from the first step", said)

    def test_weights_of_a_run_are_not_overwritten_by_another_start(self):
        self.train("run", "train.steps=3")  # no checkpoint: save_every = 0
        weights, losses = self.weights("run"), self.losses("run")
        for ranks in (0, 4):
            said = self.train("run", "train.steps=5", resume=True, ranks=ranks,
                              code=4)
            self.assertIn("error[E587]", said)
            self.assertIn(f"model.init={self.folder}/run/weights", said)
        self.assertEqual(self.weights("run"), weights)
        self.assertEqual(self.losses("run"), losses)
        self.train("more", "train.steps=2",
                   f"model.init={self.folder}/run/weights")

    def test_checkpoints_that_cannot_be_listed_are_not_none(self):
        self.train("run", "run.save_every=2", "train.steps=2")
        folder = self.folder / "run/checkpoints"
        shutil.rmtree(folder)
        os.symlink("checkpoints", folder)  # a loop that even root cannot follow
        losses = self.losses("run")
        for ranks in (0, 4):
            said = self.train("run", "train.steps=4", resume=True, ranks=ranks,
                              code=8)
            self.assertIn("cannot list checkpoints", said)
        self.assertEqual(self.losses("run"), losses)

    def test_changes_are_noted(self):
        self.train("run", "run.save_every=2", "train.steps=2")
        other = self.folder / "other.txt"
        other.write_text("Call me Ishmael. " * 99)
        said = self.train("run", "run.save_every=1", "train.steps=3",
                          f"data.path={other}", "model.seq=8",
                          "model.positions=16", "model.dropout=0.2",
                          "train.weight_decay=0.5", resume=True)
        for word in ("data.path = .*other.txt.* so far had .*text.txt",
                     "model.seq = 8, .* so far had 16",
                     "dropout = 0.2 .* so far had 0.1",
                     "train.weight_decay = 0.5, .* so far had 0.01"):
            self.assertRegex(said, "note: " + word)
        said = self.train("run", "train.steps=4", f"data.path={other}",
                          "model.seq=8", "model.positions=16",
                          "model.dropout=0.2", resume=True)
        self.assertNotIn("note: data.path", said)

    def test_model_init_is_needed_for_the_first_start_only(self):
        """The checkpoint has the weights and everything needed from
        config.json."""
        def init_with(**values):
            path = self.folder / "first/weights/config.json"
            config = json.loads(path.read_text())
            path.write_text(json.dumps(config | values))
        self.train("first", "train.steps=2")
        init_with(layer_norm_epsilon=1e-3, attn_pdrop=0.3)
        init = self.folder / "init"
        shutil.move(self.folder / "first/weights", init)
        config = self.config.read_text()
        lines = ("layers", "hidden", "heads", "vocab", "dropout")
        self.config.write_text("".join(
            line for line in config.splitlines(keepends=True)
            if not line.startswith(lines)).replace(
                "[model]", f'[model]\ninit = "{init}"'))
        self.train("whole", "train.steps=6")
        for ranks in (0, 4):
            name = f"parts{ranks}"
            self.train(name, "run.save_every=3", "train.steps=3")
            shutil.move(init, self.folder / "away")
            self.train(name, "train.steps=6", resume=True, ranks=ranks)
            shutil.move(self.folder / "away", init)
            self.assertEqual(self.weights(name), self.weights("whole"))
        # A model of the same shape with another epsilon.
        self.config.write_text(config)
        said = self.train("parts0", "train.steps=9", resume=True, code=4)
        self.assertRegex(said, r"error\[E584\].*layer_norm_epsilon = 1e-05 "
                               r"must be 0.001")

    def test_metrics_of_lost_steps_are_dropped(self):
        self.train("run", "run.save_every=4", "train.steps=6")
        shutil.rmtree(self.path("run", 6))
        self.train("run", "run.save_every=4", "train.steps=6", resume=True)
        self.assertEqual([m[0] for m in self.losses("run")],
                         [1, 2, 3, 4, 5, 6])

    def test_it_is_refused_without_a_run(self):
        run = subprocess.run([self.chimera, "train", "-c", self.config,
                              "--resume"], text=True, capture_output=True)
        self.assertEqual(run.returncode, 2)
        self.assertIn("--run-dir", run.stderr)


class AtWork(runs.Runs):
    """Runs that continue until they are told to end."""

    def start_working(self, name, *settings, ranks=0):
        run = self.start(name, "train.steps=100000", *settings, ranks=ranks)
        path = self.folder / name / "metrics.jsonl"
        while not path.exists() or len(path.read_text().splitlines()) < 3:
            self.assertIsNone(run.poll())
            time.sleep(0.02)
        return run


class Locked(AtWork):
    def test_two_runs_never_share_a_directory(self):
        run = self.start_working("run", "run.save_every=5")
        for ranks in (0, 4):
            with self.subTest(ranks=ranks):
                done = len(self.losses("run"))
                said = self.train("run", resume=True, ranks=ranks, code=2)
                self.assertRegex(said, r"error\[E575\] .*/run: another run is "
                                       "using this directory .*hint: ")
                self.assertGreaterEqual(len(self.losses("run")), done)
        self.assertIn("E566", self.train("run", code=2))
        self.assertIsNone(run.poll())  # it has not noticed anything
        run.kill()
        _, stderr = run.communicate(timeout=60)
        self.assertNotIn("warning", stderr)
        last = self.steps("run")[-1]
        said = self.train("run", f"train.steps={last + 1}", resume=True)
        self.assertIn(f"going on after step {last}", said)

    def test_nor_do_those_of_several_processes(self):
        run = self.start_working("run", "schedule.depth=2",
                                 "schedule.micros=2", ranks=2)
        self.assertIn("E575", self.train("run", resume=True, code=2))
        run.send_signal(signal.SIGUSR1)
        _, stderr = run.communicate(timeout=60)
        self.assertIn("saved", stderr)
        step = self.state("run")["step"]
        self.train("run", f"train.steps={step + 1}", resume=True)


class Signals(AtWork):
    def stop(self, name, end, ranks=0, settings=()):
        run = self.start_working(name, *settings, ranks=ranks)
        run.send_signal(end)
        _, stderr = run.communicate(timeout=60)
        return run.returncode, stderr

    def check(self, name, ranks=0):
        """The saved state continues like an undisturbed run."""
        step = self.state(name)["step"]
        self.assertEqual(self.state(name),
                         {"state": "saved", "step": step, "exit": 75})
        self.assertEqual(self.steps(name)[-1], step)
        last = step + 3
        self.train(name, f"train.steps={last}", f"run.save_every={last}",
                   resume=True, ranks=ranks)
        self.train(name + "-whole", f"train.steps={last}",
                   f"run.save_every={last}")
        self.assertEqual(self.saved(name, last),
                         self.saved(name + "-whole", last))

    def test_terminate_and_usr1_save(self):
        for end in (signal.SIGTERM, signal.SIGUSR1):
            with self.subTest(end):
                code, stderr = self.stop(end.name, end)
                self.assertEqual(code, 75, stderr)
                self.check(end.name)

    def test_usr1_under_mpirun(self):
        _, stderr = self.stop("run", signal.SIGUSR1, ranks=4)
        self.assertIn("saved", stderr)
        self.check("run", ranks=4)

    def test_ctrl_c_saves_where_it_is_asked_to(self):
        code, stderr = self.stop("run", signal.SIGINT,
                                 settings=["run.save_every=1000"])
        self.assertEqual(code, 130, stderr)
        self.assertEqual(self.steps("run"), [self.state("run")["step"]])

    def test_a_second_signal_leaves_at_once(self):
        self.config.write_text(
            self.config.read_text().replace("hidden = 16", "hidden = 256")
            .replace("micro_batch = 2", "micro_batch = 64"))
        run = self.start("run", "train.steps=100000")
        path = self.folder / "run" / "metrics.jsonl"
        while not path.exists() or not path.read_text():
            time.sleep(0.02)
        run.send_signal(signal.SIGUSR1)
        time.sleep(0.2)
        run.send_signal(signal.SIGUSR1)
        begin = time.monotonic()
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, -signal.SIGUSR1)
        self.assertLess(time.monotonic() - begin, 5)


class Damage(runs.Runs):
    def setUp(self):
        super().setUp()
        self.train("run", "run.save_every=4", "train.steps=8")

    def test_list_and_verify(self):
        rows = json.loads(self.checkpoint(
            "list", self.folder / "run", "--format", "json").stdout)
        self.assertEqual([row["step"] for row in rows["checkpoints"]], [8, 4])
        text = self.checkpoint("verify", self.folder / "run").stdout
        self.assertEqual(text.count("sound"), 2)
        nowhere = self.checkpoint("list", self.folder / "nowhere", code=4)
        self.assertIn("no directory", nowhere.stderr)

    def parts(self, step):
        return sorted(self.path("run", step).glob("part-*.safetensors"))

    def flip(self, path, at):
        content = bytearray(path.read_bytes())
        content[at] ^= 0x40
        path.write_bytes(content)

    def test_an_older_one_is_taken_and_the_damage_named(self):
        part = self.parts(8)[1]
        self.flip(part, part.stat().st_size - 5)
        run = self.checkpoint("verify", self.folder / "run", code=4)
        self.assertRegex(run.stderr, r"error\[E582\] .*part-0001.*tensor ")
        said = self.train("run", "run.save_every=4", "train.steps=8",
                          resume=True)
        self.assertRegex(said, r"skipped .*step-00000008.*E582")
        self.assertIn("going on after step 4", said)
        self.assertTrue(self.path("run", 8).with_suffix(".damaged").exists())
        self.checkpoint("verify", self.folder / "run")

    def test_every_region(self):
        """Flip bytes at the start, middle and end of each file, and truncate
        it."""
        shutil.rmtree(self.path("run", 4))
        for path in sorted(self.path("run", 8).iterdir()):
            whole = path.read_bytes()
            for where in (0, 9, len(whole) // 3, len(whole) // 2,
                          len(whole) - 2):
                with self.subTest(f"{path.name} at {where}"):
                    self.flip(path, where)
                    run = self.checkpoint("verify", self.folder / "run", code=4)
                    self.assertIn(path.name, run.stderr)
                    if where == 9:
                        self.train("run", resume=True, code=4)
                    path.write_bytes(whole)
            for size in (0, len(whole) // 2, len(whole) - 1):
                with self.subTest(f"{path.name} cut to {size}"):
                    path.write_bytes(whole[:size])
                    self.checkpoint("verify", self.folder / "run", code=4)
                    path.write_bytes(whole)
        self.checkpoint("verify", self.folder / "run")

    def test_swapped_parts(self):
        shutil.rmtree(self.path("run", 4))
        first, second, *_ = self.parts(8)
        contents = first.read_bytes(), second.read_bytes()
        first.write_bytes(contents[1])
        second.write_bytes(contents[0])
        said = self.train("run", resume=True, code=4)
        self.assertIn("part-0000", said)
        self.assertIn("error[E587]", said)

    def test_another_model_or_optimizer(self):
        for code, word, settings in (
                ("E584", "model.hidden = 32", ["model.hidden=32"]),
                ("E584", "model.layers = 5", ["model.layers=5"]),
                ("E584", "model.heads = 4 must be 2", ["model.heads=4"]),
                ("E585", 'train.optimizer = "adam" must be "adamw"',
                 ["train.optimizer=adam"]),
                ("E585", 'train.optimizer = "sgd"', ["train.optimizer=sgd"]),
                ("E585", 'train.optimizer = "sgd"', ["train.optimizer=sgd",
                                                     "train.momentum=0.5"]),
                ("E586", "step 8", ["train.steps=3"])):
            with self.subTest(settings):
                said = self.train("run", *settings, resume=True, code=4)
                self.assertRegex(said, rf"error\[{code}\].*" +
                                 re.escape(word))
        # The checkpoints are unchanged.
        self.assertEqual(self.steps("run"), [4, 8])

    def test_a_rank_says_it_too(self):
        part = self.parts(8)[0]
        self.flip(part, part.stat().st_size - 5)
        said = self.train("run", "run.save_every=4", "train.steps=8",
                          resume=True, ranks=4)
        self.assertRegex(said, r"skipped .*step-00000008.*E582")


class Disk(runs.Runs):
    def test_a_full_disk_keeps_training_and_the_old_checkpoint(self):
        place = self.tmpfs("2m")
        run = self.start("disk/run", "run.save_every=3", "train.steps=400")
        while not list((place / "run/checkpoints").glob("step-*")):
            self.assertIsNone(run.poll(), run.poll() is None or
                              run.communicate()[1])
            time.sleep(0.01)
        ballast = os.open(place / "ballast", os.O_WRONLY | os.O_CREAT)
        with contextlib.suppress(OSError):
            while True:
                os.write(ballast, bytes(4096))
        os.close(ballast)
        _, stderr = run.communicate(timeout=120)
        self.assertEqual(run.returncode, 8, stderr)
        self.assertRegex(stderr, r"warning: no checkpoint of step \d+: .*"
                                 r"No space left.*training goes on")
        os.remove(place / "ballast")
        self.checkpoint("verify", place / "run")

    def test_a_limit_of_file_sizes(self):
        limit = 60_000

        def limited():
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        run = subprocess.run(
            self.command("run", "run.save_every=2", "train.steps=6"),
            text=True, capture_output=True, preexec_fn=limited)
        self.assertEqual(run.returncode, 8, run.stderr)
        self.assertRegex(run.stderr, "warning: no checkpoint of step 2: .*"
                                     "File too large")
        self.assertEqual([m[0] for m in self.losses("run")],
                         [1, 2, 3, 4, 5, 6])

    def test_a_directory_that_becomes_read_only(self):
        place = self.tmpfs("9m")
        (self.folder / "run").mkdir()
        os.symlink(place, self.folder / "run/checkpoints")
        run = self.start("run", "run.save_every=3", "train.steps=200",
                         resume=True)
        while not list(place.glob("step-*")):
            self.assertIsNone(run.poll())
            time.sleep(0.01)
        while subprocess.run(["mount", "-o", "remount,ro", place],
                             capture_output=True).returncode != 0:
            time.sleep(0.001)  # the file is busy while open for writing
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 8, stderr)
        self.assertRegex(stderr, "warning: no checkpoint of step .*Read-only")
        self.checkpoint("verify", self.folder / "run")

    def test_an_old_checkpoint_that_cannot_be_removed(self):
        settings = ["run.save_every=4", "run.keep=1"]
        self.train("run", *settings, "train.steps=4")
        # A mount at the name it would be moved to stops even root.
        self.tmpfs("64k", "run/checkpoints/.step-00000004.removing")
        said = self.train("run", *settings, "train.steps=8", resume=True)
        self.assertRegex(said, r"warning: what a save has left is still there: "
                               r".*busy.*\.step-00000004\.removing")
        self.assertRegex(said, r"saved .*step-00000008")
        self.assertRegex(said, "warning: an old checkpoint is still there: ")
        self.assertEqual(self.steps("run"), [4, 8])
        self.assertEqual(self.state("run"),
                         {"state": "done", "step": 8, "exit": 0})

    def test_a_disk_too_small_is_refused_before_the_first_step(self):
        place = self.tmpfs("64k")
        said = self.train("disk/run", "run.save_every=3", code=8)
        self.assertRegex(said, "MB free, and the weights take .*, each checkpoint")
        self.assertFalse((place / "run/checkpoints").exists())


if __name__ == "__main__":
    unittest.main()
