#!/usr/bin/env python3
"""Compares the Llama family with Hugging Face transformers: training through
pipelines, and directories in both spellings of rotary positions.

usage: llama_test.py CHIMERA_BINARY
"""
import json
import unittest

import torch

import reference
from reference import (LLAMAS, SEQ, TRAIN, VOCAB, gpt2_data, layout, llama,
                       start, train)

LLAMA3 = {"rope_type": "llama3", "rope_theta": 300.0, "factor": 8.0,
          "low_freq_factor": 1.0, "high_freq_factor": 4.0,
          "original_max_position_embeddings": 64}
LINEAR = {"rope_type": "linear", "rope_theta": 500.0, "factor": 2.0}


class Training(reference.Case):
    def test_variants(self):
        for name, model, schedule, options in [
            ("chimera D=4, untied", llama(tied=False),
             layout("chimera", 4, 4), {"clip": 1.0}),
            ("zb-v D=2, llama3 rope", llama(rope_parameters=LLAMA3),
             layout("zb-v", 2, 4, micro_batch=1), {}),
            ("1f1b D=2, width 2, linear rope, decay groups",
             llama(rope_parameters=LINEAR), layout("1f1b", 2, 2, width=2),
             {"decay_all": False, "weight_decay": 1.0}),
            ("mistral, planned D=2", llama("mistral", head_dim=12),
             layout("planned", 2, 4), {}),
            ("qwen2, zb-h1 D=4", llama("qwen2", num_key_value_heads=1),
             layout("zb-h1", 4, 4), {}),
            ("qwen3, chimera D=4, halving, recompute",
             llama("qwen3", tied=False, head_dim=16),
             layout("chimera", 4, 8, scale="halving", recompute=True), {}),
        ]:
            self.compare(name, model, schedule, **options)


def as_version_4(path):
    """Rewrite a config.json as transformers 4 writes it."""
    config = json.loads(path.read_text())
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = rope if rope["rope_type"] != "default" else None
    path.write_text(json.dumps(config))


class Directories(reference.Case):
    def start(self, folder, init, **model):
        gpt2_data(folder / "data.bin", 8)
        return dict(model={"kind": "llama", "init": str(init), "seq": SEQ,
                           **model},
                    schedule=layout("1f1b", 2, 2),
                    # A rate so small that only weights equal to 0 can change.
                    train=TRAIN | {"steps": 1, "lr": 1e-30, "weight_decay": 0},
                    data={"path": str(folder / "data.bin")})

    def test_logits_of_what_is_exported(self):
        ids = torch.arange(2 * SEQ).view(2, SEQ) * 7 % VOCAB
        for version in (4, 5):
            for variant in LLAMAS:
                rope = LINEAR if variant == "mistral" else LLAMA3
                model = llama(variant, rope_parameters=rope, eos_token_id=[5, 9]
                              ).eval()
                folder = self.folder()
                model.save_pretrained(folder / "init")
                if version == 4:
                    as_version_4(folder / "init" / "config.json")
                train(folder, **self.start(folder, folder / "init"))
                again = self.load(type(model), folder / "export").eval()
                self.assertEqual(again.config.eos_token_id, [5, 9])
                with torch.no_grad():
                    difference = (model(ids).logits -
                                  again(ids).logits).abs().max().item()
                print(f"{variant} as of transformers {version}: logits differ "
                      f"by {difference:.1e}")
                self.assertLess(difference, 1e-5)

    def refuse(self, model, code, *words, **keys):
        folder = self.folder()
        model.save_pretrained(folder / "init")
        done = start(folder, **self.start(folder, folder / "init", **keys))
        self.assertEqual(done.returncode, code, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((folder / "run").exists())

    def test_what_is_refused(self):
        self.refuse(llama("mistral", sliding_window=SEQ - 1), 2,
                    f"model.seq = {SEQ}", "sliding window of 15 tokens")
        self.refuse(llama("qwen3", head_dim=16), 2, 'model.variant = "llama"',
                    'which has "qwen3"', "model.head_dim = 8",
                    variant="llama", head_dim=8)
        self.refuse(llama(attention_bias=True), 3, "attention_bias = true")
        self.refuse(llama(rope_parameters={
            "rope_type": "yarn", "rope_theta": 1e4, "factor": 2.0}), 3,
            'rope_type = "yarn"', "default, linear, llama3")


if __name__ == "__main__":
    unittest.main()
