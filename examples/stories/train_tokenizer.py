#!/usr/bin/env python3
"""Learns a byte-level BPE tokenizer from stories and writes tokenizer.json.

usage: train_tokenizer.py STORIES.jsonl TOKENIZER.json [--vocab V]

Needs Python alone. The vocabulary is <|endoftext|>, the 256 bytes, and the
pairs of tokens that occur most often within a word, until it has V tokens.
"""
import argparse
import collections
import json
import re

END = "<|endoftext|>"
# How GPT-2 cuts text into words, for ASCII: a space belongs to the word after
# it. This is what "ByteLevel" in the file asks for.
WORD = re.compile(r"'(?:[sdmt]|ll|ve|re)| ?[A-Za-z]+| ?[0-9]+"
                  r"| ?[^\sA-Za-z0-9]+|\s+(?!\S)|\s+")


def byte_alphabet():
    """A printable character for each byte, as in every byte-level BPE."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in printable]
    return {byte: chr(byte) for byte in printable} | {
        byte: chr(256 + place) for place, byte in enumerate(others)}


def merged(word, pair):
    """The word with each occurrence of the pair made one token."""
    tokens, rest = [], list(word)
    while rest:
        width = 2 if tuple(rest[:2]) == pair else 1
        tokens.append("".join(rest[:width]))
        rest = rest[width:]
    return tuple(tokens)


def learn_merges(words, vocab, size):
    """The merges that BPE learns from a Counter of words until `vocab`, to
    which it adds their results, has `size` tokens. Of pairs that occur as
    often, the one with the smaller ids goes first."""
    merges = []
    while len(vocab) < size:
        pairs = collections.Counter()
        for word, times in words.items():
            for pair in zip(word, word[1:]):
                pairs[pair] += times
        if not pairs:
            break  # every word is one token
        best = min(pairs, key=lambda pair: (
            -pairs[pair], vocab[pair[0]], vocab[pair[1]]))
        merges.append(best)
        vocab["".join(best)] = len(vocab)
        words = collections.Counter(
            {merged(word, best): times for word, times in words.items()})
    return merges


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("usage")[0].strip())
    parser.add_argument("stories")
    parser.add_argument("tokenizer")
    parser.add_argument("--vocab", type=int, default=1024)
    options = parser.parse_args()
    letter = byte_alphabet()
    texts = collections.Counter()
    with open(options.stories, encoding="utf-8") as lines:
        for line in lines:
            texts.update(WORD.findall(json.loads(line)["text"]))
    words = collections.Counter({
        tuple(letter[byte] for byte in text.encode()): times
        for text, times in texts.items()})
    vocab = {token: id for id, token in
             enumerate([END, *sorted(letter.values())])}
    merges = learn_merges(words, vocab, options.vocab)
    byte_level = {"type": "ByteLevel", "add_prefix_space": False,
                  "trim_offsets": True, "use_regex": True}
    with open(options.tokenizer, "w", encoding="utf-8") as file:
        json.dump({
            "version": "1.0",
            "added_tokens": [{
                "id": vocab[END], "content": END, "single_word": False,
                "lstrip": False, "rstrip": False, "normalized": False,
                "special": True}],
            "normalizer": None,
            "pre_tokenizer": byte_level,
            "post_processor": None,
            "decoder": byte_level,
            "model": {"type": "BPE", "vocab": vocab, "merges": merges},
        }, file, ensure_ascii=False)


if __name__ == "__main__":
    main()
