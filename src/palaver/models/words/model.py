"""Models of the words of messages: classes of words, a background, threads to simulate."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Self, Unpack

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, Shard, cut
from palaver.errors import ParameterError
from palaver.fit.fold import fold_in
from palaver.models.base.fitting import RUN_LIMITS, FitOptions
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.base.stored import Extras
from palaver.models.views import heldout
from palaver.models.views.reading import TokenReading
from palaver.models.words.engine import ThreadEngine, ThreadSettings
from palaver.models.words.tallies import ShareTally, TokenTally
from palaver.parallel import Arrays, Globals
from palaver.parallel.restored import Expected, check_arrays
from palaver.params import Limit, either, flag, one_of, real, unless_learned, whole

if TYPE_CHECKING:
    from palaver.models.views.simulate import Layout, Shape

#: Tokens up to which the collapsed sampler, which mixes better on one core, is chosen.
COLLAPSED_TOKENS = 1_000_000
#: Mean number of words per message from which "auto" gives a model a background. Measured by
#: ``benchmarks.background``: labels prefer none up to 24 words, coherence and held-out words prefer
#: one at 100.
BACKGROUND_WORDS = 50
FOLD_BURN_IN = 20
_ONE = 1 + 1e-6  # a sum of probabilities may be, by rounding
#: Sweeps of the reading of a large corpus, and how many tokens make it one. What a page says of it
#: is about so many messages that less exact shares of each do not show.
READ_SWEEPS, MANY_TOKENS = 20, 500_000

#: Parameters that every thread model has.
COMMON_LIMITS: dict[str, Limit] = {
    **RUN_LIMITS,
    "n_classes": whole(1, 32_000),
    "background": either(flag(), one_of("auto", "message")),
    "word_prior": either(real(above=0), one_of("learn")),
    "switch_prior": real(above=0),
    "sampler": one_of("auto", "collapsed", "parallel"),
}


def _burn_in(n_sweeps: int) -> int:
    """Return the sweeps of a fold-in that are not kept."""
    return min(FOLD_BURN_IN, n_sweeps // 2)


class ThreadModel(Model):
    """A model of threads whose classes are distributions of words.

    Subclasses make an engine (:meth:`_make_engine`), draw classes (:meth:`draw_classes`), and may
    add what they can say beyond the common.

    Attributes
    ----------
    background_words_ : array of float64, shape (n_words,)
    class_probability_ : float
        Share of the tokens that have a class.
    background_ : bool or "message"
        What ``background`` stands for; "auto" is decided by the data.
    word_prior_ : float
    """

    #: Protocols of :meth:`log_likelihoods` that the model offers.
    heldout_methods: ClassVar[tuple[str, ...]] = ("sequential", "paper")

    n_classes: int
    background: bool | str
    word_prior: float | str
    switch_prior: float
    sampler: str
    n_jobs: int
    background_: bool | str
    background_words_: NDArray[np.float64]
    word_prior_: float

    # engines

    @abstractmethod
    def _make_engine(self, settings: ThreadSettings) -> ThreadEngine:
        """Return the engine of the model's parameters and these settings."""

    def _settings(
        self, n_words: int, sampler: str, seeds: NDArray[np.int32] | None = None
    ) -> ThreadSettings:
        """Return what the parameters that all thread models have tell an engine."""
        background = self.background if self.background != "auto" else self.background_
        return ThreadSettings(
            n_words=n_words,
            n_classes=self.n_classes,
            switch="message" if background == "message" else "corpus" if background else "off",
            switch_prior=np.full(2, float(self.switch_prior)),
            word_prior=unless_learned(self.word_prior),
            sampler=sampler,
            seeds=seeds,
        )

    def _engine(self, data: Encoded) -> ThreadEngine:
        return self._make_engine(self._settings_for(data))

    def _settings_for(
        self, data: Encoded, seeds: NDArray[np.int32] | None = None
    ) -> ThreadSettings:
        """Return the settings of a fit; what ``"auto"`` stands for is decided here."""
        self.background_ = self._background(data)
        return self._settings(len(data.vocabulary), self._sampler(data), seeds)

    def _frozen(self) -> tuple[ThreadEngine, Globals]:
        """Return an engine for new conversations, and the parameters that were learned."""
        engine = self._make_engine(self._settings(len(self.vocabulary_), "parallel"))
        return engine, engine.frozen(self.chains_[self.best_chain_])

    def _sampler(self, data: Encoded) -> str:
        """Return the sampler that ``"auto"`` stands for; depends on the data alone."""
        if self.sampler != "auto":
            return self.sampler
        return "collapsed" if data.n_tokens <= COLLAPSED_TOKENS else "parallel"

    def _shards(self, data: Encoded, engine: ThreadEngine) -> list[Shard]:
        return self.cut(data, whole=engine.collapsed)

    def cut(self, data: Encoded, *, whole: bool = False) -> list[Shard]:
        """Cut data into groups of whole conversations with all that the engine needs of them."""
        return cut(data, whole=whole)

    def _unlinked(self, data: Encoded) -> list[Shard]:
        """Cut data whose parents are to be found."""
        return self.cut(data)

    # fitting

    def fit(self, corpus: Corpus | Encoded, **options: Unpack[FitOptions]) -> Self:
        """Learn the classes of a corpus.

        Parameters
        ----------
        corpus : Corpus, Encoded or list of texts
            A corpus is encoded with default settings; for others, pass
            ``palaver.encode(corpus, min_count=..., ...)``.
        **options : optional
            Folder, checkpoints, executor, callbacks, progress: see :class:`FitOptions`.
        """
        self.check_params()
        return self._fit(self._as_encoded(corpus), **options)

    def check_data(self, data: Encoded) -> None:
        """Refuse a corpus from which nothing can be learned, or whose tokens are others."""
        if self.view == "acts" and data.vocabulary.view != "acts":
            raise ParameterError(
                f"{type(self).__name__}: view='acts' needs other tokens; pass the corpus, or "
                "palaver.encode(corpus, view='acts')"
            )
        super().check_data(data)

    def _background(self, data: Encoded) -> bool | str:
        """Return the background that ``"auto"`` stands for; depends on the data alone.

        In short messages the common words make the act, so that a background would take away
        what classes are told apart by.
        """
        if self.background != "auto":
            return self.background
        if data.vocabulary.view == "acts":
            return False
        return bool(data.n_tokens >= BACKGROUND_WORDS * data.n_messages)

    def _extras(self) -> Extras:
        return {"background": self.background_}, {}

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self.background_ = content["background"]

    def _facts(self) -> dict[str, Any]:
        return {"background": self.background_}

    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""
        best = self.chains_[self.best_chain_]
        n_classes, shape = best["class_shares"].size, best["class_words"].shape
        wanted = {
            "class_shares": Expected((n_classes,), least=0, most=_ONE),
            "class_words": Expected((len(self.vocabulary_), *shape[1:2]), least=0, most=_ONE),
        }
        check_arrays(best, wanted)
        self.class_words_ = np.ascontiguousarray(best["class_words"][:, :n_classes].T)
        self.background_words_ = best["class_words"][:, n_classes].copy()
        self.class_shares_ = best["class_shares"]
        self.class_probability_ = float(best["class_probability"])
        self.word_prior_ = float(best["word_prior"])

    def _all_words(self) -> NDArray[np.float64]:
        """Return the words of classes and background together."""
        classed = self.class_probability_ * self.class_shares_ @ self.class_words_
        rest = 1 - self.class_probability_ - self.topic_probability_
        return np.asarray(classed + rest * self.background_words_)

    # using

    def _fold(
        self,
        encoded: Encoded,
        n_sweeps: int,
        visit: Callable[[ThreadEngine, Shard, Arrays], None],
    ) -> ThreadEngine:
        """Sweep a corpus with frozen parameters, visiting each shard after each kept sweep."""
        engine, frozen = self._frozen()
        fold_in(
            engine,
            frozen,
            self.cut(encoded),
            lambda shard, state: visit(engine, shard, state),
            seed=self.seed_,
            n_sweeps=n_sweeps,
            burn_in=_burn_in(n_sweeps),
            n_jobs=self.n_jobs,
        )
        return engine

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message, including new conversations.

        Parameters
        ----------
        corpus : Corpus or Encoded
        n_sweeps : int
            Sweeps of the fold-in. The first half, at most 20, is dropped, the rest averaged.

        Returns
        -------
        array of float64, shape (n_messages, n_classes)
            Rows sum to one; a message none of whose words has a class gets the shares of the
            corpus.
        """
        encoded = self._encode(corpus)
        tally = ShareTally(encoded.n_messages, len(self.class_shares_))
        self._fold(encoded, n_sweeps, tally.visit)
        return tally.shares(self.class_shares_)

    def token_classes(self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS) -> pl.DataFrame:
        """Return the class of each token, or that it is background.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), token (position among the message's known
            words), word, class (null for background), probability (share of the samples). A
            model with topics adds topic (null for tokens of a class or the background).
        """
        encoded = self._encode(corpus)
        tally = TokenTally(encoded.n_tokens, n_sweeps - _burn_in(n_sweeps))
        n_outcomes = self._fold(encoded, n_sweeps, tally.visit).n_columns
        n_classes = len(self.class_shares_)
        lengths = np.diff(encoded.message_offsets)
        messages = np.repeat(np.arange(encoded.n_messages, dtype=np.int32), lengths)
        positions = np.arange(encoded.n_tokens) - np.repeat(encoded.message_offsets[:-1], lengths)
        words = pl.Series(self.vocabulary_.words, dtype=pl.String)
        classes = pl.Series(tally.outcomes.astype(np.int32))
        columns = {
            "message": messages,
            "token": positions.astype(np.int32),
            "word": words.gather(encoded.tokens),
            "class": classes.set(classes >= n_classes, None),
            "probability": tally.probability,
        }
        if n_outcomes > n_classes + 1:
            columns["topic"] = (classes - n_classes - 1).set(classes <= n_classes, None)
        return pl.DataFrame(columns)

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return what :meth:`transform` and :meth:`token_classes` say, from one fold-in.

        More than half a million tokens are swept 20 times instead of 50.
        """
        n_classes = len(self.class_shares_)
        n_sweeps = FOLD_SWEEPS if encoded.n_tokens <= MANY_TOKENS else READ_SWEEPS
        messages = ShareTally(encoded.n_messages, n_classes)
        tokens = TokenTally(encoded.n_tokens, n_sweeps - _burn_in(n_sweeps))

        def visit(engine: ThreadEngine, shard: Shard, state: Arrays) -> None:
            messages.visit(engine, shard, state)
            tokens.visit(engine, shard, state)

        n_outcomes = self._fold(self._encode(encoded), n_sweeps, visit).n_columns
        found = tokens.outcomes
        topics = np.where(found > n_classes, found - (n_classes + 1), -1).astype(np.int16)
        return TokenReading(
            messages.shares(self.class_shares_),
            np.where(found < n_classes, found, -1).astype(np.int16),
            topics if n_outcomes > n_classes + 1 else None,
        )

    # judging

    def log_likelihoods(
        self,
        corpus: Corpus | Encoded,
        method: str = "sequential",
        *,
        n_sweeps: int = heldout.PAPER_SWEEPS,
        n_particles: int = heldout.PARTICLES,
    ) -> NDArray[np.float64]:
        """Return the log likelihood of the known words of each conversation.

        Parameters
        ----------
        corpus : Corpus or Encoded
        method : {"sequential", "paper"}
            Without looking ahead, or the protocol of Paul (2012); the block HMM also has
            "blocks", the paper's protocol with each message scored as a whole.
        n_sweeps : int
            Sweeps of the paper's protocol; the last ten are averaged.
        n_particles : int
            Particles of the sequential protocol. The likelihood is unbiased for any number; its
            logarithm rises a little with more. The block HMM is exact and needs none.

        Returns
        -------
        array of float64, shape (n_conversations,)
            Natural logarithms. The same for any number of threads.
        """
        return heldout.log_likelihoods(
            self, corpus, method, n_sweeps=n_sweeps, n_particles=n_particles
        )

    def perplexity(
        self,
        corpus: Corpus | Encoded,
        method: str = "sequential",
        *,
        n_sweeps: int = heldout.PAPER_SWEEPS,
        n_particles: int = heldout.PARTICLES,
    ) -> float:
        """Return the perplexity per word: ``exp(-log likelihood / words)``; lower is better.

        Words that are not in the model's vocabulary are left out. Compare models by "sequential";
        "paper" is the published protocol, which looks ahead.

        Parameters
        ----------
        corpus, method, n_sweeps, n_particles
            As in :meth:`log_likelihoods`.
        """
        return heldout.perplexity(self, corpus, method, n_sweeps=n_sweeps, n_particles=n_particles)

    def score(self, corpus: Corpus | Encoded) -> float:
        """Return the sequential log likelihood per word, as scikit-learn's ``score``."""
        return -float(np.log(self.perplexity(corpus)))

    # simulating

    @abstractmethod
    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw the classes of the tokens of simulated messages that have one.

        Parameters
        ----------
        layout : Layout
        n_classed : array of int64, shape (n_messages,)
            How many tokens of each message have a class.
        generator : numpy.random.Generator

        Returns
        -------
        array of int64, shape (n_classed.sum(),)
        """

    def simulate(self, shape: Shape, random_state: int = 0) -> Corpus:
        """Draw threads from the generative story with the learned parameters.

        Parameters
        ----------
        shape : Corpus, Encoded or tuple of three ints
            A corpus to take reply trees and lengths from, or (conversations, messages per
            conversation, tokens per message).
        random_state : int

        Returns
        -------
        Corpus
            With columns ``tokens`` and ``token_classes`` (-1 for background).
        """
        from palaver.models.views.simulate import simulate

        self._check_fitted()
        if self.vocabulary_.view == "acts":
            raise ParameterError(
                f"{type(self).__name__}: with view='acts' tokens mark beginnings and ends, from "
                "which no message can be drawn"
            )
        return simulate(self, shape, random_state)
