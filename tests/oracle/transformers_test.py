#!/usr/bin/env python3
"""Compares training with Hugging Face transformers and torch.optim.

Each case saves a model with random weights, lets chimera train it through some
pipeline, trains the same model here, unsplit and on the same batches, and
compares losses, gradient norms and the exported weights.

usage: transformers_test.py CHIMERA_BINARY
"""
import unittest

import torch

import reference
from reference import (LOSS, SEQ, TRAIN, WEIGHT, bert, bert_data, gpt2,
                       gpt2_data, layout, loss_of, train, train_here)


class Gpt2(reference.Case):
    def test_layouts(self):
        for name, tied, schedule, options in [
            ("chimera D=4", True, layout("chimera", 4, 4), {}),
            ("chimera D=4, untied, clipped", False,
             layout("chimera", 4, 4), {"clip": 1.0}),
            ("chimera D=4, halving, recompute", True,
             layout("chimera", 4, 8, scale="halving", recompute=True), {}),
            ("chimera D=4, 4 pipes, sharded update", True,
             layout("chimera", 4, 4, pipes=4, sync="end"),
             {"shard_update": True, "clip": 1.0}),
            ("1f1b D=2, width 2", True, layout("1f1b", 2, 2, width=2), {}),
            ("zb-h1 D=4, clipped", True, layout("zb-h1", 4, 4),
             {"clip": 1.0}),
            ("dualpipe-v D=2, untied", False,
             layout("dualpipe-v", 2, 4, micro_batch=1), {}),
            ("interleaved D=2, recompute", True,
             layout("interleaved", 2, 4, recompute=True), {}),
        ]:
            self.compare(name, gpt2(tied), schedule, **options)

    def test_stored_in_other_ways(self):
        schedule = layout("1f1b", 2, 2)
        self.compare("in shards", gpt2(), schedule,
                     save={"max_shard_size": "20KB"})
        self.compare("as bfloat16", gpt2().bfloat16(), schedule)


class Bert(reference.Case):
    def test_layouts(self):
        for name, tied, schedule, options in [
            ("chimera D=4", True, layout("chimera", 4, 4), {}),
            ("chimera D=4, untied, clipped", False,
             layout("chimera", 4, 4, micro_batch=1), {"clip": 1.0}),
            ("1f1b D=2, width 2, untied", False,
             layout("1f1b", 2, 2, width=2), {}),
            ("zb-v D=2, recompute", True,
             layout("zb-v", 2, 4, micro_batch=1, recompute=True), {}),
            ("dualpipe D=4", True, layout("dualpipe", 4, 8, micro_batch=1),
             {}),
        ]:
            self.compare(name, bert(tied), schedule, **options)

    def test_padding_id_of_the_directory(self):
        """The embedding of pad_token_id gets no gradient as an input."""
        for pad in (5, None):
            self.compare(f"pad_token_id = {pad}", bert(pad_token_id=pad),
                         layout("1f1b", 2, 2))


class Bf16(reference.Case):
    def test_losses_are_those_under_autocast(self):
        for name, model, schedule in [
            ("chimera D=4", gpt2(), layout("chimera", 4, 4)),
            ("zb-v D=2, recompute", gpt2(False),
             layout("zb-v", 2, 4, recompute=True)),
            ("1f1b D=2, width 2", bert(), layout("1f1b", 2, 2, width=2)),
            ("chimera D=4", reference.llama(), layout("chimera", 4, 4)),
        ]:
            with self.subTest(name):
                losses, _, _ = self.differences(
                    name + ", bf16", model, schedule, {},
                    TRAIN | {"precision": "bf16"})
                self.assertLess(losses, 2e-3)


class Optimizers(reference.Case):
    def test_decay_groups(self):
        schedule = layout("chimera", 4, 4)
        for tied in (True, False):
            for model in (gpt2(tied), bert(tied)):
                self.compare(f"decay_all = false, tied {tied}", model,
                             schedule, decay_all=False, weight_decay=1.0,
                             betas=[0.8, 0.95])

    def test_a_wrong_decay_would_show(self):
        """A weight decay one tenth too small must be detected, although its
        effect is smaller than the learning rate's."""
        *_, weights = self.differences(
            "a wrong decay", gpt2(), layout("1f1b", 2, 2), {}, TRAIN,
            here={"weight_decay": 0.9 * TRAIN["weight_decay"]})
        self.assertGreater(weights, WEIGHT)

    def test_adam_and_sgd(self):
        schedule = layout("1f1b", 2, 4)
        self.compare("adam", bert(), schedule, optimizer="adam")
        self.compare("sgd", gpt2(), schedule, optimizer="sgd", lr=0.05)
        self.compare("sgd with momentum", bert(), schedule, optimizer="sgd",
                     lr=0.02, momentum=0.9)

    def test_rates(self):
        schedule = layout("1f1b", 2, 2)
        for decay in ("linear", "cosine", "constant"):
            self.compare(f"{decay} after warm-up", gpt2(), schedule, steps=8,
                         warmup=3, decay=decay, min_lr=1e-4)


class Evaluation(reference.Case):
    def test_loss_of_an_evaluation_file(self):
        """The mean over the file's whole mini-batches, with the current
        weights."""
        for kind, make, write, end in [("gpt2", gpt2, gpt2_data, ".bin"),
                                       ("bert", bert, bert_data, ".jsonl")]:
            folder, model, options = self.folder(), make(), TRAIN | {"steps": 4}
            model.save_pretrained(folder / "init")
            samples = write(folder / f"train{end}", 16)
            held_out = write(folder / f"eval{end}", 18, seed=7)
            _, evaluations, _ = train(
                folder, model={"kind": kind, "init": str(folder / "init"),
                               "seq": SEQ},
                schedule=layout("chimera", 4, 4),
                train=options | {"eval_every": 2},
                data={"path": str(folder / f"train{end}"),
                      "order": "sequential",
                      "eval_path": str(folder / f"eval{end}")})
            self.assertEqual([e["step"] for e in evaluations], [2, 4])
            found = {e["step"]: e["eval_loss"] for e in evaluations}
            for step, _ in enumerate(train_here(model, samples, 8, options), 1):
                if step not in found:
                    continue
                with torch.no_grad():
                    loss = (loss_of(model, held_out[:8]) +
                            loss_of(model, held_out[8:16])).item() / 2
                difference = abs(found[step] - loss) / max(1, loss)
                print(f"{kind} evaluation after step {step}: difference "
                      f"{difference:.1e}")
                self.assertLess(difference, LOSS)


if __name__ == "__main__":
    unittest.main()
