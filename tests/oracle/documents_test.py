#!/usr/bin/env python3
"""Compares packed documents and padded pairs with Hugging Face transformers.

Packed rows are compared with the documents that they hold, each run alone, and
with the same rows under an explicit mask; padded BERT samples with transformers
and its attention_mask. `chimera verify` then compares gradients in schemes of
all kinds.

usage: documents_test.py CHIMERA_BINARY
"""
import json
import struct
import unittest

import numpy
import torch

import reference
from reference import (LOSS, NORM, SEQ, STEPS, TRAIN, VOCAB, WEIGHT, bert,
                       bert_data, gpt2, layout, llama, loss_of,
                       make_optimizer, run_chimera, train)

IGNORED = -100
SCHEMES = [
    layout("chimera", 4, 4),
    layout("chimera", 4, 8, scale="halving", recompute=True),
    layout("chimera", 2, 2, width=2),
    layout("zb-v", 2, 4),
    layout("interleaved", 2, 4, recompute=True),
    layout("dualpipe", 4, 8, micro_batch=1),
    layout("pipedream-2bw", 2, 2),
]


def write_megatron(path, documents):
    """path.bin and path.idx as Megatron-LM's IndexedDatasetBuilder writes
    them."""
    ids = numpy.concatenate(documents).astype("<u2")
    ids.tofile(path.with_suffix(".bin"))
    lengths = numpy.array([len(d) for d in documents], "<i4")
    places = numpy.concatenate([[0], numpy.cumsum(lengths[:-1])]) * 2
    path.with_suffix(".idx").write_bytes(
        b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, 8, len(documents),
                                     len(documents) + 1) +
        lengths.tobytes() + places.astype("<i8").tobytes() +
        numpy.arange(len(documents) + 1, dtype="<i8").tobytes())


def pack(documents):
    """Rows of documents, as docs/data.md defines them."""
    rows, room = [], 0
    for document in documents:
        for begin in range(0, len(document) - 1, SEQ):
            piece = torch.tensor(document[begin:begin + SEQ + 1])
            if len(piece) - 1 > room:
                rows.append([])
                room = SEQ
            rows[-1].append(piece)
            room -= len(piece) - 1
    return rows


def loss_one_by_one(model, rows):
    """The mean over all targets, each document in a forward of its own."""
    total, count = 0, 0
    for document in (d for row in rows for d in row):
        logits = model(input_ids=document[None, :-1]).logits[0]
        total = total + torch.nn.functional.cross_entropy(
            logits, document[1:], reduction="sum")
        count += len(document) - 1
    return total / count


def loss_with_masks(model, rows):
    """The same of whole rows, with position_ids and a mask of four
    dimensions."""
    ids = torch.zeros(len(rows), SEQ, dtype=torch.long)
    targets = torch.full((len(rows), SEQ), IGNORED)
    positions = torch.zeros(len(rows), SEQ, dtype=torch.long)
    segments = torch.full((len(rows), SEQ), -1)
    for i, row in enumerate(rows):
        begin = 0
        for number, document in enumerate(row):
            end = begin + len(document) - 1
            ids[i, begin:end], targets[i, begin:end] = document[:-1], document[1:]
            positions[i, begin:end] = torch.arange(end - begin)
            segments[i, begin:end] = number
            begin = end
    allowed = (segments[:, :, None] == segments[:, None, :]).tril()
    mask = torch.where(allowed, 0.0, torch.finfo(torch.float32).min)[:, None]
    logits = model(input_ids=ids, position_ids=positions,
                   attention_mask=mask).logits
    return torch.nn.functional.cross_entropy(
        logits.flatten(0, 1), targets.flatten(), ignore_index=IGNORED)


def padded_data(path, samples, seed=5):
    """Prepared lines of which most end in padding."""
    lines = []
    random = numpy.random.default_rng(seed)
    for line in bert_data(path, samples, seed):
        length = int(random.integers(2, SEQ + 1))
        mask = torch.tensor([1] * length + [0] * (SEQ - length))
        line["attention_mask"] = mask
        line["labels"] = torch.where(mask == 1, line["labels"], IGNORED)
        lines.append(line)
    path.write_text("".join(
        json.dumps({key: value.tolist() for key, value in line.items()}) + "\n"
        for line in lines))
    return lines


class Documents(reference.Case):
    def compare_loss(self, name, model, schedule, data, samples, loss):
        """Train with chimera on `data`, and here with `loss` of samples."""
        folder = self.folder()
        model.save_pretrained(folder / "init")
        model = self.load(type(model), folder / "init").train()
        before = {key: value.clone() for key, value in model.state_dict().items()}
        kind = model.config.model_type
        metrics, _, _ = train(
            folder, model={"kind": kind, "init": str(folder / "init"),
                           "seq": SEQ},
            schedule=schedule, train=TRAIN,
            data=data | {"order": "sequential"})
        size = (schedule["micros"] * schedule["micro_batch"] *
                schedule.get("width", 1))
        optimizer = make_optimizer(model, TRAIN)
        for group in optimizer.param_groups:
            group["lr"] = TRAIN["lr"]
        worst_loss = worst_norm = 0
        for step in range(STEPS):
            value = loss(model, [samples[n % len(samples)] for n in
                                 range(step * size, (step + 1) * size)])
            optimizer.zero_grad()
            value.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(),
                                                  float("inf")).item()
            optimizer.step()
            found = metrics[step]
            worst_loss = max(worst_loss, abs(found["loss"] - value.item()) /
                             max(1, value.item()))
            worst_norm = max(worst_norm, abs(found["grad_norm"] - norm) / norm)
        weights = self.weight_difference(model, before, folder)
        print(f"{name}: worst difference of losses {worst_loss:.1e}, norms "
              f"{worst_norm:.1e}, weights {weights:.1e}", flush=True)
        self.assertLess(worst_loss, LOSS)
        self.assertLess(worst_norm, NORM)
        self.assertLess(weights, WEIGHT)

    def packed(self):
        """Documents of 1 to 2.5 rows; the keys of [data]; their rows."""
        random = numpy.random.default_rng(6)
        documents = [random.integers(0, VOCAB, random.integers(1, length))
                     for length in [8] * 40 + [40] * 8]
        random.shuffle(documents)
        path = self.folder() / "corpus.bin"
        write_megatron(path, documents)
        rows = pack(documents)
        self.assertTrue(any(len(row) > 2 for row in rows))
        return {"path": str(path), "pack": "documents"}, rows

    def test_packed_rows_are_their_documents_one_by_one(self):
        data, rows = self.packed()
        for name, model, schedule in [
                ("chimera D=4", gpt2(), SCHEMES[0]),
                ("halving, recompute", gpt2(), SCHEMES[1]),
                ("1f1b, untied", gpt2(tied=False), layout("1f1b", 2, 2)),
                ("Llama, zb-v", llama(), SCHEMES[3])]:
            with self.subTest(name):
                self.compare_loss(f"one by one, {name}", model, schedule,
                                  data, rows, loss_one_by_one)

    def test_packed_rows_equal_those_under_the_same_mask(self):
        data, rows = self.packed()
        self.compare_loss("the same masks", gpt2(), SCHEMES[0], data, rows,
                          loss_with_masks)

    def test_padded_pairs(self):
        path = self.folder() / "pairs.jsonl"
        samples = padded_data(path, 21)
        for name, schedule in [("chimera D=4", SCHEMES[0]),
                               ("width 2", SCHEMES[2]), ("zb-v", SCHEMES[3])]:
            with self.subTest(name):
                self.compare_loss(f"padding, {name}", bert(), schedule,
                                  {"path": str(path)}, samples, loss_of)

    def test_gradients_in_every_kind_of_scheme(self):
        folder = self.folder()
        text = folder / "text.txt"
        text.write_text("\n\n".join("abcdefghijklmnop"[:n % 15 + 2]
                                    for n in range(60)))
        for schedule in SCHEMES:
            for kind, data in [("gpt2", 'pack = "documents"'), ("bert", ""),
                               ("llama", 'pack = "documents"')]:
                dropout = 0 if kind == "llama" else 0.1
                config = folder / "run.toml"
                keys = "\n".join(f"{key} = {json.dumps(value)}"
                                 for key, value in schedule.items())
                untied = schedule["scheme"] == "pipedream-2bw"
                config.write_text(
                    f'[model]\nkind = "{kind}"\nlayers = 6\nhidden = 16\n'
                    f"heads = 2\nvocab = 128\nseq = {SEQ}\ndropout = {dropout}\n"
                    f"tie_embeddings = {str(not untied).lower()}\n"
                    f"[schedule]\n{keys}\n[train]\nsteps = 2\nlr = 1e-3\n"
                    f'[data]\npath = "{text}"\n{data}\n')
                with self.subTest(f"{kind} {schedule}"):
                    done = run_chimera("verify", "-c", config, "--steps", 2,
                                       "--dtype", "float64")
                    self.assertEqual(done.returncode, 0,
                                     done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
