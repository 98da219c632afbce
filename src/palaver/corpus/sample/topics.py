"""What a topic of the synthetic help forum, written for Palaver, consists of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

# Nobody promises that nothing gets lost where something is thrown away.
_DRASTIC = re.compile("factory|(format|delete|remove|reinstall|reset|empty|clear|restore|create)/")
_VERB = re.compile(r"([\w-]+)/([\w-]+)/([\w-]+)")


@dataclass(frozen=True)
class Remedy:
    """A synthetic piece of advice in the three forms that sentences need.

    Attributes
    ----------
    text : str
        The advice with every verb in three forms, as in ``clear/cleared/clearing the queue``,
        followed where there is one by the menu it is found in: ``... @ Settings > Queue``.
    cause : str
        What it cures, if anything in particular.
    """

    text: str
    cause: str = ""

    @cached_property
    def slots(self) -> dict[str, tuple[str, ...]]:
        """The slots that this remedy fills."""
        text, _, menu = self.text.partition(" @ ")
        names = ("remedy", "remedied", "remedying")
        slots: dict[str, tuple[str, ...]] = {
            name: (_VERB.sub(rf"\{form}", text),) for form, name in enumerate(names, 1)
        }
        harmless = "" if _DRASTIC.search(text) else "quite harmless"
        further = {"menu": menu, "cause": self.cause, "harmless": harmless}
        return slots | {name: (phrase,) for name, phrase in further.items() if phrase}


@dataclass(frozen=True)
class Question:
    """A synthetic clarifying question together with the answers that fit it.

    Attributes
    ----------
    direct, indirect : str
        The question as in "which paper do you use" and "which paper you use".
    replies : tuple of str
        Answers, each a clause that can stand as a sentence.
    fact : str
        The slot that the answer gives away; nobody asks for what has been told already.
    about : tuple of str
        The problems it fits; all of them where none is named.
    """

    direct: str
    indirect: str
    replies: tuple[str, ...]
    fact: str = ""
    about: tuple[str, ...] = ()


@dataclass(frozen=True)
class Problem:
    """A synthetic fault: its short name, how it shows, what may cause it, what may help.

    Symptoms are predicates whose subject is the product ("drops the connection"), and so is what
    it does when all is well. The first cures undo the causes, in the same order.
    """

    name: str
    symptoms: tuple[str, ...]
    causes: tuple[str, ...]
    cures: tuple[str, ...]
    well: str

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What may help."""
        return tuple(map(Remedy, self.cures, (*self.causes, "", "", "")))


@dataclass(frozen=True)
class Topic:
    """A product area of the synthetic forum.

    Attributes
    ----------
    name : str
        The topic's label.
    thing : str
        What such a product is called in general.
    device : bool
        Whether it is a thing one owns ("my BrightJet") or a program ("Quillmail").
    products : tuple of str
        Invented product names.
    words : mapping of str to tuple of str
        Further slots: use, check, prep, part, data, display.
    problems, questions : tuple
        The faults that occur and what helpers ask about them.
    cures : tuple of str
        What may help with any fault of the topic.
    """

    name: str
    thing: str
    device: bool
    products: tuple[str, ...]
    words: Mapping[str, tuple[str, ...]]
    problems: tuple[Problem, ...]
    questions: tuple[Question, ...]
    cures: tuple[str, ...]

    @property
    def remedies(self) -> tuple[Remedy, ...]:
        """What may help with any fault of the topic."""
        return tuple(map(Remedy, self.cures))
