"""The contract of a model: one way to fit it, to ask it, to save it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import store
from palaver.corpus.table import Corpus, as_corpus
from palaver.curation import Curation, write_curation
from palaver.encoding import Encoded, Vocabulary, encode
from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.fit.loop import Chain, Fit
from palaver.fit.schedule import Schedule
from palaver.fit.trace import convergence
from palaver.models.base.fitting import FitOptions, fit_model, keep_samples
from palaver.models.base.params import HasParams
from palaver.models.base.stored import Extras, restore_model, save_model
from palaver.models.views import effects, notebook, shares, transitions, words
from palaver.parallel import Arrays, Engine
from palaver.store.fingerprint import short_id

if TYPE_CHECKING:
    from palaver.draw import Svg
    from palaver.models.summary import ModelSummary

#: Sweeps of a fold-in, by which new messages get their classes.
FOLD_SWEEPS = 50


class Model(HasParams, ABC):
    """A model of conversations whose classes are learned.

    A subclass names itself (``name``), declares ``limits`` of its parameters, says how data
    become an engine and shards (:meth:`_engine`, :meth:`_shards`), which sampler runs
    (:meth:`_sampler`), what a fit teaches (:meth:`_set_estimates`), how words are distributed
    overall (:meth:`_all_words`), and the classes of new messages (:meth:`transform`). It may add to
    what is read, said and saved: :meth:`_reads`, :meth:`_facts`, :meth:`tables`,
    :meth:`_extras` with :meth:`_set_extras`.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    class_words_ : array of float64, shape (n_classes, n_words)
        Word probabilities of each class, averaged over samples of the best chain.
    class_shares_ : array of float64, shape (n_classes,)
        Share of each class among all units: words or messages.
    trace_ : polars.DataFrame
        One row per chain and sweep.
    chains_ : list of dict
        Means of all chains; never averaged with each other, because labels switch.
    best_chain_ : int
        The chain with the highest mean log joint: the model.
    n_sweeps_ : int
        Sweeps done.
    """

    name: ClassVar[str]
    #: Name of the parameter that says how many classes there are.
    size_parameter: ClassVar[str] = "n_classes"
    transition_rows: ClassVar[list[str]] = []
    transition_kind: ClassVar[str] = "none"
    #: Whether encoded corpora must hold the limits of sentences.
    needs_sentences: bool = False
    #: Which tokens messages are made of: "words", or "acts" (see :func:`palaver.encode`).
    view: str = "words"
    #: Where a transition leads: from a message to its "replies", to the next of the "messages",
    #: on in the same "document", or from word to word ("words").
    transition_steps: str = "replies"
    #: Whether its classes are what the talk is about, and may be asked for as topics.
    finds_topics: ClassVar[bool] = False
    #: What has a class, and what ``class_shares_`` are shares of: "words" or "messages".
    units: str = "words"
    #: Whether every message has one class, so that it counts once however long it is.
    one_class_per_message: ClassVar[bool] = False
    #: Whether unknown words keep their place among the tokens, as number -1.
    keeps_unknown: ClassVar[bool] = False
    #: Whether its chains are joined into one answer, so that their number is part of the model.
    joins_searches: ClassVar[bool] = False
    #: Whether some of its numbers have 32 bits: weights of very many features.
    has_short_numbers: ClassVar[bool] = False
    #: Words seen less often than this are dropped from texts unless asked otherwise.
    default_min_count: ClassVar[int | Literal["auto"]] = "auto"

    vocabulary_: Vocabulary
    class_words_: NDArray[np.float64]
    class_shares_: NDArray[np.float64]
    class_probability_: float = 1.0
    topic_probability_: float = 0.0
    trace_: pl.DataFrame
    chains_: list[Arrays]
    draws_: Arrays
    best_chain_: int
    seed_: int
    n_sweeps_: int
    burn_in_: int
    sampler_: str
    fingerprint_: str
    #: What people decided about the classes, if the model comes from a run that was curated.
    curation_: Curation | None = None

    @classmethod
    def sized(cls, n_classes: int | None) -> dict[str, int]:
        """Return the parameter that sets the number of classes; nothing if none is given."""
        return {} if n_classes is None else {cls.size_parameter: n_classes}

    # what each model must say

    @abstractmethod
    def _engine(self, data: Any) -> Engine:
        """Return the model as the loop sees it."""

    @abstractmethod
    def _shards(self, data: Any, engine: Any) -> Sequence[Any]:
        """Cut the data into groups of whole conversations."""

    @abstractmethod
    def _sampler(self, data: Any) -> str:
        """Return the sampler that ``"auto"`` stands for; depends on the data alone."""

    @abstractmethod
    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""

    @abstractmethod
    def _all_words(self) -> NDArray[np.float64]:
        """Return the probabilities of words over all classes, (W,)."""

    @abstractmethod
    def fit(self, *data: Any, **options: Any) -> Self:
        """Learn the classes of a corpus; each kind of model says what data it takes."""

    @abstractmethod
    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message, including new conversations.

        Shape (n_messages, n_classes); rows sum to one.
        """

    def fit_transform(self, *data: Any, **options: Any) -> NDArray[np.float64]:
        """Fit the model and return the share of each class in each message, or row of ``data``.

        Takes what :meth:`fit` takes, and returns what :meth:`transform` does.
        """
        return self.fit(*data, **options).transform(data[0])

    # what a model may add

    def _reads(self, data: Any) -> dict[str, Sequence[Any]]:
        """Return by name what a fit reads of its data in addition to what the fingerprint covers.

        That of a corpus is made of ids, replies and texts. The words that texts became count by
        their numbers alone: hashing every token of a large corpus would read all of it.
        """
        words = data.vocabulary
        return {"vocabulary": (words.words, words.counts, data.n_tokens)}

    def _facts(self) -> dict[str, Any]:
        """Return what a summary says in addition to what all models can say."""
        return {}

    def _class_names(self) -> dict[int, str]:
        """Return names of classes by number: tags, names of labels and seeds, proposals."""
        return dict(enumerate(getattr(self, "tags_", None) or getattr(self, "class_names_", [])))

    def _proposed_names(self) -> frozenset[int]:
        """Return the numbers of the classes whose names the model merely proposes."""
        return frozenset()

    def _telling_words(self) -> NDArray[np.bool_] | None:
        """Return the words that may stand for classes, (n_words,); None if all may."""
        return None

    def _found_by(self) -> NDArray[np.int64] | None:
        """Return how many searches found each class, for a model that joins several; None."""
        return None

    def _word_totals(self) -> NDArray[np.float64]:
        """Return how many words each class has, up to a factor, (n_classes,)."""
        return self.class_shares_

    def _transition_totals(self) -> NDArray[np.float64]:
        """Return how often something follows each class, up to a factor, (n_classes,)."""
        return self.class_shares_

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return tables that this kind of model has in addition to the common ones, by name."""
        return {}

    def _extras(self) -> Extras:
        """Return what a stored model needs beyond its chains: values for JSON, and arrays."""
        return {}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_extras` gave."""

    # fitting

    def _fit(self, data: Any, **options: Unpack[FitOptions]) -> Self:
        """Learn the classes of data that have a vocabulary and a fingerprint."""
        fit_model(self, data, **options)
        return self

    def _schedule(self) -> Schedule:
        """Return the schedule of a fit."""
        params = self.get_params()
        return Schedule.make(
            params["n_sweeps"], params["burn_in"], params["n_samples"], params["max_seconds"]
        )

    def _learn(self, fit: Fit, schedule: Schedule, data: Any, seed: int) -> None:
        """Set the learned attributes."""
        keep_samples(self, fit, schedule, data, seed)
        self._set_estimates()

    def _estimates_of(self, chain: Chain) -> Arrays:
        """Return what a chain teaches: the mean of its samples."""
        return chain.mean()

    def check_data(self, data: Any) -> None:
        """Refuse a corpus from which nothing can be learned."""
        if not data.n_messages:
            raise CorpusError(f"{type(self).__name__}: the corpus holds no messages")
        if not data.n_tokens:
            raise CorpusError(f"{type(self).__name__}: the messages contain no words")

    def _as_encoded(
        self, corpus: Corpus | Encoded, vocabulary: Vocabulary | None = None
    ) -> Encoded:
        """Encode a corpus, unless it is encoded already."""
        corpus = as_corpus(corpus)
        if isinstance(corpus, Encoded):
            # its arrays can be written to, and kernels check no bounds
            corpus.check(unknown=self.keeps_unknown)
            return corpus
        if not isinstance(corpus, Corpus):
            raise ParameterError(
                f"{type(self).__name__}: takes a Corpus or a list of texts, got "
                f"{type(corpus).__name__}; make one with palaver.read(path), "
                "Corpus.from_polars(table) or Corpus.from_pandas(table)"
            )
        return encode(
            corpus, vocabulary, sentences=self.needs_sentences, view=self.view,
            keep_unknown=self.keeps_unknown,
        )  # fmt: skip

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        """Encode a corpus with the words that the model knows."""
        self._check_fitted()
        if not isinstance(corpus, Encoded):
            return self._as_encoded(corpus, self.vocabulary_)
        if corpus.vocabulary.words != self.vocabulary_.words:
            raise ParameterError(
                "the corpus was encoded with a different vocabulary; encode it with "
                "vocabulary=model.vocabulary_"
            )
        return self._as_encoded(corpus)

    def _check_fitted(self) -> None:
        if not hasattr(self, "chains_"):
            raise NotFittedError(
                f"{type(self).__name__}: not fitted yet; call fit(corpus) or palaver.load(folder)"
            )

    @property
    def convergence_(self) -> dict[str, float]:
        """R-hat and effective sample size of the log joint, and how much of it was gained late."""
        self._check_fitted()
        return convergence(self.trace_, self.burn_in_)

    # curating: the functions are in palaver.models.curated

    @property
    def origin(self) -> Model:
        """The fitted model; another one only where classes were merged."""
        return self

    @property
    def run_id(self) -> str:
        """A short id of the fitted model, by which decisions about its classes know it."""
        facts = {"seed": self.seed_, "sweeps": self.n_sweeps_, "fingerprint": self.fingerprint_}
        return short_id([self.name, len(self.class_shares_), facts])

    def merge(self, groups: Sequence[Sequence[int]]) -> Model:
        """Return the model with some classes merged; their counts are added up.

        Parameters
        ----------
        groups : list of list of int
            Numbers of classes that become one: ``[[1, 4], [2, 7]]``. The others stay as they are.

        Returns
        -------
        Model
            Its classes are numbered by their smallest old number, and called like the largest
            class that they are made of. ``origin`` is the model as it was fitted.

        Examples
        --------
        >>> fewer = model.merge([[1, 4], [2, 7]])  # doctest: +SKIP
        """
        from palaver.models.curated import merge_classes

        self._check_fitted()
        return merge_classes(self, groups)

    # keeping

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, from which :func:`palaver.load` reads it."""
        self._check_fitted()
        save_model(self, folder)
        if self.curation_ is not None:
            write_curation(folder, self.curation_)

    @classmethod
    def _restore(cls, stored: store.Stored) -> Self:
        """Load a model that :meth:`save` wrote."""
        return restore_model(cls, stored)

    # asking: the functions are in palaver.models.views

    @property
    def needs_texts(self) -> bool:
        """Whether new messages must be given as a :class:`Corpus`: arrays hold no texts."""
        return False

    def message_shares(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message; :meth:`transform` where these are it."""
        return self.transform(corpus, n_sweeps)

    def message_classes(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.int64]:
        """Return the class with the largest share of each message, (n_messages,)."""
        return np.asarray(self.message_shares(corpus, n_sweeps).argmax(axis=1))

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages the model can say something about, (n_messages,).

        Those with a known word; what is said about the others does not come from their texts.
        """
        return self._encode(corpus).known_words > 0

    def top_words(self, n: int = 10, by: str = "probability") -> pl.DataFrame:
        """Return the top words of each class.

        Parameters
        ----------
        n : int
            Words per class.
        by : {"probability", "distinctiveness"}
            What to rank by.

        Returns
        -------
        polars.DataFrame
            Columns class, rank, word, probability, distinctiveness. The last is the word's
            part of the information, in bits, by which the class differs from all words
            together: ``p(w|k) log2(p(w|k) / p(w))``.
        """
        self._check_fitted()
        return words.top_words(self, n, by)

    def distinctiveness(self) -> NDArray[np.float64]:
        """Return how much each word sets a class apart from all words, in bits, (K, W)."""
        self._check_fitted()
        return words.distinctiveness(self.class_words_, self._all_words())

    def coherence(
        self, corpus: Corpus | Encoded, n_words: int = 10, by: str = "probability"
    ) -> pl.DataFrame:
        """Return whether the top words of each class occur in the same messages.

        Parameters
        ----------
        corpus : Corpus or Encoded
            Where words are looked for: the training corpus or, better, another one.
        n_words, by
            Which words; as in :meth:`top_words`.

        Returns
        -------
        polars.DataFrame
            Columns class, coherence (mean NPMI of pairs, -1 to 1; null where no two of the
            words occur), words. See :func:`palaver.evaluate.npmi`.
        """
        return words.coherence(self, corpus, n_words, by)

    def transitions_table(
        self, level: float = 0.95, *, corpus: Corpus | None = None
    ) -> pl.DataFrame:
        """Return which class follows which: how probable it is, and how many times the usual.

        Parameters
        ----------
        level : float
            Share of the samples within the interval; ``n_samples`` says how many there are.
        corpus : Corpus, optional
            What the model learned from. With it, "usual" is the average over messages that
            are answered, and ``times`` is 1 for classes with too few replies, as on the page;
            without it, classes count by their shares.

        Returns
        -------
        polars.DataFrame
            Columns source (a class or "start"), target, probability (of the target after the
            source), low, high (limits of it over the samples of the chain), times (how many
            times as probable as usual; at the start, as overall), after, comes (letter and name
            of source and target). Weights that are optimized rather than sampled (all but
            ``M4(weight_step="metropolis")``) vary less than they are uncertain. Models that keep
            no samples (acts, Gaussian and infinite HMM, taggers) leave low and high null.
        """
        self._check_fitted()
        return transitions.transitions_table(self, level, corpus)

    def _transition_interval(self, level: float) -> transitions.Interval | None:
        """Return limits of what follows what, (n_classes + 1, n_classes); None if not known."""
        return transitions.sampled_interval(self, level)

    def shares(
        self,
        corpus: Corpus,
        by: str = "speaker",
        *,
        top: int | None = 20,
        resample: str = "auto",
        level: float = 0.95,
        n_sweeps: int = FOLD_SWEEPS,
        random_state: int = 0,
    ) -> pl.DataFrame:
        """Return what groups of messages do: the share of each class, with intervals.

        Every message with a known word counts as one, in parts where it has several classes.

        Parameters
        ----------
        corpus : Corpus
        by : str
            A column ("speaker", "act" ...; a list puts a message into several groups), or
            "year", "quarter", "month", "week", "day", "weekday", "hour" of the time, in UTC.
            Two of these with a comma between them are crossed: "role,quarter".
        top : int or None
            Groups to keep, the largest; the others are joined into one. Periods are all kept.
        resample : {"auto", "conversation", "message"}
            What is resampled for the intervals. "auto" takes messages in a corpus of fewer
            than 30 conversations, else conversations, whose messages depend on each other.
        level : float
            Share of 1,000 resamples within an interval. It tells about other conversations of
            that kind seen through this model, not about other models.
        n_sweeps : int
            Of :meth:`transform`.
        random_state : int

        Returns
        -------
        polars.DataFrame
            Columns group, class, share, low, high (null for fewer than 5 conversations or
            messages), overall (of all messages), messages, conversations, resampled.
        """
        self._check_fitted()
        return shares.shares(
            self, corpus, n_sweeps, by=by, top=top, resample=resample, level=level,
            random_state=random_state,
        )  # fmt: skip

    def annotate(self, corpus: Corpus, n_sweeps: int = FOLD_SWEEPS) -> Corpus:
        """Return the corpus with columns class, class_probability and share_0, share_1, ...

        ``class`` is the one with the largest share of a message, ``class_probability`` that
        share; all are null for messages without a known word. Write the result with
        :meth:`Corpus.write`.
        """
        return shares.annotate(self, corpus, n_sweeps)

    def summary(self) -> ModelSummary:
        """Return the plain record that the command line and the page are made from."""
        from palaver.models.summary import summarize_model

        self._check_fitted()
        return summarize_model(self)

    # showing

    def _repr_html_(self) -> str:
        return notebook.table(self)

    def effects(
        self,
        corpus: Corpus,
        formula: str,
        *,
        groups: str | None = None,
        n_draws: int = 20,
        level: float = 0.95,
        n_sweeps: int = FOLD_SWEEPS,
        random_state: int = 0,
    ) -> pl.DataFrame:
        """Return how columns of a corpus move the shares of classes (extra ``effects``).

        A linear regression per class, as structural topic models have it for topics: repeated on
        draws of the classes of messages and pooled, with errors that are alike within
        conversations (and within groups).

        Parameters
        ----------
        corpus : Corpus
        formula : str
            ``"~ role * month"``: columns, or a part of the time as in :meth:`shares`; ``*`` asks
            for interactions. Numbers are slopes, times are days since the first message, and
            texts are compared with their first value in alphabetical order.
        groups : str, optional
            A column whose values get an intercept of their own, drawn from a common normal
            distribution: ``"speaker"`` tells an effect from the habits of few talkative people.
        n_draws : int
            Draws of the classes of messages.
        level : float
            Level of the intervals.
        n_sweeps : int
            Sweeps over new conversations.
        random_state : int
            Seed of the draws.

        Returns
        -------
        polars.DataFrame
            Columns class, term, effect (difference in the share: 0.05 is five percentage
            points; the term "(usual)" is the share where all else is at its first value or
            zero), low, high, p_value, p_adjusted (corrected for the number of effects in the
            table by Benjamini and Hochberg), messages.
        """
        return effects.effects(self, corpus, formula, n_sweeps, groups=groups, n_draws=n_draws,
                               level=level, random_state=random_state)  # fmt: skip

    def plot_effects(self, table: pl.DataFrame) -> Svg:
        """Draw what :meth:`effects` returned: a panel per term, a dot and an interval per class.

        Parameters
        ----------
        table : polars.DataFrame

        Returns
        -------
        Svg
        """
        summary = self.summary()
        return effects.plot_effects(table, effects.class_labels(summary, summary.class_names))

    def plot_graph(
        self,
        least: float | None = None,
        *,
        corpus: Corpus | None = None,
        names: Mapping[int, str] | None = None,
        tall: bool = False,
        numbers: bool = False,
    ) -> Svg:
        """Draw what follows what: classes as circles, arrows where one makes another likelier.

        Parameters
        ----------
        least : float, optional
            How many times as likely as usual the weakest arrow is; a readable number of arrows
            if not given. The numbers are those of ``model.summary().effects()``.
        corpus : Corpus, optional
            What the model learned from. With it, "usual" is the average over messages that
            are answered, and classes with too few replies have no arrows, as on the page;
            without it, all classes count as answered alike.
        names : mapping, optional
            Names of classes by number.
        tall : bool
            From top to bottom instead of left to right.
        numbers : bool
            Write on each arrow how many times as likely as usual it is.

        Returns
        -------
        Svg
            A string that notebooks show; ``.save("graph.svg")`` writes it.
        """
        return notebook.plot_graph(self, least, corpus, names, tall, numbers)

    def count_replies(self, corpus: Corpus) -> NDArray[np.float64] | None:
        """Count what follows each class: replies, or the next messages in models of sequences.

        Returns
        -------
        array of float64, shape (n_classes,), or None
            What ``summary().effects`` and ``follow_ups`` take; None where what follows what is
            not about messages.
        """
        return shares.count_replies(self, corpus)

    def plot_trace(self) -> Svg:
        """Draw the log joint of each chain by sweep.

        Returns
        -------
        Svg
            A string that notebooks show; ``.save("trace.svg")`` writes it.
        """
        return notebook.plot_trace(self.summary())

    def plot_words(self, n: int = 8) -> Svg:
        """Draw the most characteristic words of each class.

        Parameters
        ----------
        n : int
            Words per class, at most twenty.

        Returns
        -------
        Svg
        """
        return notebook.plot_words(self.summary(), n)

    def plot_shares(self, corpus: Corpus, by: str = "speaker", top: int = 15) -> Svg:
        """Draw what groups of messages do: a bar per group, divided among the classes.

        Parameters
        ----------
        corpus : Corpus
        by : str
            A column or part of the time, as in :meth:`shares`, which has the numbers.
        top : int
            Groups to show, the largest.

        Returns
        -------
        Svg
        """
        return notebook.plot_shares(self, corpus, by, top)

    def plot_time(self, corpus: Corpus, by: str | None = None) -> Svg:
        """Draw the share of each class over time, with 95% intervals as bands.

        Parameters
        ----------
        corpus : Corpus
        by : str, optional
            "year", "quarter", "month", "week", "day", "weekday" or "hour"; by default the
            finest of day, week, month and year that gives 3 to 36 periods with enough messages.

        Returns
        -------
        Svg
            Periods with few messages are hollow.
        """
        return notebook.plot_time(self, corpus, by)
