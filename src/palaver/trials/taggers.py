"""Choosing a tagger: a quick cross-validation over conversations."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver import evaluate, rng
from palaver.corpus.table import Corpus
from palaver.errors import ParameterError
from palaver.models.base.model import Model
from palaver.models.registry import TAGGERS, tagger_class
from palaver.models.taggers.contract import Tagger
from palaver.params import check, whole
from palaver.trials.noise import against_best

#: Taggers to compare, with settings of their own. The first one is taken where they cannot be
#: compared, and unless another is better by more than chance (:data:`_CHANCE`): on the held-out
#: talk of every corpus we tried it was the best, or as good up to chance.
CANDIDATES: dict[str, dict[str, Any]] = {
    "crf": {},
    "maxent": {"context": True},
    "hidden-backoff": {},
}
#: The same if there are at most so many labels: every word counts. Chosen by cross-validation on
#: training parts (docs/models/crf.md has the figures).
_FEW = 3_000
_WITH_FEW: dict[str, dict[str, Any]] = {"crf": {"min_count": 1}, "maxent": {"min_count": 1}}
_FOLDS = 3
_OWN_COLUMNS = ("conversation", "id", "reply_to", "speaker", "text", "time")
#: p-value above which the first tagger is taken although another had more right tags.
_CHANCE = 0.05


@dataclass(frozen=True, eq=False)
class TaggerChoice:
    """The result of :func:`choose_tagger`.

    Attributes
    ----------
    tagger : Tagger
        The best one, with its settings, not fitted; the conditional random field if no other is
        better by more than chance.
    table : polars.DataFrame
        One row per tagger, the best first: tagger, accuracy (share of right tags in conversations
        that were held out), p_value (of the difference from the best, by a bootstrap over
        conversations, adjusted by Holm's method; null for the best), seconds (of processor time).
        No rows if nothing could be compared.
    why : str
        Says which and why.
    """

    tagger: Tagger
    table: pl.DataFrame
    why: str


def choose_tagger(
    corpus: Corpus,
    labels: str = "act",
    *,
    taggers: Sequence[str] | None = None,
    params: Mapping[str, Any] | None = None,
    classes: Model | None = None,
    max_messages: int = 10_000,
    random_state: int | np.random.Generator | None = 0,
) -> TaggerChoice:
    """Find the tagger that is best for a corpus, by cross-validation over conversations.

    If there are at most 3,000 labels, the linear taggers see every word (``min_count=1``).

    Parameters
    ----------
    corpus : Corpus
        With labels; messages without one are left out of the comparison, but not of contexts.
    labels : str
        Column with the tags.
    taggers : sequence of str, optional
        Names of the taggers to compare; by default all that have the ``params``.
    params : mapping, optional
        Parameters of all taggers that are compared.
    classes : Model, optional
        A model fitted without labels, whose classes are features: see :meth:`CRFTagger.fit`. Only
        taggers that take it are compared.
    max_messages : int
        From larger corpora, conversations are drawn until they have this many labelled messages.
    random_state : int, Generator or None
        For the draw and the folds.

    Examples
    --------
    >>> import palaver as pv
    >>> chosen = pv.choose_tagger(pv.sample(60))                    # doctest: +SKIP
    >>> chosen.why; chosen.tagger.fit(pv.sample(60))                # doctest: +SKIP
    """
    check("choose_tagger", {"max_messages": whole(1)}, {"max_messages": max_messages})
    few = labels in corpus.table.columns and corpus.table[labels].count() <= _FEW
    made = _candidates(taggers, params or {}, classes is not None, few)
    first = next(iter(made))
    if labels not in corpus.table.columns:
        known = ", ".join(name for name in corpus.table.columns if name not in _OWN_COLUMNS)
        raise ParameterError(
            f"there is no column {labels!r} of labels; other columns: {known or 'none'}. To label "
            "messages, see palaver label"
        )
    if len(made) == 1:
        return TaggerChoice(made[first], _empty(), f"{first}: the only one with these parameters")
    seed = rng.resolve_seed(random_state)
    parts = _folds(corpus, labels, max_messages, seed)
    if parts is None:
        why = f"{first}: there are too few labelled conversations to compare taggers"
        return TaggerChoice(made[first], _empty(), why)
    options = {} if classes is None else {"classes": classes}
    found = {name: _cross_validate(tagger, parts, labels, options)
             for name, tagger in made.items()}  # fmt: skip
    table = _table(found, seed)
    rows = {row["tagger"]: row for row in table.iter_rows(named=True)}
    best, p_value = table["tagger"][0], rows[first]["p_value"]
    chosen = first if p_value is not None and p_value > _CHANCE else best
    other = next(name for name in rows if name != chosen)
    why = (
        f"{chosen}: {100 * rows[chosen]['accuracy']:.1f} % right in conversations that were held "
        f"out, against {100 * rows[other]['accuracy']:.1f} % by {other}"
    )
    if chosen != best:
        why += ", which may be chance"
    if few and chosen in _WITH_FEW and "min_count" not in (params or {}):
        why += "; labels are few, so it sees every word (min_count=1)"
    return TaggerChoice(made[chosen], table, why)


def _candidates(
    names: Sequence[str] | None, params: Mapping[str, Any], with_classes: bool, few: bool
) -> dict[str, Tagger]:
    """Return the taggers to compare, with their parameters."""
    unknown = [name for name in names or () if name not in TAGGERS]
    if unknown:
        raise ParameterError(f"there is no tagger {unknown[0]!r}; there are {', '.join(TAGGERS)}")
    found = {}
    for name in names or CANDIDATES:
        kind = tagger_class(name)
        if names is None and not set(params) <= {*kind().get_params()}:
            continue
        if with_classes and not kind.takes_classes:
            if names is None:
                continue
            raise ParameterError(f"{name} cannot take classes as features")
        own = CANDIDATES.get(name, {}) | (_WITH_FEW.get(name, {}) if few else {})
        found[name] = kind().set_params(**{**own, **params})
        found[name].check_params()
    if not found:
        known = {key for name in CANDIDATES for key in tagger_class(name)().get_params()}
        odd = [key for key in params if key not in known] or list(params)
        raise ParameterError(f"no tagger has the parameters {', '.join(odd)}")
    return found


def _folds(
    corpus: Corpus, labels: str, max_messages: int, seed: int
) -> list[tuple[Corpus, Corpus]] | None:
    """Return pairs of known and held-out conversations, or None if there are too few."""
    counts = (
        corpus.table.group_by("conversation", maintain_order=True)
        .agg(pl.col(labels).count())[labels]
        .to_numpy()
    )
    useful = np.flatnonzero(counts > 0)
    if len(useful) < 2 * _FOLDS or corpus.table[labels].n_unique() < 2:
        return None
    order = useful[rng.generator(seed, "folds").permutation(len(useful))]
    enough = int(np.searchsorted(np.cumsum(counts[order]), max_messages)) + 1
    order = order[: max(enough, 2 * _FOLDS)]
    return [
        (corpus.take(np.sort(np.delete(order, np.s_[fold::_FOLDS]))),
         corpus.take(np.sort(order[fold::_FOLDS])))
        for fold in range(_FOLDS)
    ]  # fmt: skip


def _cross_validate(
    tagger: Tagger,
    parts: Sequence[tuple[Corpus, Corpus]],
    labels: str,
    options: Mapping[str, Any],
) -> tuple[NDArray[np.float64], float]:
    """Return right tags and labelled messages of each held-out conversation, and the seconds."""
    begun, found = time.process_time(), []
    for train, test in parts:
        fresh = type(tagger)(**tagger.get_params())
        fresh.fit(train, labels, show_progress=False, **options)
        right = pl.Series(fresh.predict(test)) == test.table[labels]
        rows = pl.DataFrame({"c": test.table["conversation"], "right": right}).drop_nulls()
        counts = rows.group_by("c", maintain_order=True).agg(
            pl.col("right").sum(), pl.len().alias("n")
        )
        found.append(counts.select("right", "n").to_numpy().astype(float))
    return np.concatenate(found), time.process_time() - begun


def _table(found: Mapping[str, tuple[NDArray[np.float64], float]], seed: int) -> pl.DataFrame:
    """Return the taggers with their shares of right tags, the best first."""
    runs = [rows for rows, _ in found.values()]
    judged = against_best(runs, [evaluate.ratio] * len(runs), seed, lower=False)
    table = judged.select(
        pl.Series("tagger", list(found)), pl.col("value").alias("accuracy"), "p_value",
        pl.Series("seconds", [seconds for _, seconds in found.values()]),
    )  # fmt: skip
    return table.sort("accuracy", descending=True, maintain_order=True)


def _empty() -> pl.DataFrame:
    return pl.DataFrame(
        schema={"tagger": pl.String, "accuracy": pl.Float64, "p_value": pl.Float64,
                "seconds": pl.Float64}
    )  # fmt: skip
