"""M4, the mixed membership Markov model: a message mixes classes as its parent's mix predicts.

The generative story of Paul (2012, section 2.2) with the background of section 5.3 and the
histograms of section 5.4, which sum to one; equations in ``docs/models/m4.md``. ::

    lambda ~ Normal(0, weight_variance)     weights from each class, from start, and bias
    pi_b   ~ Dirichlet(exp(lambda . x))     x: the parent's class histogram, start, bias;
                                            in the paper pi_b = softmax(lambda . x)
    z_bn   ~ pi_b,   w_bn ~ phi of z_bn, or the background

The model of the paper and everything beyond it run on one engine
(:mod:`palaver.models.m4.engine`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard, cut
from palaver.errors import ParameterError
from palaver.fit.progress import Show
from palaver.models.base.fitting import FitOptions
from palaver.models.base.stored import Extras
from palaver.models.m4.conditions import Columns, attach, unlink
from palaver.models.m4.engine import M4Engine
from palaver.models.m4.weight_steps import NormalPrior
from palaver.models.m4.weights import WeightLearner
from palaver.models.views import reconstruct
from palaver.models.views.simulate import Layout
from palaver.models.views.transitions import weights_table
from palaver.models.words import guided
from palaver.models.words.engine import ThreadSettings
from palaver.models.words.guided import GUIDED_LIMITS, Labels, is_words
from palaver.models.words.model import COMMON_LIMITS, ThreadModel
from palaver.params import Limit, either, nothing, one_of, real, satisfies, whole


class M4(ThreadModel):
    """Mixed membership Markov model of reply trees.

    Parameters
    ----------
    n_classes : int
        Number of classes, K.
    background : bool, "message" or "auto"
        Let words come from a background that all messages share, with one switch probability
        for the corpus (True) or one per message ("message"). "auto" has one if messages have 50
        words or more on average; with ``view="acts"`` it never does.
    view : {"words", "acts"}
        What messages are made of: all words; or the 300 most frequent words, and the first and
        last word of each message as further tokens, from which acts are found much better.
    transition : {"dirichlet", "softmax"}
        Draw a message's class shares from a Dirichlet distribution around what its parent
        predicts, so that the words of a message go together; or take the prediction itself, as
        in the paper.
    n_topics : int
        Number of topics in addition to the classes. Each conversation has its own topic mixture;
        words about its subject go to topics, so that classes capture acts.
    unit : {"word", "sentence", "message"}
        What has a class: each word, or all words of a sentence or message together.
    features : list of str, optional
        What a message's classes depend on in addition to its parent's: "same_speaker",
        "position", "time_gap", or a column of names or numbers; each has weights in
        ``transitions_``.
    parents : {"first", "all"}
        For messages with several parents (column ``other_parents``), use the one in
        ``reply_to``, or the mean of all.
    seed_words : dict of str to list of str, optional
        Words that a class of that name should have; the other classes are free.
    seed_weight : float
        How often a seed word counts for its class, as a multiple of its occurrences.
    weight_step : {"bound", "gradient", "metropolis"}
        How transition weights are learned: by one bound-optimization step per sweep, which never
        lowers the objective and needs no tuning; by the paper's gradient step; or sampled by
        Metropolis-Hastings, where every second sweep decides on a proposal.
    weight_variance : float
        Variance of the normal prior of the weights.
    step_size : float
        Numerator of the paper's step size, ``step_size / (1000 + sweep)``.
    word_prior : float or "learn"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Every weight of the prior of the switch between class, background and topics.
    n_sweeps, burn_in, n_samples : int
        Sweeps in total, sweeps before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the one with the best log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        Word distributions integrated out, on one core; or drawn, for any number of workers.
        "auto" is "parallel" above a million tokens.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 2 + n_features, n_classes)
        Weights; rows are the source: each class, start, bias, and the features.
    topic_words_ : array of float64, shape (n_topics, n_words)
        Words of the topics, if there are any; ``topic_shares_`` and ``topic_probability_`` say
        how much of the corpus is theirs.
    class_names_ : list of str
        Names of the first classes, from seed words and labels.
    label_ : str or None
        The name of the column of labels that the model was fitted with, if there was one.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.M4(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    >>> model = pv.M4(n_classes=8, transition="softmax", background=True)  # of the paper
    >>> model = pv.M4(n_classes=8, n_topics=10)
    >>> model = pv.M4(n_classes=8, seed_words={"thanks": ["thanks", "cheers"]})
    """

    name = "m4"
    transition_kind: ClassVar = "weights"
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        **GUIDED_LIMITS,
        "view": one_of("words", "acts"),
        "transition": one_of("softmax", "dirichlet"),
        "n_topics": whole(0, 10_000),
        "unit": one_of("word", "sentence", "message"),
        "features": either(satisfies("a list of names of features", is_words), nothing()),
        "parents": one_of("first", "all"),
        "sampler": one_of("auto", "collapsed", "parallel"),
        "weight_step": one_of("bound", "gradient", "metropolis"),
        "weight_variance": real(above=0),
        "step_size": real(above=0),
    }

    class_names_: list[str]
    label_: str | None = None
    _labels: Labels | None = None

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = "auto",
        view: str = "words",
        transition: str = "dirichlet",
        n_topics: int = 0,
        unit: str = "word",
        features: list[str] | None = None,
        parents: str = "first",
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        weight_step: str = "bound",
        weight_variance: float = 10.0,
        step_size: float = 0.1,
        word_prior: float | str = "learn",
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
        self.view = view
        self.transition = transition
        self.n_topics = n_topics
        self.unit = unit
        self.features = features
        self.parents = parents
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.weight_step = weight_step
        self.weight_variance = weight_variance
        self.step_size = step_size
        self.word_prior = word_prior
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
    def needs_sentences(self) -> bool:  # type: ignore[override]
        """Whether encoded corpora must hold the limits of sentences."""
        return self.unit == "sentence"

    @property
    def transition_rows(self) -> list[str]:  # type: ignore[override]
        """Names of the rows of weights beyond the classes."""
        return ["start", "bias", *getattr(self, "columns_", Columns([])).names]

    # fitting

    def check_params(self) -> None:
        """Refuse parameters that are out of their limits, or do not go together."""
        super().check_params()
        if self.view == "acts" and self.unit == "sentence":
            raise ParameterError(
                "M4: view='acts' marks the beginnings and ends of messages, not of sentences; use "
                "unit='message' or unit='word' with it"
            )

    def fit(
        self, corpus: Corpus | Encoded, labels: Labels | None = None, **options: Unpack[FitOptions]
    ) -> Self:
        """Learn the classes of a corpus.

        Parameters
        ----------
        corpus : Corpus, Encoded or list of texts
            A corpus is encoded with default settings; for others, pass
            ``palaver.encode(corpus, min_count=..., ...)``.
        labels : str, list of str or polars.Series, optional
            A column with the names of classes of some messages, whose sentences then all have
            that class, or a list with one name per message; needs ``unit="sentence"`` or
            ``"message"``. Where it is null, the model infers the class.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        if labels is not None and self.unit == "word":
            raise ParameterError(
                "M4.fit: labels apply to messages, not to single words, which would all end up "
                "in the background; use unit='sentence' or unit='message' with labels"
            )
        guided.take_labels(self, labels)
        return super().fit(corpus, **options)

    def _engine(self, data: Encoded) -> M4Engine:
        self.columns_ = Columns.learn(self.features or [], data)
        self.class_names_ = guided.class_names(self, data)
        seeds = guided.seed_counts(self, data, self.n_classes + 1 + self.n_topics)
        return self._make_engine(self._settings_for(data, seeds))

    def _make_engine(self, settings: ThreadSettings) -> M4Engine:
        learner = WeightLearner(
            weight_step=self.weight_step,
            prior=NormalPrior(float(self.weight_variance)),
            step_size=float(self.step_size),
            is_dirichlet=self.transition == "dirichlet",
        )
        return M4Engine(
            settings,
            learner=learner,
            n_topics=int(self.n_topics),
            is_segmented=self.unit != "word",
            n_features=len(self.transition_rows),
        )

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        found = {**super()._reads(data), **guided.reads(self, data)}
        if self.features:
            found["features"] = (self.columns_.sources, self.columns_.matrix(data))
        if self.parents == "all":
            found["parents"] = (data.other_parents,)
        if self.needs_sentences:
            found["sentences"] = (data.sentence_offsets,)
        return found

    def _shards(self, data: Encoded, engine: Any) -> list[Shard]:
        fixed = guided.fixed_classes(self, data)
        return self._attached(cut(data, whole=engine.collapsed), data, fixed)

    def cut(self, data: Encoded, *, whole: bool = False) -> list[Shard]:
        """Cut data for fold-in; their labels, if any, are not used."""
        free = np.full(data.n_messages, -1, np.int16)
        return self._attached(cut(data, whole=whole), data, free)

    def _unlinked(self, data: Encoded) -> list[Shard]:
        """Cut data whose parents are to be found, with features as far as these are known."""
        shards: list[Any] = self.cut(data)
        return [unlink(shard, data, self.columns_) for shard in shards] if self.features else shards

    def _attached(
        self, shards: list[Shard], data: Encoded, fixed: NDArray[np.int16]
    ) -> list[Shard]:
        return [
            attach(
                shard, data, self.columns_, fixed, unit=self.unit,
                all_parents=self.parents == "all",
            )
            for shard in shards
        ]  # fmt: skip

    def _set_estimates(self) -> None:
        super()._set_estimates()
        best = self.chains_[self.best_chain_]
        self.transitions_ = best["transitions"]
        if self.n_topics:
            self.topic_words_ = np.ascontiguousarray(best["class_words"][:, self.n_classes + 1 :].T)
            self.topic_shares_ = best["topic_shares"]
            self.topic_prior_ = best["alpha"]
            self.topic_probability_ = float(best["switch_probabilities"][2])

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, **guided.extras(self), "columns": self.columns_.sources}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        guided.set_extras(self, content)
        self.columns_ = Columns(content["columns"])

    # asking

    def reconstruct(
        self,
        corpus: Corpus,
        order: str | None = None,
        *,
        n_sweeps: int = reconstruct.SWEEPS,
        n_restarts: int = reconstruct.RESTARTS,
        cooling: float = reconstruct.COOLING,
        temperature: float = 1.0,
        show_progress: Show = "auto",
    ) -> pl.DataFrame:
        """Return the most likely reply structure, from words and features alone.

        Parameters
        ----------
        corpus : Corpus
            Its conversations are taken as given; its replies are ignored.
        order : {None, "time", "corpus"}
            Any message of the conversation may be the parent (None, as in the paper), or only
            an earlier one: by the column ``time``, or by the order of the corpus.
        n_sweeps, n_restarts : int
            Sweeps per restart, and restarts from new random states; for each conversation the
            restart counts whose parents predict the words best.
        cooling, temperature : float
            Factor of the temperature after each sweep, and where it starts. The defaults are
            the paper's; M4 finds better trees from a hot start, such as 20 with cooling 0.985.
        show_progress : bool or "auto"
            "auto" shows a bar on terminals and in notebooks.

        Returns
        -------
        polars.DataFrame
            Columns conversation, id, parent (null for a start), parent_row (row in the corpus,
            -1 for a start; ids may repeat in other conversations), one row per message, in
            the corpus' order. There is never a cycle. The same for any number of threads.

        Notes
        -----
        Each sweep weighs all pairs of messages of a conversation. In conversations of more than
        512 messages it weighs 512 candidates per message, drawn again each time, so that time
        grows with the number of messages.
        """
        return reconstruct.reconstruct(
            self, corpus, order, n_sweeps=n_sweeps, n_restarts=n_restarts, cooling=cooling,
            temperature=temperature, show_progress=show_progress,
        )  # fmt: skip

    def _all_words(self) -> NDArray[np.float64]:
        overall = super()._all_words()
        if not self.n_topics:
            return overall
        return np.asarray(
            overall + self.topic_probability_ * (self.topic_shares_ @ self.topic_words_)
        )

    def weights_table(self, level: float = 0.95) -> pl.DataFrame:
        """Return the weights that :meth:`transitions_table` turns into probabilities.

        Parameters
        ----------
        level : float
            Share of the samples of the chain within the interval.

        Returns
        -------
        polars.DataFrame
            Columns source (a class, "start", "bias" or a feature), target, weight, low, high.
        """
        self._check_fitted()
        return weights_table(self, level)

    def topics_table(self, n: int = 10) -> pl.DataFrame:
        """Return the topics of conversations, the largest first.

        Parameters
        ----------
        n : int
            Words per topic, the most characteristic ones.

        Returns
        -------
        polars.DataFrame
            Columns topic, share (of the words that belong to topics), words.
        """
        self._check_fitted()
        if not self.n_topics:
            raise ParameterError("M4: there are no topics; fit with n_topics=20, for example")
        overall = np.maximum(self._all_words(), np.finfo(float).tiny)
        bits = self.topic_words_ * np.log2(np.maximum(self.topic_words_ / overall, 1e-300))
        best = np.argsort(-bits, axis=1, kind="stable")[:, :n]
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
        return {"topics": self.topics_table(20)} if self.n_topics else {}

    def _facts(self) -> dict[str, Any]:
        facts = {"topic_share": self.topic_probability_} if self.n_topics else {}
        return {**super()._facts(), **facts, **guided.facts(self)}

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
        """Return what start, bias and features add to the scores, (n_messages, K), and parents."""
        answered = [[int(parent)] if parent >= 0 else [] for parent in layout.parents]
        features = [layout.parents < 0, np.ones(len(layout.parents))]
        if self.features or self.parents == "all":
            if layout.data is None:
                raise ParameterError(
                    "M4: features and several parents have to come from a corpus; simulate "
                    "threads in its shape: model.simulate(corpus)"
                )
            features.append(self.columns_.matrix(layout.data))
        if self.parents == "all" and layout.data is not None:
            for b, parent in layout.data.other_parents.tolist():
                answered[b].append(parent)
        n_classes = self.transitions_.shape[1]
        return np.column_stack(features) @ self.transitions_[n_classes:], answered

    def _unit_lengths(self, n_tokens: int) -> NDArray[np.int64]:
        """Return the tokens of each unit of a simulated message; sentences have ten."""
        size = {"word": 1, "sentence": 10, "message": max(n_tokens, 1)}[self.unit]
        return np.diff(np.append(np.arange(0, n_tokens, size), n_tokens))
