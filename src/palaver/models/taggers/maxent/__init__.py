"""Maximum entropy, the supervised reference: words or vectors, in one round or two.

A multinomial logistic regression (scikit-learn) tags each message by itself. With ``context``, a
second one also sees the tags that the first round gave to the messages before and after. ::

    P(d_k | w_k)                    first round: proportional to exp(weights of d_k . inputs of w_k)
    P(d_k | w_k, d_{k-1}, d_{k+1})  second round: the probabilities of the tags around are inputs
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from palaver import rng
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Vocabulary, WordVectors
from palaver.encoding.utterances import word_counts
from palaver.encoding.vocabulary import select_words
from palaver.errors import CorpusError, StoppedError
from palaver.fit.fold import report_progress
from palaver.fit.loop import Chain, Fit
from palaver.fit.progress import fold_progress
from palaver.fit.schedule import Schedule
from palaver.models.base.fitting import FitOptions
from palaver.models.taggers.contract import Tagger, tag_statistics
from palaver.models.taggers.maxent.engine import MaxEntEngine, MaxEntShard, Sparse, regression_of
from palaver.models.taggers.maxent.inputs import (
    Inputs,
    learn_inputs,
    neighbour_inputs,
    neighbours,
)
from palaver.models.taggers.maxent.regression import Regression, max_iter_is_enough
from palaver.models.taggers.sentences import all_words, label_names, with_vocabulary
from palaver.params import Limit, either, flag, nothing, one_of, real, text, whole

_FOLDS = 2


@dataclass(frozen=True, eq=False)
class LabelledMessages:
    """What the regressions learn from.

    Attributes
    ----------
    encoded : Encoded
        All messages, with the words that are frequent enough.
    inputs : Inputs
    label : str
        Column of the labels.
    tags : list of str
        In alphabetical order.
    rows : array of int64, shape (n_labelled,)
        Messages with a label.
    codes : array of int64, shape (n_labelled,)
        Their tags.
    seed : int
    """

    encoded: Encoded
    inputs: Inputs
    label: str
    tags: list[str]
    rows: NDArray[np.int64]
    codes: NDArray[np.int64]
    seed: int

    @property
    def n_messages(self) -> int:
        """Number of messages, with a label or without."""
        return self.encoded.n_messages

    @property
    def n_tokens(self) -> int:
        """Number of words that are frequent enough."""
        return self.encoded.n_tokens

    @property
    def vocabulary(self) -> Vocabulary:
        """Words that are frequent enough."""
        return self.encoded.vocabulary

    @property
    def fingerprint(self) -> str:
        """Fingerprint of the corpus."""
        return self.encoded.fingerprint


class MaxEntTagger(Tagger):
    """Tagger of messages by maximum entropy: words or vectors, and the tags around.

    Parameters
    ----------
    context : bool
        Add a second round that sees the first round's tags of the messages before and after,
        and whether they have the same speaker.
    inputs : {"words", "vectors", "both"}
        What is seen of a message: counts of words and of pairs of neighbouring words; its
        utterance vector; both.
    vectors : str
        "corpus" or a file of word vectors; see :func:`palaver.utterance_vectors`.
    whiten : int or None
        Principal components of the utterance vectors.
    min_count : int
        Drop words and pairs seen less often.
    penalty : float
        Weight of the quadratic penalty, the inverse of scikit-learn's ``C``.
    max_iter : int
        Iterations of each regression at most.
    random_state : int, Generator or None
        For the folds whose tags teach the second round.
    n_jobs : int
        Threads; the first round has three regressions with ``context``, else one.

    Attributes
    ----------
    tags_ : list of str
        In alphabetical order; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    rounds_ : polars.DataFrame
        How the regression of each round went: columns round, iterations, log_joint.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25)                            # doctest: +SKIP
    >>> pv.MaxEntTagger(context=True).fit(train, labels="act").score(test)    # doctest: +SKIP
    """

    name = "maxent"
    limits: ClassVar[Mapping[str, Limit]] = {
        "context": flag(),
        "inputs": one_of("words", "vectors", "both"),
        "vectors": text(),
        "whiten": either(whole(1), nothing()),
        "min_count": whole(1),
        "penalty": real(above=0),
        "max_iter": whole(1),
        "n_jobs": whole(1),
    }

    _inputs: Inputs
    _first: Regression
    _second: Regression | None

    def __init__(
        self,
        context: bool = False,
        inputs: str = "words",
        vectors: str = "corpus",
        whiten: int | None = None,
        min_count: int = 2,
        penalty: float = 1.0,
        max_iter: int = 100,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.context = context
        self.inputs = inputs
        self.vectors = vectors
        self.whiten = whiten
        self.min_count = min_count
        self.penalty = penalty
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_jobs = n_jobs

    # learning

    def fit(
        self,
        corpus: Corpus | Encoded,
        labels: str = "act",
        *,
        vectors: str | WordVectors | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the tags of a corpus from the messages that have a label.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str
            Column with the tags; messages without one only teach how frequent words are, and
            are around others.
        vectors : optional
            In place of the parameter: also word vectors.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._labelled(corpus, labels, vectors), **options)

    def _labelled(
        self,
        corpus: Corpus | Encoded,
        labels: str,
        vectors: str | WordVectors | None = None,
    ) -> LabelledMessages:
        whole_corpus = all_words(corpus)
        codes, names = label_names(whole_corpus, labels)
        if not names:
            raise CorpusError(f"{type(self).__name__}: no message has a label in {labels!r}")
        words = whole_corpus.vocabulary
        vocabulary = select_words(
            words.words, words.counts, np.zeros(len(words), np.int64), whole_corpus.n_messages,
            min_count=self.min_count,
        )  # fmt: skip
        encoded = with_vocabulary(whole_corpus, vocabulary)
        self.check_data(encoded)
        inputs = learn_inputs(
            encoded, self.inputs, min_count=self.min_count, whiten=self.whiten,
            vectors=self.vectors if vectors is None else vectors,
        )  # fmt: skip
        tags = sorted(names)
        order = np.array([tags.index(name) for name in names])
        rows = np.flatnonzero(codes >= 0)
        seed = rng.resolve_seed(self.random_state)
        return LabelledMessages(encoded, inputs, labels, tags, rows, order[codes[rows]], seed)

    def _reads(self, data: LabelledMessages) -> dict[str, Sequence[Any]]:
        found = {**super()._reads(data), "labels": (data.tags, data.codes, data.rows)}
        if data.inputs.pooling is not None:
            found["word vectors"] = (data.inputs.pooling.word_vectors,)
        if self.context:
            found["speakers"] = (data.encoded.speakers.codes,)
        return found

    def _engine(self, data: LabelledMessages) -> MaxEntEngine:
        return MaxEntEngine(len(data.tags), self.context, self.penalty, self.max_iter)

    def _shards(self, data: LabelledMessages, engine: MaxEntEngine) -> list[MaxEntShard]:
        """Return one shard per regression of the first round; folds hold whole conversations."""
        encoded = data.encoded
        table = Sparse.of(data.inputs(encoded))
        held_out = [np.zeros(encoded.n_messages, bool)]
        if self.context:
            lengths = np.diff(encoded.conversation_offsets)
            folds = rng.unnamed(data.seed).permutation(len(lengths)) % _FOLDS
            held_out += [np.repeat(folds == fold, lengths) for fold in range(_FOLDS)]
        return [
            MaxEntShard(
                table, data.rows, data.codes, rows, np.asarray(encoded.conversation_offsets),
                encoded.speakers.codes,
            )
            for number, rows in enumerate(held_out)
            if number == 0 or rows.any()
        ]  # fmt: skip

    def _sampler(self, data: Any) -> str:
        return "L-BFGS"

    def _schedule(self) -> Schedule:
        n_rounds = 2 if self.context else 1
        return Schedule(n_rounds, n_rounds)

    def _fit(self, data: LabelledMessages, **options: Unpack[FitOptions]) -> Self:
        show, options["show_progress"] = options.get("show_progress", "auto"), False
        options["callbacks"] = [*options.get("callbacks", ()), _report_round]
        n_rounds = self._schedule().n_sweeps
        with max_iter_is_enough(), fold_progress(type(self).__name__, n_rounds, show):
            return super()._fit(data, **options)

    def _learn(self, fit: Fit, schedule: Schedule, data: LabelledMessages, seed: int) -> None:
        """Take the last globals as the model; add what the labels alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the second round ended")
        n_tags = len(data.tags)
        counts = word_counts(data.encoded)[data.rows]
        ones = np.ones(len(data.codes))
        by_tag = sparse.csr_array((ones, (data.codes, np.arange(len(ones)))), (n_tags, len(ones)))
        is_labelled = np.zeros(data.n_messages, bool)
        is_labelled[data.rows] = True
        before = np.concatenate(([0], np.cumsum(is_labelled)))
        offsets = before[data.encoded.conversation_offsets]  # among the labelled messages
        learned = {
            **shared.arrays,
            **data.inputs.arrays(),
            "tag_words": (by_tag @ counts).toarray().astype(np.int64),
            **tag_statistics(data.codes, offsets, n_tags),
        }
        self._keep(data, data.seed, fit.chains[0].trace, learned)

    def _set_estimates(self) -> None:
        learned, n_tags = self.chains_[0], len(self.tags_)
        self._inputs = Inputs.of_arrays(learned)
        n_inputs = self._inputs.size(len(self.vocabulary_))
        self._first = regression_of(learned, "first", n_tags, n_inputs)
        self._second = None
        if "second_weights" in learned:
            width = n_inputs + neighbour_inputs(n_tags)
            self._second = regression_of(learned, "second", n_tags, width)
        self._set_tag_estimates(learned["tag_words"])

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.chains_[0]["tag_words"].sum(axis=0)
        return np.asarray(counts / max(counts.sum(), 1))

    # using

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        encoded = self._encode(corpus)
        table = self._inputs(encoded)
        shares = self._first.probabilities(table)
        if self._second is None:
            return shares
        offsets = np.asarray(encoded.conversation_offsets)
        around = neighbours(shares, offsets, encoded.speakers.codes)
        return self._second.probabilities(sparse.hstack((table, around), "csr"))

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        return np.asarray(self.predict_proba(corpus).argmax(axis=1), np.int32)

    @property
    def rounds_(self) -> pl.DataFrame:
        """How the regression of each round went: columns round, iterations, log_joint.

        ``iterations`` equal to ``max_iter`` say that it was stopped early; ``log_joint`` is the
        log-likelihood of the labels minus the penalty.
        """
        self._check_fitted()
        return self.trace_.select(
            round="sweep", iterations=pl.col("iterations").cast(pl.Int64), log_joint="log_joint"
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the rounds, and what :meth:`judge` found."""
        return {"rounds": self.rounds_, **super().tables()}


def _report_round(sweep: int, chains: Sequence[Chain]) -> None:
    """Advance the bar by a round."""
    report_progress(1.0)
