"""Synthetic data that all contestants read, with something to learn.

Tokens are drawn by Zipf's law, so a model soon learns their frequencies. BERT's
samples all have the same number of masked tokens, so that a mean of means is
the mean.
"""
import json
import pathlib

import numpy as np
import torch

SAMPLES = 4096
MASKED = 19  # of 128 tokens


def make_tokens(count, vocab, seed):
    random = np.random.default_rng(seed)
    weights = 1 / (10 + np.arange(vocab))
    return random.choice(vocab, count, p=weights / weights.sum())


def write(shape, directory):
    """Write the file that Chimera reads; `read` gives the same data to the
    peers."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    if shape.kind == "gpt2":
        tokens = make_tokens(SAMPLES * shape.seq + 1, shape.vocab, seed=2)
        path = directory / "tokens.bin"
        tokens.astype("<u2").tofile(path)
        return path
    path = directory / "prepared.jsonl"
    random = np.random.default_rng(3)
    tokens = make_tokens(SAMPLES * shape.seq, shape.vocab, seed=2)
    with open(path, "w") as file:
        for row in tokens.reshape(SAMPLES, shape.seq):
            file.write(json.dumps(masked_sample(row, random)) + "\n")
    return path


def masked_sample(row, random):
    places = np.sort(random.choice(len(row), MASKED, replace=False))
    inputs, labels = row.copy(), np.full(len(row), -100)
    labels[places] = row[places]
    inputs[places] = 3
    half = len(row) // 2
    return {"input_ids": inputs.tolist(), "labels": labels.tolist(),
            "token_type_ids": [0] * half + [1] * (len(row) - half),
            "next_sentence_label": int(row[0] % 2)}


class Samples:
    """Batches of a file in its order: (inputs, targets, keyword arguments)."""

    def __init__(self, shape, path):
        self.shape = shape
        if shape.kind == "gpt2":
            tokens = np.fromfile(path, dtype="<u2").astype(np.int64)
            rows = np.lib.stride_tricks.sliding_window_view(
                tokens, shape.seq + 1)[::shape.seq]
            self.inputs = torch.tensor(rows[:, :-1])
            self.targets = torch.tensor(rows[:, 1:])
            return
        lines = [json.loads(line) for line in open(path)]

        def column(name):
            return torch.tensor([line[name] for line in lines])

        labels = column("labels")
        self.inputs = torch.stack(
            [column("input_ids"), column("token_type_ids")], dim=1)
        self.places = (labels >= 0).nonzero()[:, 1].view(-1, MASKED)
        self.targets = torch.cat([column("next_sentence_label").unsqueeze(1),
                                  labels.gather(1, self.places)], dim=1)

    def batch(self, first, count):
        chosen = torch.arange(first, first + count) % len(self.inputs)
        keywords = {}
        if self.shape.kind == "bert":
            keywords["places"] = self.places[chosen]
        return self.inputs[chosen], self.targets[chosen], keywords
