#!/usr/bin/env python3
"""Compares `chimera sample` and `chimera eval` with transformers.

usage: sample_test.py CHIMERA_BINARY
"""
import json
import math
import pathlib
import subprocess
import unittest

import numpy
import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import (AutoModelForCausalLM, AutoTokenizer, GPT2Config,
                          GPT2LMHeadModel, PreTrainedTokenizerFast)

import reference
from reference import LOSS, SEQ, bert, llama, randomized, run_chimera

TOKENS = 64


def gpt2(**more):
    torch.manual_seed(6)
    return randomized(GPT2LMHeadModel(GPT2Config(
        n_layer=3, n_embd=32, n_head=4, n_positions=128, bos_token_id=None,
        eos_token_id=None, **{"vocab_size": 256} | more))).eval()


def small_llama(variant, **more):
    return llama(variant, max_position_embeddings=128, **{
        "vocab_size": 256, "eos_token_id": None} | more).eval()


def sample(*arguments):
    done = run_chimera("sample", *arguments, "--format", "json")
    if done.returncode != 0:
        raise AssertionError(f"exit {done.returncode}: {done.stderr}")
    return json.loads(done.stdout)


def tokenizer(folder):
    """A byte-level BPE of a few hundred tokens, saved into `folder`."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    text = pathlib.Path(__file__).read_text()
    bpe.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<|endoftext|>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    fast = PreTrainedTokenizerFast(tokenizer_object=bpe,
                                   eos_token="<|endoftext|>")
    fast.save_pretrained(folder)
    return fast


class Sample(reference.Case):
    def greedy(self, model, ids):
        with torch.no_grad():
            out = model.generate(torch.tensor([ids]), do_sample=False,
                                 max_new_tokens=TOKENS, pad_token_id=0)
        return out[0, len(ids):].tolist()

    def test_greedy_tokens_are_those_of_generate(self):
        prompt = "Once upon a time"
        for name, model in [("gpt2", gpt2()),
                            ("llama", small_llama("llama")),
                            ("qwen3", small_llama("qwen3", head_dim=16)),
                            ("qwen2", small_llama("qwen2", tied=False))]:
            with self.subTest(name):
                folder = self.folder()
                model.save_pretrained(folder)
                found = sample(folder, "--prompt", prompt, "--tokens", TOKENS,
                               "--temperature", 0)
                ids = list(prompt.encode())
                self.assertEqual(found["prompt_tokens"], ids)
                self.assertEqual(found["tokens"], self.greedy(model, ids))
                self.assertEqual(len(found["tokens"]), TOKENS)
                print(f"{name}: {len(set(found['tokens']))} different tokens")

    def test_tokenizer_of_the_directory(self):
        folder = self.folder()
        words = tokenizer(folder)
        model = small_llama("llama", vocab_size=len(words))
        model.save_pretrained(folder)
        prompt = "def greedy(self, model):"
        ids = words(prompt)["input_ids"]
        tokens = self.greedy(model, ids)
        found = sample(folder, "--prompt", prompt, "--tokens", TOKENS,
                       "--temperature", 0)
        self.assertEqual(found["prompt_tokens"], ids)
        self.assertEqual(found["tokens"], tokens)
        self.assertEqual(found["text"], words.decode(tokens))
        texts = [subprocess.run(
            [reference.CHIMERA, "sample", folder, "--prompt", prompt,
             "--tokens", str(TOKENS), "--temperature", "0", *more],
            capture_output=True).stdout.decode(errors="replace")
            for more in ([], ["--stream"])]
        self.assertEqual(texts[0], prompt + found["text"] + "\n")
        self.assertEqual(texts[0], texts[1])

    def test_seeds(self):
        folder = self.folder()
        gpt2().save_pretrained(folder)
        texts = [sample(folder, "--prompt", "x", "--seed", seed, "--top-k", 50,
                        "--top-p", 0.9)["tokens"] for seed in (7, 7, 8)]
        self.assertEqual(texts[0], texts[1])
        self.assertNotEqual(texts[0], texts[2])

    def test_what_is_refused(self):
        folder = self.folder()
        bert().save_pretrained(folder / "bert")
        gpt2(vocab_size=5000).save_pretrained(folder / "large")
        gpt2(vocab_size=100).save_pretrained(folder / "small")
        for arguments, code, word in [
            (["bert", "--prompt", "x"], 2, "E415"),
            (["large", "--prompt", "x"], 2, "--tokenizer PATH"),
            (["small", "--prompt", "x"], 3, "token 120 of the prompt"),
            (["small"], 2, "--prompt"),
            (["nowhere", "--prompt", "x"], 3, "no such directory"),
            (["small/config.json", "--prompt", "x"], 3, "not a file"),
            ([".", "--prompt", "x"], 3, "neither config.json nor config.toml"),
            (["small", "--top-p", "2", "--tokens", "0"], 2, "--top-p 2"),
        ]:
            with self.subTest(arguments):
                done = run_chimera("sample", folder / arguments[0],
                                   *arguments[1:])
                self.assertEqual(done.returncode, code, done.stderr)
                self.assertIn(word, done.stderr)


class Bytes(reference.Case):
    """A run that was trained on bytes is sampled and evaluated in bytes."""

    def trained(self, folder, **model):
        (folder / "text.txt").write_text("To be, or not to be. " * 40)
        reference.train(
            folder, model=model, schedule=reference.layout("1f1b", 1, 1),
            data={"path": str(folder / "text.txt")},
            train={"steps": 2, "lr": 1e-3})
        return folder / "run"

    def test_whatever_tokenizer_is_near(self):
        folder = self.folder()
        tokenizer(folder)
        run = self.trained(folder, kind="gpt2", layers=2, hidden=16, heads=2,
                           vocab=256, seq=32)
        there = subprocess.run(
            [reference.CHIMERA, "sample", run, "--prompt", "To be", "--tokens",
             "4"], cwd=folder, capture_output=True)
        self.assertEqual(there.returncode, 0, there.stderr)

    def test_although_its_first_weights_have_a_tokenizer(self):
        """model.init alone names the model, its kind included."""
        folder = self.folder()
        first = folder / "first"
        words = tokenizer(first)
        gpt2(vocab_size=len(words)).save_pretrained(first)
        run = self.trained(folder, init=str(first), seq=32)
        found = sample(run, "--prompt", "To be", "--tokens", 4)
        self.assertEqual(found["prompt_tokens"], list(b"To be"))
        self.assertFalse((folder / "export" / "tokenizer.json").exists())


class Export(reference.Case):
    """Exported directories hold the tokenizer, in each form that it may have.
    """
    TEXT = "def sample(*arguments):\n    return json.loads(done.stdout)\n"

    def forms(self, folder):
        """Paths of one tokenizer."""
        whole, pair = folder / "whole", folder / "pair"
        words = tokenizer(whole)
        file = folder / "words.json"
        file.write_bytes((whole / "tokenizer.json").read_bytes())
        model = json.loads(file.read_text())["model"]
        pair.mkdir()
        (pair / "vocab.json").write_text(json.dumps(model["vocab"]))
        (pair / "merges.txt").write_text(
            "\n".join(map(" ".join, model["merges"])))
        return words, [whole, file, pair / "vocab.json"]

    def exported(self, folder, kind, vocab, **data):
        (folder / "text.txt").write_text(pathlib.Path(__file__).read_text())
        reference.train(
            folder, model={"kind": kind, "layers": 2, "hidden": 16, "heads": 2,
                           "vocab": vocab, "seq": 32},
            schedule=reference.layout("1f1b", 1, 1), data=data | {
                "path": str(folder / "text.txt")},
            train={"steps": 2, "lr": 1e-3})
        return folder / "export"

    def test_tokenizer_loads_where_the_model_does(self):
        words, paths = self.forms(self.folder())
        for kind in ("gpt2", "llama"):
            for path in paths:
                with self.subTest(f"{kind} {path.name}"):
                    folder = self.folder()
                    export = self.exported(folder, kind, len(words),
                                           tokenizer=str(path))
                    again = AutoTokenizer.from_pretrained(export)
                    self.assertEqual(again(self.TEXT).input_ids,
                                     words(self.TEXT).input_ids)
                    self.assertEqual(again.eos_token, "<|endoftext|>")
                    model = AutoModelForCausalLM.from_pretrained(export)
                    self.assertEqual(model.generation_config.eos_token_id, 0)
                    flags = ["--prompt", "def ", "--tokens", 20]
                    self.assertEqual(sample(export, *flags)["text"],
                                     sample(folder / "run", *flags)["text"])

    def test_word_pieces(self):
        path = self.folder() / "vocab.txt"
        path.write_text("\n".join(
            ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"(*):=._", "def",
             "sample", "json", "##s", *map(chr, range(97, 123)),
             *("##" + chr(i) for i in range(97, 123))]))
        export = self.exported(self.folder(), "bert", 70, tokenizer=str(path))
        self.assertEqual(
            AutoTokenizer.from_pretrained(export).tokenize("Def samples(*):"),
            ["def", "sample", "##s", "(", "*", ")", ":"])

    def test_a_tokenizer_that_has_moved(self):
        folder = self.folder()
        words, paths = self.forms(folder)
        self.exported(folder, "gpt2", len(words), tokenizer=str(paths[1]))
        paths[1].rename(folder / "moved.json")
        flags = ["export", folder / "run", "-o", folder / "again"]
        done = run_chimera(*flags)
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("E701", done.stderr)
        done = run_chimera(*flags, "--tokenizer", folder / "text.txt")
        self.assertEqual(done.returncode, 3, done.stderr)
        done = run_chimera(*flags, "--tokenizer", folder / "moved.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(
            (folder / "again" / "tokenizer.json").read_bytes(),
            (folder / "moved.json").read_bytes())

    def test_what_chimera_cannot_read_is_copied(self):
        folder = self.folder()
        tokenizer(folder)
        small_llama("llama", vocab_size=256).save_pretrained(folder)
        spec = json.loads((folder / "tokenizer.json").read_text())
        spec["model"]["byte_fallback"] = True
        (folder / "tokenizer.json").write_text(json.dumps(spec))
        ids = numpy.arange(200, dtype="<u2")
        (folder / "ids.bin").write_bytes(ids.tobytes())
        reference.train(
            folder, model={"kind": "llama", "init": str(folder), "seq": 32},
            schedule=reference.layout("1f1b", 1, 1),
            data={"path": str(folder / "ids.bin")},
            train={"steps": 1, "lr": 1e-3})
        self.assertEqual(
            json.loads((folder / "export" / "tokenizer.json").read_text()),
            spec)


class Eval(reference.Case):
    def test_loss_is_that_of_transformers(self):
        """Over all samples, also those that fill no whole batch."""
        random = numpy.random.default_rng(8)
        text = random.integers(0, 256, 300 * SEQ + 5).astype("u1")
        windows = [torch.tensor(text[i * SEQ:i * SEQ + SEQ + 1].astype("int64"))
                   for i in range(300)]
        for name, model in [("gpt2", gpt2()), ("llama", small_llama("llama"))]:
            folder = self.folder()
            model.save_pretrained(folder / "hf")
            (folder / "data.txt").write_bytes(text.tobytes())
            done = run_chimera("eval", folder / "hf", "--data",
                               folder / "data.txt", "--seq", SEQ, "--format",
                               "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            found = json.loads(done.stdout)
            batch = torch.stack(windows)
            with torch.no_grad():
                loss = torch.nn.functional.cross_entropy(
                    model(batch[:, :-1]).logits.flatten(0, 1),
                    batch[:, 1:].flatten()).item()
            print(f"{name}: loss {loss:.6f}, chimera's {found['loss']:.6f}")
            self.assertLess(abs(found["loss"] - loss) / loss, LOSS)
            self.assertAlmostEqual(math.log(found["perplexity"]),
                                   found["loss"], places=6)
            self.assertEqual(found["samples"], 300)
            self.assertEqual(found["tokens"], 300 * SEQ)


if __name__ == "__main__":
    unittest.main()
