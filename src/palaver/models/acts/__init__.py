"""Acts: what people do in conversations, by how they say it.

A hidden Markov model over reply trees, or over turns, whose acts emit several views of a message
or sentence: frequent words, how it begins and ends, its marks and its length. Each view has a
weight, so that long views do not drown short ones. Several searches are joined into one answer.
Equations (a) to (c) are in ``docs/models/acts.md``.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.errors import CorpusError
from palaver.fit.loop import Fit
from palaver.fit.schedule import Schedule
from palaver.models.acts import consensus, names
from palaver.models.acts.beginnings import common_beginnings
from palaver.models.acts.engine import ActEngine, ActShard, cut_units
from palaver.models.acts.kernels.features import expect_features
from palaver.models.acts.stored import load_views, store_views
from palaver.models.acts.units import Units, choose_unit, has_replies, units_of
from palaver.models.acts.views import VIEW_WEIGHTS, Views, features_of, learn_views
from palaver.models.base.fitting import RUN_LIMITS, FitOptions, keep_samples
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.views.reading import TokenReading
from palaver.models.words import guided
from palaver.models.words.guided import GUIDED_LIMITS, Labels
from palaver.parallel import Arrays
from palaver.params import Limit, either, nothing, one_of, real, satisfies, whole

#: Acts that the searches start with when the data decide; the fewest to end with.
FIRST_ACTS, FEWEST_ACTS = 12, 5
#: Searches cool down from this temperature over their burn-in.
START_TEMPERATURE = 5.0
#: Units per act that a small corpus must have.
_UNITS_PER_ACT = 20


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
        Number of acts. "auto" searches for 12 and merges those that are rare or differ by
        little, down to five at the fewest.
    unit : {"auto", "message", "sentence"}
        What has an act. "auto" takes sentences where messages have two or more on average.
    columns : list of str or "auto"
        Columns of the corpus that depend on the act, as further views. "auto" takes ``role``
        if there is one.
    view_weights : dict of str to float, optional
        Weights of views in place of the defaults; 0 leaves a view out. The views are words,
        beginning, end, closing, question, exclamation, link, length, and column for all columns.
    seed_words : dict of str to list of str, optional
        Words that an act of that name should have; the other acts are free.
    seed_weight : float
        How often a seed word counts for its act, as a multiple of its occurrences.
    feature_prior, transition_prior : float
        Dirichlet priors of each feature of a view, and of each act after another.
    n_sweeps, burn_in, n_samples : int
        Sweeps of each search, sweeps before the first sample (default: half), and samples to
        keep.
    n_chains : int
        Searches to join into one answer.
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
        "n_acts": either(whole(1, 1000), one_of("auto")),
        "unit": one_of("auto", "message", "sentence"),
        "columns": either(satisfies("a list of columns", guided.is_words), one_of("auto")),
        "view_weights": either(
            satisfies(f"a dict of weights of {', '.join(VIEW_WEIGHTS)}", _is_weights), nothing()
        ),
        "feature_prior": real(above=0),
        "transition_prior": real(above=0),
    }

    #: Acts that the searches look for.
    n_classes: int
    class_names_: list[str]
    label_: str | None = None
    _labels: Labels | None = None
    _views: Views
    _answer: Arrays
    _states: NDArray[np.int64]

    def __init__(
        self,
        n_acts: int | str = "auto",
        unit: str = "auto",
        columns: Sequence[str] | str = "auto",
        view_weights: Mapping[str, float] | None = None,
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
        feature_prior: float = 0.2,
        transition_prior: float = 1.0,
        n_sweeps: int = 100,
        burn_in: int | None = None,
        n_samples: int = 10,
        n_chains: int = 10,
        max_seconds: float | None = None,
        random_state: int | np.random.Generator | None = 0,
        n_jobs: int = 1,
    ) -> None:
        self.n_acts = n_acts
        self.unit = unit
        self.columns = columns
        self.view_weights = view_weights
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
        self, corpus: Corpus | Encoded, labels: Labels | None = None, **options: Unpack[FitOptions]
    ) -> Self:
        """Learn the acts of a corpus.

        Parameters
        ----------
        corpus : Corpus or Encoded
        labels : str, list of str or polars.Series, optional
            A column with the names of acts of some messages, or a list with one name per
            message. Where it is null, the model infers the act. All sentences of a labelled
            message have its act.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        guided.take_labels(self, labels)
        return self._fit(self._as_encoded(corpus), **options)

    @property
    def needs_sentences(self) -> bool:  # type: ignore[override]
        """Whether encoded corpora must hold the limits of sentences."""
        return getattr(self, "unit_", self.unit) != "message"

    @property
    def units(self) -> str:  # type: ignore[override]
        """What has an act, and what shares are shares of: "messages" or "sentences"."""
        return f"{getattr(self, 'unit_', 'message')}s"

    def _start(self, data: Encoded) -> None:
        """Decide on units, views and the number of acts to search for."""
        self.unit_ = choose_unit(self.unit, data)
        units = units_of(data, self.unit_)
        speaking = int((np.diff(units.offsets) > 0).sum())
        named = len(self.seed_words or {})
        if self.n_acts == "auto":
            self.n_classes = int(np.clip(speaking // _UNITS_PER_ACT, 2, FIRST_ACTS))
            self.n_classes = max(self.n_classes, named)
        else:
            self.n_classes = int(self.n_acts)
            if speaking < self.n_classes:
                warnings.warn(
                    f"Acts: there are {self.n_classes} acts for {speaking} {self.unit_}s with "
                    "words; some acts will stay empty", stacklevel=5,
                )  # fmt: skip
        seeds = [word for words in (self.seed_words or {}).values() for word in words]
        known = [word for word in seeds if word in data.vocabulary.index]
        self._views = learn_views(
            data, units, weights=self.view_weights, columns=self._columns(data), seeds=known
        )
        self._units = units
        self.transition_steps = "replies" if has_replies(data) else "messages"

    def _columns(self, data: Encoded) -> list[str]:
        if self.columns == "auto":
            return [name for name in ("role",) if name in data.labels]
        missing = [name for name in self.columns if name not in data.labels]
        if missing:
            known = ", ".join(data.labels) or "none"
            raise CorpusError(f"Acts: there is no column {missing[0]!r}; columns of names: {known}")
        return list(self.columns)

    def _engine(self, data: Encoded) -> ActEngine:
        self._start(data)
        if self.n_acts == "auto" and self._labels is not None:
            self.n_classes = 1000  # named classes are counted without a limit
            self.n_classes = max(FIRST_ACTS, len(guided.class_names(self, data)))
        self.class_names_ = guided.class_names(self, data)
        return self._make_engine(self.n_classes, self._seeds(data))

    def _seeds(self, data: Encoded) -> NDArray[np.float64] | None:
        """Return what seed words add to the prior of features, (F, K)."""
        counts = guided.seed_counts(self, data, self.n_classes)
        if counts is None or "words" not in self._views.tables:
            return None
        added = np.zeros((self._views.n_features, self.n_classes))
        start = int(self._views.starts[self._views.names.index("words")])
        table = self._views.tables["words"]
        for word in np.flatnonzero(counts.any(axis=1)):
            if table[word] >= 0:
                added[start + table[word]] += counts[word]
        return added * float(self._views.weights[self._views.names.index("words")])

    def _make_engine(self, n_acts: int, seeds: NDArray[np.float64] | None = None) -> ActEngine:
        prior = np.full((self._views.n_features, n_acts), float(self.feature_prior))
        if seeds is not None:
            prior = prior + seeds
        return ActEngine(n_acts, self._views.starts, prior, float(self.transition_prior))

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        columns = {name: data.labels[name].codes for name in self._views.columns}
        return {
            **super()._reads(data),
            **guided.reads(self, data),
            "speakers": (np.asarray(data.speakers.codes),),
            "units": (self.unit_, np.asarray(self._units.offsets)),
            **{f"column {name}": (codes,) for name, codes in columns.items()},
        }

    def _sampler(self, data: Encoded) -> str:
        return "parallel"

    def _schedule(self) -> Schedule:
        return replace(super()._schedule(), anneal=1.0, start_temperature=START_TEMPERATURE)

    def _shards(self, data: Encoded, engine: Any) -> list[ActShard]:
        features = features_of(self._views, data, self._units)
        fixed = np.empty(0, np.int16)
        if self._labels is not None:
            fixed = guided.fixed_classes(self, data)[self._units.messages]
        return cut_units(self._units, features, fixed)

    def _learn(self, fit: Fit, schedule: Schedule, data: Encoded, seed: int) -> None:
        keep_samples(self, fit, schedule, data, seed)
        self.draws_ = {}  # acts of one search, not of the answer
        engine = self._make_engine(self.n_classes, self._seeds(data))
        shards = self._shards(data, engine)
        answer, found = consensus.join_searches(
            engine, shards, self.chains_, self.best_chain_, self.n_jobs
        )
        self._answer = answer.statistics
        self._seed_prior = engine.feature_prior - float(self.feature_prior)
        self._states = self._merged(engine, answer.statistics, answer.posteriors.argmax(axis=1))
        posteriors = answer.posteriors @ self._members
        acts = posteriors.argmax(axis=1)
        searches = [
            self._merged(engine, search, own)[own]
            for search, own in zip(self.chains_, found, strict=True)
        ]
        n_acts = posteriors.shape[1]
        self.agreement_ = consensus.agreement(acts, searches, n_acts)
        self._shares = np.bincount(acts, minlength=n_acts) / max(len(acts), 1)
        self._count_words(data, posteriors)
        self.beginnings_ = common_beginnings(data, self._units, acts, n_acts)
        self._set_estimates()
        self._name_acts()
        del self._units

    def _merged(
        self, engine: ActEngine, statistics: Arrays, states: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the act that each state of the searches belongs to: itself, unless merged."""
        if self.n_acts != "auto":
            return np.arange(engine.n_acts)
        sizes = np.bincount(states, minlength=engine.n_acts).astype(float)
        return consensus.merge_alike(
            engine, statistics["feature_counts"], sizes, fewest=FEWEST_ACTS,
            n_named=len(self.class_names_),
        )  # fmt: skip

    @property
    def _members(self) -> NDArray[np.float64]:
        """Which state belongs to which act, (n_states, n_acts)."""
        return np.eye(int(self._states.max()) + 1)[self._states]

    def _count_words(self, data: Encoded, posteriors: NDArray[np.float64]) -> None:
        """Set the word probabilities of each act, by the acts of the units that hold the words."""
        known = np.asarray(data.tokens) >= 0
        tokens = np.asarray(data.tokens)[known]
        before = np.concatenate(([0], np.cumsum(known)))
        offsets = before[self._units.offsets]
        counts = np.zeros((len(data.vocabulary), posteriors.shape[1]))
        expect_features(tokens, np.ones(len(tokens)), offsets, posteriors, counts)
        overall = data.vocabulary.counts / max(data.vocabulary.counts.sum(), 1)
        totals = counts.sum(axis=0)
        words = np.where(totals > 0, counts / np.maximum(totals, 1e-300), overall[:, None])
        self.class_words_ = np.ascontiguousarray(words.T)

    def _set_estimates(self) -> None:
        n_acts = len(self._shares)
        moves = consensus.merge_moves(self._answer["moves"], self._states)
        between = moves[:n_acts] + moves[n_acts : 2 * n_acts]
        rows = np.vstack((between, moves[-1:])) + float(self.transition_prior)
        self.transitions_ = rows / rows.sum(axis=1, keepdims=True)
        self.class_shares_ = self._shares
        self.feature_counts_ = self._answer["feature_counts"] @ self._members
        self.left_out_ = [v for v in VIEW_WEIGHTS if v not in self._views.names and v != "column"]

    def _name_acts(self) -> None:
        proposals = names.propose(self)
        given = self.class_names_
        self.act_names_ = [*given, *proposals[len(given) :]]
        self.names_are_proposed_ = [i >= len(given) for i in range(len(self.act_names_))]

    # asking

    def _frozen(self) -> tuple[ActEngine, Arrays]:
        engine = self._make_engine(len(self._states), self._seed_prior)
        return engine, engine.expected(self._answer)

    def _unit_posteriors(self, corpus: Corpus | Encoded) -> tuple[NDArray[np.float64], Units]:
        """Return the units of a corpus and their posteriors."""
        data = self._encode(corpus)
        units = units_of(data, self.unit_)
        engine, arrays = self._frozen()
        features = features_of(self._views, data, units)
        shards = cut_units(units, features, np.empty(0, np.int16))
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
        return _message_shares(*self._unit_posteriors(corpus))

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return shares as :meth:`transform`, and for each token the act of its unit."""
        posteriors, units = self._unit_posteriors(encoded)
        acts = np.repeat(posteriors.argmax(axis=1), np.diff(units.offsets))
        return TokenReading(_message_shares(posteriors, units), acts.astype(np.int16))

    def unit_acts(self, corpus: Corpus | Encoded) -> pl.DataFrame:
        """Return the act of each unit, in order: of each message, or of each of its sentences.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), unit (position in the message), act, name,
            probability. Messages without words have the act that their context suggests.
        """
        posteriors, units = self._unit_posteriors(corpus)
        acts, messages = posteriors.argmax(axis=1), units.messages
        starts = np.flatnonzero(np.diff(messages, prepend=-1))
        lengths = np.diff(np.append(starts, len(messages)))
        return pl.DataFrame(
            {
                "message": messages,
                "unit": np.arange(len(messages)) - np.repeat(starts, lengths),
                "act": acts,
                "name": pl.Series(self.act_names_, dtype=pl.String).gather(acts),
                "probability": posteriors.max(axis=1),
            }
        )

    def acts_table(self) -> pl.DataFrame:
        """Return one row per act, the largest first.

        Returns
        -------
        polars.DataFrame
            Columns act, name, proposed (whether the name is a proposal), share (of units),
            searches (how many found it), agreement (mean overlap), cues (what sets it apart).
        """
        self._check_fitted()
        found = self._found_by()
        searches = self.agreement_.shape[1]
        return pl.DataFrame(
            {
                "act": np.arange(len(self._shares)),
                "name": self.act_names_,
                "proposed": self.names_are_proposed_,
                "share": self._shares,
                "searches": [f"{n} of {searches}" for n in found],
                "agreement": self.agreement_.mean(axis=1),
                "cues": [", ".join(cue) for cue in names.cues(self, 6)],
            }
        ).sort("share", descending=True, maintain_order=True)

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
            "views": self._views.names,
            "views_left_out": self.left_out_,
        }

    # keeping

    def _extras(self) -> Extras:
        content, arrays = store_views(self._views)
        content |= guided.extras(self)
        content |= {"unit": self.unit_, "steps": self.transition_steps,
                    "act_names": self.act_names_, "proposed": self.names_are_proposed_,
                    "beginnings": self.beginnings_}  # fmt: skip
        arrays |= {f"answer.{name}": array for name, array in self._answer.items()}
        arrays |= {"shares": self._shares, "agreement": self.agreement_,
                   "class_words": self.class_words_, "seed_prior": self._seed_prior,
                   "states": self._states}  # fmt: skip
        return content, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        guided.set_extras(self, content)
        self._views = load_views(content, arrays)
        self.unit_, self.transition_steps = str(content["unit"]), str(content["steps"])
        self.act_names_ = [str(name) for name in content["act_names"]]
        self.names_are_proposed_ = [bool(flag) for flag in content["proposed"]]
        self.beginnings_ = [[str(b) for b in own] for own in content["beginnings"]]
        self._answer = {name: arrays[f"answer.{name}"] for name in ("feature_counts", "moves")}
        self._shares, self.agreement_ = arrays["shares"], arrays["agreement"]
        self.class_words_, self._seed_prior = arrays["class_words"], arrays["seed_prior"]
        self._states = arrays["states"]


def _message_shares(posteriors: NDArray[np.float64], units: Units) -> NDArray[np.float64]:
    """Return the mean over the units of each message, (n_messages, n_acts)."""
    if not len(posteriors):
        return posteriors
    starts = np.flatnonzero(np.diff(units.messages, prepend=-1))
    sums = np.add.reduceat(posteriors, starts, axis=0)
    return np.asarray(sums / sums.sum(axis=1, keepdims=True))
