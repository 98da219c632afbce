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
from palaver.corpus.table import Corpus
from palaver.errors import ParameterError
from palaver.fit.progress import Show
from palaver.models import Model
from palaver.params import check, real
from palaver.trials.choose import DEFAULTS
from palaver.trials.kept import Shelf
from palaver.trials.labels import label_column
from palaver.trials.noise import against_best
from palaver.trials.trial import Parts, Trial, hold_out, make_model, try_model

#: Measures with intervals, and whether lower is better.
JUDGED = {"perplexity": True, "perplexity_paper": True, "replies": False, "vi": True}
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
        One row per model and number of classes, then baselines that need no model: unigram,
        random, previous and first message. Columns model, classes; for each of perplexity,
        perplexity_paper, replies and vi, the value, its interval (_low, _high) and the p-value
        of the difference from the best model (_p; null for the best itself); coherence,
        stability, seconds, words_per_second.
    n_conversations : int
        Number of held-out conversations.
    gold : str or None
        Column of the labels.
    """

    table: pl.DataFrame
    n_conversations: int
    gold: str | None

    def __repr__(self) -> str:
        shown = self.table.select("model", "classes", *JUDGED, *_FACTS)
        return f"Comparison on {self.n_conversations} held-out conversations\n{shown}"


def compare(
    corpus: Corpus,
    models: Sequence[str] = ("m4", "block-hmm", "lda"),
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
        A column of labels, for the variation of information.
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
        Parameters of the models that have them; by default, 300 sweeps and two chains.

    Returns
    -------
    Comparison
    """
    check("compare", {"test": real(0.01, 0.9)}, {"test": test})
    seed = rng.resolve_seed(random_state)
    if not models or not classes:
        raise ParameterError("compare: pass at least one model and one number of classes")
    common = {**DEFAULTS, "random_state": seed, **params}
    plan = [(name, {**common, "n_classes": k}) for name in models for k in classes]
    parts = hold_out(corpus, test, seed, _checked_plan(plan, params))
    labels = None if gold is None else label_column(parts.test_corpus, gold)
    shelf = Shelf.of(folder, corpus, test=test, seed=seed, gold=gold, paper=True, replies=replies)
    trials = []
    for number, (name, settings) in enumerate(plan, 1):
        if log:
            log(f"{name}, {settings['n_classes']} classes ({number} of {len(plan)})")

        def work(own: Path | None, name: str = name, settings: Any = settings) -> Trial:
            return try_model(name, settings, parts, labels=labels, paper=True, replies=replies,
                             folder=own, show_progress=show_progress)  # fmt: skip

        trials.append(shelf.trial(name, settings, work))
    baselines = _baselines(parts, labels, classes, seed, replies=replies)
    rows = pl.concat([_judged(trials, seed), baselines])
    return Comparison(rows, parts.test.n_conversations, gold)


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
    if measure == "vi":
        if trial.cells is None:
            return None
        vi = evaluate.of_tables(evaluate.variation_of_information, trial.cells_shape)
        return trial.cells, vi
    sums = {
        "perplexity": trial.held_out,
        "perplexity_paper": trial.held_out_paper,
        "replies": trial.parents,
    }[measure]
    statistic = evaluate.ratio if measure == "replies" else evaluate.perplexity
    return None if sums is None else (sums, statistic)


def _judged(trials: Sequence[Trial], seed: int) -> pl.DataFrame:
    """Return the rows of the models."""
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


def _baselines(
    parts: Parts, labels: pl.Series | None, classes: Sequence[int], seed: int, *, replies: bool
) -> pl.DataFrame:
    """Return the rows of the baselines, which need no model."""
    test = parts.test
    found: dict[str, float] = {}
    if replies:
        found = evaluate.thread_baselines(test.parents, test.conversation_offsets)
    rows: list[dict[str, Any]] = [{"model": "unigram", "perplexity": unigram_perplexity(parts)}]
    rows[0]["perplexity_paper"] = rows[0]["perplexity"]
    if labels is None and replies:
        rows.append({"model": "random", "replies": found["random"]})
    if labels is not None:
        for n_classes in classes:
            drawn = evaluate.random_classes(test.n_tokens, n_classes, seed)
            tokens = evaluate.labelled_tokens(drawn, test.message_offsets, labels)
            vi = evaluate.variation_of_information(tokens.found, tokens.gold)
            rows.append({"model": "random", "classes": n_classes, "vi": vi,
                         "replies": found.get("random")})  # fmt: skip
    rows += [
        {"model": f"{name} message", "replies": found[name]}
        for name in ("previous", "first")
        if replies
    ]
    return _complete(pl.DataFrame(rows, infer_schema_length=None))


def unigram_perplexity(parts: Parts) -> float:
    """Return the perplexity of the held-out words under the training word frequencies."""
    counts = np.bincount(parts.train.tokens, minlength=len(parts.train.vocabulary))
    chances: NDArray[np.float64] = counts / counts.sum()
    return float(np.exp(-np.mean(np.log(chances[parts.test.tokens]))))
