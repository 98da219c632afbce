"""The contract of a model: scikit-learn's manners, one way to fit, to look, to save."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import rng, store
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, Vocabulary, encode
from palaver.errors import CorpusError, NotFittedError, ParameterError, StoppedError, StoreError
from palaver.fit.checkpoint import Checkpoints
from palaver.fit.loop import Callback, Chain, Fit, run
from palaver.fit.progress import Show, progress
from palaver.fit.schedule import Schedule
from palaver.fit.trace import convergence, trace_table
from palaver.models.base.params import Manners
from palaver.models.views.notebook import Looks
from palaver.models.views.words import FOLD_SWEEPS, Answers
from palaver.parallel import Arrays, Engine, Executor, LocalExecutor
from palaver.params import Limit, either, nothing, real, whole
from palaver.store.fingerprint import fingerprint_of

if TYPE_CHECKING:
    from palaver.models.summary import ModelSummary


#: Parameters of a run, that every model has.
RUN_LIMITS: dict[str, Limit] = {
    "n_sweeps": whole(1),
    "burn_in": either(whole(0), nothing()),
    "n_samples": whole(1),
    "n_chains": whole(1),
    "max_seconds": either(real(above=0), nothing()),
    "n_jobs": whole(1),
}
Method = TypeVar("Method", bound=Callable[..., Any])
#: What every model's ``fit`` takes beside its data.
_OPTIONS = """\
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
            "auto" shows a bar on terminals and in notebooks."""
#: Parameters that may differ when a run is continued: they do not change the draws.
_NOT_IDENTITY = (
    "n_sweeps", "burn_in", "n_samples", "tolerance", "max_seconds", "n_jobs", "random_state",
)  # fmt: skip


def with_options(fit: Method) -> Method:
    """Put what every ``fit`` takes into its docstring, in place of ``{options}``."""
    fit.__doc__ = (fit.__doc__ or "").replace("{options}", _OPTIONS)
    return fit


class Model(Manners, Answers, Looks):
    """A model of conversations whose classes are learned by Gibbs sampling.

    Subclasses name themselves (``name``), declare ``limits`` of their parameters, and say
    how data become an engine and shards (:meth:`_engine`, :meth:`_shards`), what a fit
    teaches (:meth:`_set_estimates`) and the classes of new messages (:meth:`transform`).

    Attributes
    ----------
    vocabulary_ : Vocabulary
    class_words_ : array of float64, shape (n_classes, n_words)
        Word probabilities of each class, averaged over samples of the best chain.
    class_shares_ : array of float64, shape (n_classes,)
        Shares of what bears a class.
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
    #: Name of the parameter that says how many classes there are.
    size_parameter: ClassVar[str] = "n_classes"
    transition_rows: ClassVar[list[str]] = []
    transition_kind: ClassVar[str] = "none"
    #: Whether encoded corpora must hold the limits of sentences.
    needs_sentences: bool = False
    #: Where a transition leads: from a message to its "replies", on in the same "document", or
    #: from word to word ("words").
    transition_steps: str = "replies"
    #: Whether its classes are what talk is about, and may be asked for as topics.
    finds_topics: ClassVar[bool] = False
    #: What bears a class, of which ``class_shares_`` are shares: "words" or "messages".
    share_of: str = "words"
    #: Words seen less often than this are dropped from texts unless asked otherwise.
    rarest_word: ClassVar[int | Literal["auto"]] = "auto"

    class_words_: NDArray[np.float64]
    class_shares_: NDArray[np.float64]
    class_probability_: float = 1.0
    topic_probability_: float = 0.0

    @classmethod
    def sized(cls, n_classes: int | None) -> dict[str, int]:
        """Return the parameter that says how many classes there are; none where not said."""
        return {} if n_classes is None else {cls.size_parameter: n_classes}

    # what each kind of model adds

    def _engine(self, data: Any) -> Engine:
        """Return the model as the loop sees it."""
        raise NotImplementedError

    def _shards(self, data: Any, engine: Any) -> Sequence[Any]:
        """Cut the data into groups of whole conversations."""
        raise NotImplementedError

    def _sampler(self, data: Any) -> str:
        """Return the sampler that ``"auto"`` stands for; depends on the data alone."""
        raise NotImplementedError

    def _set_estimates(self) -> None:
        """Set the estimates of the best chain as attributes."""
        raise NotImplementedError

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message, also of new conversations.

        Shape (n_messages, n_classes); rows sum to one.
        """
        raise NotImplementedError

    # fitting

    def fit(self, *data: Any, **options: Any) -> Self:
        """Learn the classes of a corpus; see each kind of model for its data and options."""
        raise NotImplementedError

    def _schedule(self) -> Schedule:
        """Return the course of a fit."""
        params = self.get_params()
        return Schedule.make(
            params["n_sweeps"], params["burn_in"], params["n_samples"], params["max_seconds"]
        )

    def _fit(
        self,
        data: Any,
        *,
        folder: str | Path | None,
        checkpoint_seconds: float,
        executor: Executor | None,
        callbacks: Sequence[Callback],
        show_progress: Show,
    ) -> Self:
        """Learn the classes of data that have a vocabulary and a fingerprint."""
        self.check_data(data)
        params = self.get_params()
        seed = rng.resolve_seed(params["random_state"])
        engine = self._engine(data)
        schedule = self._schedule()
        with ExitStack() as stack:
            checkpoints = None
            if folder is not None:
                stack.enter_context(store.locked(folder))
                checkpoints = Checkpoints(
                    Path(folder) / "checkpoint", checkpoint_seconds, self._identity(data, seed)
                )
                schedule = checkpoints.schedule(schedule, params.get("burn_in") is not None)
            bar = stack.enter_context(
                progress(type(self).__name__, schedule.n_sweeps, show_progress)
            )
            fit = run(
                engine,
                self._shards(data, engine),
                executor or LocalExecutor(params["n_jobs"]),
                schedule,
                seed=seed,
                n_chains=params.get("n_chains", 1),
                checkpoints=checkpoints,
                callbacks=[*callbacks, *bar],
            )
            self._learn(fit, schedule, data, seed)
            if folder is not None:
                self._save_fitted(Path(folder))
        return self

    def _save_fitted(self, folder: Path) -> None:
        """Save what was just learned; it is not lost if that fails."""
        try:
            self.save(folder)
        except StoreError as error:
            raise StoreError(
                f"{error}; the fitted model is in memory: save it elsewhere with model.save(folder)"
            ) from error

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
        return encode(corpus, vocabulary, sentences=self.needs_sentences)

    def check_data(self, encoded: Any) -> None:
        """Refuse a corpus from which nothing can be learned."""
        if not encoded.n_messages:
            raise CorpusError(f"{type(self).__name__}: the corpus holds no messages")
        if not encoded.n_tokens:
            raise CorpusError(f"{type(self).__name__}: the messages hold no words")

    def _identity(self, data: Any, seed: int) -> dict[str, Any]:
        """Return what must be equal for a checkpoint to be continued.

        A parameter that a folder cannot keep shows here, before the work.
        """
        params = store.plain({**self.get_params(), "random_state": seed})
        kept = {k: v for k, v in params.items() if k not in _NOT_IDENTITY}
        read = {
            f"{name} of the data": fingerprint_of(*parts)
            for name, parts in self._reads(data).items()
        }
        return {"model": self.name, "random_state": seed, **kept, "data": data.fingerprint, **read}

    def _reads(self, data: Any) -> dict[str, Sequence[Any]]:
        """Return by name what a fit reads of its data beyond what their fingerprint is made of.

        That of a corpus is made of ids, replies and texts. The words that texts became count by
        their numbers alone, for hashing every token of a large corpus would read all of it.
        """
        words = data.vocabulary
        return {"vocabulary": (words.words, words.counts, data.n_tokens)}

    def _learn(self, fit: Fit, schedule: Schedule, data: Any, seed: int) -> None:
        """Set the learned attributes."""
        if not fit.chains[0].n_samples:  # stopped before the end of the burn-in
            raise StoppedError(
                f"stopped after {fit.sweep} sweeps, within the burn-in of {schedule.burn_in}; "
                "allow more time, or lower burn_in"
            )
        self.vocabulary_ = data.vocabulary
        self.seed_ = seed
        self.n_sweeps_ = fit.sweep
        self.burn_in_ = schedule.burn_in
        self.sampler_ = self._sampler(data)
        self.fingerprint_ = data.fingerprint
        self.trace_ = trace_table([chain.trace for chain in fit.chains])
        self.chains_ = [self._estimates_of(chain) for chain in fit.chains]
        self.best_chain_ = fit.best
        self.draws_ = {name: np.stack(draws) for name, draws in fit.chains[fit.best].draws.items()}
        self._set_estimates()

    def _estimates_of(self, chain: Chain) -> Arrays:
        """Return what a chain teaches: the mean of its samples."""
        return chain.mean()

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

    # looking

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return tables that this kind of model has beyond the common, by name."""
        return {}

    def summary(self) -> ModelSummary:
        """Return the plain record that the command line and the page are made from."""
        from palaver.models.summary import summarize_model

        self._check_fitted()
        return summarize_model(self)

    def _facts(self) -> dict[str, Any]:
        """Return what a summary should say beyond what all models can."""
        return {}

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

    # keeping

    def _extras(self) -> dict[str, NDArray[Any]]:
        """Return learned arrays beyond the chains' that a stored model needs."""
        return {}

    def _set_extras(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Take back what :meth:`_extras` gave."""

    def save(self, folder: str | Path) -> None:
        """Write the model to a folder, from which :func:`palaver.load` reads it."""
        self._check_fitted()
        arrays: dict[str, NDArray[Any]] = {"word_counts": self.vocabulary_.counts}
        for i, chain in enumerate(self.chains_):
            arrays |= {f"chain.{i}.{name}": array for name, array in chain.items()}
        arrays |= {f"draws.{name}": array for name, array in self.draws_.items()}
        arrays |= {f"trace.{name}": self.trace_[name].to_numpy() for name in self.trace_.columns}
        arrays |= {f"extra.{name}": array for name, array in self._extras().items()}
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
        model._set_extras(_named(arrays, "extra."))
        model._set_estimates()
        return model


_PLAIN = ("seed", "n_sweeps", "burn_in", "sampler", "fingerprint", "best_chain")


def _named(arrays: Mapping[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}
