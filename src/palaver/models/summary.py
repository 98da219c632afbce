"""The plain record of a fitted model: all that tables, pictures and the page are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy.special import softmax

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.models.base.model import Model
from palaver.store.fingerprint import short_id

_ENOUGH, _FEWEST = 20.0, 3.0  # replies to a class


@dataclass(frozen=True, eq=False)
class ModelSummary:
    """What a fitted model found, without the model.

    Attributes
    ----------
    name : str
        Of the model, as on the command line.
    params : dict
    class_shares : array of float64, shape (n_classes,)
    words : polars.DataFrame
        The twenty most distinctive words of each class, as :meth:`Model.top_words`.
    transitions : array or None
        Rows are the source. Weights or probabilities, see ``transition_kind``.
    transition_rows : list of str
        Names of the rows beyond the classes, such as "start".
    transition_kind : {"weights", "probabilities", "none"}
    transition_steps : {"replies", "messages", "document", "words"}
        Whether transitions lead from a message to its replies, to the next message, on in
        the same document, or from word to word.
    background_share : float
    trace : polars.DataFrame
    convergence : dict
    facts : dict
        Seed, sampler, sweeps, sizes, fingerprint.
    tables : dict of str to polars.DataFrame
        What a kind of model has beyond the common, such as a tagger's confusion matrix.
    tags : list of str, optional
        Of a tagger, by class number.
    units : {"words", "messages", "sentences"}
        What has a class, and what ``class_shares`` are shares of.
    class_names : dict of int to str
        What classes are called until a person names them: tags, names of labels and seeds, or
        names that the model proposes. Classes may be missing.
    proposed : frozenset of int
        Classes whose names are proposals.
    found_by : array of int64, shape (n_classes,), or None
        How many searches found each class, for a model that joins ``facts["searches"]`` of them.
    view_id : str
        Of the fitted model, and of how its classes were merged.
    named : frozenset of int
        Classes that a person named after the fit.
    descriptions : dict of int to str
        What persons wrote about classes.
    hidden : frozenset of int
        Classes that are not to be listed; they still count.
    first : tuple of int
        Classes that a person wants to see first, in this order.
    """

    name: str
    params: dict[str, Any]
    class_shares: NDArray[np.float64]
    words: pl.DataFrame
    transitions: NDArray[np.float64] | None
    transition_rows: list[str]
    transition_kind: str
    background_share: float
    trace: pl.DataFrame
    convergence: dict[str, float]
    facts: dict[str, Any]
    tables: dict[str, pl.DataFrame] = field(default_factory=dict)
    tags: list[str] | None = None
    transition_steps: str = "replies"
    units: str = "words"
    class_names: dict[int, str] = field(default_factory=dict)
    proposed: frozenset[int] = frozenset()
    found_by: NDArray[np.int64] | None = None
    view_id: str = ""
    named: frozenset[int] = frozenset()
    descriptions: dict[int, str] = field(default_factory=dict)
    hidden: frozenset[int] = frozenset()
    first: tuple[int, ...] = ()

    @property
    def order(self) -> NDArray[np.int64]:
        """The numbers of the classes in the order in which they are shown: A, B and so on.

        The largest first, unless a person ordered them; hidden ones last.
        """
        by_size = np.argsort(-self.class_shares, kind="stable").tolist()
        asked = [*self.first, *(k for k in by_size if k not in self.first)]
        return np.array(sorted(asked, key=lambda k: k in self.hidden), np.int64)

    @property
    def is_about_replies(self) -> bool:
        """Whether what follows what is about replies, and not about the next message or word."""
        return self.transition_steps == "replies"

    def next_shares(self) -> NDArray[np.float64] | None:
        """Return what is expected after a message wholly of one class, and at the start.

        Returns
        -------
        array of float64, shape (n_classes + 1, n_classes), or None
            Rows sum to one; the last row is the start. Weights go through the softmax of the
            model, ``softmax(weights[a] + bias)``; probabilities are taken as they are. A model
            without a start row starts by its class shares; None for a model without
            transitions.
        """
        if self.transitions is None or self.transition_kind == "none":
            return None
        return next_shares(
            self.transitions, self.transition_kind, self.transition_rows, self.class_shares
        )

    def effects(self, answered: NDArray[np.float64] | None = None) -> NDArray[np.float64] | None:
        """Return how many times as likely as usual each class is after each other.

        Parameters
        ----------
        answered : array of float64, shape (n_classes,), optional
            Replies to each class, see :func:`replies_to`. Without, everything counts as
            answered alike, so that classes nobody answers also count towards what is usual.

        Returns
        -------
        array of float64, shape (n_classes + 1, n_classes), or None
            ``next[a, b] / usual[b]`` with :meth:`next_shares`. Usual is the average over what
            is answered, ``sum_a answered[a] next[a, b] / sum(answered)``; for the last row, the
            start, it is the class's share of the corpus. Rows of classes with fewer replies
            than :func:`least_replies` are one: nothing is known about them.
        """
        following = self.next_shares()
        if following is None:
            return None
        return relative(following, self.class_shares, answered)

    @property
    def is_guided(self) -> bool:
        """Whether labels or seed words gave names to some classes of a model that is no tagger."""
        return self.tags is None and bool(set(self.class_names) - self.proposed - self.named)

    def follow_ups(self, answered: NDArray[np.float64] | None = None) -> pl.DataFrame | None:
        """Return what follows what as a table; None for a model without transitions.

        Parameters
        ----------
        answered : array of float64, shape (n_classes,), optional
            Replies to each class, as for :meth:`effects`.

        Returns
        -------
        polars.DataFrame
            One row for each pair: source (a class, or "start"), target, share (of what follows
            the source), usual (of what follows anything), times (their ratio), replies (to the
            source; null where they are not known). Large sources first, then by times.
        """
        following, effects = self.next_shares(), self.effects(answered)
        if following is None or effects is None:
            return None
        n_classes = len(self.class_shares)
        known = answered is None or answered >= least_replies(answered)
        counts = [None] * n_classes if answered is None else answered.tolist()
        names = ["start", *self.order.astype(str)]
        rows = pl.DataFrame(
            {
                "source": np.repeat([*map(str, range(n_classes)), "start"], n_classes),
                "target": np.tile(np.arange(n_classes), n_classes + 1),
                "share": following.ravel(),
                "usual": (following / effects).ravel(),
                "times": effects.ravel(),
                "replies": pl.Series(
                    np.repeat(np.array([*counts, None], dtype=object), n_classes).tolist(),
                    dtype=pl.Float64,
                ),
            }
        )
        judged = np.append(np.broadcast_to(known, n_classes), True)
        rows = rows.filter(pl.Series(np.repeat(judged, n_classes)))
        return rows.sort(
            pl.col("source").replace_strict({name: i for i, name in enumerate(names)}),
            pl.col("times"),
            descending=[False, True],
            maintain_order=True,
        )

    def classes(self, n_words: int = 8) -> pl.DataFrame:
        """Return one row per class in their :attr:`order`: class, share, characteristic words."""
        words = (
            self.words.filter(pl.col("rank") <= n_words)
            .group_by("class", maintain_order=True)
            .agg(pl.col("word").str.join(" ").alias("words"))
        )
        shares = pl.DataFrame({"class": np.arange(len(self.class_shares)),
                               "share": self.class_shares})  # fmt: skip
        return shares.join(words, on="class", how="left", maintain_order="left")[self.order]


def next_shares(
    transitions: NDArray[np.float64],
    kind: str,
    names: Sequence[str],
    class_shares: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return what is expected after each class, and at the start; see :class:`ModelSummary`.

    Parameters
    ----------
    transitions : array of float64, shape (n_classes + n_rows, n_classes)
    kind : {"weights", "probabilities"}
    names : sequence of str
        Of the rows beyond the classes.
    class_shares : array of float64, shape (n_classes,)
        The start of a model that has no row for it.
    """
    n_classes = len(class_shares)
    rows = np.asarray(transitions, float)
    named = {name: rows[n_classes + i] for i, name in enumerate(names)}
    first = named.get("start")
    following = rows[:n_classes]
    if kind == "weights":
        bias = named.get("bias", np.zeros(n_classes))
        following = softmax(following + bias, axis=1)
        first = None if first is None else softmax(first + bias)
    table = np.vstack((following, class_shares if first is None else first))
    return np.asarray(table / table.sum(axis=1, keepdims=True))


def replies_to(shares: NDArray[np.float64], parents: NDArray[np.integer]) -> NDArray[np.float64]:
    """Return how many replies there are to each class.

    A message counts for each of its classes by their shares, once for each reply that has
    words. So a class that is never answered has none, however frequent it is.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_classes)
        Zero in messages without words.
    parents : array of int, shape (n_messages,)
    """
    rows = np.flatnonzero((parents >= 0) & (shares.sum(axis=1) > 0))
    return np.asarray(shares[parents[rows]].sum(axis=0))


def messages_before(corpus: Corpus | Encoded, speaking: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the row of the last speaking message before each speaking one; -1 for none.

    Within a conversation; silent messages have none.
    """
    rows = np.flatnonzero(speaking)
    conversation = np.searchsorted(corpus.conversation_offsets, rows, side="right")
    before = np.concatenate(([-1], rows[:-1]))[: len(rows)]
    same = np.diff(conversation, prepend=-1) == 0
    found = np.full(corpus.n_messages, -1, np.int64)
    found[rows] = np.where(same, before, -1)
    return found


def relative(
    following: NDArray[np.float64],
    shares: NDArray[np.float64],
    answered: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Divide what follows each class by what usually follows; see :meth:`ModelSummary.effects`."""
    tiny = np.finfo(float).tiny
    weights = shares if answered is None or not answered.any() else answered / answered.sum()
    usual = np.maximum(weights @ following[:-1], tiny)
    start = following[-1] / np.maximum(shares, tiny)
    after = following[:-1] / usual
    if answered is not None:
        after[answered < least_replies(answered)] = 1.0
    return np.vstack((after, start))


def least_replies(answered: NDArray[np.float64]) -> float:
    """Return from how many replies on something is said about what follows a class.

    Twenty; in small corpora a quarter of an even part of all replies, but never fewer than three.
    """
    return min(_ENOUGH, max(_FEWEST, float(answered.sum()) / (4 * max(len(answered), 1))))


def summarize_model(model: Model) -> ModelSummary:
    """Make the summary of a fitted model, with what people decided about its classes."""
    classes = model.curation_.classes if model.curation_ else ()
    given = {k: own.name for k, own in enumerate(classes) if own.name is not None}
    proposed = {k for k, said in given.items() if said.proposed}
    groups = model.curation_.groups if model.curation_ else []
    divided = [split.folder for split in model.curation_.splits] if model.curation_ else []
    order = model.curation_.order if model.curation_ else ()
    return ModelSummary(
        name=model.name,
        params=model.get_params(),
        class_shares=model.class_shares_,
        words=model.top_words(20, by="distinctiveness"),
        transitions=getattr(model, "transitions_", None),
        transition_rows=model.transition_rows,
        transition_kind=model.transition_kind,
        background_share=1 - model.class_probability_ - model.topic_probability_,
        trace=model.trace_,
        convergence=model.convergence_,
        facts={
            "seed": model.seed_,
            "sampler": model.sampler_,
            "sweeps": model.n_sweeps_,
            "burn_in": model.burn_in_,
            "best_chain": model.best_chain_,
            "words": len(model.vocabulary_),
            "fingerprint": model.fingerprint_,
            **model._facts(),
        },
        tables=model.tables(),
        tags=getattr(model, "tags_", None),
        transition_steps=model.transition_steps,
        units=model.units,
        class_names=model._class_names() | {k: said.text for k, said in given.items()},
        proposed=(model._proposed_names() - set(given)) | proposed,
        found_by=model._found_by(),
        view_id=short_id([model.run_id, groups, *divided])
        if model.origin is not model
        else model.run_id,
        named=frozenset(given) - proposed,
        descriptions={k: own.description.text for k, own in enumerate(classes) if own.description},
        hidden=frozenset(k for k, own in enumerate(classes) if own.hidden),
        first=tuple(dict.fromkeys(groups[id] for id in order if groups[id] >= 0)),
    )
