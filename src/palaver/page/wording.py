"""What the page calls things, by what the model's classes are and where transitions lead."""

from __future__ import annotations

from dataclasses import dataclass

from palaver.models.summary import ModelSummary


@dataclass(frozen=True)
class Wording:
    """Words of the page.

    Attributes
    ----------
    title : str
    noun : str
        For a class; its plural ends in s.
    whole : str
        What begins and goes on: a thread, a document, a sentence.
    matter : str
        Of which the largest classes are most.
    likeness : str
        How a class without a name is said to be its typical sentence or words.
    answer : str
        What comes after.
    typical : str
        What classes without names are called by.
    """

    title: str
    noun: str
    whole: str
    matter: str
    likeness: str
    answer: str
    typical: str


_SENTENCE = "a short sentence that is typical of it"
_ACTS = Wording("What people do here", "act", "thread", "what people do", "sounds like",
                "the reply", _SENTENCE)  # fmt: skip
_TOPICS = Wording("What people talk about here", "topic", "thread", "the talk", "sounds like",
                  "the reply", _SENTENCE)  # fmt: skip
_WALKS = Wording("What people talk about here", "topic", "document", "the talk", "sounds like",
                 "the next step", _SENTENCE)  # fmt: skip
_KINDS = Wording("Which words are alike here", "kind", "sentence", "the text", "is words like",
                 "the next word", "words that are typical of it")  # fmt: skip


def wording_of(summary: ModelSummary) -> Wording:
    """Say topics where nothing is learned about what answers what, acts elsewhere."""
    if summary.transition_steps == "words":
        return _KINDS
    if summary.names is not None:
        return _ACTS
    if summary.transition_steps == "document":
        return _WALKS
    return _TOPICS if summary.transition_kind == "none" else _ACTS
