"""M4, the mixed membership Markov model: a message mixes classes as its parent's mix predicts.

Paul (2012); spec and equations in ``docs/models/m4.md``. ::

    lambda ~ Normal(0, variance)            weights from each class, from start, and bias
    pi_b   ~ Dirichlet(exp(lambda . x))     x: the parent's class histogram, summing to one;
                                            in the paper pi_b = softmax(lambda . x)
    z_bn   ~ pi_b,   w_bn ~ phi of z_bn, or the background

The model of the paper runs on a sweep of its own (:mod:`palaver.models.m4.paper`), everything
beyond it on a general one (:mod:`palaver.models.m4.engine`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.encode import Encoded, Shard, cut
from palaver.errors import ParameterError
from palaver.models.base.stored import Extras
from palaver.models.m4.conditions import Columns, attach, unlink
from palaver.models.m4.engine import GeneralEngine
from palaver.models.m4.paper import M4Engine
from palaver.models.m4.weights import WeightLearner
from palaver.models.views.reconstruct import Reconstructs
from palaver.models.views.simulate import Layout
from palaver.models.words.guided import (
    GUIDED_LIMITS,
    GuidedModel,
    fixed_classes,
    is_words,
)
from palaver.models.words.model import COMMON_LIMITS
from palaver.params import Limit, either, nothing, one_of, real, satisfies, whole


class M4(Reconstructs, GuidedModel):
    """Mixed membership Markov model of reply trees.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    background : bool or "message"
        Let words come from a background that all messages share; one switch probability
        for the corpus (True), or one for each message ("message").
    transition : {"dirichlet", "softmax"}
        A message's class shares are drawn from a Dirichlet distribution around what its parent
        predicts, so that the words of a message go together; or they are just that, as in the
        paper.
    topics : int
        Let words come from so many topics too, of which every conversation has its own
        mixture: words about its subject go there, and classes are left to be acts.
    segment : {"token", "sentence", "message"}
        What bears a class: every word, or all words of a sentence or message together.
    features : list of str, optional
        What a message's classes depend on beside its parent's: "same_speaker", "position",
        "time_gap", or a column of names or numbers; each has weights in ``transitions_``.
    parents : {"first", "all"}
        Of messages with several parents (column ``other_parents``), go by the one in
        ``reply_to``, or by the mean of all.
    seed_words : dict of str to list of str, optional
        Words that a class of that name should have; the other classes are free.
    seed_weight : float
        How often a seed word counts for its class, as a multiple of its occurrences.
    labels : str, optional
        A column with the names of classes of some messages, whose segments are then of that
        class; needs ``segment="sentence"`` or ``"message"``.
    weights : {"bound", "paper", "sample"}
        How transition weights are learned: by a bound-optimisation step a sweep, which never
        lowers the objective and needs no tuning; by the paper's gradient step; or sampled by
        Metropolis-Hastings, where every second sweep decides on a proposal.
    variance : float
        Variance of the normal prior of the weights.
    step : float
        Numerator of the paper's step size, ``step / (1000 + sweep)``.
    omega : float or "sample"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Every weight of the prior of the switch between class, background and topics.
    n_sweeps, burn_in, n_samples : int
        Sweeps in all, before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    sampler : {"auto", "collapsed", "parallel", "metropolis"}
        Word distributions integrated out, on one core; or drawn, for any number of workers;
        or integrated out with classes proposed in time linear in K and accepted by the
        replies' factor. "auto" is "parallel" above a million tokens, else "metropolis" with
        background and "collapsed" without (measured: ``docs/performance.md``). Beyond the
        model of the paper classes are always proposed and accepted: there "collapsed" and
        "metropolis" are the same.
    max_seconds : float, optional
        Stop after so long; results then depend on the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 2 + n_columns, n_classes)
        Weights, rows are the source: from each class, from start, bias, and features.
    topic_words_ : array of float64, shape (topics, n_words)
        Words of the topics, if there are any; ``topic_shares_`` and ``topic_probability_`` say
        how much of the corpus is theirs.
    class_names_ : list of str
        Names of the first classes, from seed words and labels.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.M4(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    >>> model = pv.M4(n_classes=8, transition="softmax")  # the model of the paper
    >>> model = pv.M4(n_classes=8, topics=10)
    >>> model = pv.M4(n_classes=8, seed_words={"thanks": ["thanks", "cheers"]})
    """

    name = "m4"
    transition_kind: ClassVar = "weights"
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        **GUIDED_LIMITS,
        "transition": one_of("softmax", "dirichlet"),
        "topics": whole(0, 10_000),
        "segment": one_of("token", "sentence", "message"),
        "features": either(satisfies("a list of names of features", is_words), nothing()),
        "parents": one_of("first", "all"),
        "sampler": one_of("auto", "collapsed", "parallel", "metropolis"),
        "weights": one_of("bound", "paper", "sample"),
        "variance": real(above=0),
        "step": real(above=0),
    }

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = True,
        transition: str = "dirichlet",
        topics: int = 0,
        segment: str = "token",
        features: list[str] | None = None,
        parents: str = "first",
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        labels: str | None = None,
        weights: str = "bound",
        variance: float = 10.0,
        step: float = 0.1,
        omega: float | str = "sample",
        switch_prior: float = 10.0,
        n_sweeps: int = 1000,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        sampler: str = "auto",
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_classes = n_classes
        self.background = background
        self.transition = transition
        self.topics = topics
        self.segment = segment
        self.features = features
        self.parents = parents
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.labels = labels
        self.weights = weights
        self.variance = variance
        self.step = step
        self.omega = omega
        self.switch_prior = switch_prior
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.sampler = sampler
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    @property
    def is_general(self) -> bool:
        """Whether anything goes beyond the model of the paper, and needs the general sweep."""
        return bool(
            self.transition != "softmax"
            or self.topics
            or self.segment != "token"
            or self.features
            or self.parents != "first"
            or self.labels is not None
        )

    @property
    def needs_sentences(self) -> bool:  # type: ignore[override]
        """Whether encoded corpora must hold the limits of sentences."""
        return self.segment == "sentence"

    @property
    def transition_rows(self) -> list[str]:  # type: ignore[override]
        """Names of the rows of weights beyond the classes."""
        return ["start", "bias", *getattr(self, "columns_", Columns([])).names]

    def check_params(self) -> None:
        """Compare the parameters with their limits and with each other."""
        super().check_params()
        if self.labels is not None and self.segment == "token":
            raise ParameterError(
                "M4: labels belong to messages, not to single words, which would all flee into "
                "the background; use segment='sentence' or segment='message' with labels"
            )

    # fitting

    def _sampler(self, encoded: Encoded) -> str:
        """Return what ``"auto"`` stands for: with background, proposals pay at any K."""
        chosen = super()._sampler(encoded)
        is_free = self.sampler == "auto" and chosen == "collapsed"
        return "metropolis" if is_free and (self.background or self.is_general) else chosen

    def _engine(self, data: Encoded) -> M4Engine | GeneralEngine:
        self.columns_ = Columns.learn(self.features or [], data)
        return super()._engine(data)  # type: ignore[return-value]

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        found = super()._reads(data)
        if self.features:
            found["features"] = (self.columns_.sources, self.columns_.matrix(data))
        if self.parents == "all":
            found["parents"] = (data.other_parents,)
        if self.needs_sentences:
            found["sentences"] = (data.sentence_offsets,)
        return found

    def _make_engine(self, n_words: int, sampler: str) -> M4Engine | GeneralEngine:
        common = self._engine_arguments(n_words, sampler)
        learner = WeightLearner(
            self.weights, float(self.variance), float(self.step), self.transition == "dirichlet"
        )
        if not self.is_general:
            return M4Engine(*common, metropolis=sampler == "metropolis", learner=learner)
        return GeneralEngine(
            *common,
            learner=learner,
            n_topics=int(self.topics),
            is_segmented=self.segment != "token",
            n_features=len(self.transition_rows),
        )

    def _shards(self, data: Encoded, engine: Any) -> list[Shard]:
        fixed = fixed_classes(self.labels, self.class_names_, data)
        return self._attached(cut(data, whole=engine.collapsed), data, fixed)

    def cut(self, data: Encoded, *, whole: bool = False) -> list[Shard]:
        """Cut data for fold-in: labels that they may have are not looked at."""
        free = fixed_classes(None, (), data)
        return self._attached(cut(data, whole=whole), data, free)

    def _unlinked(self, data: Encoded) -> list[Shard]:
        """Cut data whose parents are to be found, with features as far as these are known."""
        shards: list[Any] = self.cut(data)
        return [unlink(shard, data, self.columns_) for shard in shards] if self.features else shards

    def _attached(
        self, shards: list[Shard], data: Encoded, fixed: NDArray[np.int16]
    ) -> list[Shard]:
        if not self.is_general:
            return shards
        return [
            attach(
                shard, data, self.columns_, fixed, segment=self.segment,
                all_parents=self.parents == "all",
            )
            for shard in shards
        ]  # fmt: skip

    def _set_estimates(self) -> None:
        super()._set_estimates()
        best = self.chains_[self.best_chain_]
        self.transitions_ = best["transitions"]
        if self.topics:
            self.topic_words_ = np.ascontiguousarray(best["class_words"][:, self.n_classes + 1 :].T)
            self.topic_shares_ = best["topic_shares"]
            self.topic_prior_ = best["alpha"]
            self.topic_probability_ = float(best["switch_probabilities"][2])

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, "columns": self.columns_.sources}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        self.columns_ = Columns(content["columns"])

    # looking

    def _all_words(self) -> NDArray[np.float64]:
        words = super()._all_words()
        if not self.topics:
            return words
        return np.asarray(
            words + self.topic_probability_ * (self.topic_shares_ @ self.topic_words_)
        )

    def topics_table(self, n: int = 10) -> pl.DataFrame:
        """Return the topics of conversations, the largest first.

        Parameters
        ----------
        n : int
            Words a topic, those that tell it best from all words.

        Returns
        -------
        polars.DataFrame
            Columns topic, share (of the words that belong to topics), words.
        """
        self._check_fitted()
        if not self.topics:
            raise ParameterError("M4: there are no topics; fit with topics=20, for example")
        overall = np.maximum(self._all_words(), np.finfo(float).tiny)
        telling = self.topic_words_ * np.log2(np.maximum(self.topic_words_ / overall, 1e-300))
        best = np.argsort(-telling, axis=1, kind="stable")[:, :n]
        words = [" ".join(self.vocabulary_.words[w] for w in row) for row in best]
        order = np.argsort(-self.topic_shares_, kind="stable")
        return pl.DataFrame(
            {
                "topic": order,
                "share": self.topic_shares_[order],
                "words": [words[t] for t in order],
            }
        )

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the topics, if there are any."""
        return {"topics": self.topics_table(20)} if self.topics else {}

    def _facts(self) -> dict[str, Any]:
        facts = {"topic_share": self.topic_probability_} if self.topics else {}
        return {**facts, **super()._facts()}

    # simulating

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw the classes of each message's tokens given its parent's."""
        n_classes = self.transitions_.shape[1]
        bases, answered = self._conditions(layout)
        counts = np.zeros((len(n_classed), n_classes), np.int64)
        found = []
        for b, parents in enumerate(answered):
            scores = bases[b]
            for parent in parents:
                shares = counts[parent] / max(counts[parent].sum(), 1)
                scores = scores + shares @ self.transitions_[:n_classes] / len(parents)
            shares = np.exp(scores - scores.max())
            shares /= shares.sum()
            if self.transition == "dirichlet":
                gammas = generator.standard_gamma(np.exp(np.minimum(scores, 300.0))) + 1e-300
                shares = gammas / gammas.sum()
            lengths = self._unit_lengths(int(n_classed[b]))
            units = generator.choice(n_classes, len(lengths), p=shares)
            counts[b] = np.bincount(units, minlength=n_classes)
            found.append(np.repeat(units, lengths))
        return np.concatenate([np.zeros(0, np.int64), *found])

    def _conditions(self, layout: Layout) -> tuple[NDArray[np.float64], list[list[int]]]:
        """Return what features add to each message's scores, (n_messages, K), and its parents."""
        answered = [[int(parent)] if parent >= 0 else [] for parent in layout.parents]
        features = [layout.parents < 0, np.ones(len(layout.parents))]
        if self.features or self.parents == "all":
            if layout.data is None:
                raise ParameterError(
                    "M4: features and several parents are those of a corpus; simulate one in its "
                    "shape: model.simulate(corpus)"
                )
            features.append(self.columns_.matrix(layout.data))
        if self.parents == "all" and layout.data is not None:
            for b, parent in layout.data.other_parents.tolist():
                answered[b].append(parent)
        n_classes = self.transitions_.shape[1]
        return np.column_stack(features) @ self.transitions_[n_classes:], answered

    def _unit_lengths(self, n_tokens: int) -> NDArray[np.int64]:
        """Return tokens of what bears a class in a simulated message; sentences of ten."""
        size = {"token": 1, "sentence": 10, "message": max(n_tokens, 1)}[self.segment]
        return np.diff(np.append(np.arange(0, n_tokens, size), n_tokens))
