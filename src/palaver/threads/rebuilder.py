"""The rebuilder: learns who answers whom, or goes by what is known of replies in general."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng, store
from palaver.corpus.table import Corpus
from palaver.errors import CorpusError, NotFittedError, StoreError
from palaver.kernels.thread_features import FEATURES
from palaver.kernels.thread_links import best_two, link_greedily
from palaver.models.manners import Manners
from palaver.models.reconstruct import order_of
from palaver.models.registry import load as load_model
from palaver.params import Limit, check, either, flag, nothing, one_of, real, whole
from palaver.threads.evidence import Gathered, gather
from palaver.threads.leanings import Leanings, learn_leanings
from palaver.threads.learn import true_pairs
from palaver.threads.links import interleaved, relinked
from palaver.threads.pairs import Pairs, joined, pairs_of
from palaver.threads.places import Defaults, infer_tilt, place_scores, tilted
from palaver.threads.ranker import fit_temperature, fit_weights, normalized, scores_of
from palaver.threads.transitions import check_model, transitions_of

KIND = "thread rebuilder"
_MOST_PAIRS = 800_000  # to learn from; 200 megabytes of features
_TILT_MESSAGES = 20_000  # from which it is inferred whether messages answer the first one
_FOLDS = 5  # one of which is for the temperature
_BLOCK = 100

#: Told the share of the messages that are done.
Progress = Callable[[float], None]


@dataclass(frozen=True, eq=False)
class Found:
    """The parents of messages, which stand in their order.

    Attributes
    ----------
    rows : array of int64, shape (n_messages,)
        Message of the corpus at each place.
    parents, runners_up : array of int64, shape (n_messages,)
        Places; -1 is a start, -2 in runners_up that there was no other candidate.
    probabilities, runner_up_probabilities : array of float64, shape (n_messages,)
    """

    rows: NDArray[np.int64]
    parents: NDArray[np.int64]
    runners_up: NDArray[np.int64]
    probabilities: NDArray[np.float64]
    runner_up_probabilities: NDArray[np.float64]


class ThreadRebuilder(Manners):
    """Say who answers whom where a file does not.

    Parameters
    ----------
    model : M4 or BlockHMM, optional
        A fitted model whose transitions count as evidence, too.
    window : int
        How many messages before a message may be its parent, besides the first one.
    order : {"time", "corpus", None}
        Only earlier messages are candidates: by the column ``time`` (as they stand where a time
        is missing), or as they stand. None: any message may be the parent.
    channel : bool
        Whether what the file calls a conversation is a whole channel, in which conversations
        start and mix: every tree becomes a conversation.
    penalty : float
        Weight of the quadratic penalty in training.
    random_state : int
        For the messages to learn from, where there are very many.

    Attributes
    ----------
    weights_ : array of float64, shape (n_features,)
        Of :data:`palaver.kernels.thread_features.FEATURES`; only after ``fit``.
    temperature_ : float
        What scores are divided by, so that probabilities are calibrated; only after ``fit``.
    leanings_ : Leanings or None
        What words lean to; only after ``fit``.
    defaults_ : Defaults or None
        The numbers that count without training.

    Examples
    --------
    >>> import palaver as pv
    >>> chat = pv.sample()
    >>> links = pv.ThreadRebuilder.default().predict(chat)
    >>> links.columns[:5]
    ['conversation', 'id', 'parent', 'parent_row', 'probability']
    """

    limits: ClassVar[Mapping[str, Limit]] = {
        "window": whole(1),
        "order": either(nothing(), one_of("time", "corpus")),
        "channel": flag(),
        "penalty": real(above=0),
    }

    weights_: NDArray[np.float64]
    temperature_: float
    leanings_: Leanings | None = None
    defaults_: Defaults | None = None

    def __init__(
        self,
        model: Any = None,
        window: int = 100,
        order: str | None = "time",
        channel: bool = False,
        penalty: float = 1.0,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.window = window
        self.order = order
        self.channel = channel
        self.penalty = penalty
        self.random_state = random_state

    def check_params(self) -> None:
        """Compare the parameters with their declared limits."""
        params = self.get_params()
        del params["random_state"], params["model"]
        check(type(self).__name__, self.limits, params)
        check_model(self.model)

    @classmethod
    def default(cls, defaults: Defaults | None = None, **params: Any) -> Self:
        """Return a rebuilder that needs no training: general numbers, and the data itself.

        Whether messages rather answer the first one (as in forums) or the one before (as in
        chats) is inferred from the words, quotations and names of the corpus at hand.

        Parameters
        ----------
        defaults : Defaults, optional
            Other numbers than those that come with Palaver.
        **params
            ``window``, ``order``, ``channel``.
        """
        rebuilder = cls(**params)
        rebuilder.check_params()
        rebuilder.defaults_ = defaults or Defaults.load()
        return rebuilder

    # learning

    def fit(self, corpus: Corpus, *, progress: Progress | None = None) -> Self:
        """Learn from conversations with known replies.

        Parameters
        ----------
        corpus : Corpus
            For channels: channels with several conversations each, or conversations, which
            are then mixed by time.
        progress : callable, optional
            Told the share of the messages that were read.
        """
        self.check_params()
        if not (corpus.parents >= 0).any():
            raise CorpusError(
                f"{corpus.source}: no message answers another, so there is nothing to learn "
                "from; without training (no --train, ThreadRebuilder.default()) none are needed"
            )
        if self.channel and (corpus.parents < 0).sum() <= 1.1 * corpus.n_conversations:
            corpus = interleaved(corpus)
        gathered = self._gather(corpus)
        old = np.asarray(corpus.parents)[gathered.rows]
        parents = np.where(old < 0, -1, gathered.places[np.maximum(old, 0)])
        self.leanings_, leans = learn_leanings(gathered, parents)
        gathered = gathered.leaning(leans)
        pairs, right = self._known(gathered, parents, progress)
        folds = _folds(gathered, pairs)
        zero, precision = np.zeros(len(FEATURES)), np.full(len(FEATURES), self.penalty)
        held = folds == 0
        weights = zero
        self.temperature_ = 1.0
        if held.any() and not held.all():
            part, owned = pairs.only(~held), np.repeat(~held, np.diff(pairs.offsets))
            weights = fit_weights(part, _targets(right[owned]), zero, precision)
            judged = pairs.only(held)
            scores = scores_of(judged, weights)
            self.temperature_ = fit_temperature(scores, judged.offsets, right[~owned])
        self.weights_ = fit_weights(pairs, _targets(right), zero, precision, begin=weights)
        self.defaults_ = None
        return self

    def _gather(self, corpus: Corpus) -> Gathered:
        transitions = None if self.model is None else transitions_of(self.model, corpus)
        return gather(corpus, order_of(corpus, self.order), transitions)

    def _known(
        self, gathered: Gathered, parents: NDArray[np.int64], progress: Progress | None
    ) -> tuple[Pairs, NDArray[np.bool_]]:
        """Return messages with a choice whose parent is among the candidates, at most so many."""
        draws = rng.generator(self.random_state, "threads").random(len(parents))
        lengths = np.diff(gathered.evidence.conversation_offsets)
        n_pairs = min(self.window, lengths.mean()) * len(parents)
        share = _MOST_PAIRS / max(n_pairs, 1)
        parts, found = [], []
        for pairs in self._pairs(gathered, progress):
            right = true_pairs(pairs, parents)
            kept = (np.diff(pairs.offsets) > 1) & (draws[pairs.messages] < share)
            kept &= np.add.reduceat(right, pairs.offsets[:-1]) > 0
            parts.append(pairs.only(kept))
            found.append(right[np.repeat(kept, np.diff(pairs.offsets))])
        return joined(parts), np.concatenate(found)

    # using

    def predict(self, corpus: Corpus, *, progress: Progress | None = None) -> pl.DataFrame:
        """Return who answers whom, whatever the corpus says of it.

        Returns
        -------
        polars.DataFrame
            Columns conversation, id, parent (null for a start), parent_row (of the corpus, -1
            for a start), probability, runner_up (the next likely parent, null for a start) and
            runner_up_probability (null where there is no other candidate); one row a message,
            in the corpus' order. There is never a cycle.
        """
        found = self.links(corpus, progress=progress)
        back = np.argsort(found.rows)
        ids = corpus.table["id"]

        def names(places: NDArray[np.int64]) -> pl.Series:
            rows = _rows(found, places)[back]
            return ids.gather(np.maximum(rows, 0)).zip_with(
                pl.Series(rows >= 0), pl.Series([None], dtype=pl.String)
            )

        second = pl.Series(found.runner_up_probabilities[back])
        return pl.DataFrame(
            {
                "conversation": corpus.table["conversation"],
                "id": ids,
                "parent": names(found.parents),
                "parent_row": _rows(found, found.parents)[back],
                "probability": found.probabilities[back],
                "runner_up": names(found.runners_up),
                "runner_up_probability": second.set(pl.Series(found.runners_up[back] == -2), None),
            }
        )

    def rebuild(self, corpus: Corpus, *, progress: Progress | None = None) -> Corpus:
        """Return the corpus with rebuilt replies, in order, ready for any model or file.

        Returns
        -------
        Corpus
            With columns ``reply_probability``, ``runner_up`` and ``runner_up_probability``; of
            a channel, every tree is a conversation.
        """
        found = self.links(corpus, progress=progress)
        ids = corpus.table["id"].gather(found.rows)
        other = ids.gather(np.maximum(found.runners_up, 0)) if len(ids) else ids
        none = pl.Series(found.runners_up == -2)
        back = np.argsort(found.rows)
        described = corpus.with_columns(
            reply_probability=pl.Series(found.probabilities)[back],
            runner_up=other.zip_with(
                pl.Series(found.runners_up >= 0), pl.Series([None], dtype=pl.String)
            )[back],
            runner_up_probability=pl.Series(found.runner_up_probabilities).set(none, None)[back],
        )
        return relinked(described, found.rows, found.parents, split=self.channel)

    def links(self, corpus: Corpus, *, progress: Progress | None = None) -> Found:
        """Return parents, runners-up and probabilities as arrays, messages in their order."""
        self.check_params()
        if self.defaults_ is None and not hasattr(self, "weights_"):
            raise NotFittedError(
                "ThreadRebuilder: not trained yet; call fit(corpus), or take "
                "ThreadRebuilder.default()"
            )
        gathered = self._gather(corpus)
        if self.leanings_ is not None:
            gathered = gathered.leaning(self.leanings_.scores(gathered))
        n = corpus.n_messages
        found = Found(gathered.rows, np.full(n, -1), np.full(n, -2), np.ones(n), np.zeros(n))
        score = self._scorer(gathered)
        whole = []
        for pairs in self._pairs(gathered, progress):
            chances = normalized(score(pairs), pairs.offsets)
            if self.order is None:
                whole.append((pairs, chances))
            else:
                best, second = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
                best_two(chances, pairs.offsets, best, second)
                _keep(found, pairs, chances, best, second)
        if whole:
            self._link_without_order(found, whole)
        return found

    def _pairs(self, gathered: Gathered, progress: Progress | None) -> Iterator[Pairs]:
        """Yield all messages with their candidates and tell how far it is."""
        n_messages = max(len(gathered.rows), 1)
        for pairs in pairs_of(gathered, self.window, self.order is not None):
            yield pairs
            if progress is not None:
                progress(len(pairs.messages) / n_messages)

    def _scorer(self, gathered: Gathered) -> Callable[[Pairs], NDArray[np.float64]]:
        """Return the function from candidates to their scores."""
        defaults = self.defaults_
        if defaults is None:
            return lambda pairs: scores_of(pairs, self.weights_) / self.temperature_
        tilt = None
        if not self.channel:
            tilt = self._tilt(gathered, defaults)
        log_shares = tilted(defaults, tilt)
        return lambda pairs: place_scores(pairs, defaults, log_shares, self.channel)

    def _tilt(self, gathered: Gathered, defaults: Defaults) -> float:
        """Infer from the first messages of the corpus which place their parents have."""
        parts: list[Pairs] = []
        for pairs in self._pairs(gathered, None):
            parts.append(pairs)
            if sum(len(part.messages) for part in parts) >= _TILT_MESSAGES:
                break
        if not parts:
            return 1.0
        pairs = joined(parts)
        return infer_tilt(pairs, scores_of(pairs, defaults.weights))

    @staticmethod
    def _link_without_order(found: Found, parts: list[tuple[Pairs, NDArray[np.float64]]]) -> None:
        """Link all messages, the surest first, such that no cycle closes."""
        pairs = joined([part for part, _ in parts])
        chances = np.concatenate([chance for _, chance in parts])
        order = np.argsort(-chances, kind="stable")
        owners = pairs.owners.astype(np.int32)
        best, second = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        parents, chosen = (np.empty(len(pairs.messages), np.int64) for _ in range(2))
        best_two(chances, pairs.offsets, best, second)
        link_greedily(order, chances, owners, pairs.candidates, parents, chosen)
        _keep(found, pairs, chances, chosen, np.where(chosen == best, second, best))

    # keeping

    def save(self, folder: str | Path) -> None:
        """Write the rebuilder, and its model if it has one, to a folder."""
        if self.defaults_ is None and not hasattr(self, "weights_"):
            raise NotFittedError("ThreadRebuilder: not trained yet, so there is nothing to save")
        params = self.get_params()
        model = params.pop("model")
        content: dict[str, Any] = {"params": params, "has_model": model is not None}
        arrays: dict[str, NDArray[Any]] = {}
        if self.defaults_ is not None:
            content["defaults"] = self.defaults_.to_json()
        else:
            content |= {"features": list(FEATURES), "temperature": self.temperature_}
            arrays["weights"] = self.weights_
        if self.leanings_ is not None:
            content["words"] = self.leanings_.words
            arrays["odds"] = self.leanings_.odds
        if model is not None:
            model.save(Path(folder) / "model")
        store.save(folder, KIND, content, arrays)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what :meth:`save` wrote."""
        stored = store.load(folder, KIND)
        content = stored.content
        model = load_model(Path(folder) / "model") if content["has_model"] else None
        rebuilder = cls(model, **content["params"])
        if "defaults" in content:
            rebuilder.defaults_ = Defaults.from_json(content["defaults"])
            return rebuilder
        if content["features"] != list(FEATURES):
            raise StoreError(
                f"{folder}: was trained with other features than this version of Palaver has; "
                "train it again"
            )
        rebuilder.weights_ = stored.arrays["weights"]
        rebuilder.temperature_ = content["temperature"]
        if "words" in content:
            rebuilder.leanings_ = Leanings(content["words"], stored.arrays["odds"])
        return rebuilder


def _rows(found: Found, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return rows of the corpus in place of places; negative numbers stay."""
    if not len(places):
        return places
    return np.where(places < 0, places, found.rows[np.maximum(places, 0)])


def _targets(right: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return log targets: the true parent and nobody else."""
    return np.where(right, 0.0, -np.inf)


def _folds(gathered: Gathered, pairs: Pairs) -> NDArray[np.int64]:
    """Return the fold of each message: by conversation, of few ones by blocks of messages."""
    offsets = gathered.evidence.conversation_offsets
    if len(offsets) > _FOLDS:
        return (np.searchsorted(offsets, pairs.messages, side="right") - 1) % _FOLDS
    return pairs.messages // _BLOCK % _FOLDS


def _keep(
    found: Found,
    pairs: Pairs,
    chances: NDArray[np.float64],
    best: NDArray[np.int64],
    second: NDArray[np.int64],
) -> None:
    """Write the chosen pairs of some messages to the result."""
    at = pairs.messages
    found.parents[at] = pairs.candidates[best]
    found.probabilities[at] = chances[best]
    other = second >= 0
    found.runners_up[at[other]] = pairs.candidates[second[other]]
    found.runner_up_probabilities[at[other]] = chances[second[other]]
