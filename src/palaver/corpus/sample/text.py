"""Turn phrase templates into sentences for the synthetic help forum written for Palaver.

A template is ordinary text with two kinds of holes: ``{slot}`` is replaced by one of the phrases
kept under that name, and ``[this|that]`` by one of the alternatives. Both may be nested.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TypeVar

import numpy as np

Item = TypeVar("Item")
Slots = Mapping[str, Sequence[str]]

_STRAY_SPACE = re.compile(" +(?=[ ,?])")
_SLOT = re.compile(r"\{(\w+)\}")
_CHOICE = re.compile(r"\[([^\[\]]*)\]")
_ARTICLE = re.compile(r"\b([Aa]) (?=[aeiouAEIO])(?!one\b|uni|use|usual|eu)")
_OWN_ENDING = re.compile(r"(?:[.!?]|[:;]\)|:D|https?://\S+)$")
_PLAIN_WORD = re.compile("[a-z]{5,}")
_TRIES = 3
_SHORT = 4  # "Thanks a lot!" may well be said again


class Dice:
    """The one source of chance behind the synthetic forum."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def below(self, limit: int) -> int:
        """Draw a whole number from 0 up to but not including the limit."""
        return int(self._rng.random() * limit)

    def chance(self, share: float) -> bool:
        """Say yes in this share of the cases."""
        return bool(self._rng.random() < share)

    def pick(self, options: Sequence[Item]) -> Item:
        """Draw one option, all equally likely."""
        return options[self.below(len(options))]

    def weighted(self, options: Sequence[Item], weights: Sequence[float]) -> Item:
        """Draw one option in proportion to its weight."""
        left = self._rng.random() * sum(weights)
        for option, weight in zip(options, weights, strict=True):
            left -= weight
            if left < 0:
                return option
        return options[-1]


@cache
def slots_in(template: str) -> frozenset[str]:
    """List the slots that a synthetic phrase needs, whichever alternatives are drawn."""
    return frozenset(name.lower() for name in _SLOT.findall(template))


def fill(template: str, slots: Slots, dice: Dice) -> str:
    """Write out one synthetic phrase, drawing alternatives and filling slots all the way down.

    Parameters
    ----------
    template : str
        Text with ``{slot}`` and ``[this|that]`` holes. A slot written with a capital letter gets
        a capitalized phrase.
    slots : mapping of str to sequence of str
        The phrases to draw from, by slot name in small letters.
    dice : Dice
        The source of chance.
    """
    while "[" in template:
        template, n_drawn = _CHOICE.subn(lambda found: dice.pick(found[1].split("|")), template)
        if not n_drawn:
            raise ValueError(f"the bracket of a phrase is not closed: {template!r}")

    def put(found: re.Match[str]) -> str:
        name = found[1]
        phrase = fill(dice.pick(slots[name.lower()]), slots, dice)
        return _capitalize(phrase) if name[0].isupper() else phrase

    return _SLOT.sub(put, template)


def _capitalize(text: str) -> str:
    """Write the first letter large and leave the others as they are."""
    return text[:1].upper() + text[1:]


def polish(text: str) -> str:
    """Give a filled synthetic phrase the shape of a sentence: spacing, a/an, capital, full stop."""
    text = _STRAY_SPACE.sub("", text).strip()
    text = _ARTICLE.sub(r"\1n ", text)
    text = text if text.startswith("http") else _capitalize(text)
    return text if _OWN_ENDING.search(text) else text + "."


def roughen(sentence: str, dice: Dice) -> str:
    """Put one of a hasty writer's slips into a synthetic sentence."""
    slip = dice.below(5)
    if slip == 0:
        return sentence if sentence.startswith("I ") else sentence[:1].lower() + sentence[1:]
    if slip == 1:
        return sentence.rstrip(".")
    if slip == 2 and "'" in sentence:
        return sentence.replace("'", "")
    if slip == 3 and sentence.endswith((".", "!")):
        return sentence + sentence[-1] * 2
    return _swap_letters(sentence, dice)


def _swap_letters(sentence: str, dice: Dice) -> str:
    """Swap two inner letters of one plain word; web addresses, codes and names stay intact."""
    words = sentence.split(" ")
    plain = [at for at, word in enumerate(words) if _PLAIN_WORD.fullmatch(word)]
    if not plain:
        return sentence
    at = dice.pick(plain)
    word, cut = words[at], 1 + dice.below(len(words[at]) - 3)
    words[at] = word[:cut] + word[cut + 1] + word[cut] + word[cut + 2 :]
    return " ".join(words)


class Writer:
    """Writes the synthetic sentences and avoids saying the same thing twice."""

    def __init__(self, dice: Dice) -> None:
        self.dice = dice
        self._said: set[str] = set()

    def sentence(self, pool: Sequence[str], slots: Slots, used: set[str]) -> str:
        """Write one sentence from a pool of synthetic phrases.

        Phrases with a slot that cannot be filled here are passed over: that is how a phrase
        says what it presupposes, such as a remedy under discussion or an addressee.

        Parameters
        ----------
        pool : sequence of str
            The phrases to draw from.
        slots : mapping of str to sequence of str
            What is known at this point of the thread.
        used : set of str
            The phrases this thread has used already, which are avoided; the drawn one is added.
        """
        fitting = [template for template in pool if slots_in(template) <= slots.keys()]
        fresh = [template for template in fitting if template not in used] or fitting
        for _ in range(_TRIES):
            template = self.dice.pick(fresh)
            text = polish(fill(template, slots, self.dice))
            if text not in self._said or text.count(" ") < _SHORT:
                break
        self._said.add(text)
        used.add(template)
        return text
