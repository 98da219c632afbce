"""The rebuilder: learns who replies to whom, or uses what is known about replies in general."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.errors import CorpusError, NotFittedError, PalaverWarning
from palaver.models.base.params import HasParams
from palaver.models.views.reconstruct import order_of
from palaver.params import Limit, check, either, flag, nothing, one_of, real, whole
from palaver.threads.asking import Asker
from palaver.threads.evidence import Gathered, gather_evidence, tick_of
from palaver.threads.found import Found
from palaver.threads.leanings import Leanings, learn_leanings
from palaver.threads.likeness import ALIKE, Portrait, blended, separate, trust, unlearned
from palaver.threads.links import interleaved
from palaver.threads.pairs import CandidatePairs, joined, pairs_of
from palaver.threads.places import Defaults, infer_tilt, place_scores, tilted
from palaver.threads.ranker import Ranker, normalized, scores_of
from palaver.threads.second import SecondLook
from palaver.threads.stored import load_rebuilder, save_rebuilder
from palaver.threads.training import (
    SHORTLIST,
    Progress,
    fit_linear,
    fit_looks,
    known_pairs,
    known_parents,
    shortlisted,
)
from palaver.threads.transitions import check_model, transitions_of

#: Learned from the channel of ubuntu-irc; written by ``python -m benchmarks.threads --channels``.
_CHANNELS = Path(__file__).with_name("channels")
#: Most pairs to learn single weights from, and hidden units; 200 and 700 megabytes of features.
_MOST_PAIRS, _MOST_SHORTLISTED = 800_000, 2_000_000
_STRETCH = 500  # messages in a row, so that a second look sees what came before
_FEW_PAIRS = 200_000  # from which to learn which candidates are likely
_TILT_MESSAGES = 20_000  # from which to infer whether messages reply to the first one
_READING = 0.2  # approximate share of the learning time that gathering evidence takes


class ThreadRebuilder(HasParams):
    """Find out who replies to whom if a file does not say.

    Parameters
    ----------
    model : Acts, M4 or BlockHMM, optional
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
    looks : {1, 2}
        Whether to judge each message a second time, knowing the conversations that were found at
        first; only with hidden units and an order.
    words : bool
        Whether to learn what single words suggest (leanings).
    fallback : bool
        Whether to rely on the default, in part or wholly, for talk that looks unlike what was
        learned from, and on the default for conversations where there are no channels; a
        warning says so.
    random_state : int
        Seed for sampling messages, if there are very many, and for initializing hidden units.

    Attributes
    ----------
    ranker_ : Ranker
        Weights of :data:`palaver.threads.kernels.features.FEATURES` and those of the hidden units;
        only after ``fit``.
    temperature_ : float
        Divisor of the scores that calibrates probabilities; only after ``fit``.
    second_ : Ranker or None
        The second look, with calibrated scores; its features are those above and
        :data:`palaver.threads.kernels.second.STRUCTURE`.
    leanings_ : Leanings or None
        Leanings of words; only after ``fit``.
    portrait_ : Portrait or None
        What the messages that were learned from look like; see :meth:`distance`.
    distance_ : float or None
        The distance of the corpus that was rebuilt last.
    defaults_ : Defaults or None
        The numbers used without training.
    tick_ : float
        Seconds between the ticks of the clock that was learned from: 60 if it showed minutes.
        Finer times are rounded down to it, 0 leaves them as they are.

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
        "looks": whole(1, 2),
        "words": flag(),
        "fallback": flag(),
    }

    ranker_: Ranker
    temperature_: float
    second_: Ranker | None = None
    leanings_: Leanings | None = None
    portrait_: Portrait | None = None
    distance_: float | None = None
    defaults_: Defaults | None = None
    tick_: float = 0.0

    def __init__(
        self,
        model: Any = None,
        window: int = 100,
        order: str | None = "time",
        channel: bool = False,
        penalty: float = 1.0,
        hidden: int = 32,
        looks: int = 2,
        words: bool = True,
        fallback: bool = True,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.window = window
        self.order = order
        self.channel = channel
        self.penalty = penalty
        self.hidden = hidden
        self.looks = looks
        self.words = words
        self.fallback = fallback
        self.random_state = random_state

    def check_params(self) -> None:
        """Check the parameters against their declared limits."""
        params = self.get_params()
        del params["random_state"], params["model"]
        check(type(self).__name__, self.limits, params)
        check_model(self.model)

    @classmethod
    def default(cls, **params: Any) -> Self:
        """Return a rebuilder that needs no training.

        For channels, it was trained on the Ubuntu IRC logs of Kummerfeld et al. (2019); it knows no
        words. Otherwise it is :meth:`by_places`.

        Parameters
        ----------
        **params
            ``window``, ``order``, ``channel``.
        """
        rebuilder = cls(**params)
        if not rebuilder.channel or rebuilder.order is None:
            return cls.by_places(**params)
        rebuilder.check_params()
        shipped = cls.load(_CHANNELS)
        rebuilder.ranker_, rebuilder.second_ = shipped.ranker_, shipped.second_
        rebuilder.temperature_, rebuilder.tick_ = shipped.temperature_, shipped.tick_
        return rebuilder

    @classmethod
    def by_places(cls, defaults: Defaults | None = None, **params: Any) -> Self:
        """Return a rebuilder that uses only general numbers and the data itself.

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
        self.tick_ = tick_of(corpus)
        gathered = self._gather(corpus)
        parents = known_parents(corpus, gathered)
        self.portrait_ = Portrait.of(self._pairs(gathered, None))
        self.leanings_ = None
        if self.words:
            self.leanings_, leans = learn_leanings(gathered, parents)
            gathered = gathered.leaning(leans)
        report = progress or (lambda _: None)
        if self.hidden:
            pairs, right = self._shortlisted(gathered, parents, report)
            looks = fit_looks(
                gathered, pairs, right, penalty=self.penalty, n_units=self.hidden,
                seed=self.random_state, n_looks=1 if self.order is None else self.looks,
                progress=lambda share: report((1 - _READING) * share),
            )  # fmt: skip
        else:
            pairs, right = self._known(gathered, parents, _MOST_PAIRS, _READING, report)
            looks = fit_linear(
                gathered, pairs, right, penalty=self.penalty,
                progress=lambda share: report((1 - _READING) * share),
            )  # fmt: skip
        self.ranker_, self.temperature_, self.second_ = (
            looks.ranker,
            looks.temperature,
            looks.second,
        )
        self.defaults_ = None
        return self

    def _gather(self, corpus: Corpus) -> Gathered:
        transitions = None if self.model is None else transitions_of(self.model, corpus)
        return gather_evidence(corpus, order_of(corpus, self.order), transitions, tick=self.tick_)

    def _known(
        self,
        gathered: Gathered,
        parents: NDArray[np.int64],
        most: int,
        share: float,
        report: Progress,
    ) -> tuple[CandidatePairs, NDArray[np.bool_]]:
        """Return a limited number of messages whose parent is one of several candidates."""
        wanted = self._wanted(gathered, most, self.window, 1)
        return known_pairs(self._pairs(gathered, lambda s: report(share * s)), parents, wanted)

    def _shortlisted(
        self, gathered: Gathered, parents: NDArray[np.int64], report: Progress
    ) -> tuple[CandidatePairs, NDArray[np.bool_]]:
        """Return many messages with a few candidates each."""
        lengths = np.diff(gathered.evidence.conversation_offsets)
        ranker, share = None, _READING
        if min(self.window, lengths.max(initial=0)) > SHORTLIST:
            share = _READING / 2
            few = self._known(gathered, parents, _FEW_PAIRS, share, report)
            ranker = fit_linear(gathered, *few, penalty=self.penalty).ranker
        wanted = self._wanted(gathered, _MOST_SHORTLISTED, min(self.window, SHORTLIST), _STRETCH)
        parts = self._pairs(gathered, lambda s: report(share * s))
        return shortlisted(parts, parents, wanted, ranker)

    def _wanted(
        self, gathered: Gathered, most: int, n_candidates: int, stretch: int
    ) -> Callable[[CandidatePairs], NDArray[np.bool_]]:
        """Return a function that draws as many stretches of messages as there is room for."""
        n_messages = len(gathered.rows)
        draws = rng.generator(self.random_state, "threads").random(n_messages)
        lengths = np.diff(gathered.evidence.conversation_offsets)
        n_pairs = min(n_candidates, lengths.mean()) * n_messages
        share = most / max(n_pairs, 1)
        return lambda pairs: np.asarray(
            (np.diff(pairs.offsets) > 1) & (draws[pairs.messages // stretch] < share)
        )

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
        self,
        corpus: Corpus,
        *,
        keep: bool = False,
        asker: Asker | None = None,
        progress: Progress | None = None,
    ) -> Corpus:
        """Return the corpus with rebuilt replies, in order, ready to be fitted or written.

        Parameters
        ----------
        corpus : Corpus
        keep : bool
            Keep the replies that the corpus has, and find only the missing ones.
        asker : Asker, optional
            Asks a language model about uncertain links; needs an order.
        progress : callable, optional
            Called with the share of the work just done.

        Returns
        -------
        Corpus
            With columns ``reply_probability``, ``runner_up`` and ``runner_up_probability``, and
            ``asked`` if a language model chose some of the parents; in a channel, every tree is a
            conversation.
        """
        found = self.links(corpus, asker=asker, progress=progress)
        return self.finish(corpus, found, keep=keep, asker=asker)

    def finish(
        self, corpus: Corpus, found: Found, *, keep: bool = False, asker: Asker | None = None
    ) -> Corpus:
        """Return the corpus with the replies that :meth:`links` found; see :meth:`rebuild`."""
        if keep:
            found.keep_given(corpus)
        if asker is not None:
            asker.settle(found, corpus)
        return found.rebuilt(corpus, split=self.channel)

    def links(
        self, corpus: Corpus, *, asker: Asker | None = None, progress: Progress | None = None
    ) -> Found:
        """Return parents, runners-up and probabilities as arrays, with messages in order.

        An ``asker`` remembers uncertain ones, to :meth:`Asker.settle` them later.
        """
        self.check_params()
        if self.defaults_ is None and not hasattr(self, "ranker_"):
            raise NotFittedError(
                "ThreadRebuilder: not trained yet; call fit(corpus), or use "
                "ThreadRebuilder.default()"
            )
        if self._is_misused(corpus):
            places = ThreadRebuilder.by_places(window=self.window, order=self.order)
            return places.links(corpus, asker=asker, progress=progress)
        gathered = self._gather(corpus)
        share = self._trust(gathered)
        if share == 0:
            return self._default().links(corpus, asker=asker, progress=progress)
        default = self._default()._judge(gathered) if share < 1 else None
        if self.leanings_ is not None:
            gathered = gathered.leaning(self.leanings_.scores(gathered))
        found = Found.nothing(gathered.rows)
        judge = self._judge(gathered)
        whole = []
        for pairs in self._pairs(gathered, progress):
            chances = judge(pairs)
            if default is not None:
                chances = blended(chances, default(unlearned(pairs)), share, pairs.offsets)
            if self.order is None:
                whole.append((pairs, chances))
            else:
                found.choose(pairs, chances)
                if asker is not None:
                    asker.collect(pairs, chances)
        if whole:
            found.choose_without_order(whole)
        return found

    def _judge(self, gathered: Gathered) -> Callable[[CandidatePairs], NDArray[np.float64]]:
        """Return a function that gives the probabilities of candidates, batch by batch."""
        score, look, second = self._scorer(gathered), SecondLook(gathered), self.second_

        def judge(pairs: CandidatePairs) -> NDArray[np.float64]:
            chances = normalized(score(pairs), pairs.offsets)
            return chances if second is None else look.chances(pairs, chances, second)

        return judge

    # corpora of another kind

    def distance(self, corpus: Corpus) -> float | None:
        """Return how far a corpus is from the one that was learned from, without using replies.

        The distance is about 0 for more of the same and near 1 for another kind of talk, such
        as chats after mail; see :data:`palaver.threads.likeness.ALIKE`. None if nothing was
        learned, or too little to say.
        """
        return self._distance(self._gather(corpus))

    def _distance(self, gathered: Gathered) -> float | None:
        if self.portrait_ is None:
            return None
        return self.portrait_.distance(Portrait.of(self._pairs(gathered, None)))

    def _trust(self, gathered: Gathered) -> float:
        """Return how much to rely on what was learned, and warn if that is not all."""
        self.distance_ = self._distance(gathered)
        share = trust(self.distance_) if self.fallback else 1.0
        if share < 1:
            used = "the default is used instead" if share == 0 else (
                f"what was learned counts {share:.0%}, the default the rest")  # fmt: skip
            warnings.warn(
                "these conversations look unlike those that were learned from (distance "
                f"{self.distance_:.2f}, more of the same has below {ALIKE}); {used}. To use what "
                "was learned all the same: fallback=False (--trust)",
                PalaverWarning,
                stacklevel=4,
            )
        return share

    def _is_misused(self, corpus: Corpus) -> bool:
        """Return whether the default for channels is to rebuild what is none, and warn."""
        if not (self.channel and self.fallback) or self.portrait_ or self.defaults_:
            return False
        why = separate(corpus)
        if why is not None:
            warnings.warn(
                f"these look like separate conversations, not like channels ({why}), so they are "
                "not split, and replies are found by the default for conversations. To treat them "
                "as channels all the same: fallback=False (--trust)",
                PalaverWarning,
                stacklevel=4,
            )
        return why is not None

    def _default(self) -> ThreadRebuilder:
        """Return the rebuilder to fall back to."""
        return ThreadRebuilder.default(window=self.window, order=self.order, channel=self.channel)

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
        save_rebuilder(self, folder)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a rebuilder that :meth:`save` wrote."""
        return load_rebuilder(cls, folder)
