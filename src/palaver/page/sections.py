"""The sections of the page as plain values for the template."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.draw import graph
from palaver.draw.bars import stacked_bar
from palaver.draw.lines import band_chart
from palaver.draw.palette import colour_class, letters
from palaver.encoding.hidden import tells
from palaver.models.summary import least_replies
from palaver.page.findings import Findings, characteristic_words, talk_of_findings
from palaver.page.names import automatic_name, spoken
from palaver.page.positions import Positions, by_position
from palaver.page.sentences import typical_sentences
from palaver.page.text import MAX_WORD, excerpt, name, speaker_name
from palaver.questions.story import opening

_WORDS, _NEIGHBOURS, _EXCERPT = 14, 3, 320
_TOPIC_LENGTH = 160
_LITTLE, _SMALL = 0.5, 0.05  # messages in all, and share of the words, of an empty class
_DOMINANT = 0.4  # share of one class, from which on it may be several things at once
_NOTABLE = 1.25  # times as likely as usual, to be called typical


@dataclass(frozen=True)
class Act:
    """A class as the page shows it.

    Attributes
    ----------
    rank, number : int
        Place by size, and number in the model.
    letter, colour : str
    name : str
    named : bool
        Whether somebody named it, now or by labels and seed words.
    proposed : bool
        Whether the model proposes the name.
    found_by : str or None
        How many searches found it, as "9 of 10", for a model that joins several.
    cues : list of str
        What sets it apart, for a model that says so.
    share : float
    is_empty : bool
        Whether no message is mainly of it, and all have less than half a message of it.
    is_hidden : bool
        Whether a person hid it; it counts, but is shown last and folded away.
    words : list of (str, int)
        Characteristic words and how characteristic they are, 1 to 4.
    told : list of str
        Those that can be said: without punctuation.
    sentences : list of str
        Short and typical ones.
    before, after : list of (int, float)
        Ranks of the classes that it typically follows and precedes, and how many times as
        likely as usual.
    start : float
        How many times as likely as usual threads start with it.
    opens : bool
        Whether that is typical of it: clearly more than usual, and not rare there.
    examples : list of dict
    curve : str
        SVG of its share over the thread.
    """

    rank: int
    number: int
    letter: str
    colour: str
    name: str
    named: bool
    proposed: bool
    found_by: str | None
    cues: list[str]
    share: float
    is_empty: bool
    is_hidden: bool
    words: list[tuple[str, int]]
    told: list[str]
    sentences: list[str]
    before: list[tuple[int, float]]
    after: list[tuple[int, float]]
    start: float
    opens: bool
    examples: list[dict[str, Any]]
    curve: str


def make_acts(findings: Findings, names: dict[int, str], positions: Positions) -> list[Act]:
    """Describe each class, the largest first."""
    n_classes = findings.n_classes
    as_shown = findings.corpus.take(findings.shown.conversations).table["text"].to_list()
    sentences = typical_sentences(
        findings.texts, findings.marks, n_classes, shown=as_shown, telling=findings.telling
    )
    words = characteristic_words(findings, _WORDS)
    by_words = findings.wording.noun == "topic"  # a sentence says little about a subject
    called = [
        _called(findings, names, k, words[k], [] if by_words else sentences[k])
        for k in range(n_classes)
    ]
    sizes = _sizes(findings, words)
    cues = _cues(findings)
    return [
        Act(
            rank=k,
            number=int(findings.order[k]),
            letter=letters(k),
            colour=colour_class(k),
            name=called[k].name,
            named=called[k].named,
            proposed=called[k].proposed,
            found_by=_found_by(findings, k),
            cues=cues[k],
            share=float(findings.flow.class_shares[k]),
            is_empty=_is_empty(findings, k),
            is_hidden=int(findings.order[k]) in findings.summary.hidden,
            words=[(name(word, MAX_WORD), sizes[k][i]) for i, word in enumerate(words[k])],
            told=spoken([name(word, MAX_WORD) for word in words[k]]),
            sentences=[name(sentence) for sentence in sentences[k]],
            before=_typical(findings.flow.effects[:-1, k], findings.flow.following[:-1, k]),
            after=_typical(findings.flow.effects[k], findings.flow.following[k]),
            start=float(findings.flow.effects[-1, k]),
            opens=bool(_is_typical(findings.flow.effects[-1], findings.flow.following[-1])[k]),
            examples=[_example(findings, row, k) for row in findings.examples[k]],
            curve=band_chart(
                positions.shares[:, k], None, None, positions.labels, k,
                float(positions.shares[:, k].max(initial=1e-9)),
                label=f"Share by {positions.axis}: " + _said(positions, k),
            ),
        )
        for k in range(n_classes)
    ]  # fmt: skip


def _is_empty(findings: Findings, rank: int) -> bool:
    """Whether no message is mainly of a class, and all have less than half a message of it."""
    own = findings.shares[:, rank]
    is_main = (own[findings.speaking] >= findings.shares[findings.speaking].max(axis=1)).any()
    return bool(not is_main and own.sum() < _LITTLE and findings.flow.class_shares[rank] < _SMALL)


class _Called(NamedTuple):
    """What a class is called: whether somebody named it, whether the name is a proposal."""

    name: str
    named: bool
    proposed: bool


def _called(
    findings: Findings,
    names: dict[int, str],
    rank: int,
    words: list[str],
    sentences: list[str],
) -> _Called:
    """Return the name that a person gave, else the model's own, else a sentence or words.

    The name of a label or a proposal that has a word which is to be hidden is not shown.
    """
    summary, number = findings.summary, int(findings.order[rank])
    if number in names:
        return _Called(names[number], named=True, proposed=False)
    own = summary.class_names.get(number)
    proposed = number in summary.proposed
    kept = number in summary.named
    if own is not None and (kept or not tells(own, findings.hidden)):
        return _Called(name(own), named=not proposed, proposed=proposed)
    return _Called(automatic_name(words, sentences), named=False, proposed=False)


def _found_by(findings: Findings, rank: int) -> str | None:
    """Return how many of how many searches found a class; None for one search."""
    found, searches = findings.summary.found_by, findings.summary.facts.get("searches", 1)
    if found is None or searches < 2:
        return None
    return f"{found[findings.order[rank]]} of {searches}"


def _cues(findings: Findings) -> list[list[str]]:
    """Return what sets each class apart, by rank, for a model that says so."""
    table = findings.summary.tables.get("acts")
    if table is None:
        return [[] for _ in range(findings.n_classes)]
    own = dict(zip(table["act"], table["cues"], strict=True))
    return [
        [
            said
            for cue in own[number].split(", ")
            if not tells(cue, findings.hidden) and (said := _cue(*cue.partition(": ")[::2]))
        ]
        for number in findings.order.tolist()
    ]


def _cue(view: str, value: str) -> str | None:
    """Put a cue into words; None for one that says little: the lack of a mark, a rare word."""
    if value in ("<other>", "no", ""):
        return None
    if value == "yes":
        return {"question": "question mark", "exclamation": "exclamation mark"}.get(view, view)
    if value == "<none>":
        return "no mark at the end"
    if view == "length":
        return value.replace("-", "–")
    said = {"beginning": "begins “{}”", "end": "last word “{}”", "closing": "ends in “{}”",
            "words": "“{}”"}.get(view, view + " {}")  # fmt: skip
    return said.format(name(value, MAX_WORD))


def _said(positions: Positions, rank: int) -> str:
    shares = positions.shares[:, rank]
    return ", ".join(f"{label} {share:.0%}" for label, share in zip(positions.labels, shares,
                                                                    strict=True))  # fmt: skip


def _sizes(findings: Findings, words: list[list[str]]) -> list[list[int]]:
    """Return how characteristic words are of their class, from 4 (most) to 1."""
    table = findings.summary.words
    sizes = []
    for number, own in zip(findings.order.tolist(), words, strict=True):
        rows = table.filter(pl.col("class") == number)
        bits = dict(zip(rows["word"], rows["distinctiveness"], strict=True))
        most = max((bits[word] for word in own), default=1.0)
        sizes.append([1 + min(3, int(4 * max(bits[word], 0) / max(most, 1e-12))) for word in own])
    return sizes


def _typical(effects: NDArray[np.float64], shares: NDArray[np.float64]) -> list[tuple[int, float]]:
    """Return the strongest of what is clearly likelier than usual and not rare, in order."""
    typical = _is_typical(effects, shares)
    order = [k for k in np.argsort(-effects, kind="stable") if typical[k]]
    return [(int(k), float(effects[k])) for k in order[:_NEIGHBOURS]]


def _is_typical(effects: NDArray[np.float64], shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (effects >= _NOTABLE) & (shares >= graph.least_share(len(effects)))


def _example(findings: Findings, row: int, rank: int) -> dict[str, Any]:
    """Return one characteristic message and where the reader finds it."""
    corpus, shown = findings.corpus, findings.shown
    conversation = int(np.searchsorted(corpus.conversation_offsets, row, side="right")) - 1
    place = row - int(corpus.conversation_offsets[conversation])
    at = int(np.searchsorted(shown.conversations, conversation))
    is_there = at < len(shown.conversations) and shown.conversations[at] == conversation
    is_there = is_there and place < shown.lengths[at]
    speaker = corpus.table["speaker"][row]
    return {
        "text": excerpt(corpus.table["text"][row], _EXCERPT),
        "speaker": speaker_name(speaker) if speaker is not None else None,
        "share": float(findings.shares[row, rank]),
        "thread": at if is_there else None,
        "conversation": conversation,
        "message": place,
    }


def make_topics(findings: Findings) -> list[dict[str, Any]]:
    """Return the topics that a model has alongside its classes, the largest first."""
    table = findings.summary.tables.get("topics")
    if table is None:
        return []
    return [
        {
            "number": int(row["topic"]),
            "share": float(row["share"]),
            "words": name(" ".join(_told(row["words"], findings.hidden)), _TOPIC_LENGTH),
        }
        for row in table.to_dicts()
    ]


def _told(words: str, hidden: frozenset[str]) -> list[str]:
    return [name(word, MAX_WORD) for word in words.split(" ") if word not in hidden][:_WORDS]


def make_graph(findings: Findings, acts: list[Act]) -> dict[str, Any]:
    """Draw the act graph, for wide and for narrow screens, and put it in words."""
    filled = [act.rank for act in acts if not (act.is_empty or act.is_hidden)] or [0]
    n_nodes = min(filled[-1] + 1, graph.MAX_NODES)
    shares = findings.flow.class_shares[:n_nodes]
    rows = [*range(n_nodes), findings.n_classes]
    following = findings.flow.following[rows][:, :n_nodes]
    effects = findings.flow.effects[rows][:, :n_nodes]
    answered = findings.flow.answered
    replies = None if answered is None else answered[:n_nodes]
    weights = None if findings.flow.observed else _weights(findings, n_nodes)
    edges = graph.find_edges(shares, following, effects, weights, replies)
    first = graph.first_step(edges, n_nodes)
    words = [" ".join(act.told[:5]) for act in acts]
    names = [act.name for act in acts]
    pictures = [
        graph.act_graph(shares, following, effects, names, words, edges, tall=tall,
                        least=graph.STEPS[first])
        for tall in (False, True)
    ]  # fmt: skip
    strongest = sorted(edges, key=lambda e: -abs(np.log(max(e.effect, 1e-9))))
    return {
        "wide": pictures[0],
        "tall": pictures[1],
        "steps": graph.STEPS,
        "first": first,
        "n_nodes": n_nodes,
        "observed": findings.flow.observed,
        "learns": findings.summary.transition_kind != "none",
        "replies": None if answered is None else round(float(answered.sum())),
        "least": None if answered is None else least_replies(answered),
        "edges": strongest,
        "weighted": any(edge.weight is not None for edge in edges),
        "raises": sum(edge.effect > 1 and edge.source >= 0 for edge in edges),
    }


def _weights(findings: Findings, n_nodes: int) -> NDArray[np.float64] | None:
    """Return the model's own weights by rank, the start last, of a model that has weights."""
    summary = findings.summary
    if summary.transition_kind != "weights" or summary.transitions is None:
        return None
    start = findings.n_classes + summary.transition_rows.index("start")
    rows = [*findings.order[:n_nodes].tolist(), start]
    return summary.transitions[rows][:, findings.order[:n_nodes]]


def make_story(findings: Findings, acts: list[Act], graph_data: dict[str, Any]) -> dict[str, Any]:
    """Choose what the first lines say: the largest classes, how threads open, what follows.

    Where nothing follows anything more than usual, they say what replies mostly are.
    """
    edges = graph_data["edges"]
    threads = [e for e in edges if e.source >= 0 and e.source != e.target and e.effect > 1]
    weight = {id(e): _part(e, acts) * e.probability * np.log2(e.effect) for e in threads}
    first = findings.flow.following[-1]
    shown = [act for act in acts if not act.is_hidden] or acts
    starters = sorted(shown, key=lambda act: -first[act.rank])
    largest = sorted(shown, key=lambda act: -act.share)  # in other texts A need not be
    taught = findings.summary.tags is not None
    return {
        "largest": [act for act in largest[:3] if act.share > 0] or shown[:1],
        "dominant": largest[0]
        if largest[0].share > _DOMINANT and len(acts) > 1 and not taught
        else None,
        "starts": [(act.rank, float(first[act.rank])) for act in starters[:2] if act.opens],
        "opening": _opening(findings),
        "follows": sorted(threads, key=lambda e: -weight[id(e)])[:2],
        "replies": [] if threads else _usual_replies(findings),
    }


def _opening(findings: Findings) -> tuple[int, float, float] | None:
    """Return the rank that most sets openings apart, and how many of them and of others have it.

    Only where sentences have classes: shares of a long message say little about what it does.
    """
    if findings.contains is None:
        return None
    found = opening(talk_of_findings(findings))
    if found is None:
        return None
    (rank,) = np.flatnonzero(findings.order == found[0]).tolist()
    return rank, *found[1:]


def _usual_replies(findings: Findings) -> list[tuple[int, float]]:
    """Return the ranks that replies have most of, and their shares; none without replies."""
    answered = findings.flow.answered
    if answered is None or answered.sum() < least_replies(answered) or findings.n_classes < 2:
        return []
    usual = answered / answered.sum() @ findings.flow.following[:-1]
    return [(int(k), float(usual[k])) for k in np.argsort(-usual, kind="stable")[:2]]


def _part(edge: graph.Edge, acts: list[Act]) -> float:
    """Return how much an arrow's source matters: by its replies where these are known."""
    return acts[edge.source].share if edge.replies is None else edge.replies


def make_positions(positions: Positions, acts: list[Act]) -> list[dict[str, Any]]:
    """Return a stacked bar for each position in a thread."""
    names = [act.name for act in acts]
    return [
        {
            "label": label,
            "count": int(count),
            "bar": stacked_bar(row, names),
            "first": None if label.endswith("%") else place,
            "last": None if label == "later" else place,
        }
        for place, (label, count, row) in enumerate(
            zip(positions.labels, positions.counts, positions.shares, strict=True), start=1
        )
        if count
    ]


def positions_of(findings: Findings) -> Positions:
    """Return shares by position in the thread."""
    unit = findings.wording.unit
    return by_position(findings.corpus, findings.shares, findings.speaking, unit)
