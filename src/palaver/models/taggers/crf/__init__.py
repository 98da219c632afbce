"""A linear-chain conditional random field over whole conversations.

Lafferty, McCallum & Pereira (2001). Tags d of the messages k of a conversation, with features x::

    P(d | x)  proportional to  exp( sum_k  x_k . weights[:, d_k] + moves[change_k, d_{k-1}, d_k] )

It sees each message with what is around it, and chooses the tags of a conversation together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, WordVectors
from palaver.encoding.utterances import SentenceEncoder
from palaver.errors import StoppedError
from palaver.fit.loop import Fit
from palaver.fit.schedule import Schedule
from palaver.models.base.fitting import FitOptions
from palaver.models.base.model import Model
from palaver.models.base.stored import Extras
from palaver.models.taggers.classes import checked_classes, kept_classes, with_classes
from palaver.models.taggers.contract import Tagger
from palaver.models.taggers.crf.engine import CRFEngine, split
from palaver.models.taggers.descent import Rules
from palaver.models.taggers.features import FeatureMap
from palaver.models.taggers.kernels import linear_chain, tag_chains
from palaver.models.taggers.linear import (
    LINEAR_LIMITS,
    SPACE,
    LabelledMessages,
    MessageShard,
    feature_settings,
    is_done,
    labelled_messages,
    messages_to_tag,
    search_settings,
    strongest,
)
from palaver.params import Limit


class CRFTagger(Tagger):
    """Tagger of messages by a conditional random field: messages in context, tags in a chain.

    Parameters
    ----------
    features : list of str, optional
        What is seen of a message, by default all of these: "words", "pairs" of neighbouring words,
        "edges" (beginnings and ends), "characters" (n-grams within words), "length", "turn"
        (changes of speaker, who opened the conversation), "position", "gap" (time since the message
        before), "role" (the column ``role``, or the speakers if they are few and recur).
    previous : int
        How many messages before lend their words and pairs of words.
    following : int
        The same after the message; 0 if messages must be tagged as they come.
    columns : list of str, optional
        Columns of the corpus, of names or numbers, as further features.
    vectors : str or None
        Add an utterance vector: "corpus", or a file of word vectors; see
        :func:`palaver.utterance_vectors`.
    whiten : int or None
        Principal components of the utterance vectors.
    min_count : int
        Drop words, pairs, beginnings and ends seen less often.
    penalty : float
        Weight of the quadratic penalty on all weights.
    max_iter : int
        Steps of L-BFGS at most.
    tolerance : float
        Stop when two steps in a row change the objective by less than this share of itself.
    random_state : int, Generator or None
        Nothing is drawn; there for the sake of uniformity.
    n_jobs : int
        Threads.

    Attributes
    ----------
    tags_ : list of str
        In alphabetical order; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    weights_ : array of float32, shape (n_features, n_tags)
    moves_ : array of float64, shape (2, n_tags + 1, n_tags)
        Scores of a tag after a tag; the last row is the start; first where the speaker stays,
        then where the speaker changes.
    rounds_ : polars.DataFrame
        How training went: columns evaluation, steps, log_joint.
    search_ : polars.DataFrame
        After :meth:`search`: all settings that were tried.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25)              # doctest: +SKIP
    >>> pv.CRFTagger().fit(train, labels="act").score(test)     # doctest: +SKIP
    """

    name = "crf"
    takes_classes = True
    has_short_numbers = True
    limits: ClassVar[Mapping[str, Limit]] = LINEAR_LIMITS

    weights_: NDArray[np.float32]
    moves_: NDArray[np.float64]
    search_: pl.DataFrame
    #: The encoder that was given to :meth:`fit`, if any.
    encoder_: SentenceEncoder | None = None
    #: The model whose classes are features, if any.
    classes_: Model | None = None
    _features: FeatureMap
    _kept: dict[str, Any]

    def __init__(
        self,
        features: Sequence[str] | None = None,
        previous: int = 1,
        following: int = 0,
        columns: Sequence[str] | None = None,
        vectors: str | None = None,
        whiten: int | None = None,
        min_count: int = 2,
        penalty: float = 2.0,
        max_iter: int = 40,
        tolerance: float = 1e-4,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.features = features
        self.previous = previous
        self.following = following
        self.columns = columns
        self.vectors = vectors
        self.whiten = whiten
        self.min_count = min_count
        self.penalty = penalty
        self.max_iter = max_iter
        self.tolerance = tolerance
        self.random_state = random_state
        self.n_jobs = n_jobs

    # learning

    def fit(
        self,
        corpus: Corpus | Encoded,
        labels: str = "act",
        *,
        vectors: str | WordVectors | SentenceEncoder | None = None,
        classes: Model | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the tags of a corpus from the messages that have a label.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str
            Column with the tags. Messages without one are part of the chain: all their tags are
            possible. Conversations without any label only teach how frequent words are.
        vectors : optional
            In place of the parameter: also word vectors, or any encoder, a function from a list of
            texts to an array with a row for each. An encoder is not saved: set ``encoder_`` after
            loading.
        classes : Model, optional
            A model fitted without labels, such as :class:`Acts` on all messages: the shares of its
            classes in each message are features. It is saved with the tagger.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._labelled(corpus, labels, vectors, classes), **options)

    def _labelled(
        self,
        corpus: Corpus | Encoded,
        labels: str,
        vectors: str | WordVectors | SentenceEncoder | None = None,
        classes: Model | None = None,
    ) -> LabelledMessages:
        found = checked_classes(classes, labels)
        return labelled_messages(self, corpus, labels, vectors, found)

    def _reads(self, data: LabelledMessages) -> dict[str, Sequence[Any]]:
        return {**super()._reads(data), **data.read()}

    def _rules(self) -> Rules:
        return Rules(self.penalty, self.max_iter, self.tolerance)

    def _engine(self, data: LabelledMessages) -> CRFEngine:
        return CRFEngine(data.features.size, len(data.tags), self._rules())

    def _shards(self, data: LabelledMessages, engine: CRFEngine) -> list[MessageShard]:
        every = data.shard()
        return every.cut(np.arange(len(every.conversations) - 1))

    def _sampler(self, data: Any) -> str:
        return "L-BFGS"

    def _schedule(self) -> Schedule:
        n_sweeps = self._rules().n_sweeps
        return Schedule(n_sweeps, n_sweeps)

    def _fit(self, data: LabelledMessages, **options: Unpack[FitOptions]) -> Self:
        options["callbacks"] = [*options.get("callbacks", ()), is_done]
        return super()._fit(data, **options)

    def _learn(self, fit: Fit, schedule: Schedule, data: LabelledMessages, seed: int) -> None:
        """Take the last globals as the model; add what the labels alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the descent ended")
        weights, moves = split(shared.arrays["point"], data.features.size, len(data.tags))
        learned = {"weights": weights, "moves": moves.astype(np.float64), **data.arrays()}
        self._kept, self.encoder_ = data.features.content(), data.encoder
        self.classes_ = data.classes
        n_evaluations = int(shared.arrays["course"][0])  # a resumed run may have idled after these
        self._keep(data, seed, fit.chains[0].trace[:n_evaluations], learned)

    def _set_estimates(self) -> None:
        learned, n_tags = self.chains_[0], len(self.tags_)
        settings = feature_settings(self)
        self._features = FeatureMap.of(settings, self.vocabulary_, learned, self._kept)
        self.weights_, self.moves_ = learned["weights"], learned["moves"]
        if self.weights_.shape != (self._features.size, n_tags):
            raise ValueError("the weights do not belong to the tags and features")
        if self.moves_.shape != (2, n_tags + 1, n_tags):
            raise ValueError("the moves do not belong to the tags")
        self._set_tag_estimates(learned["tag_words"])

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.chains_[0]["tag_words"].sum(axis=0)
        return np.asarray(counts / max(counts.sum(), 1))

    def search(
        self,
        train: Corpus | Encoded,
        dev: Corpus | Encoded,
        labels: str = "act",
        *,
        budget: int = 20,
    ) -> Self:
        """Look for better settings on development data, and train with the best.

        Starting from the tagger's parameters, one setting at a time is changed (penalty, features,
        messages around, rare words) and kept if it tags ``dev`` better, until nothing improves.

        Parameters
        ----------
        train : Corpus or Encoded
            Labelled; what the tagger learns from.
        dev : Corpus or Encoded
            Labelled, with other conversations than ``train``.
        labels : str
            Column with the tags, in both.
        budget : int
            Settings to try at most; each needs a training.

        Returns
        -------
        self
            With the best settings as its parameters, trained on ``train``; all trials are in
            ``search_``.
        """
        self.check_params()
        settings, self.search_ = search_settings(self, train, dev, labels, budget, SPACE)
        return self.set_params(**settings).fit(train, labels, show_progress=False)

    # using

    def _scored(self, corpus: Corpus | Encoded) -> tuple[MessageShard, NDArray[np.float64]]:
        """Return a corpus with the scores of its messages' tags, (n_messages, n_tags)."""
        self._check_fitted()
        every = messages_to_tag(self, corpus)
        scores = np.empty((len(every.tags), len(self.tags_)), np.float32)
        linear_chain.score(every.offsets, every.columns, every.values, self.weights_, scores)
        return every, scores.astype(np.float64)

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message, given the whole conversation.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        every, scores = self._scored(corpus)
        shares = np.empty_like(scores)
        linear_chain.posteriors_of(scores, every.kinds, every.conversations, self.moves_, shares)
        return shares

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        every, scores = self._scored(corpus)
        tags = np.empty(len(scores), np.int32)
        tag_chains.best_tags(scores, every.kinds, every.conversations, self.moves_, tags)
        return tags

    @property
    def rounds_(self) -> pl.DataFrame:
        """How training went: columns evaluation, steps, log_joint.

        ``log_joint`` is the log-likelihood of the labels minus the penalty, at the best point.
        """
        self._check_fitted()
        return self.trace_.select(
            evaluation="sweep", steps=pl.col("steps").cast(pl.Int64), log_joint="log_joint"
        )

    def feature_weights(self, n: int = 10) -> pl.DataFrame:
        """Return the features that speak most for each tag.

        Returns
        -------
        polars.DataFrame
            Columns tag, rank, feature, weight (against the mean of all tags). Features are of
            different sizes, so compare words with words.
        """
        self._check_fitted()
        return strongest(self.weights_, self._features.feature_names(), self.tags_, n)

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the strongest features, the course of training, and what :meth:`judge` found."""
        own = {"feature_weights": self.feature_weights(), "rounds": self.rounds_}
        return {**own, **super().tables()}

    # keeping

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return with_classes(({**content, "features": self._kept}, arrays), self.classes_)

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        self._kept = dict(content["features"])
        self.classes_ = kept_classes(content, arrays)
