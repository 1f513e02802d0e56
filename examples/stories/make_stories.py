#!/usr/bin/env python3
"""Writes short English stories, made up by a small grammar, to train on.

usage: make_stories.py [-o FILE] [--megabytes M] [--seed S]

The same seed gives the same stories on every machine; a larger file begins
with the smaller one. The name of FILE decides its form:
  .txt    stories with a blank line between two
  .jsonl  one story per line: {"text": "..."}
"""
import argparse
import json
import pathlib
import random
import re

# A rule is a list of choices. A choice is text in which {rule} stands for one
# choice of that rule, {Rule} for the same with a capital, and {rule:name}
# remembers the choice: {name} repeats it.
GRAMMAR = {
    # Who and where.
    "girl": ["Anna", "Clara", "Ella", "Ida", "Lily", "Mia", "Nora", "Rosa"],
    "boy": ["Ben", "Carl", "Finn", "Jack", "Leo", "Max", "Sam", "Tom"],
    "animal": ["bear", "bird", "cat", "dog", "duck", "fox", "frog", "goat",
               "hen", "mouse", "owl", "rabbit"],
    "mood": ["kind", "brave", "clever", "quiet", "cheerful", "curious"],
    "size": ["big", "small", "little", "old", "young"],
    "color": ["red", "blue", "green", "yellow", "white", "brown", "black"],
    "place": ["forest", "village", "garden", "farm", "valley", "town"],
    "home": ["house by the river", "hut on the hill", "cottage in the {place}",
             "house near the {place}"],
    "time": ["one morning", "one day", "one evening", "one afternoon"],
    "weather": ["the sun was shining", "the wind was cold", "it was raining",
                "the sky was blue", "snow was falling"],
    # Things.
    "toy": ["ball", "kite", "boat", "drum", "doll", "hat", "book", "lamp"],
    "food": ["apple", "cake", "pear", "plum", "pie", "nut"],
    "work": ["a boat", "a bridge", "a tree house", "a swing", "a cart"],
    "part": ["wood", "rope", "nails", "paint"],
    "hiding": ["under a stone", "behind a tree", "in the tall grass",
               "near the well", "under the bridge", "in a hole"],
    "fear": ["the dark", "the deep water", "the storm", "the high tree"],
    "glad": ["happy", "glad", "proud", "full of joy"],
    "sad": ["sad", "worried", "afraid", "lonely"],
    # Sentences.
    "opening": [
        "Once upon a time there was a {mood} {person} named {hero}.",
        "There once lived a {mood} {person} named {hero}.",
        "A {mood} {person} named {hero} lived in a little {home}.",
    ],
    "liking": [
        "{Hero} liked to play in the {place}.",
        "Every day {he} walked to the {place}.",
        "{Hero} had a {animal}, and they played together.",
    ],
    "day": [
        "{Time}, {weather}, and {hero} went out.",
        "{Time} {hero} went to the {place}. {Weather}.",
    ],
    "thanks": [
        '"Thank you, my friend," said {hero}.',
        '"You are so kind," said {hero}.',
        '{Hero} smiled and said, "Thank you!"',
    ],
    "ending": [
        "{Hero} was {glad}, and they all went home.",
        "From that day on, {hero} and the {friend} were best friends.",
        "That night {hero} was {glad} and slept well.",
        "And so {he} was never {sad} again.",
    ],
    "meeting": [
        "Then {he} met a {size} {animal:friend}.",
        "A {size} {animal:friend} came along the road.",
        "Soon {he} saw a {size} {animal:friend}.",
    ],
    # Stories.
    "lost": [
        "{Day} {He} had a {color:shade} {toy:thing}. But soon the {thing} was"
        " gone! {Hero} looked for it and was {sad}. {Meeting}"
        ' "Why are you {sad}?" asked the {friend}. "I have lost my {shade}'
        ' {thing}," said {hero}. "I will help you," said the {friend}. They'
        " looked and looked, and found the {thing} {hiding}. {Thanks} {Ending}",
    ],
    "sharing": [
        "{Day} In {his} bag {he} had a big {food:thing}. {Meeting} The"
        ' {friend} was hungry. "May I have some of your {thing}?" it asked.'
        ' {Hero} thought for a while. "Yes, you may," {he} said, and gave half'
        ' of the {thing} to the {friend}. "Thank you," said the {friend}.'
        " {Ending}",
    ],
    "fright": [
        "But {hero} was afraid of {fear:fright}. {Day} {Meeting} It could not"
        ' get home because of {fright}. "Please help me," said the {friend}.'
        ' {Hero} was afraid, but {he} took a deep breath. "I will go with'
        ' you," {he} said. They went hand in hand, and nothing bad happened.'
        ' "You are very brave," said the {friend}. {Ending}',
    ],
    "building": [
        "{Day} {He} wanted to build {work:thing}. But {he} had no {part:stuff}."
        ' {Meeting} "I have {stuff}," said the {friend}. "Let us build it'
        ' together." They worked all day, and in the evening they had built'
        " {thing}. {Thanks} {Ending}",
    ],
    "story": [f"{{Opening}} {{Liking}} {{{plot}}}" for plot in
              ["lost", "sharing", "fright", "building"]],
}

HEROES = [("girl", "she", "her"), ("boy", "he", "his")]


class Storyteller:
    def __init__(self, seed):
        # random() is the one method whose numbers Python keeps for ever.
        self.random = random.Random(seed).random

    def pick(self, choices):
        return choices[int(self.random() * len(choices))]

    def story(self):
        """One story, in which names keep their meaning."""
        person, he, his = self.pick(HEROES)
        self.names = {"person": person, "he": he, "his": his,
                      "hero": self.pick(GRAMMAR[person]),
                      "friend": self.pick(GRAMMAR["animal"])}
        return re.sub(r"\b([Aa]) (?=[aeiou])", r"\1n ", self.expand("{story}"))

    def expand(self, text):
        return re.sub(r"\{(\w+)(?::(\w+))?\}", self.replace, text)

    def replace(self, match):
        rule, name = match.groups()
        word = self.names.get(rule.lower()) if not name else None
        if word is None:
            word = self.expand(self.pick(GRAMMAR[rule.lower()]))
        if name:
            self.names[name] = word
        return word[0].upper() + word[1:] if rule[0].isupper() else word


def stories(seed, size):
    """Stories of `size` characters or a little less."""
    teller = Storyteller(seed)
    while True:
        story = teller.story()
        size -= len(story) + 2
        if size < 0:
            return
        yield story


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("usage")[0].strip())
    parser.add_argument("-o", "--output", type=pathlib.Path, help=
                        "a .txt or .jsonl file; default: stories.txt beside "
                        "this script",
                        default=pathlib.Path(__file__).with_name("stories.txt"))
    parser.add_argument("--megabytes", type=float, default=2.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    as_line = json.dumps if options.output.suffix == ".jsonl" else None
    with open(options.output, "w", encoding="ascii", newline="\n") as file:
        for story in stories(options.seed, options.megabytes * 1e6):
            if as_line:
                file.write(as_line({"text": story}) + "\n")
            else:
                file.write(story + "\n\n")


if __name__ == "__main__":
    main()
