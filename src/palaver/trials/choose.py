"""Choosing the number of classes: a table, a picture and a suggestion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import evaluate, rng
from palaver.corpus.table import Corpus, as_corpus
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
#: P-value from which on a difference may be chance; differences that are too small to count.
_CHANCE = 0.05
_LEAST = {"coherence": 0.01, "stability": 0.02}


@dataclass(frozen=True, eq=False)
class Choice:
    """The result of :func:`choose`.

    Attributes
    ----------
    table : polars.DataFrame
        One row per number of classes: classes, perplexity (sequential, of held-out words), low,
        high, p_value (of the difference from the best row, by :func:`evaluate.paired_bootstrap`,
        adjusted by Holm's method), coherence, stability, weighed (see ``why``), seconds.
    picture : Svg
        The table as a picture.
    suggested : int
        The number of classes that is best on balance; the smallest of several.
    model : str
    why : str
        A sentence on what speaks for it.
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

    @property
    def why(self) -> str:
        """What the suggestion weighs."""
        table = self.table
        best = table.sort("perplexity", "classes")["classes"][0]
        said = [f"{best} predict{'s' if best == 1 else ''} unseen words best"]
        if table["p_value"].is_not_null().any() and (table["p_value"] >= _CHANCE).any():
            near = table.filter(pl.col("p_value") >= _CHANCE)["classes"].to_list()
            said[0] += f" ({_listed(near)} within chance)"
        for name, adjective in (("coherence", "most coherent"), ("stability", "most stable")):
            if table[name].null_count() < table.height:
                first = table.sort(name, "classes", descending=[True, False], nulls_last=True)
                said.append(f"{first['classes'][0]} {'is' if first['classes'][0] == 1 else 'are'} "
                            f"{adjective}")  # fmt: skip
        return f"Of the numbers tried, {', '.join(said)}; {self.suggested} is best on balance."

    def _repr_html_(self) -> str:
        words = f"{self.model}: {self.suggested} classes suggested. {self.why}"
        return f"<p>{words}</p>{self.picture}{self.table._repr_html_()}"

    def __repr__(self) -> str:
        words = f"Choice({self.model}: {self.suggested} classes suggested)"
        return f"{words}\n{self.why}\n{self.table}"


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
    classes. The suggestion weighs the three alike: each is put on a scale from 0 (the worst number
    tried) to 1 (the best), where differences in perplexity that may be chance, and very small ones
    of the others, do not count; ``weighed`` is the mean.

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
    corpus = as_corpus(corpus)
    parts = hold_out(corpus, test, seed, models)
    shelf = Shelf.of(folder, corpus, test=test, seed=seed)
    trials = [shelf.trial(model, setting, partial(_try, model, setting, parts, show_progress))
              for setting in settings]  # fmt: skip
    table = _table(trials, seed)
    best = table.sort("weighed", "classes", descending=[True, False])
    return Choice(table, int(best["classes"][0]), model)


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
    table = pl.concat([facts.select("classes"), scores, facts.drop("classes")], how="horizontal")
    weighed = pl.Series("weighed", weigh(table).round(3))
    return table.with_columns(weighed).select(pl.exclude("seconds"), "seconds")


def weigh(table: pl.DataFrame) -> NDArray[np.float64]:
    """Return how good each row is on balance, from 0 to 1; see :func:`choose`."""
    loss = np.log(table["perplexity"].to_numpy())
    p_values = table["p_value"].fill_null(1.0).to_numpy()
    loss = np.where(p_values >= _CHANCE, loss.min(), loss)
    scales = [_scaled(-loss, 0.0)]
    for name, least in _LEAST.items():
        values = table[name].fill_null(float("nan")).to_numpy()
        if np.isfinite(values).all():
            scales.append(_scaled(values, least))
    return np.asarray(np.mean(scales, axis=0))


def _scaled(values: NDArray[np.float64], least: float) -> NDArray[np.float64]:
    """Put values on a scale from 0 to 1; all are 1 if they differ by no more than ``least``."""
    low, high = float(values.min()), float(values.max())
    return np.ones(len(values)) if high - low <= least else (values - low) / (high - low)


def _listed(numbers: Sequence[int]) -> str:
    spelled = [str(number) for number in numbers]
    return " and ".join([", ".join(spelled[:-1]), spelled[-1]] if len(spelled) > 1 else spelled)
