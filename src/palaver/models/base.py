"""The contract of a model: scikit-learn's manners, one way to fit, to fold in, to save."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng, store
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Shard, Vocabulary, cut, encode
from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.fit.checkpoint import Checkpoints
from palaver.fit.fold import fold_in
from palaver.fit.loop import Callback, Fit, run
from palaver.fit.progress import Show, progress
from palaver.fit.schedule import Schedule
from palaver.fit.trace import convergence, trace_table
from palaver.models.manners import Manners
from palaver.parallel import Arrays, Executor, LocalExecutor
from palaver.params import Limit, check, either, flag, nothing, one_of, real, whole

if TYPE_CHECKING:
    from palaver.models.parts import ThreadEngine
    from palaver.models.simulate import Layout, Shape
    from palaver.models.summary import ModelSummary

#: Tokens up to which the collapsed sampler, which mixes better on one core, is chosen.
COLLAPSED_TOKENS = 1_000_000
FOLD_SWEEPS, FOLD_BURN_IN = 50, 20

#: Parameters that every model has.
COMMON_LIMITS: dict[str, Limit] = {
    "n_classes": whole(1, 32_000),
    "background": either(flag(), one_of("message")),
    "omega": either(real(above=0), one_of("sample")),
    "switch_prior": real(above=0),
    "n_sweeps": whole(1),
    "burn_in": either(whole(0), nothing()),
    "n_samples": whole(1),
    "n_chains": whole(1),
    "sampler": one_of("auto", "collapsed", "parallel"),
    "max_seconds": either(real(above=0), nothing()),
    "n_jobs": whole(1),
}
#: Parameters that may differ when a run is continued: they do not change the draws.
_NOT_IDENTITY = ("n_sweeps", "burn_in", "n_samples", "max_seconds", "n_jobs", "random_state")


class Model(Manners):
    """A model of conversations whose classes are learned by Gibbs sampling.

    Subclasses name themselves (``name``), declare ``limits`` of their parameters, make an
    engine (:meth:`_make_engine`) and may add what they can say beyond the common.

    Attributes
    ----------
    vocabulary_ : Vocabulary
    class_words_ : array of float64, shape (n_classes, n_words)
        Word probabilities of each class, averaged over samples of the best chain.
    background_words_ : array of float64, shape (n_words,)
    class_shares_ : array of float64, shape (n_classes,)
        Shares of the class-bearing tokens.
    trace_ : polars.DataFrame
        One row a chain and sweep.
    chains_ : list of dict
        Means of all chains; never averaged with each other, for labels switch.
    best_chain_ : int
        The chain with the highest mean log joint: the model.
    n_sweeps_ : int
        Sweeps done.
    """

    name: ClassVar[str]

    # fitting

    def _make_engine(self, n_words: int, sampler: str) -> ThreadEngine:
        raise NotImplementedError

    def _engine_arguments(self, n_words: int, sampler: str) -> tuple[Any, ...]:
        """Return the arguments that every :class:`ThreadEngine` takes."""
        params = self.get_params()
        switch = {False: "off", True: "corpus"}.get(params["background"], "message")
        omega = None if params["omega"] == "sample" else float(params["omega"])
        prior = np.full(2, float(params["switch_prior"]))
        collapsed = sampler != "parallel"
        return n_words, params["n_classes"], switch, prior, omega, collapsed

    def _sampler(self, encoded: Encoded) -> str:
        """Return the sampler that ``"auto"`` stands for; depends on the data alone."""
        chosen: str = getattr(self, "sampler")  # noqa: B009
        if chosen != "auto":
            return chosen
        return "collapsed" if encoded.n_tokens <= COLLAPSED_TOKENS else "parallel"

    def fit(
        self,
        corpus: Corpus | Encoded,
        *,
        folder: str | Path | None = None,
        checkpoint_seconds: float = 60.0,
        executor: Executor | None = None,
        callbacks: Sequence[Callback] = (),
        show_progress: Show = "auto",
    ) -> Self:
        """Learn the classes of a corpus.

        Parameters
        ----------
        corpus : Corpus or Encoded
            A corpus is encoded with default settings; for others, pass
            ``palaver.encode.encode(corpus, min_count=..., ...)``.
        folder : path, optional
            Keep checkpoints there, and go on from the one that is there; the model is saved
            there at the end.
        checkpoint_seconds : float
            Time between checkpoints; one is also written on Ctrl-C and at the end.
        executor : Executor, optional
            Where sweeps run; threads of this process by default.
        callbacks : sequence of callable
            Called after each sweep as ``callback(sweep, chains)``; True stops the fit.
        show_progress : bool or "auto"
            "auto" shows a bar on terminals and in notebooks.
        """
        self.check_params()
        params = self.get_params()
        encoded = self._as_encoded(corpus)
        self.check_data(encoded)
        seed = rng.resolve_seed(params["random_state"])
        engine = self._make_engine(len(encoded.vocabulary), self._sampler(encoded))
        schedule = Schedule.make(
            params["n_sweeps"], params["burn_in"], params["n_samples"], params["max_seconds"]
        )
        with ExitStack() as stack:
            checkpoints = None
            if folder is not None:
                stack.enter_context(store.locked(folder))
                checkpoints = Checkpoints(
                    Path(folder) / "checkpoint", checkpoint_seconds, self._identity(encoded, seed)
                )
                schedule = checkpoints.schedule(schedule, params["burn_in"] is not None)
            bar = stack.enter_context(
                progress(type(self).__name__, schedule.n_sweeps, show_progress)
            )
            fit = run(
                engine,
                cut(encoded, whole=engine.collapsed),
                executor or LocalExecutor(params["n_jobs"]),
                schedule,
                seed=seed,
                n_chains=params["n_chains"],
                checkpoints=checkpoints,
                callbacks=[*callbacks, *bar],
            )
            self._learn(fit, schedule, encoded, seed)
            if folder is not None:
                self.save(folder)
        return self

    def _as_encoded(
        self, corpus: Corpus | Encoded, vocabulary: Vocabulary | None = None
    ) -> Encoded:
        """Encode a corpus, unless it is encoded already."""
        if isinstance(corpus, Encoded):
            return corpus
        if not isinstance(corpus, Corpus):
            raise ParameterError(
                f"{type(self).__name__}: takes a Corpus, got {type(corpus).__name__}; make one "
                "with palaver.read(path), Corpus.from_polars(table) or Corpus.from_pandas(table)"
            )
        return encode(corpus, vocabulary)

    def check_data(self, encoded: Encoded) -> None:
        """Refuse a corpus from which nothing can be learned."""
        if not encoded.n_messages:
            raise CorpusError(f"{type(self).__name__}: the corpus holds no messages")
        if not encoded.n_tokens:
            raise CorpusError(f"{type(self).__name__}: the messages hold no words")

    def _identity(self, encoded: Encoded, seed: int) -> dict[str, Any]:
        """Return what must be equal for a checkpoint to be continued."""
        kept = {k: v for k, v in self.get_params().items() if k not in _NOT_IDENTITY}
        return {"model": self.name, "random_state": seed, **kept, "data": encoded.fingerprint}

    def _learn(self, fit: Fit, schedule: Schedule, encoded: Encoded, seed: int) -> None:
        """Set the learned attributes."""
        if not fit.chains[0].n_samples:  # stopped before the end of the burn-in
            raise CorpusError(
                f"stopped after {fit.sweep} sweeps, within the burn-in of {schedule.burn_in}; "
                "allow more time, or lower burn_in"
            )
        self.vocabulary_ = encoded.vocabulary
        self.seed_ = seed
        self.n_sweeps_ = fit.sweep
        self.burn_in_ = schedule.burn_in
        self.sampler_ = self._sampler(encoded)
        self.fingerprint_ = encoded.fingerprint
        self.trace_ = trace_table([chain.trace for chain in fit.chains])
        self.chains_ = [chain.mean() for chain in fit.chains]
        self.best_chain_ = fit.best
        self.draws_ = {name: np.stack(draws) for name, draws in fit.chains[fit.best].draws.items()}
        self._set_estimates()

    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""
        best = self.chains_[self.best_chain_]
        n_classes = best["class_shares"].shape[0]
        self.class_words_ = np.ascontiguousarray(best["class_words"][:, :n_classes].T)
        self.background_words_ = best["class_words"][:, n_classes].copy()
        self.class_shares_ = best["class_shares"]
        self.class_probability_ = float(best["class_probability"])
        self.omega_ = float(best["omega"])

    def _check_fitted(self) -> None:
        if not hasattr(self, "chains_"):
            raise NotFittedError(
                f"{type(self).__name__}: not fitted yet; call fit(corpus) or palaver.load(folder)"
            )

    @property
    def convergence_(self) -> dict[str, float]:
        """R-hat over chains and effective sample size of the log joint after the burn-in."""
        self._check_fitted()
        return convergence(self.trace_, self.burn_in_)

    # looking

    def top_words(self, n: int = 10, by: str = "probability") -> pl.DataFrame:
        """Return the words that stand for each class.

        Parameters
        ----------
        n : int
            Words a class.
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
        check("top_words", {"n": whole(1), "by": one_of("probability", "distinctiveness")},
              {"n": n, "by": by})  # fmt: skip
        telling = self.distinctiveness()
        score = self.class_words_ if by == "probability" else telling
        order = np.argsort(-score, axis=1, kind="stable")[:, :n]
        n_classes, size = order.shape
        classes = np.repeat(np.arange(n_classes), size)
        flat = order.ravel()
        words = np.array(self.vocabulary_.words, dtype=object)[flat]
        return pl.DataFrame(
            {
                "class": classes,
                "rank": np.tile(np.arange(1, size + 1), n_classes),
                "word": pl.Series(words.tolist(), dtype=pl.String),
                "probability": self.class_words_[classes, flat],
                "distinctiveness": telling[classes, flat],
            }
        )

    def distinctiveness(self) -> NDArray[np.float64]:
        """Return how much each word tells a class from all words, in bits, (K, W)."""
        classed = self.class_probability_ * self.class_shares_ @ self.class_words_
        overall = classed + (1 - self.class_probability_) * self.background_words_
        overall = np.maximum(overall, np.finfo(float).tiny)
        ratio = np.maximum(self.class_words_ / overall, np.finfo(float).tiny)
        return np.asarray(self.class_words_ * np.log2(ratio))

    def summary(self) -> ModelSummary:
        """Return the plain record that the command line and the page are made from."""
        from palaver.models.summary import summarize_model

        self._check_fitted()
        return summarize_model(self)

    # using

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        self._check_fitted()
        if isinstance(corpus, Encoded):
            if corpus.vocabulary.words != self.vocabulary_.words:
                raise ParameterError(
                    "the encoded corpus has another vocabulary; encode it with "
                    "vocabulary=model.vocabulary_"
                )
            return corpus
        return self._as_encoded(corpus, self.vocabulary_)

    def _fold(self, encoded: Encoded, n_sweeps: int, visit: Any) -> ThreadEngine:
        """Sweep a corpus with frozen parameters, visiting each shard after each kept sweep."""
        engine = self._make_engine(len(self.vocabulary_), "parallel")
        burn_in = min(FOLD_BURN_IN, n_sweeps // 2)
        fold_in(
            engine,
            engine.frozen(self.chains_[self.best_chain_]),
            cut(encoded),
            lambda shard, state: visit(engine, shard, state),
            seed=self.seed_,
            n_sweeps=n_sweeps,
            burn_in=burn_in,
            n_jobs=self.get_params()["n_jobs"],
        )
        return engine

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message, also of new conversations.

        Parameters
        ----------
        corpus : Corpus or Encoded
        n_sweeps : int
            Sweeps of the fold-in; the second half, at most all but 20, is averaged.

        Returns
        -------
        array of float64, shape (n_messages, n_classes)
            Rows sum to one; a message without words of a class has the corpus' shares.
        """
        encoded = self._encode(corpus)
        shares = np.zeros((encoded.n_messages, len(self.class_shares_)))

        def visit(engine: ThreadEngine, shard: Shard, state: Arrays) -> None:
            rows = slice(shard.first_message, shard.first_message + shard.n_messages)
            engine.add_shares(shard, state, shares[rows])

        self._fold(encoded, n_sweeps, visit)
        totals = shares.sum(axis=1, keepdims=True)
        return np.where(totals > 0, shares / np.maximum(totals, 1e-300), self.class_shares_)

    def token_classes(self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS) -> pl.DataFrame:
        """Return the class of each token, or that it is background.

        Returns
        -------
        polars.DataFrame
            Columns message (row in the corpus), token (position among the message's known
            words), word, class (null for background), probability (share of the samples).
        """
        encoded = self._encode(corpus)
        outcomes = np.empty(encoded.n_tokens, np.int16)
        probability = np.empty(encoded.n_tokens, np.float32)
        n_outcomes = len(self.class_shares_) + 1
        seen: dict[int, NDArray[np.uint16]] = {}

        def visit(engine: ThreadEngine, shard: Shard, state: Arrays) -> None:
            counts = seen.get(shard.first_token)
            if counts is None:
                counts = seen[shard.first_token] = np.zeros((shard.n_tokens, n_outcomes), np.uint16)
            counts[np.arange(shard.n_tokens), engine.token_outcomes(shard, state)] += 1

        self._fold(encoded, n_sweeps, visit)
        for first, counts in seen.items():
            rows = slice(first, first + len(counts))
            outcomes[rows] = counts.argmax(axis=1)
            probability[rows] = counts.max(axis=1) / counts[:1].sum()
        lengths = np.diff(encoded.message_offsets)
        messages = np.repeat(np.arange(encoded.n_messages, dtype=np.int32), lengths)
        positions = np.arange(encoded.n_tokens) - np.repeat(encoded.message_offsets[:-1], lengths)
        words = pl.Series(self.vocabulary_.words, dtype=pl.String)
        classes = pl.Series(outcomes.astype(np.int32))
        return pl.DataFrame(
            {
                "message": messages,
                "token": positions.astype(np.int32),
                "word": words.gather(encoded.tokens),
                "class": classes.set(classes == n_outcomes - 1, None),
                "probability": probability,
            }
        )

    def annotate(self, corpus: Corpus, n_sweeps: int = FOLD_SWEEPS) -> Corpus:
        """Return the corpus with columns class, class_probability and share_0, share_1, ...

        ``class`` is the one with the largest share of a message, ``class_probability`` that
        share; both are null for messages without a known word. Write the result with
        :meth:`Corpus.write`.
        """
        encoded = self._encode(corpus)
        shares = self.transform(encoded, n_sweeps)
        silent = pl.Series(np.diff(encoded.message_offsets) == 0)
        columns = {
            "class": pl.Series(shares.argmax(axis=1).astype(np.int64)).set(silent, None),
            "class_probability": pl.Series(shares.max(axis=1)).set(silent, None),
        }
        columns |= {f"share_{k}": pl.Series(shares[:, k]) for k in range(shares.shape[1])}
        return corpus.with_columns(**columns)

    def draw_classes(
        self, layout: Layout, n_classed: NDArray[np.int64], generator: np.random.Generator
    ) -> NDArray[np.int64]:
        """Draw the classes of the class-bearing tokens of simulated messages.

        Parameters
        ----------
        layout : Layout
        n_classed : array of int64, shape (n_messages,)
            How many tokens of each message bear a class.
        generator : numpy.random.Generator

        Returns
        -------
        array of int64, shape (n_classed.sum(),)
        """
        raise NotImplementedError

    def simulate(self, shape: Shape, seed: int = 0) -> Corpus:
        """Draw threads from the generative story with the learned parameters.

        Parameters
        ----------
        shape : Corpus, Encoded or tuple of three ints
            A corpus whose reply trees and lengths are taken over, or (conversations,
            messages a conversation, tokens a message).
        seed : int

        Returns
        -------
        Corpus
            With columns ``tokens`` and ``token_classes`` (-1 for background).
        """
        from palaver.models.simulate import simulate

        self._check_fitted()
        return simulate(self, shape, seed)

    # keeping

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, from which :func:`palaver.load` reads it."""
        self._check_fitted()
        arrays: dict[str, NDArray[Any]] = {"word_counts": self.vocabulary_.counts}
        for i, chain in enumerate(self.chains_):
            arrays |= {f"chain.{i}.{name}": array for name, array in chain.items()}
        arrays |= {f"draws.{name}": array for name, array in self.draws_.items()}
        arrays |= {f"trace.{name}": self.trace_[name].to_numpy() for name in self.trace_.columns}
        content = {
            "model": self.name,
            "params": {**self.get_params(), "random_state": self.seed_},
            "n_chains": len(self.chains_),
            "words": self.vocabulary_.words,
            **{name: getattr(self, f"{name}_") for name in _PLAIN},
        }
        store.save(folder, "model", content, arrays)

    @classmethod
    def _restore(cls, stored: store.Stored) -> Self:
        """Make a model from what :meth:`save` wrote."""
        content, arrays = stored.content, stored.arrays
        model = cls(**content["params"])
        model.vocabulary_ = Vocabulary(content["words"], arrays["word_counts"])
        for name in _PLAIN:
            setattr(model, f"{name}_", content[name])
        model.chains_ = [_named(arrays, f"chain.{i}.") for i in range(content["n_chains"])]
        model.draws_ = _named(arrays, "draws.")
        model.trace_ = pl.DataFrame(_named(arrays, "trace."))
        model._set_estimates()
        return model


_PLAIN = ("seed", "n_sweeps", "burn_in", "sampler", "fingerprint", "best_chain")


def _named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
