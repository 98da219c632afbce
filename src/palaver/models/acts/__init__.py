"""Acts: what people do in conversations, by how they say it.

A hidden Markov model over reply trees, or over turns, whose acts emit several views of a message
or sentence: frequent words, how it begins and ends, its marks and its length. Each view has a
weight, so that long views do not drown short ones. Several searches are joined into one answer.
Equations (a) to (c) are in ``docs/models/acts.md``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus, as_corpus
from palaver.encoding import Encoded
from palaver.encoding.utterances import SentenceEncoder, VectorSource
from palaver.fit.loop import Fit
from palaver.fit.schedule import Schedule
from palaver.models.acts import consensus, merging, names, preparing, stored, tables
from palaver.models.acts.beginnings import common_beginnings
from palaver.models.acts.engine import ActEngine, ActShard, cut_units
from palaver.models.acts.preparing import MOST_ACTS
from palaver.models.acts.seeds import Seeds, seeds_of
from palaver.models.acts.units import Units, units_of
from palaver.models.acts.vectors import UnitVectors, VectorView
from palaver.models.acts.views import VIEW_WEIGHTS, Views, features_of, left_out
from palaver.models.base.fitting import RUN_LIMITS, FitOptions, keep_samples
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.views.reading import TokenReading
from palaver.models.words import guided
from palaver.models.words.guided import GUIDED_LIMITS, Labels
from palaver.parallel import Arrays
from palaver.params import Limit, either, nothing, one_of, real, satisfies, text, whole

#: Fewest acts to end with when the data decide.
FEWEST_ACTS = 5
#: Searches cool down from this temperature over their burn-in. From higher ones, all units of a
#: small corpus end in one or two states, which never part again; labels hold acts apart.
START_TEMPERATURE, LABELLED_TEMPERATURE = 2.0, 5.0


def _is_weights(value: Any) -> bool:
    return isinstance(value, Mapping) and all(
        name in VIEW_WEIGHTS and isinstance(weight, int | float) and weight >= 0
        for name, weight in value.items()
    )


class Acts(Model):
    """Acts of messages or sentences, found by how things are said and what they follow.

    Parameters
    ----------
    n_acts : int or "auto"
        Number of acts. "auto" searches for 12 and merges those that are rare, differ by little or
        would have the same name.
    unit : {"auto", "message", "sentence"}
        What has an act. "auto" takes sentences where messages have two or more on average.
    columns : list of str or "auto"
        Columns of the corpus that depend on the act, as further views. "auto" takes ``role``
        if there is one.
    view_weights : dict of str to float, optional
        Weights of views in place of the defaults; 0 leaves a view out. The views are words,
        beginning, end, closing, question, exclamation, link, length, column for all columns, and
        vector.
    vectors : str, optional
        Word vectors for one more view: "corpus" learns them from the texts, or the path of a file.
        :meth:`fit` also takes vectors and encoders.
    seed_words : dict of str to list of str, optional
        Words that an act of that name should have; the other acts are free.
    seed_weight : float
        How strongly seed words speak for their acts, and messages without any against them.
    feature_prior, transition_prior : float
        Dirichlet priors of each feature of a view, and of each act after another.
    n_sweeps, burn_in, n_samples : int
        Sweeps of each search, sweeps before the first sample (default: half), and samples to
        keep.
    n_chains : int
        Searches; the better half of them is joined into one answer.
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    act_names_ : list of str
        Names of seeds and labels, then proposals; see ``names_are_proposed_``.
    names_are_proposed_ : list of bool
    unit_ : {"message", "sentence"}
    transitions_ : array of float64, shape (n_acts + 1, n_acts)
        Probabilities from a message to the next; rows are the source, the last one is the start.
    agreement_ : array of float64, shape (n_acts, n_chains)
        Overlap of each act with the most similar act of each search, from 0 to 1.
    beginnings_ : list of list of str
        The most typical beginnings of each act, of two words.
    feature_counts_ : array of float64, shape (n_features, n_acts)
        Summed weights of the features of each act.
    left_out_ : list of str
        Views in which all messages look the same.
    encoder_ : callable or None
        What turns texts into vectors, if an encoder was given. It is not saved: set it after
        loading a model, or new conversations are read without the vector view.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.Acts(n_sweeps=30, n_chains=2).fit(pv.sample(30))  # doctest: +SKIP
    >>> model.acts_table()  # doctest: +SKIP
    """

    name = "acts"
    size_parameter: ClassVar[str] = "n_acts"
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"
    keeps_unknown: ClassVar = True
    joins_searches: ClassVar = True
    limits: ClassVar[dict[str, Limit]] = {
        **RUN_LIMITS,
        **GUIDED_LIMITS,
        "n_acts": either(whole(1, MOST_ACTS), one_of("auto")),
        "unit": one_of("auto", "message", "sentence"),
        "columns": either(satisfies("a list of columns", guided.is_words), one_of("auto")),
        "view_weights": either(
            satisfies(f"a dict of weights of {', '.join(VIEW_WEIGHTS)}", _is_weights), nothing()
        ),
        "vectors": either(text(), nothing()),
        "feature_prior": real(above=0),
        "transition_prior": real(above=0),
    }

    #: Acts that the searches look for.
    n_classes: int
    class_names_: list[str]
    label_: str | None = None
    _labels: Labels | None = None
    unit_: str
    encoder_: SentenceEncoder | None = None
    _views: Views
    _vector_view: VectorView | None = None
    #: Vectors of messages that were given for a corpus, and its fingerprint.
    _given: tuple[str, NDArray[np.float64]] | None = None
    _answer: Arrays
    _states: NDArray[np.int64]
    _words_of_acts: NDArray[np.float64]
    _moves_from: NDArray[np.float64]
    #: Acts that units begin with in the next fit, see :meth:`begin_with`.
    _first: NDArray[np.int16] | None = None
    # while it is fitted
    _source: Any
    _units: Units
    _unit_vectors: UnitVectors | None

    def __init__(
        self,
        n_acts: int | str = "auto",
        unit: str = "auto",
        columns: Sequence[str] | str = "auto",
        view_weights: Mapping[str, float] | None = None,
        vectors: str | None = None,
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        feature_prior: float = 0.2,
        transition_prior: float = 1.0,
        n_sweeps: int = 60,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 20,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_acts = n_acts
        self.unit = unit
        self.columns = columns
        self.view_weights = view_weights
        self.vectors = vectors
        self.seed_words = seed_words
        self.seed_weight = seed_weight
        self.feature_prior = feature_prior
        self.transition_prior = transition_prior
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
        corpus: Corpus | Encoded,
        labels: Labels | None = None,
        *,
        vectors: VectorSource | None = None,
        **options: Unpack[FitOptions],
    ) -> Self:
        """Learn the acts of a corpus.

        Parameters
        ----------
        corpus : Corpus, Encoded or list of texts
        labels : str, list of str or polars.Series, optional
            A column with the names of acts of some messages, or a list with one name per
            message. Where it is null, the model infers the act. All sentences of a labelled
            message have its act.
        vectors : optional
            In place of the parameter; also word vectors, a function from a list of texts to an
            array with one row per text, or that array. Sentences have the vector of their
            message where an encoder or an array gives it.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        corpus = as_corpus(corpus)
        guided.take_labels(self, labels)
        data = self._as_encoded(corpus)
        preparing.take_vectors(self, corpus, data, vectors)
        return self._fit(data, **options)

    def begin_with(self, acts: NDArray[np.integer]) -> Self:
        """Let all searches of the next fit begin with given acts of units.

        They stay near these acts then, because they do not cool down from a higher temperature.

        Parameters
        ----------
        acts : array of int, shape (n_units,)
            From 0, acts of seeds and labels first; -1 for units whose act is drawn.
        """
        self._first = preparing.first_acts(acts)
        return self

    @property
    def needs_sentences(self) -> bool:  # type: ignore[override]
        """Whether encoded corpora must hold the limits of sentences."""
        return getattr(self, "unit_", self.unit) != "message"

    @property
    def units(self) -> str:  # type: ignore[override]
        """What has an act, and what shares are shares of: "messages" or "sentences"."""
        return f"{getattr(self, 'unit_', 'message')}s"

    @property
    def needs_texts(self) -> bool:
        """Whether an encoder makes the vectors."""
        return self.encoder_ is not None

    def _engine(self, data: Encoded) -> ActEngine:
        preparing.prepare(self, data)
        return self._make_engine(self.n_classes, seeds_of(self, data))

    def _make_engine(self, n_acts: int, seeds: Seeds | None = None) -> ActEngine:
        prior = np.full((self._views.n_features, n_acts), float(self.feature_prior))
        view = self._vector_view
        return ActEngine(
            n_acts, self._views.starts, prior, float(self.transition_prior),
            None if view is None else view.emissions(preparing.vector_weight(self)), seeds,
        )  # fmt: skip

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        columns = {name: data.labels[name].codes for name in self._views.columns}
        return {
            **super()._reads(data),
            **guided.reads(self, data),
            "speakers": (np.asarray(data.speakers.codes),),
            "units": (self.unit_, np.asarray(self._units.offsets)),
            **{f"column {name}": (codes,) for name, codes in columns.items()},
            **({} if self._unit_vectors is None else {"vectors": (self._unit_vectors.values,)}),
            **({} if self._first is None else {"first acts": (self._first,)}),
        }

    def _sampler(self, data: Encoded) -> str:
        return "parallel"

    def _schedule(self) -> Schedule:
        if self._first is not None:
            return super()._schedule()
        start = START_TEMPERATURE if self._labels is None else LABELLED_TEMPERATURE
        return replace(super()._schedule(), anneal=1.0, start_temperature=start)

    def _shards(self, data: Encoded, engine: Any) -> list[ActShard]:
        features = features_of(self._views, data, self._units)
        fixed = np.empty(0, np.int16)
        if self._labels is not None:
            fixed = guided.fixed_classes(self, data)[self._units.messages]
        preparing.check_first(self)
        return cut_units(self._units, features, fixed, self._unit_vectors, self._first)

    def _learn(self, fit: Fit, schedule: Schedule, data: Encoded, seed: int) -> None:
        keep_samples(self, fit, schedule, data, seed)
        self.draws_ = {}  # acts of one search, not of the answer
        engine = self._make_engine(self.n_classes, seeds_of(self, data))
        shards = self._shards(data, engine)
        answer, found = consensus.join_searches(
            engine, shards, self.chains_, fit.scores, self.n_jobs
        )
        self._answer = answer.statistics
        self._seeds = engine.seeds
        self._set_acts(self._merged(engine, answer, found), answer.posteriors)
        if self.n_acts == "auto":
            self._merge_namesakes(engine, answer)
        posteriors = answer.posteriors @ self._members
        acts, n_acts = posteriors.argmax(axis=1), posteriors.shape[1]
        searches: Sequence[NDArray[np.integer]] = found
        if self.n_acts == "auto":
            searches = [consensus.put_together(own, acts, n_acts) for own in found]
        self.agreement_ = consensus.agreement(acts, searches, n_acts)
        self.class_words_, self._words_of_acts = tables.word_shares(data, self._units, posteriors)
        self.beginnings_ = common_beginnings(data, self._units, acts, n_acts)
        self._name_acts()
        self._first = None
        del self._units, self._unit_vectors, self._source

    def _merged(
        self, engine: ActEngine, answer: consensus.Answer, found: Sequence[NDArray[np.int16]]
    ) -> NDArray[np.int64]:
        """Return the act that each state of the answer belongs to: itself, unless merged."""
        if self.n_acts != "auto":
            return np.arange(engine.n_acts)
        named = len(self.class_names_)
        groups = merging.merge_alike(
            engine, fewest=FEWEST_ACTS, n_named=named, **merging.evidence_of(engine, answer)
        )
        return merging.merge_unfound(engine, answer, groups, found, named)

    def _set_acts(self, states: NDArray[np.int64], posteriors: NDArray[np.float64]) -> None:
        """Take the act of each state, and what follows from it."""
        self._states = states
        acts = (posteriors @ self._members).argmax(axis=1)
        self._shares = np.bincount(acts, minlength=int(states.max()) + 1) / max(len(acts), 1)
        self._set_estimates()

    def _merge_namesakes(self, engine: ActEngine, answer: consensus.Answer) -> None:
        """Make acts one that would be called the same, such as three ways to acknowledge."""
        while len(self._shares) > FEWEST_ACTS:
            same = names.namesakes(self)
            if len(set(same)) == len(same):
                return
            states = merging.merge_namesakes(engine, answer, self._states, same)
            self._set_acts(states, answer.posteriors)

    @property
    def _members(self) -> NDArray[np.float64]:
        """Which state belongs to which act, (n_states, n_acts)."""
        return np.eye(int(self._states.max()) + 1)[self._states]

    def _set_estimates(self) -> None:
        n_acts = len(self._shares)
        moves = consensus.merge_moves(self._answer["moves"], self._states)
        between = moves[:n_acts] + moves[n_acts : 2 * n_acts]
        rows = np.vstack((between, moves[-1:])) + float(self.transition_prior)
        self.transitions_ = rows / rows.sum(axis=1, keepdims=True)
        self._moves_from = rows[:-1].sum(axis=1)
        self.class_shares_ = self._shares
        self.feature_counts_ = self._answer["feature_counts"] @ self._members
        self.left_out_ = left_out(self._views)

    def _name_acts(self) -> None:
        proposals = names.propose(self)
        given = self.class_names_
        self.act_names_ = names.distinct([*given, *proposals[len(given) :]])
        self.names_are_proposed_ = [i >= len(given) for i in range(len(self.act_names_))]

    # asking

    def _frozen(self) -> tuple[ActEngine, Arrays]:
        engine = self._make_engine(len(self._states), self._seeds)
        return engine, engine.expected(self._answer)

    def _unit_posteriors(self, corpus: Corpus | Encoded) -> tuple[NDArray[np.float64], Units]:
        """Return the units of a corpus and their posteriors."""
        corpus = as_corpus(corpus)
        data = self._encode(corpus)
        units = units_of(data, self.unit_)
        engine, arrays = self._frozen()
        features = features_of(self._views, data, units)
        vectors = preparing.vectors_of(self, corpus, units, data)
        shards = cut_units(units, features, np.empty(0, np.int16), vectors)
        found = consensus.posteriors_of(engine, shards, arrays, self.n_jobs)
        return found.posteriors @ self._members, units

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each act in each message, also of new conversations.

        With messages as units, the probability of each act; with sentences, the mean over a
        message's sentences. Exact, by summing over the acts of all others: ``n_sweeps`` is not
        needed.

        Returns
        -------
        array of float64, shape (n_messages, n_acts)
        """
        return tables.message_shares(*self._unit_posteriors(corpus))

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return shares as :meth:`transform`, and for each token the act of its unit."""
        posteriors, units = self._unit_posteriors(encoded)
        acts = np.repeat(posteriors.argmax(axis=1), np.diff(units.offsets))
        return TokenReading(tables.message_shares(posteriors, units), acts.astype(np.int16))

    def unit_acts(self, corpus: Corpus | Encoded) -> pl.DataFrame:
        """Return the act of each unit, in order: of each message, or of each of its sentences.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), unit (position in the message), act, name,
            probability. Messages without words have the act that their context suggests.
        """
        return tables.unit_acts(*self._unit_posteriors(corpus), self.act_names_)

    def acts_table(self) -> pl.DataFrame:
        """Return one row per act, the largest first.

        Returns
        -------
        polars.DataFrame
            Columns act, name, proposed (whether the name is a proposal), share (of units),
            searches (how many found it), agreement (mean overlap), cues (what sets it apart).
        """
        self._check_fitted()
        return tables.acts_table(self)

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages have words, known or not, (n_messages,)."""
        return np.diff(self._encode(corpus).message_offsets) > 0

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the table of acts."""
        return {"acts": self.acts_table()}

    def _class_names(self) -> dict[int, str]:
        return dict(enumerate(self.act_names_))

    def _proposed_names(self) -> frozenset[int]:
        return frozenset(i for i, flag in enumerate(self.names_are_proposed_) if flag)

    def _word_totals(self) -> NDArray[np.float64]:
        return self._words_of_acts

    def _transition_totals(self) -> NDArray[np.float64]:
        return self._moves_from

    def _found_by(self) -> NDArray[np.int64]:
        return np.asarray((self.agreement_ >= consensus.FOUND).sum(axis=1))

    def _telling_words(self) -> NDArray[np.bool_] | None:
        """Return the words that the model looks at; None if it looks at none."""
        table = self._views.tables.get("words")
        return None if table is None else np.asarray(table[:-1] >= 0)

    def _all_words(self) -> NDArray[np.float64]:
        counts = self.vocabulary_.counts
        return np.asarray(counts / max(counts.sum(), 1))

    def _facts(self) -> dict[str, Any]:
        return {
            **guided.facts(self),
            "acts": len(self._shares),
            "unit": self.unit_,
            "searches": self.agreement_.shape[1],
            "views": [*self._views.names, *(["vector"] if self._vector_view else [])],
            "views_left_out": self.left_out_,
        }

    # keeping

    def _extras(self) -> Extras:
        return stored.extras(self)

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        stored.set_extras(self, content, arrays)
