"""Comparing models, with several numbers of classes, on the same conversations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import evaluate, rng
from palaver.corpus.table import Corpus, as_corpus
from palaver.errors import ParameterError
from palaver.evaluate.labels import one_per_token
from palaver.fit.progress import Show
from palaver.models import Model, model_class
from palaver.params import check, real
from palaver.trials.choose import DEFAULTS
from palaver.trials.kept import Shelf
from palaver.trials.labels import label_column, word_labels
from palaver.trials.noise import against_best
from palaver.trials.rivals import rival_classes, texts_of
from palaver.trials.trial import Parts, Trial, hold_out, label_cells, make_model, try_model

#: Measures of messages against labels.
LABELLED = {"vi": evaluate.variation_of_information, "v_measure": evaluate.v_measure,
            "f1": evaluate.f1, "one_to_one": evaluate.one_to_one}  # fmt: skip
#: Measures with intervals, and whether lower is better.
JUDGED = {"perplexity": True, "perplexity_paper": True, "replies": False, "vi": True,
          "v_measure": False, "f1": False, "one_to_one": False}  # fmt: skip
_FACTS = ("coherence", "stability", "seconds", "words_per_second")
_SCHEMA = {"model": pl.String(), "classes": pl.Int64()}
_SCHEMA |= {
    f"{name}{part}": pl.Float64() for name in JUDGED for part in ("", "_low", "_high", "_p")
}
_SCHEMA |= dict.fromkeys(_FACTS, pl.Float64())


@dataclass(frozen=True, eq=False)
class Comparison:
    """The result of :func:`compare`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per model and number of classes, then what needs no model: k-means of tf-idf,
        the rule "has a ?", one class and random classes (see :mod:`palaver.trials.rivals`);
        unigram, previous and first message. Columns model, classes; for each of perplexity,
        perplexity_paper, replies, and, with labels, vi, v_measure, f1 and one_to_one (of
        messages), the value, its interval (_low, _high) and the p-value of the difference from
        the best row (_p; null for the best itself); coherence, stability, seconds,
        words_per_second.
    n_models : int
        Number of rows of models, which are the first.
    n_conversations : int
        Number of held-out conversations.
    gold : str or None
        Column of the labels.
    """

    table: pl.DataFrame
    n_models: int
    n_conversations: int
    gold: str | None

    def beaten(self) -> dict[str, str]:
        """Return by which measures no model is better than what needs no model.

        Returns
        -------
        dict of str to str
            Name of the measure to the name of the best row that needs no model.
        """
        found = {}
        models, others = self.table.head(self.n_models), self.table.slice(self.n_models)
        for measure, lower in JUDGED.items():
            if measure not in self.table or not models[measure].is_not_null().any():
                continue
            ranked = others.filter(pl.col(measure).is_not_null()).sort(
                measure, descending=not lower, maintain_order=True
            )
            best = models[measure].min() if lower else models[measure].max()
            sign = -1 if lower else 1
            if len(ranked) and sign * ranked[measure][0] >= sign * best:  # type: ignore[operator]
                found[measure] = ranked["model"][0]
        return found

    def __repr__(self) -> str:
        shown = self.table.select("model", "classes", *JUDGED, *_FACTS)
        return f"Comparison on {self.n_conversations} held-out conversations\n{shown}"


def compare(
    corpus: Corpus,
    models: Sequence[str] = ("acts", "m4", "block-hmm", "lda"),
    classes: Sequence[int] = (5, 10, 15),
    *,
    gold: str | None = None,
    replies: bool = True,
    test: float = 0.25,
    random_state: rng.RandomState = 0,
    folder: str | Path | None = None,
    log: Callable[[str], None] | None = None,
    show_progress: Show = "auto",
    **params: Any,
) -> Comparison:
    """Fit models to most of the conversations, and judge all of them on the rest.

    Parameters
    ----------
    corpus : Corpus
    models : sequence of str
        Names of models.
    classes : sequence of int
        Numbers of classes; every model is fitted with each of them.
    gold : str, optional
        A column of labels; messages' classes are compared with them, and with what trivial
        rivals make of the same messages. With one label per word, words are compared.
    replies : bool
        Whether to judge how well models rebuild the replies; pass False if these are made up.
    test : float
        Share of the conversations to hold out.
    random_state : int, numpy.random.Generator or None
        Seed of the split, the fits and the resampling.
    folder : path, optional
        Where to keep results and checkpoints; repeating the call resumes where it was stopped.
    log : callable, optional
        Called with a line about each step before it starts.
    show_progress : bool or "auto"
    **params
        Parameters of the models that have them; by default, 300 sweeps and two chains, but its
        own defaults for a model that joins several searches (acts).

    Returns
    -------
    Comparison
    """
    check("compare", {"test": real(0.01, 0.9)}, {"test": test})
    seed = rng.resolve_seed(random_state)
    if not models or not classes:
        raise ParameterError("compare: pass at least one model and one number of classes")
    common = {"random_state": seed, **params}
    plan = [
        (name, {**_defaults(name), **common, "n_classes": k}) for name in models for k in classes
    ]
    corpus = as_corpus(corpus)
    parts = hold_out(corpus, test, seed, _checked_plan(plan, params))
    labels, level = None, "messages"
    if gold is not None:
        labels = label_column(parts.test_corpus, gold)
        labels = word_labels(parts.test_corpus, parts.test, labels)
        by_word = one_per_token(labels, np.diff(parts.test.message_offsets))
        level = "words" if by_word else level
    shelf = Shelf.of(folder, corpus, test=test, seed=seed, gold=gold, level=level, paper=True,
                     replies=replies)  # fmt: skip
    trials = []
    for number, (name, settings) in enumerate(plan, 1):
        if log:
            log(f"{name}, {settings['n_classes']} classes ({number} of {len(plan)})")

        def work(own: Path | None, name: str = name, settings: Any = settings) -> Trial:
            return try_model(name, settings, parts, labels=labels, paper=True, replies=replies,
                             folder=own, show_progress=show_progress)  # fmt: skip

        trials.append(shelf.trial(name, settings, work))
    if labels is not None and log:
        log("rivals: k-means, a question mark or none, one class, random classes")
    rivals = [] if labels is None else _rivals(parts, labels, classes, seed)
    rows = _judged([*trials, *rivals], seed)
    rows = pl.concat([rows, _baselines(parts, replies=replies)])
    return Comparison(rows, len(trials), parts.test.n_conversations, gold)


def _defaults(name: str) -> dict[str, int]:
    """Return the parameters of a trial, short fits; a model that joins searches has its own."""
    return {} if model_class(name).joins_searches else DEFAULTS


def _checked_plan(
    plan: Sequence[tuple[str, dict[str, Any]]], params: dict[str, Any]
) -> list[Model]:
    """Return the models; report mistakes before the work begins."""
    models = [make_model(name, settings) for name, settings in plan]
    known = {name for model in models for name in model.get_params()}
    unknown = set(params) - known
    if unknown:
        raise ParameterError(
            f"none of the models has a parameter {min(unknown)!r}; "
            f"there are {', '.join(sorted(known))}"
        )
    return models


def _sums(trial: Trial, measure: str) -> tuple[Any, evaluate.Statistic] | None:
    """Return the sums from which a measure is resampled, or None if a trial lacks them."""
    if measure in LABELLED:
        if trial.cells is None:
            return None
        return trial.cells, evaluate.of_tables(LABELLED[measure], trial.cells_shape)
    sums = {
        "perplexity": trial.held_out,
        "perplexity_paper": trial.held_out_paper,
        "replies": trial.parents,
    }[measure]
    statistic = evaluate.ratio if measure == "replies" else evaluate.perplexity
    return None if sums is None else (sums, statistic)


def _judged(trials: Sequence[Trial], seed: int) -> pl.DataFrame:
    """Return the rows of the models and rivals."""
    facts = pl.DataFrame(
        {
            "model": [trial.name for trial in trials],
            "classes": [trial.n_classes for trial in trials],
            "coherence": [trial.coherence for trial in trials],
            "stability": [trial.stability for trial in trials],
            "seconds": [trial.seconds for trial in trials],
            "words_per_second": [trial.words_per_second for trial in trials],
        }
    ).with_row_index("row")
    for measure, lower in JUDGED.items():
        found = [(row, _sums(trial, measure)) for row, trial in enumerate(trials)]
        there = [(row, sums) for row, sums in found if sums is not None]
        if there:
            runs, statistics = zip(*(sums for _, sums in there), strict=True)
            scores = against_best(runs, statistics, seed, lower=lower).rename(
                {"value": measure, "low": f"{measure}_low", "high": f"{measure}_high",
                 "p_value": f"{measure}_p"}
            )  # fmt: skip
            rows = pl.Series("row", [row for row, _ in there], dtype=facts.schema["row"])
            facts = facts.join(scores.with_columns(rows), on="row", how="left")
    return _complete(facts.with_columns(pl.col(_FACTS).fill_nan(None)))


def _complete(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with all columns; those that it lacks are null."""
    missing = [pl.lit(None, dtype).alias(n) for n, dtype in _SCHEMA.items() if n not in table]
    return table.with_columns(missing).select(list(_SCHEMA)).cast(_SCHEMA)  # type: ignore[arg-type]


def _rivals(parts: Parts, labels: pl.Series, numbers: Sequence[int], seed: int) -> list[Trial]:
    """Return what rivals make of the held-out messages; they learn from the same part."""
    unknown = float("nan")
    found = rival_classes(
        texts_of(parts.train_corpus), numbers, seed, new=texts_of(parts.test_corpus)
    )
    return [
        Trial(name, n_classes, unknown, unknown, None, None, unknown, unknown, None,
              *label_cells(classes, parts.test, labels))
        for name, n_classes, classes in found
    ]  # fmt: skip


def _baselines(parts: Parts, *, replies: bool) -> pl.DataFrame:
    """Return the baselines of words and replies, which need no model."""
    test = parts.test
    perplexity = unigram_perplexity(parts)
    rows: list[dict[str, Any]] = [
        {"model": "unigram", "perplexity": perplexity, "perplexity_paper": perplexity}
    ]
    if replies:
        found = evaluate.thread_baselines(test.parents, test.conversation_offsets)
        rows += [{"model": f"{name} message", "replies": found[name]}
                 for name in ("random", "previous", "first")]  # fmt: skip
    return _complete(pl.DataFrame(rows, infer_schema_length=None))


def unigram_perplexity(parts: Parts) -> float:
    """Return the perplexity of the held-out words under the training word frequencies."""
    counts = np.bincount(parts.train.tokens, minlength=len(parts.train.vocabulary))
    chances: NDArray[np.float64] = counts / counts.sum()
    return float(np.exp(-np.mean(np.log(chances[parts.test.tokens]))))
