#!/usr/bin/env python3
"""Compares `chimera tokenize` with Hugging Face's tokenizers: no id may differ.

Vocabularies in the style of GPT-2, Llama 3, Qwen and BERT are trained here, on
the project's sources and on strange text, and tested on the same and on every
code point.

usage: tokenizers_test.py CHIMERA_BINARY [--full]
"""
import functools
import gzip
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

import numpy
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                        normalizers, pre_tokenizers, trainers)

import strange_text

CHIMERA = sys.argv.pop(1)
FULL = "--full" in sys.argv
if FULL:
    sys.argv.remove("--full")

LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN = LLAMA.replace("{1,3}", "")
END = "<|endoftext|>"


def training_texts():
    sources = list(strange_text.sources().values())
    yield from (b.decode("utf-8", "replace") for b in sources[::1 if FULL else 8])
    yield from strange_text.documents(1, 300 if FULL else 100)


def train_bpe(tokenizer, size=3000):
    tokenizer.train_from_iterator(training_texts(), trainers.BpeTrainer(
        vocab_size=size, special_tokens=[END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def gpt2_style():
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return train_bpe(tokenizer)


def split_style(pattern):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    return tokenizer


def llama_style():
    """Words that only ignore_merges can produce, and many added tokens."""
    data = json.loads(train_bpe(split_style(LLAMA)).to_str())
    data["model"]["ignore_merges"] = True
    vocabulary = data["model"]["vocab"]
    for token in ["\u0120unreachable", "zzqx", "\u0120\u00c3\u00a9\u00c3\u00a9"]:
        vocabulary[token] = len(vocabulary)
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.add_special_tokens(
        ["<|begin_of_text|>", "<|end_of_text|>"] +
        [f"<|reserved_special_token_{i}|>" for i in range(30)])
    return tokenizer


def qwen_style():
    tokenizer = split_style(QWEN)
    tokenizer.normalizer = normalizers.NFC()
    train_bpe(tokenizer)
    tokenizer.add_special_tokens(["<|im_start|>", "<|im_end|>"])
    tokenizer.add_tokens([AddedToken("caf\u00e9", normalized=True),
                          AddedToken("<mask>", lstrip=True, rstrip=True)])
    return tokenizer


def bert_style(**normalizer):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**normalizer)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(training_texts(), trainers.WordPieceTrainer(
        vocab_size=3000, show_progress=False,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]))
    tokenizer.decoder = decoders.WordPiece()
    return tokenizer


def unknowing_style():
    """Bytes without a token, and a blank before every text."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.train_from_iterator(
        ["only these words", "and those"],
        trainers.BpeTrainer(special_tokens=["<unk>"], show_progress=False))
    return tokenizer


STYLES = {
    "gpt2": gpt2_style,
    "llama": llama_style,
    "qwen": qwen_style,
    "bert-uncased": lambda: bert_style(lowercase=True),
    "bert-cased": lambda: bert_style(lowercase=False, strip_accents=None),
    "bert-accents": lambda: bert_style(lowercase=True, strip_accents=False,
                                       handle_chinese_chars=False,
                                       clean_text=False),
    "unknowing": unknowing_style,
}


@functools.cache
def style(name):
    return STYLES[name]()


def run(*arguments):
    return subprocess.run([CHIMERA, "tokenize", *map(str, arguments)],
                          capture_output=True, text=True)


class Differences(unittest.TestCase):
    compared = {}  # [style]: bytes of text

    @classmethod
    def tearDownClass(cls):
        print("compared:", ", ".join(f"{name} {size / 1e6:.1f} MB"
                                     for name, size in cls.compared.items()))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def ids(self, tokenizer, *inputs, threads=2):
        """The ids that the program writes, and its description."""
        output = self.folder / "corpus.bin"
        done = run(*inputs, "-o", output, "--tokenizer", tokenizer,
                   "--threads", threads)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        about = json.loads(output.with_suffix(".json").read_text())
        ids = numpy.fromfile(output, about["dtype"])
        self.assertEqual(about["tokens"], len(ids))
        return ids, about

    def jsonl(self, texts):
        path = self.folder / "texts.jsonl"
        path.write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
        return path

    def compare(self, name, texts):
        tokenizer = style(name)
        tokenizer.save(str(self.folder / "tokenizer.json"))
        got, about = self.ids(self.folder / "tokenizer.json", self.jsonl(texts))
        self.assertEqual(about["documents"], len(texts))
        end = about["end_of_document"]
        end = [] if end is None else [end]
        at = 0
        for text, encoding in zip(texts, tokenizer.encode_batch(
                texts, add_special_tokens=False)):
            want = encoding.ids + end
            part = got[at:at + len(want)].tolist()
            if part != want:
                first = [a == b for a, b in zip(part, want)].index(False)
                begin, finish = encoding.offsets[max(first - 3, 0)][0], \
                    encoding.offsets[min(first + 3, len(want) - 1)][1]
                self.fail(f"{name}: {text[begin:finish]!a}: want "
                          f"{want[max(first - 3, 0):first + 3]}, got "
                          f"{part[max(first - 3, 0):first + 3]}")
            at += len(want)
        self.assertEqual(at, len(got))
        self.compared[name] = self.compared.get(name, 0) + sum(
            len(text.encode()) for text in texts)

    def test_strange_text(self):
        texts = strange_text.documents(2, 12000 if FULL else 200)
        texts += strange_text.long_words()
        for name in STYLES:
            with self.subTest(name):
                self.compare(name, texts)

    def test_every_code_point(self):
        step = 1 if FULL else 61
        texts = list(strange_text.every_code_point(step, random.randrange(step)))
        for name in STYLES:
            with self.subTest(name):
                self.compare(name, texts)

    def test_own_sources(self):
        texts = [b.decode("utf-8", "replace")
                 for b in strange_text.sources().values()]
        for name in STYLES:
            with self.subTest(name):
                self.compare(name, texts if FULL else texts[::10])

    def test_broken_utf8(self):
        rng = random.Random(3)
        for name in ("gpt2", "qwen", "bert-uncased"):
            tokenizer = style(name)
            tokenizer.save(str(self.folder / "tokenizer.json"))
            data = strange_text.broken_bytes(rng, 1 << 21 if FULL else 20000)
            packed = self.folder / "broken.txt.gz"
            packed.write_bytes(gzip.compress(data))
            got, about = self.ids(self.folder / "tokenizer.json", packed)
            want = tokenizer.encode(data.decode("utf-8", "replace"),
                                    add_special_tokens=False).ids
            if about["end_of_document"] is not None:
                want.append(about["end_of_document"])
            self.assertEqual(got.tolist(), want, name)

    def test_the_tokenizer_of_the_stories(self):
        """examples/stories learns what the trainer of tokenizers learns."""
        scripts = strange_text.ROOT / "examples/stories"
        stories, output = self.folder / "a.jsonl", self.folder / "a.json"
        subprocess.run([sys.executable, scripts / "make_stories.py", "-o",
                        stories, "--megabytes", "0.3"], check=True)
        subprocess.run([sys.executable, scripts / "train_tokenizer.py", stories,
                        output], check=True)
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(
            add_prefix_space=False)
        texts = [json.loads(line)["text"] for line in open(stories)]
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=1024, special_tokens=[END], show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        want = json.loads(tokenizer.to_str())["model"]
        found = json.loads(output.read_text())["model"]
        self.assertEqual(found["vocab"], want["vocab"])
        self.assertEqual(found["merges"], want["merges"])
        got, _ = self.ids(output, self.jsonl(texts))
        self.assertEqual(got.tolist(), [
            i for text in texts for i in [*tokenizer.encode(text).ids, 0]])

    def test_gpt2_files(self):
        tokenizer = style("gpt2")
        tokenizer.model.save(str(self.folder))
        texts = strange_text.documents(4, 50)
        got, _ = self.ids(self.folder, self.jsonl(texts))
        want = [i for t in texts for i in [*tokenizer.encode(t).ids, 0]]
        self.assertEqual(got.tolist(), want)

    def test_bert_files(self):
        for lower in (True, False):
            tokenizer = style("bert-uncased" if lower else "bert-cased")
            tokenizer.model.save(str(self.folder))
            (self.folder / "tokenizer_config.json").write_text(
                json.dumps({"do_lower_case": lower}))
            texts = strange_text.documents(5, 50)
            got, about = self.ids(self.folder / "vocab.txt", self.jsonl(texts))
            want = [i for t in texts for i in tokenizer.encode(t).ids]
            self.assertEqual(got.tolist(), want)
            self.assertIsNone(about["end_of_document"])

    def test_saved_directories(self):
        """Directories that save_pretrained of transformers writes."""
        from transformers import PreTrainedTokenizerFast
        texts = strange_text.documents(6, 50)
        for name, end in (("llama", "<|end_of_text|>"), ("qwen", "<|im_end|>")):
            tokenizer = PreTrainedTokenizerFast(
                tokenizer_object=style(name), eos_token=end)
            tokenizer.save_pretrained(self.folder)
            got, about = self.ids(self.folder, self.jsonl(texts))
            self.assertEqual(about["end_of_document"], tokenizer.eos_token_id)
            want = [i for t in texts for i in
                    [*tokenizer.encode(t, add_special_tokens=False),
                     tokenizer.eos_token_id]]
            self.assertEqual(got.tolist(), want)

    @unittest.skipUnless(FULL, "asks for every code point: a minute")
    def test_the_table_is_what_tokenizers_says(self):
        tables = "src/chimera/tokenizer/unicode_tables.inc"
        written = self.folder / "tables.inc"
        subprocess.run([sys.executable,
                        strange_text.ROOT / "tools/unicode_tables.py", written],
                       check=True)
        self.assertEqual(written.read_text(),
                         (strange_text.ROOT / tables).read_text())


if __name__ == "__main__":
    unittest.main()
