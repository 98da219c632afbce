"""The rebuilder: learns who answers whom, or goes by what is known of replies in general."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng, store
from palaver.corpus.table import Corpus
from palaver.errors import CorpusError, NotFittedError, StoreError
from palaver.models.base.params import HasParams
from palaver.models.registry import load as load_model
from palaver.models.views.reconstruct import order_of
from palaver.params import Limit, check, either, flag, nothing, one_of, real, whole
from palaver.threads.evidence import Gathered, gather
from palaver.threads.found import Found
from palaver.threads.kernels.features import FEATURES
from palaver.threads.leanings import Leanings, learn_leanings
from palaver.threads.links import interleaved
from palaver.threads.pairs import Pairs, joined, pairs_of
from palaver.threads.places import Defaults, infer_tilt, place_scores, tilted
from palaver.threads.ranker import Ranker, normalized, scores_of
from palaver.threads.training import Progress, fit_calibrated, known_pairs, known_parents
from palaver.threads.transitions import check_model, transitions_of

KIND = "thread rebuilder"
_MOST_PAIRS = 800_000  # to learn from; 200 megabytes of features
_TILT_MESSAGES = 20_000  # from which it is inferred whether messages answer the first one
_READING = 0.2  # share of the time of learning that gathering the evidence takes, about


class ThreadRebuilder(HasParams):
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
    hidden : int
        Hidden units, which learn what kinds of evidence mean together. With 0, every feature
        has one weight that can be read.
    random_state : int
        For the messages to learn from, where there are very many, and the hidden units' start.

    Attributes
    ----------
    ranker_ : Ranker
        Weights of :data:`palaver.threads.kernels.features.FEATURES` and those of the hidden units;
        only after ``fit``.
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
        "hidden": whole(0),
    }

    ranker_: Ranker
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
        hidden: int = 16,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.window = window
        self.order = order
        self.channel = channel
        self.penalty = penalty
        self.hidden = hidden
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
            Told the share of the work that was done.
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
        parents = known_parents(corpus, gathered)
        self.leanings_, leans = learn_leanings(gathered, parents)
        gathered = gathered.leaning(leans)
        tell = progress or (lambda _: None)
        pairs, right = self._known(gathered, parents, lambda share: tell(_READING * share))
        self.ranker_, self.temperature_ = fit_calibrated(
            gathered, pairs, right, penalty=self.penalty, n_units=self.hidden,
            seed=self.random_state, progress=lambda share: tell((1 - _READING) * share),
        )  # fmt: skip
        self.defaults_ = None
        return self

    def _gather(self, corpus: Corpus) -> Gathered:
        transitions = None if self.model is None else transitions_of(self.model, corpus)
        return gather(corpus, order_of(corpus, self.order), transitions)

    def _known(
        self, gathered: Gathered, parents: NDArray[np.int64], progress: Progress
    ) -> tuple[Pairs, NDArray[np.bool_]]:
        """Return messages with a choice whose parent is among the candidates, at most so many."""
        draws = rng.generator(self.random_state, "threads").random(len(parents))
        lengths = np.diff(gathered.evidence.conversation_offsets)
        n_pairs = min(self.window, lengths.mean()) * len(parents)
        share = _MOST_PAIRS / max(n_pairs, 1)

        def wanted(pairs: Pairs) -> NDArray[np.bool_]:
            return np.asarray((np.diff(pairs.offsets) > 1) & (draws[pairs.messages] < share))

        return known_pairs(self._pairs(gathered, progress), parents, wanted)

    # using

    def predict(self, corpus: Corpus, *, progress: Progress | None = None) -> pl.DataFrame:
        """Return who answers whom, whatever the corpus says of it.

        Returns
        -------
        polars.DataFrame
            As of :meth:`palaver.M4.reconstruct`, and columns probability, runner_up (the next
            likely parent, null for a start) and runner_up_probability (null where there is no
            other candidate).
        """
        return self.links(corpus, progress=progress).table(corpus)

    def rebuild(
        self, corpus: Corpus, *, keep: bool = False, progress: Progress | None = None
    ) -> Corpus:
        """Return the corpus with rebuilt replies, in order, ready for any model or file.

        Parameters
        ----------
        corpus : Corpus
        keep : bool
            Keep the replies that the corpus has, and find those of the other messages.
        progress : callable, optional
            Told the share of the work that was done.

        Returns
        -------
        Corpus
            With columns ``reply_probability``, ``runner_up`` and ``runner_up_probability``; of
            a channel, every tree is a conversation.
        """
        found = self.links(corpus, progress=progress)
        if keep:
            found.keep_given(corpus)
        return found.rebuilt(corpus, split=self.channel)

    def links(self, corpus: Corpus, *, progress: Progress | None = None) -> Found:
        """Return parents, runners-up and probabilities as arrays, messages in their order."""
        self.check_params()
        if self.defaults_ is None and not hasattr(self, "ranker_"):
            raise NotFittedError(
                "ThreadRebuilder: not trained yet; call fit(corpus), or take "
                "ThreadRebuilder.default()"
            )
        gathered = self._gather(corpus)
        if self.leanings_ is not None:
            gathered = gathered.leaning(self.leanings_.scores(gathered))
        found = Found.nothing(gathered.rows)
        score = self._scorer(gathered)
        whole = []
        for pairs in self._pairs(gathered, progress):
            chances = normalized(score(pairs), pairs.offsets)
            if self.order is None:
                whole.append((pairs, chances))
            else:
                found.choose(pairs, chances)
        if whole:
            found.choose_without_order(whole)
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
            return lambda pairs: self.ranker_.scores(pairs) / self.temperature_
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

    # keeping

    def save(self, folder: str | Path) -> None:
        """Write the rebuilder, and its model if it has one, to a folder."""
        if self.defaults_ is None and not hasattr(self, "ranker_"):
            raise NotFittedError("ThreadRebuilder: not trained yet, so there is nothing to save")
        params = self.get_params()
        model = params.pop("model")
        content: dict[str, Any] = {"params": params, "has_model": model is not None}
        arrays: dict[str, NDArray[Any]] = {}
        if self.defaults_ is not None:
            content["defaults"] = self.defaults_.to_json()
        else:
            content |= {"features": list(FEATURES), "temperature": self.temperature_}
            arrays |= {"weights": self.ranker_.weights, "inner": self.ranker_.inner,
                       "outer": self.ranker_.outer}  # fmt: skip
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
        arrays = stored.arrays
        if "inner" in arrays:
            rebuilder.ranker_ = Ranker(arrays["weights"], arrays["inner"], arrays["outer"])
        else:  # kept before there were hidden units
            rebuilder.ranker_ = Ranker.linear(arrays["weights"])
        rebuilder.temperature_ = content["temperature"]
        if "words" in content:
            rebuilder.leanings_ = Leanings(content["words"], stored.arrays["odds"])
        return rebuilder
