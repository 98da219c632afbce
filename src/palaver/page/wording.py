"""What the page calls things, by what the model's classes are and where transitions lead."""

from __future__ import annotations

from dataclasses import dataclass, replace

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
    unit : str
        What the reader shows one at a time.
    step : str
        By what it is counted how often something follows.
    """

    title: str
    noun: str
    whole: str
    matter: str
    likeness: str
    answer: str
    typical: str
    unit: str = "thread"
    step: str = "reply"


_SENTENCE = "a short sentence that is typical of it"
_ACTS = Wording("What people do here", "act", "thread", "what people do", "sounds like",
                "the reply", _SENTENCE)  # fmt: skip
_TOPICS = Wording("What people talk about here", "topic", "thread", "the talk", "sounds like",
                  "the reply", _SENTENCE)  # fmt: skip
_WALKS = Wording("What people talk about here", "topic", "document", "the talk", "sounds like",
                 "the next step", _SENTENCE)  # fmt: skip
_KINDS = Wording("Which words are alike here", "kind", "sentence", "the text", "is words like",
                 "the next word", "words that are typical of it")  # fmt: skip


def wording_of(summary: ModelSummary, steps: str | None = None) -> Wording:
    """Say topics where nothing is learned about what answers what, acts elsewhere.

    ``steps`` are those of the page, the model's by default: in talk nobody replies.
    """
    steps = steps or summary.transition_steps
    if steps == "words":
        return _KINDS
    if steps == "document" and summary.names is None:
        return _WALKS
    plain = summary.names is None and summary.transition_kind == "none"
    words = _TOPICS if plain else _ACTS
    if steps != "messages":
        return words
    return replace(
        words, whole="conversation", answer="what follows", unit="conversation", step="message"
    )
