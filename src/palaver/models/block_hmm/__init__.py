"""The block HMM: one class per message, which depends on the class of the message it answers.

The conversation model of Ritter, Cherry & Dolan (2010) with Dirichlet priors, as the baseline of
Paul (2012), section 5.2, with the background of section 5.3; equations in
``docs/models/block_hmm.md``. ::

    row_a ~ Dirichlet(transition_prior)         a = 0..K-1 and start
    z_b   ~ row of the parent's class           start for messages without a parent
    w_bn  ~ phi of z_b, or the background
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard
from palaver.fit.progress import Show
from palaver.models.base.fitting import FitOptions
from palaver.models.base.stored import Extras
from palaver.models.block_hmm.engine import BlockHMMEngine
from palaver.models.views import reconstruct
from palaver.models.views.simulate import Layout
from palaver.models.words import guided
from palaver.models.words.engine import ThreadSettings
from palaver.models.words.guided import GUIDED_LIMITS, LabelledShard, Labels
from palaver.models.words.model import COMMON_LIMITS, ThreadModel
from palaver.params import Limit, either, one_of, real, unless_learned


class BlockHMM(ThreadModel):
    """Hidden Markov model on reply trees, one class per message.

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
    transition_prior : float or "learn"
        Dirichlet prior of the transition rows; "learn" finds an asymmetric one by Minka's
        fixed point.
    seed_words : dict of str to list of str, optional
        Words that a class of that name should have; the other classes are free. For topics or
        features use ``M4(unit="message", ...)``.
    seed_weight : float
        How often a seed word counts for its class, as a multiple of its occurrences.
    word_prior : float or "learn"
        Dirichlet prior of the words of a class.
    switch_prior : float
        Both weights of the Beta prior of the switch.
    n_sweeps, burn_in, n_samples : int
        Sweeps in total, sweeps before the first sample (default: half), and samples to keep.
    n_chains : int
        Chains to run side by side; the one with the best log joint is the model.
    sampler : {"auto", "collapsed", "parallel"}
        One message at a time with all parameters integrated out; or whole trees at once
        given drawn parameters, for any number of workers. "auto" is "parallel" above a million
        tokens, else "collapsed".
    max_seconds : float, optional
        Stop after this many seconds; results then depend on the machine's speed.
    random_state : int, Generator or None
    n_jobs : int
        Threads.

    Attributes
    ----------
    transitions_ : array of float64, shape (n_classes + 1, n_classes)
        Probabilities; rows are the source, the last one is the start.
    transition_prior_ : array of float64, shape (n_classes,)
    class_names_ : list of str
        Names of the first classes, from seed words and labels.
    label_ : str or None
        The name of the column of labels that the model was fitted with, if there was one.

    Examples
    --------
    >>> import palaver as pv
    >>> model = pv.BlockHMM(n_classes=8, n_sweeps=50).fit(pv.sample())  # doctest: +SKIP
    """

    name = "block-hmm"
    one_class_per_message = True
    transition_rows: ClassVar = ["start"]
    transition_kind: ClassVar = "probabilities"
    heldout_methods: ClassVar = ("sequential", "paper", "blocks")
    limits: ClassVar[dict[str, Limit]] = {
        **COMMON_LIMITS,
        **GUIDED_LIMITS,
        "view": one_of("words", "acts"),
        "transition_prior": either(real(above=0), one_of("learn")),
    }

    class_names_: list[str]
    label_: str | None = None
    _labels: Labels | None = None

    def __init__(
        self,
        n_classes: int = 15,
        background: bool | str = "auto",
        view: str = "words",
        transition_prior: float | str = "learn",
        seed_words: Mapping[str, Sequence[str]] | None = None,
        seed_weight: float = 1.0,
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
        self.transition_prior = transition_prior
        self.seed_words = seed_words
        self.seed_weight = seed_weight
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

    # fitting

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
            A column with the names of classes of some messages, or a list with one name per
            message. Where it is null, the model infers the class.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        guided.take_labels(self, labels)
        return super().fit(corpus, **options)

    def _engine(self, data: Encoded) -> BlockHMMEngine:
        self.class_names_ = guided.class_names(self, data)
        seeds = guided.seed_counts(self, data, self.n_classes + 1)
        return self._make_engine(self._settings_for(data, seeds))

    def _make_engine(self, settings: ThreadSettings) -> BlockHMMEngine:
        return BlockHMMEngine(settings, transition_prior=unless_learned(self.transition_prior))

    def _reads(self, data: Encoded) -> dict[str, Sequence[Any]]:
        return {**super()._reads(data), **guided.reads(self, data)}

    def _shards(self, data: Encoded, engine: Any) -> list[Shard]:
        shards = super()._shards(data, engine)
        if self._labels is None:
            return shards
        fixed = guided.fixed_classes(self, data)
        return [
            LabelledShard(**vars(shard), fixed_classes=fixed[first : first + shard.n_messages])
            for shard in shards
            for first in (shard.first_message,)
        ]

    def _set_estimates(self) -> None:
        super()._set_estimates()
        best = self.chains_[self.best_chain_]
        self.transitions_ = best["transitions"]
        self.transition_prior_ = best["transition_prior"]

    def _transition_totals(self) -> NDArray[np.float64]:
        totals = self.chains_[self.best_chain_].get("transition_totals")
        return self.class_shares_ if totals is None else np.asarray(totals[:-1])

    def _facts(self) -> dict[str, Any]:
        return {**super()._facts(), **guided.facts(self)}

    def _extras(self) -> Extras:
        content, arrays = super()._extras()
        return {**content, **guided.extras(self)}, arrays

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        super()._set_extras(content, arrays)
        guided.set_extras(self, content)

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
        """Return the most likely reply structure, from words alone.

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
            Factor of the temperature after each sweep, and where it starts; the defaults are
            the paper's.
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
        All messages of a class are equally likely parents, so that each sweep weighs messages
        against classes, not against each other.
        """
        return reconstruct.reconstruct(
            self, corpus, order, n_sweeps=n_sweeps, n_restarts=n_restarts, cooling=cooling,
            temperature=temperature, show_progress=show_progress,
        )  # fmt: skip

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw each message's class given its parent's."""
        n_classes = self.transitions_.shape[1]
        limits = np.cumsum(self.transitions_, axis=1)
        draws = generator.random(len(n_classed))
        classes = np.empty(len(n_classed), np.int64)
        for b, parent in enumerate(layout.parents):
            row = n_classes if parent < 0 else classes[parent]
            classes[b] = min(np.searchsorted(limits[row], draws[b]), n_classes - 1)
        return np.repeat(classes, n_classed)
