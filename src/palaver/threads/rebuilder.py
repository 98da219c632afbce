"""The rebuilder: learns who replies to whom, or uses what is known about replies in general."""

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
from palaver.threads.evidence import Gathered, gather_evidence
from palaver.threads.found import Found
from palaver.threads.kernels.features import FEATURES
from palaver.threads.leanings import Leanings, learn_leanings
from palaver.threads.links import interleaved
from palaver.threads.pairs import CandidatePairs, joined, pairs_of
from palaver.threads.places import Defaults, infer_tilt, place_scores, tilted
from palaver.threads.ranker import Ranker, normalized, scores_of
from palaver.threads.training import Progress, fit_calibrated, known_pairs, known_parents
from palaver.threads.transitions import check_model, transitions_of

KIND = "thread rebuilder"
_MOST_PAIRS = 800_000  # most pairs to learn from; 200 megabytes of features
_TILT_MESSAGES = 20_000  # from which to infer whether messages reply to the first one
_READING = 0.2  # approximate share of the learning time that gathering evidence takes


class ThreadRebuilder(HasParams):
    """Find out who replies to whom if a file does not say.

    Parameters
    ----------
    model : M4 or BlockHMM, optional
        A fitted model whose transitions are additional evidence.
    window : int
        Number of preceding messages that may be a message's parent, in addition to the first one.
    order : {"time", "corpus", None}
        Only earlier messages are candidates: by the column ``time`` (in file order where times
        are missing), or in file order. None: any message may be the parent.
    channel : bool
        Whether what the file calls a conversation is a whole channel, in which conversations
        start and mix; every tree becomes a conversation.
    penalty : float
        Weight of the quadratic penalty in training.
    hidden : int
        Number of hidden units, which learn how kinds of evidence interact. With 0, every feature
        has a single weight that can be interpreted.
    random_state : int
        Seed for sampling messages, if there are very many, and for initializing hidden units.

    Attributes
    ----------
    ranker_ : Ranker
        Weights of :data:`palaver.threads.kernels.features.FEATURES` and those of the hidden units;
        only after ``fit``.
    temperature_ : float
        Divisor of the scores that calibrates probabilities; only after ``fit``.
    leanings_ : Leanings or None
        Leanings of words; only after ``fit``.
    defaults_ : Defaults or None
        The numbers used without training.

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
        """Check the parameters against their declared limits."""
        params = self.get_params()
        del params["random_state"], params["model"]
        check(type(self).__name__, self.limits, params)
        check_model(self.model)

    @classmethod
    def default(cls, defaults: Defaults | None = None, **params: Any) -> Self:
        """Return a rebuilder that needs no training, only general numbers and the data itself.

        Whether messages tend to reply to the first one (as in forums) or to the previous one (as in
        chats) is inferred from the words, quotations and names of the corpus.

        Parameters
        ----------
        defaults : Defaults, optional
            Numbers to use instead of those that ship with Palaver.
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
            Called with the share of the work just done.
        """
        self.check_params()
        if not (corpus.parents >= 0).any():
            raise CorpusError(
                f"{corpus.source}: no message replies to another, so there is nothing to learn "
                "from; to rebuild without training, omit --train (ThreadRebuilder.default())"
            )
        if self.channel and (corpus.parents < 0).sum() <= 1.1 * corpus.n_conversations:
            corpus = interleaved(corpus)
        gathered = self._gather(corpus)
        parents = known_parents(corpus, gathered)
        self.leanings_, leans = learn_leanings(gathered, parents)
        gathered = gathered.leaning(leans)
        report = progress or (lambda _: None)
        pairs, right = self._known(gathered, parents, lambda share: report(_READING * share))
        self.ranker_, self.temperature_ = fit_calibrated(
            gathered, pairs, right, penalty=self.penalty, n_units=self.hidden,
            seed=self.random_state, progress=lambda share: report((1 - _READING) * share),
        )  # fmt: skip
        self.defaults_ = None
        return self

    def _gather(self, corpus: Corpus) -> Gathered:
        transitions = None if self.model is None else transitions_of(self.model, corpus)
        return gather_evidence(corpus, order_of(corpus, self.order), transitions)

    def _known(
        self, gathered: Gathered, parents: NDArray[np.int64], progress: Progress
    ) -> tuple[CandidatePairs, NDArray[np.bool_]]:
        """Return a limited number of messages whose parent is one of several candidates."""
        draws = rng.generator(self.random_state, "threads").random(len(parents))
        lengths = np.diff(gathered.evidence.conversation_offsets)
        n_pairs = min(self.window, lengths.mean()) * len(parents)
        share = _MOST_PAIRS / max(n_pairs, 1)

        def wanted(pairs: CandidatePairs) -> NDArray[np.bool_]:
            return np.asarray((np.diff(pairs.offsets) > 1) & (draws[pairs.messages] < share))

        return known_pairs(self._pairs(gathered, progress), parents, wanted)

    # using

    def predict(self, corpus: Corpus, *, progress: Progress | None = None) -> pl.DataFrame:
        """Return who replies to whom, ignoring the replies of the corpus.

        Returns
        -------
        polars.DataFrame
            As in :meth:`palaver.M4.reconstruct`, with columns probability, runner_up (the second
            most likely parent, null for a start) and runner_up_probability (null if there is no
            other candidate).
        """
        return self.links(corpus, progress=progress).table(corpus)

    def rebuild(
        self, corpus: Corpus, *, keep: bool = False, progress: Progress | None = None
    ) -> Corpus:
        """Return the corpus with rebuilt replies, in order, ready to be fitted or written.

        Parameters
        ----------
        corpus : Corpus
        keep : bool
            Keep the replies that the corpus has, and find only the missing ones.
        progress : callable, optional
            Called with the share of the work just done.

        Returns
        -------
        Corpus
            With columns ``reply_probability``, ``runner_up`` and ``runner_up_probability``; in
            a channel, every tree is a conversation.
        """
        found = self.links(corpus, progress=progress)
        if keep:
            found.keep_given(corpus)
        return found.rebuilt(corpus, split=self.channel)

    def links(self, corpus: Corpus, *, progress: Progress | None = None) -> Found:
        """Return parents, runners-up and probabilities as arrays, with messages in order."""
        self.check_params()
        if self.defaults_ is None and not hasattr(self, "ranker_"):
            raise NotFittedError(
                "ThreadRebuilder: not trained yet; call fit(corpus), or use "
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

    def _pairs(self, gathered: Gathered, progress: Progress | None) -> Iterator[CandidatePairs]:
        """Yield all messages with their candidates and report progress."""
        n_messages = max(len(gathered.rows), 1)
        for pairs in pairs_of(gathered, self.window, self.order is not None):
            yield pairs
            if progress is not None:
                progress(len(pairs.messages) / n_messages)

    def _scorer(self, gathered: Gathered) -> Callable[[CandidatePairs], NDArray[np.float64]]:
        """Return a function that scores candidates."""
        defaults = self.defaults_
        if defaults is None:
            return lambda pairs: self.ranker_.scores(pairs) / self.temperature_
        tilt = None
        if not self.channel:
            tilt = self._tilt(gathered, defaults)
        log_shares = tilted(defaults, tilt)
        return lambda pairs: place_scores(pairs, defaults, log_shares, self.channel)

    def _tilt(self, gathered: Gathered, defaults: Defaults) -> float:
        """Infer from the first messages of the corpus where parents are."""
        parts: list[CandidatePairs] = []
        for pairs in self._pairs(gathered, None):
            parts.append(pairs)
            if sum(len(part.messages) for part in parts) >= _TILT_MESSAGES:
                break
        if not parts:
            return 1.0
        pairs = joined(parts)
        return infer_tilt(pairs, scores_of(pairs, defaults.weights))

    # storing

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
        """Load a rebuilder that :meth:`save` wrote."""
        stored = store.load(folder, KIND)
        content = stored.content
        model = load_model(Path(folder) / "model") if content["has_model"] else None
        rebuilder = cls(model, **content["params"])
        if "defaults" in content:
            rebuilder.defaults_ = Defaults.from_json(content["defaults"])
            return rebuilder
        if content["features"] != list(FEATURES):
            raise StoreError(
                f"{folder}: was trained with features that this version of Palaver does not have; "
                "train it again"
            )
        arrays = stored.arrays
        if "inner" in arrays:
            rebuilder.ranker_ = Ranker(arrays["weights"], arrays["inner"], arrays["outer"])
        else:  # saved before there were hidden units
            rebuilder.ranker_ = Ranker.linear(arrays["weights"])
        rebuilder.temperature_ = content["temperature"]
        if "words" in content:
            rebuilder.leanings_ = Leanings(content["words"], stored.arrays["odds"])
        return rebuilder
