#!/usr/bin/env python3
"""Tests training as a script outside the project sees it.

usage: train_test.py CHIMERA_BINARY
"""
import array
import gzip
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import xml.etree.ElementTree

CHIMERA = os.path.abspath(sys.argv.pop(1))

MODEL = """
[model]
kind = "gpt2"
layers = 4
hidden = 16
heads = 2
vocab = 256
seq = 16
"""
REST = """
[schedule]
scheme = "chimera"
depth = 4
micros = 4
micro_batch = 2
[train]
steps = 5
lr = 1e-3
"""
EMULATED = """
[model]
kind = "emulated"
forward_ms = [1]
input_grad_ms = [1]
weight_grad_ms = [1]
"""


def keep_one_token_type(weights):
    """Change the BERT in this directory to type_vocab_size = 1."""
    config = json.loads((weights / "config.json").read_text())
    (weights / "config.json").write_text(
        json.dumps(config | {"type_vocab_size": 1}))
    stored = (weights / "model.safetensors").read_bytes()
    size = int.from_bytes(stored[:8], "little")
    header, numbers = json.loads(stored[8:8 + size]), stored[8 + size:]
    kept = b""
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        values = numbers[slice(*tensor["data_offsets"])]
        if "token_type_embeddings" in name:
            values = values[:len(values) // tensor["shape"][0]]
            tensor["shape"][0] = 1
        tensor["data_offsets"] = [len(kept), len(kept) + len(values)]
        kept += values
    head = json.dumps(header).encode()
    (weights / "model.safetensors").write_bytes(
        len(head).to_bytes(8, "little") + head + kept)


class Base(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.text = self.folder / "text.txt"
        self.text.write_text("It was the best of times, it was the worst. " * 99)
        self.config = self.folder / "run.toml"
        self.config.write_text(
            MODEL + REST + f'[data]\npath = "{self.text}"\n')
        self.run_dir = self.folder / "run"

    def chimera(self, *args):
        return subprocess.run([CHIMERA, *map(str, args)], text=True,
                              capture_output=True, timeout=120,
                              cwd=self.folder)

    def train(self, *settings, config=None):
        sets = [word for pair in settings for word in ("--set", pair)]
        return self.chimera("train", "-c", config or self.config, "--run-dir",
                            self.run_dir, *sets)

    def trained(self, *settings, **options):
        run = self.train(*settings, **options)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stdout, f"{self.run_dir}\n")
        return run

    def metrics(self):
        lines = (self.run_dir / "metrics.jsonl").read_text().splitlines()
        return [json.loads(line) for line in lines]

    def state(self):
        return json.loads((self.run_dir / "state.json").read_text())

    def refused(self, code, *settings, exit_code=2, **options):
        """Refused before anything was written."""
        run = self.train(*settings, **options)
        self.assertEqual(run.returncode, exit_code, run.stderr)
        self.assertIn(f"error[{code}]", run.stderr)
        self.assertNotIn("internal error", run.stderr)
        self.assertFalse(self.run_dir.exists())
        return run.stderr


class Calibrate(Base):
    def test_the_profile_predicts_the_memory_of_a_run(self):
        profile = self.folder / "profile.toml"
        run = self.chimera("calibrate", "-c", self.config, "-o", profile,
                           "--micro-batches", "1,4")
        self.assertEqual((run.returncode, run.stdout), (0, ""), run.stderr)
        self.assertIn("measuring layers at micro-batch 4", run.stderr)
        text = profile.read_text()
        for key in ("cores", "threads", "[link]", "[sum]", "ns_per_parameter",
                    "gpt2-block", "micro_batch = [1, 4]", "spread"):
            self.assertIn(key, text)
        run = self.chimera("simulate", "--model", self.config, "--profile",
                           profile, "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        workers = json.loads(run.stdout)["workers"]
        self.trained()
        measured = json.loads((self.run_dir / "memory.json").read_text())
        for worker, bytes_taken in zip(workers, measured["peak_bytes"]):
            self.assertAlmostEqual(worker["peak_bytes"] / bytes_taken, 1,
                                   delta=0.05)

    def test_only_cores_that_may_be_used_count(self):
        core = min(os.sched_getaffinity(0))

        def on_one_core(*args):
            run = subprocess.run(
                [CHIMERA, *map(str, args)], text=True, capture_output=True,
                cwd=self.folder, timeout=120,
                preexec_fn=lambda: os.sched_setaffinity(0, {core}))
            self.assertEqual(run.returncode, 0, run.stderr)
            return run.stdout
        self.assertRegex(on_one_core("doctor"), r"(?m)^cores +1$")
        profile = on_one_core("calibrate", "-c", self.config,
                              "--micro-batches", 1)
        self.assertRegex(profile, r"(?m)^cores = 1$")

    def test_a_tied_model_that_is_read(self):
        """The model's directory says that the schedule's tied sum is right."""
        self.trained()
        order = self.folder / "tied.sched"
        made = self.chimera("schedule", "1f1b", "--depth", 2, "--micros", 2,
                            "--tied", "--lowered", "--format", "sched", "-o",
                            order)
        self.assertEqual(made.returncode, 0, made.stderr)
        config = self.folder / "tied.toml"
        config.write_text(
            f'[model]\nkind="gpt2"\nseq=16\ninit="{self.run_dir}/weights"\n'
            f'[schedule]\nfile="{order}"\nmicro_batch=1\n')
        run = self.chimera("calibrate", "-c", config, "--micro-batches", "1")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_what_cannot_be_measured(self):
        emulated = self.folder / "emulated.toml"
        emulated.write_text(EMULATED + REST)
        for args, code in ((["-c", emulated], "E605"), ([], "E402"),
                           (["-c", self.config, "--micro-batches", "0"],
                            "E403")):
            run = self.chimera("calibrate", *args)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(f"error[{code}]", run.stderr)


class Train(Base):
    def test_norms_are_those_of_updates_that_wait_for_them(self):
        for settings in ((), ("train.shard_update=true",),
                         ("schedule.scheme=1f1b", "train.optimizer=sgd")):
            norms = []
            for clip in ("0", "1e9"):
                self.run_dir = self.folder / f"run_{len(settings)}_{clip}"
                self.trained(f"train.clip={clip}", *settings)
                norms.append([m["grad_norm"] for m in self.metrics()])
            for free, gated in zip(*norms):
                self.assertGreater(free, 0)
                self.assertAlmostEqual(free / gated, 1, delta=1e-9)

    def test_the_run_directory_is_the_contract(self):
        self.trained("run.trace=true")
        self.assertEqual(sorted(os.listdir(self.run_dir)), [
            ".lock", "config.toml", "machine.json", "memory.json", "metrics.jsonl",
            "schedule.sched", "state.json", "timeline.svg", "trace.json",
            "weights"])
        metrics = self.metrics()
        self.assertEqual([m["step"] for m in metrics], [1, 2, 3, 4, 5])
        for m in metrics:
            self.assertEqual(set(m), {
                "step", "loss", "grad_norm", "lr", "tokens", "tokens_per_s",
                "step_s", "bubble", "mfu"})
            self.assertEqual((m["tokens"], m["lr"]), (128, 1e-3))
            self.assertAlmostEqual(m["tokens_per_s"], 128 / m["step_s"],
                                   delta=1e-3 * m["tokens_per_s"])
            self.assertTrue(0 <= m["bubble"] < 1)
            self.assertTrue(0 < m["mfu"] < 1)
        self.assertLess(metrics[-1]["loss"], metrics[0]["loss"])
        self.assertEqual(self.state(), {"state": "done", "step": 5, "exit": 0})
        trace = json.loads((self.run_dir / "trace.json").read_text())
        self.assertTrue(any(e.get("name", "").startswith("F") for e in trace))
        xml.etree.ElementTree.parse(self.run_dir / "timeline.svg")

    def test_the_saved_config_gives_the_same_run(self):
        self.trained("model.dropout=0.1", "train.clip=1.0")
        first = [(m["loss"], m["grad_norm"]) for m in self.metrics()]
        saved = self.folder / "saved.toml"
        saved.write_text((self.run_dir / "config.toml").read_text())
        for settled in ("pipes = 2", "chunks = 1", 'shape = "linear"'):
            self.assertIn(settled, saved.read_text())
        self.run_dir = self.folder / "again"
        self.trained(config=saved)
        self.assertEqual(first, [(m["loss"], m["grad_norm"])
                                 for m in self.metrics()])

    def test_a_run_is_never_overwritten(self):
        self.trained()
        before = self.metrics()
        run = self.train()
        self.assertEqual(run.returncode, 2)
        self.assertIn("error[E566]", run.stderr)
        self.assertEqual(self.metrics(), before)

    def test_evaluation_stands_beside_its_step(self):
        self.trained(f'data.eval_path="{self.text}"', "train.eval_every=2")
        self.assertEqual([m["step"] for m in self.metrics() if "eval_loss" in m],
                         [2, 4, 5])

    def test_eval_reads_data_as_the_run_did(self):
        """Documents stay apart, and raw ids keep their type."""
        texts = self.folder / "texts.jsonl"
        texts.write_text("".join(
            json.dumps({"text": f"{i:02} is {'even' if i % 2 == 0 else 'odd.'}"})
            + "\n" for i in range(64)))
        ids = self.folder / "ids.bin"
        ids.write_bytes(array.array("I", [i % 250 for i in range(16 * 64 + 1)])
                        .tobytes())
        for number, (path, key) in enumerate([
                (texts, 'data.pack="documents"'),
                (ids, 'data.token_type="uint32"')]):
            self.run_dir = self.folder / f"run{number}"
            self.trained(f'data.path="{path}"', f'data.eval_path="{path}"', key,
                         "train.eval_every=5")
            run = self.chimera("eval", self.run_dir, "--data", path, "--format",
                               "json")
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertAlmostEqual(json.loads(run.stdout)["loss"],
                                   self.metrics()[-1]["eval_loss"], places=5)

    def test_emulated_stages_take_their_time(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST.replace("lr = 1e-3", ""))
        self.trained("run.trace=true", config=config)
        self.assertEqual(len(self.metrics()), 5)
        self.assertFalse((self.run_dir / "weights").exists())

    def test_a_cpu_without_bf16_products_is_told_of(self):
        # oneDNN's name for the limit, and its older one.
        for name, value in (("ONEDNN_MAX_CPU_ISA", "AVX512_CORE"),
                            ("DNNL_MAX_CPU_ISA", "avx2")):
            with unittest.mock.patch.dict(os.environ, {name: value}):
                run = self.trained("train.precision=bf16")
                shutil.rmtree(self.run_dir)
                self.assertIn("no instructions for bf16",
                              run.stderr.splitlines()[0])
                self.assertIn("no instructions for bf16",
                              self.chimera("doctor").stdout)

    def test_export_copies_the_weights(self):
        self.trained()
        out = self.folder / "hf"
        run = self.chimera("export", self.run_dir, "-o", out)
        self.assertEqual((run.returncode, run.stdout), (0, f"{out}\n"))
        for name in ("config.json", "model.safetensors"):
            self.assertEqual((out / name).read_bytes(),
                             (self.run_dir / "weights" / name).read_bytes())
        again = self.chimera("export", self.run_dir, "-o", out)
        self.assertEqual(again.returncode, 3)
        self.assertIn("error[E543]", again.stderr)

    def test_text_of_a_model_of_ids_needs_its_tokenizer(self):
        """A vocabulary as small as that of bytes must not be read as bytes."""
        ids = self.folder / "ids.bin"
        ids.write_bytes(array.array("H", [1 + i % 200 for i in range(2000)])
                        .tobytes())
        self.trained(f'data.path="{ids}"')
        flags = ["sample", self.run_dir, "--prompt", "x", "--tokens", "3"]
        run = self.chimera(*flags)
        self.assertEqual(run.returncode, 2, run.stdout)
        self.assertIn("error[E413]", run.stderr)
        self.assertIn("ids.bin", run.stderr)
        run = self.chimera(*flags, "--tokenizer", "bytes", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_a_path_that_cannot_be_exported(self):
        for run_dir in (self.folder / "nothing", self.folder / ("x" * 300)):
            run = self.chimera("export", run_dir, "-o", self.folder / "hf")
            self.assertEqual(run.returncode, 3, run.stderr)
            self.assertIn("error[E528]", run.stderr)

    def test_an_exported_model_trains_on(self):
        self.trained()
        weights = self.run_dir / "weights"
        last = self.metrics()[-1]["loss"]
        config = self.folder / "more.toml"
        config.write_text(f'[model]\nkind="gpt2"\nseq=16\ninit="{weights}"\n' +
                          REST + f'[data]\npath="{self.text}"\n')
        self.run_dir = self.folder / "more"
        self.trained(config=config)
        self.assertLess(self.metrics()[0]["loss"], last + 0.5)


    def test_dropout_of_a_directory_is_taken_over(self):
        self.trained()
        config = self.folder / "more.toml"
        weights = self.run_dir / "weights"
        config.write_text(f'[model]\nkind="gpt2"\nseq=16\ninit="{weights}"\n' +
                          REST + f'[data]\npath="{self.text}"\n')
        rates = {"embd_pdrop": 0.1, "resid_pdrop": 0.2, "attn_pdrop": 0.3}
        start = json.loads((weights / "config.json").read_text())
        losses = {}
        for name, values, settings in [
                ("none", {}, []), ("embd", {"embd_pdrop": 0.1}, []),
                ("all", rates, []), ("given", rates, ["model.dropout=0.0"])]:
            (weights / "config.json").write_text(json.dumps(start | values))
            self.run_dir = self.folder / name
            self.trained(*settings, config=config)
            losses[name] = self.metrics()[0]["loss"]
            written = json.loads(
                (self.run_dir / "weights/config.json").read_text())
            for key in rates:
                wanted = 0 if settings else values.get(key, 0)
                self.assertEqual(written[key], wanted, (name, key))
        self.assertEqual(losses["given"], losses["none"])
        self.assertEqual(len(set(losses.values())), 3, losses)


class Stops(Base):
    def test_ctrl_c_ends_after_the_step(self):
        run = subprocess.Popen(
            [CHIMERA, "train", "-c", self.config, "--run-dir", self.run_dir,
             "--set", "train.steps=100000"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.run_dir / "metrics.jsonl").exists() or not self.metrics():
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, stderr)
        self.assertIn("ending after this step", stderr)
        state = self.state()
        self.assertEqual((state["state"], state["exit"]),
                         ("interrupted", 130))
        self.assertEqual(len(self.metrics()), state["step"])
        self.assertTrue((self.run_dir / "weights").exists())

    def test_a_stop_waits_for_an_evaluation_but_begins_none(self):
        run = subprocess.Popen(
            [CHIMERA, "train", "-c", self.config, "--run-dir", self.run_dir,
             "--set", "train.steps=100000", "--set", "train.eval_every=1",
             "--set", f'data.eval_path="{self.text}"'],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while not (self.run_dir / "metrics.jsonl").exists() or not self.metrics():
            time.sleep(0.05)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)
        *before, last = self.metrics()
        for m in before:
            self.assertLess(abs(m["eval_loss"] - m["loss"]), 1)
        self.assertNotIn("eval_loss", last)

    @unittest.skipIf(os.environ.get("CHIMERA_SANITIZED"),
                     "AddressSanitizer ends a program that asks for too much")
    def test_failures_are_in_the_state(self):
        config = self.folder / "large.toml"
        config.write_text(EMULATED + REST.replace("lr = 1e-3", ""))
        run = self.train("model.boundary_bytes=100000000000000", config=config)
        self.assertEqual(run.returncode, 9, run.stderr)
        self.assertEqual(self.state(), {"state": "failed", "step": 0, "exit": 9})

    def test_not_a_number_names_step_stage_and_micro_batch(self):
        for gate in ("train.clip=0", "train.clip=1"):
            self.run_dir = self.folder / gate
            run = self.train("train.lr=1e30", gate, "train.steps=9",
                             "train.optimizer=sgd")
            self.assertEqual(run.returncode, 7, run.stderr)
            self.assertRegex(run.stderr, r"step \d+: stage \d+, micro-batch \d+")
            self.assertEqual(self.state()["state"], "failed")
            self.assertFalse((self.run_dir / "weights").exists())

    def test_a_skipped_update_leaves_the_weights(self):
        run = self.trained("train.lr=1e30", "train.optimizer=sgd",
                           "train.on_nan=skip")
        self.assertIn("update skipped", run.stderr)
        metrics = self.metrics()
        self.assertTrue(all(m["loss"] is None for m in metrics[1:]))
        self.assertTrue(metrics[-1]["skipped"])

    def test_a_missed_deadline_ends_the_run(self):
        config = self.folder / "slow.toml"
        config.write_text(EMULATED.replace("[1]", "[3000]") +
                          REST.replace("lr = 1e-3", ""))
        run = self.train("run.timeout_s=0.5", config=config)
        self.assertEqual(run.returncode, 6, run.stderr)
        self.assertRegex(run.stderr, r"worker \d.*waited in vain for .* from "
                                     r"worker \d.*whose last action was")
        self.assertEqual(self.state(), {"state": "failed", "step": 0, "exit": 6})

    def test_a_full_disk_ends_the_run(self):
        run = self.chimera("train", "-c", self.config, "--run-dir",
                           "/proc/chimera")
        self.assertEqual(run.returncode, 8, run.stderr)


class Refuses(Base):
    def data(self, name, content):
        path = self.folder / name
        path.write_bytes(content)
        return f'data.path="{path}"'

    def test_data(self):
        for code, setting in [
                ("E501", 'data.path="/nowhere"'),
                ("E502", self.data("empty.txt", b"")),
                ("E502", self.data("empty.bin", b"")),
                ("E503", self.data("odd.bin", b"abc")),
                ("E504", self.data("short.txt", b"ab")),
                ("E505", self.data("ids.bin", b"\xff\xff" * 99)),
                ("E701", "data.tokenizer=/nowhere"),
                ("E514", self.data("x.npy.bin", b"\x93NUMPY\x01" * 99)),
                ("E514", self.data("x.txt", gzip.compress(b"text"))),
                ("E514", self.data("table.bin", b"PAR1" * 99)),
                ("E514", self.data("model.bin", b"\x40" + bytes(7) +
                                   b'{"a":' + b" " * 99)),
                ("E515", self.data("int32.bin",
                                   array.array("i", range(99)).tobytes())),
                ("E515", self.data("int64.bin",
                                   array.array("q", range(99)).tobytes())),
                ("E507", self.data("bad.jsonl", b"{\n")),
                ("E528", f'model.init="{self.folder}"')]:
            with self.subTest(code):
                if "init" in setting:
                    bare = self.folder / "bare.toml"
                    bare.write_text('[model]\nkind="gpt2"\n' + REST +
                                    f'[data]\npath="{self.text}"\n')
                    self.refused(code, setting, exit_code=3, config=bare)
                else:
                    self.refused(code, setting, exit_code=3)

    def test_vocabulary_and_length(self):
        self.assertIn("id 73", self.refused("E505", "model.vocab=50",
                                            exit_code=3))
        self.refused("E022", "model.positions=8")

    def test_pairs_for_a_bert_of_one_token_type(self):
        self.trained("model.kind=bert")
        weights = self.run_dir / "weights"
        keep_one_token_type(weights)
        config = self.folder / "one_type.toml"
        config.write_text(f'[model]\nkind="bert"\nseq=16\ninit="{weights}"\n' +
                          REST + f'[data]\npath="{self.text}"\n')
        self.run_dir = self.folder / "one_type"
        text = self.refused("E512", exit_code=3, config=config)
        self.assertIn("type_vocab_size = 1", text)
        line = {"input_ids": [7] * 16, "token_type_ids": [0] * 16,
                "labels": [7] * 16, "next_sentence_label": 0}
        prepared = self.data("one.jsonl", json.dumps(line).encode())
        self.trained(prepared, config=config)

    def test_layouts(self):
        self.refused("E023", "schedule.scale=halving", "schedule.micro_batch=3")
        self.refused("E202", "schedule.depth=3")
        self.refused("E550", "schedule.depth=8", "schedule.micros=8")
        self.refused("E551", "schedule.cut=[0, 1]")
        self.refused("E561", "schedule.scheme=pipedream", "train.clip=1")
        self.refused("E571", "run.transport=mpi")
        self.refused("E569", "train.eval_every=1")
        self.refused("E008", "train.threads=5000")

    def test_all_mistakes_come_at_once(self):
        text = self.refused("E202", "schedule.depth=3", "model.init=/nowhere")
        self.assertIn("error[E528]", text)


class Verify(Base):
    def test_equal_is_0_and_the_worst_tensor_is_named(self):
        for dtype in ("float32", "float64"):
            run = self.chimera("verify", "-c", self.config, "--dtype", dtype,
                               "--steps", 2)
            self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
            self.assertIn("worst tensor transformer.", run.stdout)
            self.assertEqual(len(re.findall("^step", run.stdout, re.M)), 2)

    def test_bf16_is_verified_in_bf16(self):
        for threads in (1, 2):
            run = self.chimera("verify", "-c", self.config, "--set",
                               "train.precision=bf16", "--set",
                               f"train.threads={threads}")
            self.assertEqual(run.returncode, 0, run.stderr + run.stdout)

    def test_asynchronous_schemes_are_as_stale_as_they_say(self):
        for scheme in ("pipedream", "pipedream-2bw"):
            run = self.chimera("verify", "-c", self.config, "--set",
                               f"schedule.scheme={scheme}", "--set",
                               "model.tie_embeddings=false")
            self.assertEqual(run.returncode, 0, run.stderr + run.stdout)
            self.assertIn("weights of the past", run.stdout)

    def test_what_is_not_a_number_is_not_equal(self):
        run = self.chimera("verify", "-c", self.config, "--steps", 5, "--set",
                           "train.lr=1e38", "--set", "train.optimizer=sgd")
        self.assertEqual(run.returncode, 1, run.stderr + run.stdout)

    def test_nothing_to_verify(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST.replace("lr = 1e-3", ""))
        run = self.chimera("verify", "-c", config)
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("error[E567]", run.stderr)


class Schedules(Base):
    def test_a_schedule_file_runs(self):
        for extra in ([], ["--lowered"]):
            path = self.folder / f"a{len(extra)}.sched"
            made = self.chimera("schedule", "zb-h1", "--depth", 2, "--micros", 4,
                                "--format", "sched", "-o", path, *extra)
            self.assertEqual(made.returncode, 0, made.stderr)
            self.run_dir = self.folder / path.name.replace(".", "")
            config = self.folder / "file.toml"
            rest = REST.replace("depth = 4\nmicros = 4\n", "")
            config.write_text(MODEL.replace("[model]",
                                            "[model]\ntie_embeddings=false") +
                              rest + f'[data]\npath="{self.text}"\n')
            run = self.trained(f'schedule.file="{path}"', config=config)
            self.assertIn("zb-h1: 2 workers", run.stderr)

    def lowered(self, *flags):
        path = self.folder / "lowered.sched"
        made = self.chimera("schedule", "1f1b", "--depth", 4, "--micros", 4,
                            "--lowered", "--format", "sched", "-o", path,
                            *flags)
        self.assertEqual(made.returncode, 0, made.stderr)
        return f'schedule.file="{path}"'

    def test_a_lowered_file_must_do_what_is_asked(self):
        untied = "model.tie_embeddings=false"
        plain = self.lowered()
        self.refused("E570", plain)  # the model is tied
        self.refused("E570", plain, untied, "train.clip=1")
        self.refused("E570", plain, untied, "train.on_nan=skip")
        self.refused("E570", plain, untied, "schedule.recompute=true")
        self.refused("E560", plain, untied, "schedule.pipes=2")
        self.refused("E570", self.lowered("--tied"), untied)
        # Updates wait for the vote exactly if train.vote says so.
        for vote, other in [("wait", "late"), ("late", "wait")]:
            self.run_dir = self.folder / vote
            self.trained("train.clip=1", f"train.vote={vote}")
            ran = f'schedule.file="{self.run_dir / "schedule.sched"}"'
            self.run_dir = self.folder / "refused"
            self.refused("E570", ran, "train.clip=1", f"train.vote={other}")

    def test_planned_again_and_repeated(self):
        planned = ["schedule.scheme=planned", "schedule.replan_after=3",
                   "schedule.micros=6"]
        run = self.trained(*planned)
        self.assertRegex(run.stderr, "planned again after step 3: .* in the "
                                     "old order, .* in the new")
        weights = (self.run_dir / "weights/model.safetensors").read_bytes()
        order = self.run_dir / "replanned.sched"
        self.assertIn("ok: ", self.chimera("check", order).stdout)
        self.run_dir = self.folder / "again"
        run = self.trained(*planned, f'schedule.file="{order}"')
        self.assertIn("went over to schedule.file after step 3", run.stderr)
        self.assertEqual(weights, (
            self.run_dir / "weights/model.safetensors").read_bytes())

    def test_what_cannot_be_planned_again(self):
        # Chimera's order is fixed.
        self.refused("E574", "schedule.replan_after=2")
        path = self.folder / "other.sched"
        made = self.chimera("schedule", "1f1b", "--depth", 4, "--micros", 4,
                            "--format", "sched", "-o", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        other = ["schedule.replan_after=2", f'schedule.file="{path}"',
                 "schedule.scheme=planned", "model.tie_embeddings=false"]
        self.refused("E574", *other)
        made = self.chimera("schedule", "pipedream", "--depth", 4, "--micros", 4,
                            "--format", "sched", "-o", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        text = self.refused("E574", *other, "schedule.pipes=1")
        self.assertIn("asynchronous", text)

    def schedule_file(self, *flags):
        path = self.folder / "later.sched"
        made = self.chimera("schedule", *flags, "--depth", 4, "--micros", 8,
                            "--format", "sched", "-o", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        return path

    def test_a_later_order_does_the_same_work(self):
        """Which backwards are split is decided before the first step."""
        path = self.folder / "later.sched"
        planned = ["schedule.replan_after=2", f'schedule.file="{path}"',
                   "schedule.scheme=planned", "schedule.micros=8",
                   "model.tie_embeddings=false"]
        for flags, pipes, found in (
                (["1f1b"], 1, "the work of worker 0"),
                (["chimera", "--scale", "halving"], 2, "parts = 2")):
            self.schedule_file(*flags)
            text = self.refused("E574", *planned, f"schedule.pipes={pipes}")
            self.assertIn(f"later.sched: {found} must be as in the order "
                          "before it", text)

    def test_a_later_order_votes_as_the_first_one(self):
        path = self.schedule_file("planned", "--pipes", 1, "--lowered")
        planned = ["schedule.replan_after=2", f'schedule.file="{path}"',
                   "schedule.scheme=planned", "schedule.micros=8",
                   "schedule.pipes=1", "model.tie_embeddings=false"]
        self.trained(*planned)
        self.run_dir = self.folder / "voting"
        text = path.read_text()
        path.write_text(re.sub(r"((?: \d+U\S*)+) N\b", r" N\1", text))
        self.assertNotEqual(path.read_text(), text)
        text = self.refused("E574", *planned)
        self.assertIn("the vote of worker 0 must stand on the same side of its "
                      "updates", text)

    def test_more_workers_than_can_be_counted(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST.replace("lr = 1e-3", ""))
        text = self.refused("E209", "schedule.scheme=1f1b", "schedule.micros=1",
                            "schedule.depth=65536", "schedule.width=65536",
                            config=config)
        self.assertIn("depth x width = 65536 x 65536 is too large", text)

    def test_planning_may_take_longer_than_the_deadline(self):
        config = self.folder / "emulated.toml"
        config.write_text(EMULATED + REST.replace("lr = 1e-3", ""))
        run = self.trained("schedule.scheme=planned", "schedule.depth=16",
                           "schedule.micros=33", "schedule.replan_after=2",
                           "run.timeout_s=1", config=config)
        self.assertIn("planned again after step 2", run.stderr)

    def test_the_saved_config_says_what_ran(self):
        self.trained(self.lowered("--width", 2), "model.tie_embeddings=false")
        saved = (self.run_dir / "config.toml").read_text()
        for line in ('scheme = "1f1b"', "width = 2", "threads = ", "cut = [0,"):
            self.assertIn(line, saved)


if __name__ == "__main__":
    unittest.main()
