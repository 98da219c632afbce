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
    most : str
        What the largest classes are, before a colon.
    share : str
        What a class is a share of.
    typical : str
        What classes without names are called by.
    task : str
        What to write as the name of a class.
    question : str
        In the empty field for a name.
    whole : str
        What begins and has a course: a thread, a document, a sentence.
    answer : str
        What comes after.
    unit : str
        What the reader shows one at a time.
    step : str
        By what it is counted how often something follows.
    text : str
        What has classes: a message, or a document.
    """

    title: str
    noun: str
    most: str
    share: str
    typical: str
    task: str
    question: str
    whole: str = "thread"
    answer: str = "the reply"
    unit: str = "thread"
    step: str = "reply"
    text: str = "message"


_CALLED = "a typical sentence or by characteristic words"
_ACTS = Wording(
    title="What people do here",
    noun="act",
    most="What people do most",
    share="of what people do here",
    typical=_CALLED,
    task="what people do there",
    question="what do people do here?",
)
_TOPICS = Wording(
    title="What people talk about here",
    noun="topic",
    most="What people talk about most",
    share="of what people talk about here",
    typical="characteristic words",
    task="what they are about",
    question="what is this about?",
)
_DOCUMENTS = replace(
    _TOPICS,
    title="What these documents are about",
    most="What they are mostly about",
    share="of the words here",
    whole="document",
    unit="document",
    text="document",
)
_WALKS = replace(_TOPICS, whole="document", answer="the next step")
_KINDS = Wording(
    title="Which words are used in similar ways here",
    noun="kind",
    most="The largest kinds of words",
    share="of the words here",
    typical=_CALLED,
    task="what the words have in common",
    question="what do these words have in common?",
    whole="sentence",
    answer="the next word",
)


def wording_of(
    summary: ModelSummary, steps: str | None = None, *, documents: bool = False
) -> Wording:
    """Return the words for a model: acts where it learns what answers what, else topics.

    ``steps`` are those of the page, the model's by default: in talk nobody replies. Topics of
    ``documents`` are not what people talk about.
    """
    steps = steps or summary.transition_steps
    if steps == "words":
        return _KINDS
    if steps == "document" and summary.tags is None:
        return replace(_WALKS, unit="document", text="document") if documents else _WALKS
    plain = summary.tags is None and summary.transition_kind == "none"
    if plain and documents:
        return _DOCUMENTS
    words = _TOPICS if plain else _ACTS
    if steps != "messages":
        return words
    return replace(
        words, whole="conversation", answer="what follows", unit="conversation", step="message"
    )
