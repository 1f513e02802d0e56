#!/usr/bin/env python3
"""Learns a byte-level BPE tokenizer from stories and writes tokenizer.json.

usage: train_tokenizer.py STORIES.jsonl TOKENIZER.json      (pip install tokenizers)
"""
import json
import sys

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

stories, output = sys.argv[1:]
tokenizer = Tokenizer(models.BPE())
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
with open(stories) as lines:
    tokenizer.train_from_iterator(
        (json.loads(line)["text"] for line in lines),
        trainers.BpeTrainer(
            vocab_size=512, special_tokens=["<|endoftext|>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False))
tokenizer.save(output)
