"""Models whose states emit vectors of utterances: the Gaussian HMM and mixture share all of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palaver import rng
from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import Encoded, Utterances, VectorShard, cut_vectors
from palaver.encoding.marks import MARKS
from palaver.encoding.utterances import VectorSource, WordPooling, with_text
from palaver.errors import CorpusError, ParameterError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.models.base.fitting import RUN_LIMITS, FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.gaussian.acts import common_covariance, join_states, members, number_of_acts
from palaver.models.gaussian.engine import VectorEngine
from palaver.models.gaussian.inputs import new_utterances, training_utterances
from palaver.models.gaussian.predict import act_posteriors
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.models.states.emissions.vectors import VectorEmissions
from palaver.models.states.engine import FIRST_STATES, MAX_STATES, StateEngine
from palaver.models.states.search import search_sweeps
from palaver.models.states.tags import Tags
from palaver.parallel import Arrays
from palaver.parallel.restored import Expected, check_arrays
from palaver.params import Limit, either, flag, nothing, one_of, real, satisfies, text, whole

#: Vectors times states times squared dimensions up to which "auto" takes the collapsed sampler.
COLLAPSED_WORK = 2e8
_SKETCH = 20_000
#: Marks and weight that "auto" stands for with conversations and the blocked sampler, chosen by
#: ``benchmarks.gaussian_defaults``.
AUTO_MARKS, AUTO_WEIGHT = ("question",), 0.5


def _is_marks(value: Any) -> bool:
    return isinstance(value, list) and all(mark in MARKS for mark in value)


class VectorModel(Model):
    """A model whose states emit vectors.

    Attributes
    ----------
    n_states_ : int
        Number of states, also where it is found.
    acts_ : array of int64, shape (n_states,)
        The act that each state belongs to.
    states_ : array of int16, shape (n_messages,)
        The likeliest act of each utterance that the model was fitted on; acts are states
        unless states were joined. -1 for messages without a vector, which are left out.
    means_ : array of float64, shape (n_states, M)
        Of the states, before they were joined.
    covariances_ : array of float64
        (n_states, M, M) if full, (n_states, M) if diagonal, (M, M) if tied.
    transitions_ : array of float64, shape (n_acts + 1, n_acts)
        Probabilities; rows are the source, the last one is the start.
    marks_ : list of str
        Marks that states emit; none where vectors were given as an array.
    mark_probabilities_ : array of float64, shape (n_states, n_marks)
    weight_ : float
        What ``weight`` stands for.
    coverage_ : float
        Share of the corpus' tokens whose words have vectors of their own; NaN without words. The
        vectors of other words are estimated from the corpus.
    """

    size_parameter: ClassVar[str] = "n_states"
    transition_steps = "messages"
    units = "messages"
    #: Whether every utterance is a sequence of its own, so that context does not matter.
    _single: ClassVar[bool] = False
    limits: ClassVar[dict[str, Limit]] = {
        **RUN_LIMITS,
        "n_states": either(whole(1, 32_000), nothing()),
        "n_acts": either(whole(1), one_of("auto"), nothing()),
        "covariance": one_of("full", "diag", "tied"),
        "sampler": one_of("auto", "collapsed", "blocked"),
        "transition_prior": real(above=0),
        "strength": real(0),
        "extra_dof": real(above=-1),
        "scale": either(real(above=0), one_of("identity")),
        "init": one_of("kmeans", "random"),
        "start_temperature": real(1),
        "vectors": text(),
        "weighting": one_of("idf", "root-idf", "even"),
        "pooling": one_of("mean", "sum"),
        "normalize": flag(),
        "whiten": either(whole(1), nothing()),
        "marks": either(
            one_of("auto"), satisfies(f"a list of {', '.join(MARKS)}", _is_marks), nothing()
        ),
        "weight": either(one_of("auto"), real(above=0, high=1)),
    }

    acts_: NDArray[np.int64]
    means_: NDArray[np.float64]
    marks_: list[str]
    weight_: float
    _centre: NDArray[np.float64]
    _rows: NDArray[np.float64]
    _words_of_acts: NDArray[np.float64]
    _moves_from: NDArray[np.float64]
    _parameters: Arrays
    #: What turns conversations into vectors; None where vectors were given.
    _source: Any

    def __init__(
        self,
        n_states: int | None = 20,
        n_acts: int | str | None = "auto",
        covariance: str = "tied",
        sampler: str = "auto",
        transition_prior: float = 1.0,
        strength: float = 0.1,
        extra_dof: float = 2.0,
        scale: float | str = 0.5,
        init: str = "kmeans",
        start_temperature: float = 1.0,
        vectors: str = "corpus",
        weighting: str = "root-idf",
        pooling: str = "mean",
        normalize: bool = True,
        whiten: int | None = None,
        marks: list[str] | str | None = "auto",
        weight: float | str = "auto",
        n_sweeps: int = 200,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_states = n_states
        self.n_acts = n_acts
        self.covariance = covariance
        self.sampler = sampler
        self.transition_prior = transition_prior
        self.strength = strength
        self.extra_dof = extra_dof
        self.scale = scale
        self.init = init
        self.start_temperature = start_temperature
        self.vectors = vectors
        self.weighting = weighting
        self.pooling = pooling
        self.normalize = normalize
        self.whiten = whiten
        self.marks = marks
        self.weight = weight
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.max_seconds = max_seconds
        self.random_state = random_state
        self.n_jobs = n_jobs

    # fitting

    def fit(
        self,
        X: Corpus | Encoded | ArrayLike,
        lengths: ArrayLike | None = None,
        *,
        vectors: VectorSource | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the states of utterances.

        Parameters
        ----------
        X : array of shape (n, M), Corpus, Encoded or list of texts
            Vectors, taken as they are; or conversations, whose utterances become vectors by
            the parameters ``vectors``, ``weighting``, ``pooling``, ``normalize`` and ``whiten``.
        lengths : array of int, optional
            Of the conversations, if X are vectors; one conversation if not given.
        vectors : optional
            In place of the parameter; also word vectors, a function from a list of texts to an
            array with one row per text, or that array. The last two are taken as they are.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        X = as_corpus(X)
        self._choose_emissions(talk=isinstance(X, Corpus | Encoded))
        data, self._source = training_utterances(self, X, lengths, vectors)
        return self._fit(data, **options)

    def _choose_emissions(self, *, talk: bool) -> None:
        """Set the marks and the weight that "auto" stands for; arrays have no marks."""
        plain = not talk or self.sampler == "collapsed"
        marks = self.marks or [] if self.marks != "auto" else () if plain else AUTO_MARKS
        self.marks_ = list(marks) if talk else []
        self.weight_ = 1.0 if plain else AUTO_WEIGHT
        if not isinstance(self.weight, str):
            self.weight_ = float(self.weight)

    def check_data(self, encoded: Any) -> None:
        """Refuse data from which nothing can be learned."""
        if isinstance(encoded, Encoded):
            super().check_data(encoded)
        elif not encoded.n_messages:
            raise CorpusError(
                f"{type(self).__name__}: there are no vectors"
                + ("; no word of the messages has one" if encoded.has_vector is not None else "")
            )

    def _reads(self, data: Utterances) -> dict[str, Sequence[Any]]:
        return {}  # the fingerprint is made of the vectors and conversations

    def _sampler(self, data: Utterances) -> str:
        if self.n_states is None:
            return "beam"
        plain = not self.marks_ and self.weight_ == 1
        if self.sampler == "collapsed" and not plain:
            raise ParameterError(
                f"{type(self).__name__}: sampler='collapsed' is for vectors alone that count in "
                "full: use it with marks=None and weight=1"
            )
        if self.sampler != "auto":
            return self.sampler
        if not plain:
            return "blocked"
        work = data.n_messages * self.n_states * data.vectors.shape[1] ** 2
        return "collapsed" if work <= COLLAPSED_WORK else "blocked"

    def _schedule(self) -> Schedule:
        return replace(super()._schedule(), anneal=0.5, start_temperature=self.start_temperature)

    def _engine(self, data: Utterances) -> VectorEngine | StateEngine:
        size = data.vectors.shape[1] - len(self.marks_)
        self._centre = data.vectors.mean(axis=0)
        self._centre[size:] = 0.0  # marks stay zeros and ones
        variances = np.square(data.vectors[:, :size] - self._centre[:size]).mean(axis=0)
        floor = max(float(variances.mean()), np.finfo(float).tiny) * 1e-6  # constant columns
        self._variances = np.maximum(variances, floor) if variances.any() else variances + 1.0
        sketch = np.zeros((0, size))
        if self.init == "kmeans":
            sketch = (data.vectors[_some(data.n_messages, _SKETCH)] - self._centre)[:, :size]
        if self.n_states is not None:
            return VectorEngine(
                self.n_states, float(self.transition_prior), self._emissions(),
                self._sampler(data) == "collapsed", sketch,
            )  # fmt: skip
        if not self.strength:
            raise ParameterError(
                f"{type(self).__name__}: n_states=None needs a strength above 0, the weight of "
                "the prior that new states are drawn from"
            )
        return StateEngine(
            VectorEmissions(self._emissions(), sketch), None, None, None, 0.0, FIRST_STATES,
            MAX_STATES, False, Tags.none(), search=search_sweeps(self._schedule()),
        )  # fmt: skip

    def _emissions(self) -> GaussianEmissions:
        """Return the prior, around the centre of the data."""
        size = len(self._centre) - len(self.marks_)
        scale = np.ones(size)
        if self.scale != "identity":
            scale = float(self.scale) * self._variances
        return GaussianEmissions(
            self.covariance, np.zeros(size), float(self.strength), size + float(self.extra_dof),
            scale, len(self.marks_), self.weight_,
        )  # fmt: skip

    def _shards(self, data: Utterances, engine: Any) -> list[VectorShard]:
        whole = getattr(engine, "collapsed", False)
        return cut_vectors(data, self._centre, whole=whole, single=self._single)

    def _estimates_of(self, chain: Chain) -> Arrays:
        if self.n_states is not None:
            return super()._estimates_of(chain)
        arrays = chain.shared.arrays  # states come and go: the model is the last sample
        kept = {name: arrays[name] for name in ("state_counts", "state_sums", "state_squares")}
        counts = np.vstack((arrays["transition_counts"], arrays["start_counts"]))
        prior = arrays["row_concentration"] * arrays["state_weights"]
        return {**kept, "transition_counts": counts, "prior": prior}

    def _learn(self, fit: Fit, schedule: Schedule, data: Any, seed: int) -> None:
        self.coverage_ = data.coverage
        self.states_ = np.zeros(0, np.int16)
        super()._learn(fit, schedule, data, seed)
        shares, _ = act_posteriors(self, data)
        self.states_ = data.spread(shares.argmax(axis=1).astype(np.int16), -1)
        counts = np.asarray((data.words.T @ shares).T)
        totals = counts.sum(axis=1, keepdims=True)
        self._words_of_acts = totals[:, 0]
        overall = data.vocabulary.counts / max(data.vocabulary.counts.sum(), 1)
        self.class_words_ = np.where(totals > 0, counts / np.maximum(totals, 1e-300), overall)

    def _set_estimates(self) -> None:
        mean = self.chains_[self.best_chain_]
        means, self.covariances_, self._parameters = self._emissions().expected(mean)
        self.means_ = means + self._centre[: means.shape[1]]
        logs = self._parameters.get("log_marks", np.zeros((2, len(means), 0)))
        self.mark_probabilities_ = np.exp(logs[0])
        prior = mean["prior"][:-1] if "prior" in mean else float(self.transition_prior)
        rows = mean["transition_counts"] + prior
        if self._single:
            rows = np.broadcast_to(rows[-1], rows.shape)
        self._rows = rows / rows.sum(axis=1, keepdims=True)
        counts = mean["state_counts"]
        self.acts_ = self._acts(counts)
        joined = members(self.acts_)
        sources = np.vstack((joined.T @ rows[:-1], rows[-1:])) @ joined
        self.transitions_ = sources / sources.sum(axis=1, keepdims=True)
        self._moves_from = sources[:-1].sum(axis=1)
        self.class_shares_ = counts @ joined / counts.sum()

    def _acts(self, counts: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the act of each state."""
        n_acts = number_of_acts(self.n_acts, len(self.means_))
        if n_acts == len(self.means_):
            return np.arange(n_acts)
        common = common_covariance(self.covariance, self.covariances_, counts)
        sums = self.chains_[self.best_chain_]["state_sums"]
        having = sums[:, self.means_.shape[1] :]
        return join_states(self.means_, common, counts, n_acts, having, self.weight_)

    # asking

    @property
    def n_states_(self) -> int:
        """Number of states, also where it is found."""
        self._check_fitted()
        return len(self.means_)

    @property
    def needs_texts(self) -> bool:
        """Whether a sentence encoder makes the vectors."""
        return callable(self._source) and not isinstance(self._source, WordPooling)

    def predict_proba(
        self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each act for each utterance, given its conversation.

        Parameters
        ----------
        X : array of shape (n, M), Corpus, Encoded or list of texts
        lengths : array of int, optional
            Of the conversations, if X are vectors.

        Returns
        -------
        array of float64, shape (n, n_acts)
            A message without a vector has the shares of all utterances.
        """
        data = new_utterances(self, X, lengths)
        return data.spread(act_posteriors(self, data)[0], self.class_shares_)

    def predict(
        self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None
    ) -> NDArray[np.int64]:
        """Return the likeliest act of each utterance, (n,); -1 for those without a vector."""
        data = new_utterances(self, X, lengths)
        return data.spread(act_posteriors(self, data)[0].argmax(axis=1), -1)

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages have a vector, (n_messages,)."""
        self._check_fitted()
        if self.needs_texts and isinstance(corpus, Corpus):
            return with_text(corpus)  # a sentence encoder is slow, and need not run for this
        data = new_utterances(self, corpus, None)
        return np.ones(data.n_messages, bool) if data.has_vector is None else data.has_vector

    def score(self, X: Corpus | Encoded | ArrayLike, lengths: ArrayLike | None = None) -> float:
        """Return the log-likelihood of all utterances, states summed out.

        With a weight below one, the densities of vectors have that power.
        """
        return float(act_posteriors(self, new_utterances(self, X, lengths))[1].sum())

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the probability of each act for each message, also of new conversations.

        Exact, by summing over all state sequences: ``n_sweeps`` is not needed.
        """
        return self.predict_proba(corpus)

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.vocabulary_.counts
        return np.asarray(counts / max(counts.sum(), 1))

    def _word_totals(self) -> NDArray[np.float64]:
        return self._words_of_acts

    def _transition_totals(self) -> NDArray[np.float64]:
        return self._moves_from

    def _facts(self) -> dict[str, Any]:
        used = int((self.chains_[self.best_chain_]["state_counts"] > 0).sum())
        facts = {"dimensions": int(self.means_.shape[1]), "states": len(self.means_),
                 "states_used": used}  # fmt: skip
        if len(self.class_shares_) < len(self.means_):
            facts["acts"] = len(self.class_shares_)
        facts["left_out"] = int((self.states_ < 0).sum())
        return facts if np.isnan(self.coverage_) else {**facts, "coverage": self.coverage_}

    # keeping

    def _extras(self) -> Extras:
        extras: Arrays = {
            "centre": self._centre,
            "variances": self._variances,
            "states": self.states_,
            "class_words": self.class_words_,
            "word_totals": self._words_of_acts,
        }
        if isinstance(self._source, WordPooling):
            extras["word_vectors"] = self._source.word_vectors
            extras["word_weights"] = self._source.word_weights
            extras["word_centre"] = self._source.centre
        content: dict[str, Any] = {"marks": self.marks_, "weight": self.weight_}
        if not np.isnan(self.coverage_):
            content["coverage"] = float(self.coverage_)
        return content, extras

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.marks_ = [str(mark) for mark in content["marks"]]
        self.weight_ = float(content["weight"])
        self._centre, self._variances = arrays["centre"], arrays["variances"]
        self.states_, self.class_words_ = arrays["states"], arrays["class_words"]
        sizes = np.ones(len(self.class_words_))
        self._words_of_acts = arrays.get("word_totals", sizes)
        self.coverage_ = float(content.get("coverage", np.nan))
        self._source = None
        if "word_vectors" in arrays:
            n_words, size = arrays["word_vectors"].shape
            wanted = {
                "word_weights": Expected((n_words,), least=0),
                "word_centre": Expected((size,)),
            }
            check_arrays(arrays, wanted)
            if self.class_words_.shape[-1] != n_words:
                raise ValueError(f"{n_words} vectors for {self.class_words_.shape[-1]} words")
            self._source = WordPooling(
                arrays["word_vectors"], arrays["word_weights"], arrays["word_centre"],
                self.pooling,
            )  # fmt: skip


def _some(n: int, most: int) -> NDArray[np.int64]:
    """Return at most ``most`` of the numbers below ``n``, always the same ones."""
    if n <= most:
        return np.arange(n)
    chosen = rng.generator(0, "sketch").choice(n, most, replace=False)
    return np.sort(chosen)
