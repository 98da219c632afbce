"""Maximum entropy: a multinomial logistic regression tags messages, in one round or two.

With ``context``, a second regression also sees the tags that the first round gave to the messages
before and after. ::

    P(d_k | x_k)                    first round: proportional to exp(x_k . weights[:, d_k])
    P(d_k | x_k, d_{k-1}, d_{k+1})  second round: the probabilities of the tags around are features
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng
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
from palaver.models.taggers.descent import Rules
from palaver.models.taggers.features import FeatureMap
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
from palaver.models.taggers.maxent.engine import (
    HALVES,
    MaxEntEngine,
    around_names,
    around_size,
    probabilities,
    tags_around,
)
from palaver.params import Limit, flag


class MaxEntTagger(Tagger):
    """Tagger of messages by maximum entropy: each message in context, and the tags around.

    Parameters
    ----------
    context : bool
        Add a second round that sees the first round's tags of the messages before and after,
        and whether they have the same speaker.
    features, previous, following, columns, vectors, whiten, min_count : optional
        What is seen of a message, as for :class:`CRFTagger`.
    penalty : float
        Weight of the quadratic penalty on all weights.
    max_iter : int
        Steps of L-BFGS at most, of each round.
    tolerance : float
        Stop when two steps in a row change the objective by less than this share of itself.
    random_state : int, Generator or None
        For the halves whose tags teach the second round.
    n_jobs : int
        Threads.

    Attributes
    ----------
    tags_ : list of str
        In alphabetical order; columns of :meth:`predict_proba`.
    label_ : str
        Column that the tags were learned from.
    weights_ : array of float32, shape (n_inputs, n_tags)
        Of the last round: features, then the tags around.
    rounds_ : polars.DataFrame
        How training went: columns round, evaluation, steps, log_joint.
    search_ : polars.DataFrame
        After :meth:`search`: all settings that were tried.

    Examples
    --------
    >>> import palaver as pv
    >>> train, test = pv.sample().split(test=0.25)                            # doctest: +SKIP
    >>> pv.MaxEntTagger(context=True).fit(train, labels="act").score(test)    # doctest: +SKIP
    """

    name = "maxent"
    takes_classes = True
    has_short_numbers = True
    limits: ClassVar[Mapping[str, Limit]] = {"context": flag(), **LINEAR_LIMITS}

    weights_: NDArray[np.float32]
    search_: pl.DataFrame
    #: The encoder that was given to :meth:`fit`, if any.
    encoder_: SentenceEncoder | None = None
    #: The model whose classes are features, if any.
    classes_: Model | None = None
    _features: FeatureMap
    _kept: dict[str, Any]

    def __init__(
        self,
        context: bool = False,
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
        self.context = context
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
            Column with the tags; messages without one only teach how frequent words are, and
            are around others.
        vectors : optional
            As for :meth:`CRFTagger.fit`: also word vectors, or any encoder.
        classes : Model, optional
            As for :meth:`CRFTagger.fit`: a model whose classes are features.
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

    def _engine(self, data: LabelledMessages) -> MaxEntEngine:
        return MaxEntEngine(data.features.size, len(data.tags), self.context, self._rules())

    def _shards(self, data: LabelledMessages, engine: MaxEntEngine) -> list[MessageShard]:
        """Cut by conversations; with context, each shard is of one half of them."""
        every = data.shard()
        n_conversations = len(every.conversations) - 1
        if not self.context:
            return every.cut(np.arange(n_conversations))
        order = rng.generator(rng.resolve_seed(self.random_state), "halves").permutation(
            n_conversations
        )
        known = np.concatenate(([0], np.cumsum(every.tags >= 0)))[every.conversations]
        order = order[np.argsort(np.diff(known)[order] == 0, kind="stable")]  # labels in both
        return [
            shard
            for half in range(len(HALVES))
            for shard in every.cut(np.sort(order[half :: len(HALVES)]), half)
        ]

    def _sampler(self, data: Any) -> str:
        return "L-BFGS"

    def _schedule(self) -> Schedule:
        n_sweeps = self._rules().n_sweeps * (2 if self.context else 1)
        return Schedule(n_sweeps, n_sweeps)

    def _fit(self, data: LabelledMessages, **options: Unpack[FitOptions]) -> Self:
        options["callbacks"] = [*options.get("callbacks", ()), is_done]
        return super()._fit(data, **options)

    def _learn(self, fit: Fit, schedule: Schedule, data: LabelledMessages, seed: int) -> None:
        """Take the last globals as the model; add what the labels alone say."""
        shared = fit.chains[0].shared
        if shared.phase != "done":
            raise StoppedError(f"stopped after {fit.sweep} sweeps, before the last round ended")
        points = {name.removesuffix("-point"): array.reshape(-1, len(data.tags))
                  for name, array in shared.arrays.items() if name.endswith("-point")}  # fmt: skip
        first = [points[name] for name in (HALVES if self.context else ("all",))]
        learned = {"first_weights": np.stack(first), **data.arrays()}
        if self.context:
            learned["second_weights"] = points["second"]
        self._kept, self.encoder_ = data.features.content(), data.encoder
        self.classes_ = data.classes
        counts = {name: int(array[0]) for name, array in shared.arrays.items()
                  if name.endswith("-course")}  # fmt: skip
        last = counts.pop("second-course", 0)
        self._keep(data, seed, fit.chains[0].trace[: max(counts.values()) + last], learned)

    def _set_estimates(self) -> None:
        learned, n_tags = self.chains_[0], len(self.tags_)
        settings = feature_settings(self)
        self._features = FeatureMap.of(settings, self.vocabulary_, learned, self._kept)
        size = self._features.size
        first = learned["first_weights"]
        if first.shape != (len(HALVES) if self.context else 1, size, n_tags):
            raise ValueError("the weights do not belong to the tags and features")
        self.weights_ = first[0]
        if self.context:
            self.weights_ = learned["second_weights"]
            if self.weights_.shape != (size + around_size(n_tags), n_tags):
                raise ValueError("the second weights do not belong to the tags and features")
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

        As :meth:`CRFTagger.search`; ``context`` is tried first.
        """
        self.check_params()
        space = {"context": [False, True], **SPACE}
        settings, self.search_ = search_settings(self, train, dev, labels, budget, space)
        return self.set_params(**settings).fit(train, labels, show_progress=False)

    # using

    def predict_proba(self, corpus: Corpus | Encoded) -> NDArray[np.float64]:
        """Return the probability of each tag of each message.

        Returns
        -------
        array of float64, shape (n_messages, n_tags)
            Rows sum to one; columns are ``tags_``.
        """
        self._check_fitted()
        every = messages_to_tag(self, corpus)
        parts = [probabilities(every, weights) for weights in self.chains_[0]["first_weights"]]
        shares = np.asarray(np.mean(parts, axis=0, dtype=np.float32))
        if self.context:
            around = tags_around(shares, every.conversations, every.kinds)
            shares = probabilities(every, self.weights_, around)
        exact = shares.astype(np.float64)
        return np.asarray(exact / exact.sum(axis=1, keepdims=True))

    def _best(self, corpus: Corpus | Encoded) -> NDArray[np.int32]:
        return np.asarray(self.predict_proba(corpus).argmax(axis=1), np.int32)

    @property
    def rounds_(self) -> pl.DataFrame:
        """How training went: columns round, evaluation, steps, log_joint.

        ``steps`` equal to ``max_iter`` say that a round was stopped early; ``log_joint`` is the
        log-likelihood of the labels minus the penalty, at the best point.
        """
        self._check_fitted()
        whole = [pl.col(name).cast(pl.Int64) for name in ("round", "steps")]
        return self.trace_.select(whole[0], pl.col("sweep").alias("evaluation"), whole[1],
                                  "log_joint")  # fmt: skip

    def feature_weights(self, n: int = 10) -> pl.DataFrame:
        """Return the features that speak most for each tag in the last round.

        Returns
        -------
        polars.DataFrame
            Columns tag, rank, feature, weight (against the mean of all tags). Features are of
            different sizes, so compare words with words.
        """
        self._check_fitted()
        names = self._features.feature_names()
        names += around_names(self.tags_) if self.context else []
        return strongest(self.weights_, names, self.tags_, n)

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
