"""Choosing the number of classes: a table, a picture and a suggestion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from palaver import evaluate, rng
from palaver.corpus.table import Corpus
from palaver.draw.panels import Panel, panel_chart
from palaver.draw.svg import Svg
from palaver.errors import ParameterError
from palaver.fit.progress import Show
from palaver.params import check, real, text
from palaver.trials.kept import Shelf
from palaver.trials.noise import against_best
from palaver.trials.trial import Parts, Trial, hold_out, make_model, try_model

#: Default parameters of a trial: shorter than a fit to be kept.
DEFAULTS = {"n_sweeps": 300, "n_chains": 2}


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of :func:`choose`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per number of classes: classes, perplexity (sequential, of held-out words), low,
        high, p_value (of the difference from the best row, by :func:`evaluate.paired_bootstrap`,
        adjusted by Holm's method), coherence, stability, seconds.
    picture : Svg
        The table as a picture.
    suggested : int
        The smallest number of classes that is not significantly worse than the best.
    model : str
    """

    table: pl.DataFrame
    suggested: int
    model: str

    @property
    def picture(self) -> Svg:
        """The table as a picture; notebooks show it, ``picture.save("x.svg")`` writes it."""
        table = self.table
        perplexity = "held-out perplexity, lower is better"
        panels = [Panel(perplexity, table["perplexity"], table["low"], table["high"])]
        panels += [
            Panel(name, table[name])
            for name in ("coherence", "stability")
            if table[name].null_count() < table.height
        ]
        chart = panel_chart(
            panels, table["classes"].to_list(), axis="classes", marked=self.suggested
        )
        return chart.standalone()

    def _repr_html_(self) -> str:
        words = f"{self.model}: {self.suggested} classes suggested"
        return f"<p>{words}</p>{self.picture}{self.table._repr_html_()}"

    def __repr__(self) -> str:
        return f"Choice({self.model}: {self.suggested} classes suggested)\n{self.table}"


def choose(
    corpus: Corpus,
    model: str = "m4",
    classes: Sequence[int] = (5, 10, 15, 20),
    *,
    test: float = 0.25,
    random_state: rng.RandomState = 0,
    folder: str | Path | None = None,
    show_progress: Show = "auto",
    **params: Any,
) -> Choice:
    """Fit a model with several numbers of classes, and judge each on held-out conversations.

    Perplexity measures how well unseen words are predicted; it usually falls with more classes
    up to some point. Coherence measures whether the characteristic words of a class occur
    together, stability whether two chains find the same classes; both tend to fall with more
    classes.

    Parameters
    ----------
    corpus : Corpus
    model : str
        Name of the model: "m4", "block-hmm" or "lda".
    classes : sequence of int
        Numbers of classes to try.
    test : float
        Share of the conversations to hold out.
    random_state : int, numpy.random.Generator or None
        Seed of the split, the fits and the resampling.
    folder : path, optional
        Where to keep finished fits; repeating the call resumes where it was stopped.
    show_progress : bool or "auto"
    **params
        Parameters of the model; by default, 300 sweeps and two chains.

    Returns
    -------
    Choice

    Examples
    --------
    >>> choice = pv.choose(corpus, "m4", classes=[5, 10, 15, 20])   # doctest: +SKIP
    >>> choice.suggested, choice.table                              # doctest: +SKIP
    >>> choice.picture.save("classes.svg")                          # doctest: +SKIP
    """
    check("choose", {"model": text(), "test": real(0.01, 0.9)}, {"model": model, "test": test})
    seed = rng.resolve_seed(random_state)
    settings = [{**DEFAULTS, "random_state": seed, **params, "n_classes": k} for k in classes]
    if not settings:
        raise ParameterError("choose: pass at least one number of classes")
    models = [make_model(model, setting).set_params(**params) for setting in settings]
    if not hasattr(models[0], "log_likelihoods"):
        raise ParameterError(
            f"choose: {model} has no likelihood of unseen words; use compare(), which judges by "
            "labels"
        )
    parts = hold_out(corpus, test, seed, models)
    shelf = Shelf.of(folder, corpus, test=test, seed=seed)
    trials = [shelf.trial(model, setting, partial(_try, model, setting, parts, show_progress))
              for setting in settings]  # fmt: skip
    table = _table(trials, seed)
    good = table.filter(pl.col("p_value").is_null() | (pl.col("p_value") >= 0.05))
    return Choice(table, int(good["classes"].min()), model)  # type: ignore[arg-type]


def _try(
    model: str, setting: dict[str, Any], parts: Parts, show_progress: Show, folder: Path | None
) -> Trial:
    return try_model(model, setting, parts, folder=folder, show_progress=show_progress)


def _table(trials: Sequence[Trial], seed: int) -> pl.DataFrame:
    scores = against_best(
        [trial.held_out for trial in trials], [evaluate.perplexity] * len(trials), seed, lower=True
    ).rename({"value": "perplexity"})
    facts = pl.DataFrame(
        {
            "classes": [trial.n_classes for trial in trials],
            "coherence": [trial.coherence for trial in trials],
            "stability": [trial.stability for trial in trials],
            "seconds": [trial.seconds for trial in trials],
        }
    ).with_columns(pl.col("coherence", "stability", "seconds").fill_nan(None))
    return pl.concat([facts.select("classes"), scores, facts.drop("classes")], how="horizontal")
