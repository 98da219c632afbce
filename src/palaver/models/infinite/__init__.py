"""The infinite hidden Markov model: as many states as the data need, by the beam sampler.

Van Gael, Vlachos & Ghahramani (2009); equations in ``docs/models/infinite_hmm.md``. ::

    beta    ~ GEM(gamma), or the sticks of a Pitman-Yor process with a discount
    row_a   ~ DP(alpha, beta)                 a = 0, 1, ... and start
    phi_k   ~ Dirichlet(eta_k)                eta_k from a Dirichlet process over sparsity levels
    s_t     ~ row of s_{t-1}                  start for the first word of a sentence
    w_t     ~ phi of s_t
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard, cut, cut_sentences, encode_sentences
from palaver.errors import CorpusError, ParameterError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.models.base.fitting import RUN_LIMITS, FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.infinite import predict
from palaver.models.infinite.engines import PAIR, engine_of
from palaver.models.infinite.labels import Labels, tags_of
from palaver.models.infinite.types import TypeEngine, own_words
from palaver.models.states.engine import FIRST_STATES, StateEngine
from palaver.models.states.tags import Tags
from palaver.models.views.reading import TokenReading
from palaver.parallel import Arrays
from palaver.params import Limit, either, flag, nothing, one_of, real, whole

#: What is kept of the last sample of a chain.
_KEPT = (
    "row_concentration", "state_concentration", "discount", "state_weights", "word_priors",
    "start_counts", "transition_counts", "word_counts",
)  # fmt: skip
_KEPT_TYPES = (
    "row_concentration", "state_concentration", "discount", "word_prior", "form_priors",
    "start_counts", "transition_counts", "classes", "totals",
)  # fmt: skip
#: Default numbers of sweeps.
_SWEEPS, _SWEEPS_BY_WORD = 1000, 40


class InfiniteHMM(Model):
    """Hidden Markov model that finds the number of its states.

    Parameters
    ----------
    n_states : int or None
        None for as many states as the data need; a number gives the finite Bayesian hidden Markov
        model (Gao & Johnson 2008) with states of equal weight.
    unit : {"word", "message"}
        What has a state: every word of a sentence, given the word before; or every message as a
        whole, given the message that it answers (an infinite block HMM).
    one_state_per_word : bool or None
        All occurrences of a word have the same state: the better model of parts of speech. Words
        have a state given the words next to them and, with ``forms``, how they are written. None:
        so for words, unless labels, a ``sampler`` or a ``start`` by occurrence are given.
    forms : bool
        With ``one_state_per_word``, states also have typical word endings and shapes (capitals,
        digits, marks), in any script; numbers of words have none.
    row_concentration : float or "learn"
        How close the transition rows are to the weights that they share; with
        ``one_state_per_word``, the Dirichlet prior of each transition.
    state_concentration : float or "learn"
        Concentration of these weights: the larger, the more states.
    discount : float or "learn"
        Of a Pitman-Yor process in place of the Dirichlet process, below one; 0 is the latter.
    word_prior : float or "learn"
        Dirichlet prior of the states' words; "learn" finds one per state, and states share a few
        values.
    concentration_prior : pair of float
        Shape and rate of the Gamma prior of both concentrations, where they are learned.
    discount_prior : pair of float
        Of the Beta prior of the discount, where it is learned.
    first_states : int
        Number of states with which the search for the first states begins. With one state per word
        it begins with ``max_states``, unless these are more than 100.
    start : {"types", "words", "random"}
        Where the first states of words come from: classes of words that stand in similar company;
        chance, the same state for all occurrences of a word (with labels always so); or chance for
        each occurrence, as in the paper.
    max_states : int or None
        With one state per word, the largest number of states (default: 50, the finest that are
        still parts of speech). Else represent about this many (default: 1,000), used or not, and
        fail if more than 5% of the weight is left to others; if some is left, a sweep cannot create
        those.
    start_temperature : float
        Temperature of the emissions in the first sweep; it falls to one over the share ``anneal``
        of the burn-in. The paper starts at 2.5, likelihoods to the power 0.4; in runs shorter than
        its 9,000 sweeps a lower one (1.3) works better.
    anneal : float
    sampler : {"auto", "beam", "dense"}
        Slices, or all transitions at once, for which the number of states must be fixed; "auto"
        takes slices for infinitely many states, after a search for states in the burn-in.
    n_sweeps, burn_in, n_samples : int or None
        Number of sweeps (default: 40 with one state per word, else 1,000), of sweeps before the
        first sample (default: half), and of samples kept.
    n_chains : int
        Chains to run side by side; the best by log joint is the model.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the speed of the machine.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    n_states_ : int
        Number of states in the last sample of the best chain, which is the model: states come and
        go, so samples have no mean.
    states_ : array of int16, shape (n_positions,)
        State of each word (or message) in that sample, in the order of the input.
    transitions_ : array of float64, shape (n_states_ + 1, n_states_)
        Probabilities; rows are the source, the last one is the start.
    class_words_ : array of float64, shape (n_states_, n_words)
    word_priors_ : array of float64, shape (n_states_,)
        Dirichlet prior of each state's words.
    state_tags_ : list of str
        Tag that each state refines; empty without labels.
    row_concentration_, state_concentration_, discount_ : float

    Examples
    --------
    >>> import palaver as pv
    >>> tagger = pv.InfiniteHMM().fit([["the", "cat", "sat"], ["a", "dog", "ran"]])
    >>> tagger.states_.shape
    (6,)
    """

    name = "infinite-hmm"
    size_parameter: ClassVar[str] = "n_states"
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"
    default_min_count: ClassVar = 1
    _tags = Tags.none()
    #: Protocols by which held-out words are judged.
    heldout_methods: ClassVar = ("sequential",)
    limits: ClassVar[dict[str, Limit]] = {
        **RUN_LIMITS,
        "n_sweeps": either(whole(1), nothing()),
        "n_states": either(whole(1, 32_000), nothing()),
        "unit": one_of("word", "message"),
        "one_state_per_word": either(flag(), nothing()),
        "forms": flag(),
        "row_concentration": either(real(above=0), one_of("learn")),
        "state_concentration": either(real(above=0), one_of("learn")),
        "discount": either(real(0, 0.99), one_of("learn")),
        "word_prior": either(real(above=0), one_of("learn")),
        "concentration_prior": PAIR,
        "discount_prior": PAIR,
        "first_states": whole(1, 32_000),
        "start": one_of("types", "words", "random"),
        "max_states": either(whole(1, 32_000), nothing()),
        "start_temperature": real(1),
        "anneal": real(0, 0.9),
        "sampler": one_of("auto", "beam", "dense"),
    }

    def __init__(
        self,
        n_states: int | None = None,
        unit: str = "word",
        one_state_per_word: bool | None = None,
        forms: bool = True,
        row_concentration: float | str = "learn",
        state_concentration: float | str = "learn",
        discount: float | str = 0.0,
        word_prior: float | str = "learn",
        concentration_prior: Sequence[float] = (1.0, 1.0),
        discount_prior: Sequence[float] = (1.0, 9.0),
        first_states: int = FIRST_STATES,
        start: str = "types",
        max_states: int | None = None,
        start_temperature: float = 1.0,
        anneal: float = 0.75,
        sampler: str = "auto",
        n_sweeps: int | None = None,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 1,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_states = n_states
        self.unit = unit
        self.one_state_per_word = one_state_per_word
        self.forms = forms
        self.row_concentration = row_concentration
        self.state_concentration = state_concentration
        self.discount = discount
        self.word_prior = word_prior
        self.concentration_prior = concentration_prior
        self.discount_prior = discount_prior
        self.first_states = first_states
        self.start = start
        self.max_states = max_states
        self.start_temperature = start_temperature
        self.anneal = anneal
        self.sampler = sampler
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
        X: Corpus | Encoded | Sequence[Sequence[str]] | ArrayLike,
        lengths: ArrayLike | None = None,
        *,
        labels: Labels | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the states of sentences.

        Parameters
        ----------
        X : Corpus, Encoded, list of lists of words, or array of int
            Each message of a corpus is a sentence. All words are kept, however rare. Numbers of
            words go with ``lengths``.
        lengths : array of int, optional
            Of the sentences, if X are numbers.
        labels : optional
            What is known about the tags of some words (or messages); states then refine the tags.
            The name of a column of the corpus with tags (lists of them, one per word; nulls are
            free), such lists themselves, or a dictionary from words to a tag or several tags,
            which leaves other words free.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        if self.sampler == "dense" and self.n_states is None:
            raise ParameterError(
                "InfiniteHMM: sampler='dense' needs a fixed number of states; give n_states, or "
                "use sampler='beam'"
            )
        if self.one_state_per_word and (self.unit != "word" or labels is not None):
            raise ParameterError(
                "InfiniteHMM: one_state_per_word=True is for words without labels; leave out "
                "labels and unit='message'"
            )
        data = encode_sentences(X, lengths)
        self._tags = Tags.none()
        if labels is not None:
            corpus = X if isinstance(X, Corpus) else None
            self._tags = tags_of(labels, data, corpus, self.unit)
            if self.n_states is not None and self.n_states < self._tags.n_tags:
                raise ParameterError(
                    f"InfiniteHMM: {self._tags.n_tags} tags need at least as many states, but "
                    f"n_states is {self.n_states}"
                )
        return self._fit(data, **options)

    def check_data(self, encoded: Any) -> None:
        """Refuse sentences from which nothing can be learned."""
        super().check_data(encoded)
        if len(encoded.tokens) and encoded.tokens.min() < 0:
            raise CorpusError(f"{type(self).__name__}: the sentences hold unknown words; encode "
                              "them without a given vocabulary")  # fmt: skip

    def _reads(self, data: Any) -> dict[str, Sequence[Any]]:
        found, tags = super()._reads(data), self._tags
        return {**found, "labels": (tags.names, tags.groups, tags.sets)} if tags.n_tags else found

    @property
    def transition_steps(self) -> str:  # type: ignore[override]
        """Where a transition leads: to the next word, or to replies."""
        return "words" if self.unit == "word" else "replies"

    @property
    def units(self) -> str:  # type: ignore[override]
        """What has a state: words, or messages."""
        return f"{self.unit}s"

    @property
    def _by_word(self) -> bool:
        """Whether all occurrences of a word have the same state."""
        if self.one_state_per_word is not None:
            return self.one_state_per_word
        return (self.unit, self.sampler, self.start, self._tags.n_tags) == (
            "word", "auto", "types", 0,
        )  # fmt: skip

    def _sampler(self, data: Any) -> str:
        if self._by_word:
            return "collapsed"
        if self.sampler != "auto":
            return str(self.sampler)
        return "beam" if self.n_states is None else "dense"

    def _schedule(self) -> Schedule:
        n_sweeps = self.n_sweeps or (_SWEEPS_BY_WORD if self._by_word else _SWEEPS)
        made = Schedule.make(n_sweeps, self.burn_in, self.n_samples, self.max_seconds)
        return replace(made, anneal=self.anneal, start_temperature=self.start_temperature)

    def _engine(self, data: Encoded) -> StateEngine | TypeEngine:
        return engine_of(self, data)

    def _shards(self, data: Encoded, engine: Any = None) -> list[Shard]:
        if self._by_word:
            return cut_sentences(data, whole=True)  # words move one after the other
        return cut_sentences(data) if self.unit == "word" else cut(data)

    def _estimates_of(self, chain: Chain) -> Arrays:
        kept = _KEPT_TYPES if self._by_word else _KEPT
        return {name: chain.shared.arrays[name] for name in kept}

    def _learn(self, fit: Fit, schedule: Schedule, data: Any, seed: int) -> None:
        relabel = fit.chains[fit.best].shared.arrays["relabel"]
        states = fit.states()
        parts = [states[place]["states"] for place in sorted(states) if place[0] == fit.best]
        self.states_ = np.empty(sum(map(len, parts)), np.int16)
        for part, last in zip(parts, np.cumsum([len(part) for part in parts]), strict=True):
            self.states_[last - len(part) : last] = relabel[part]  # in place: tokens are many
        arrays = fit.chains[fit.best].shared.arrays
        self.state_tags_ = [self._tags.names[i] for i in arrays.get("state_tags", ())]
        super()._learn(fit, schedule, data, seed)

    def _set_estimates(self) -> None:
        best = self.chains_[self.best_chain_]
        self.row_concentration_ = float(best["row_concentration"])
        self.state_concentration_ = float(best["state_concentration"])
        self.discount_ = float(best["discount"])
        self.n_states_ = len(best["start_counts"])
        counts = np.vstack((best["transition_counts"], best["start_counts"]))
        if "classes" in best:  # one state per word
            weights, eta = np.ones(self.n_states_), float(best["word_prior"])
            self.word_priors_ = np.full(self.n_states_, eta)
            self.class_words_ = own_words(best["classes"], best["totals"], eta, self.n_states_)
        else:
            weights, self.word_priors_ = best["state_weights"][:-1], best["word_priors"]
            words = best["word_counts"].T + self.word_priors_[:, None]
            self.class_words_ = words / words.sum(axis=1, keepdims=True)
        rows = counts + self.row_concentration_ * weights
        self.transitions_ = rows / rows.sum(axis=1, keepdims=True)
        self._moves_from = rows[:-1].sum(axis=1)
        self.class_shares_ = counts.sum(axis=0) / counts.sum()

    # asking: the functions are in palaver.models.infinite.predict

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        return predict.new_sentences(self, corpus)

    def predict(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None
    ) -> NDArray[np.int16]:
        """Return the likeliest state of each word (or message) given its whole sentence.

        Parameters
        ----------
        X, lengths
            New sentences, as :meth:`fit` takes them. A word that the model does not know is
            judged by the words around it.

        Returns
        -------
        array of int16, shape (n_positions,)
        """
        return predict.likeliest(self, predict.new_sentences(self, X, lengths))[0]

    def predict_proba(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None
    ) -> NDArray[np.float64]:
        """Return the probability of each state for each word (or message), (n, n_states_)."""
        return predict.probabilities(self, predict.new_sentences(self, X, lengths))

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each state in each message, also of new ones.

        Exact, by summing over all state sequences: ``n_sweeps`` is not needed. A message without
        words has the corpus' shares, or with ``unit="message"`` those that its place predicts.
        """
        return self.read_tokens(self._encode(corpus)).shares

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return shares of messages and states of words from one pass; see :meth:`transform`."""
        return predict.read_tokens(self, self._encode(encoded))

    def token_classes(self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS) -> pl.DataFrame:
        """Return the state of each word.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), token (position in the message), word (null if
            the model does not know it), class, probability.
        """
        return predict.token_classes(self, predict.new_sentences(self, corpus))

    def tag_words(self, corpus: Corpus) -> Corpus:
        """Return the corpus with a list column ``state``: the state of each word, as text.

        Words are in the column ``tokens``. With labels there is a list column ``tag`` as well, of
        the tags that the states refine. Write the result as ``x.conll``.
        """
        return predict.tag_words(self, corpus)

    def log_likelihoods(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None, *, n_particles: int = 0
    ) -> NDArray[np.float64]:
        """Return the log-likelihood of each conversation; each list of words is one.

        Exact, states are summed out: ``n_particles`` is not needed. Unknown words are skipped.
        """
        return predict.log_likelihoods(self, predict.new_sentences(self, X, lengths))

    def perplexity(
        self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None, *, n_particles: int = 0
    ) -> float:
        """Return the perplexity per known word."""
        data = predict.new_sentences(self, X, lengths)
        n_known = int((data.tokens >= 0).sum())
        if not n_known:
            raise CorpusError(
                f"{type(self).__name__}: no word of these sentences is known to the model"
            )
        return float(np.exp(-predict.log_likelihoods(self, data).sum() / n_known))

    def score(self, X: Corpus | Encoded | Any, lengths: ArrayLike | None = None) -> float:
        """Return the mean log probability of a word, the logarithm of 1 / perplexity."""
        return -float(np.log(self.perplexity(X, lengths)))

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.vocabulary_.counts
        return np.asarray(counts / max(counts.sum(), 1))

    def _word_totals(self) -> NDArray[np.float64]:
        best = self.chains_[self.best_chain_]
        if "classes" in best:  # one state per word
            return np.bincount(best["classes"], best["totals"], self.n_states_).astype(float)
        return np.asarray(best["word_counts"].sum(axis=0), float)

    def _transition_totals(self) -> NDArray[np.float64]:
        return np.asarray(self._moves_from)

    def _facts(self) -> dict[str, Any]:
        levels = len(np.unique(self.word_priors_))
        return {"states": self.n_states_, "levels": levels}

    # keeping

    def _extras(self) -> Extras:
        return {"state_tags": self.state_tags_}, {"states": self.states_}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.states_ = arrays["states"]
        self.state_tags_ = list(content["state_tags"])
