"""Agreement of classes with gold labels: plain functions of labels or of a table of counts.

Every measure takes either two arrays of labels, ``measure(found, gold)``, or one table of
counts, ``measure(table)``, with a row for each found class and a column for each gold label
(:func:`contingency`). A stack of tables, shape (..., n_found, n_gold), gives an array of
values, so a bootstrap can measure thousands of resamples in one call.

Entropies are in bits. scikit-learn and igraph use nats: divide their values by ``log(2)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr

from palaver.errors import ParameterError
from palaver.evaluate.labels import encode_labels, table_cells
from palaver.params import check, one_of, real

#: A float, or an array with one value for each table of a stack.
Score = Any


def contingency(
    found: ArrayLike, gold: ArrayLike, weights: ArrayLike | None = None
) -> NDArray[np.float64]:
    """Count how often each found class occurs together with each gold label.

    Parameters
    ----------
    found, gold : array-like, shape (n_items,)
        Whole numbers or strings. Items with a negative number, None or NaN in either are left
        out.
    weights : array-like, shape (n_items,), optional
        Weight of each item; one by default.

    Returns
    -------
    array of float64, shape (n_found, n_gold)
        Rows and columns in sorted order of the labels that occur.
    """
    cells, kept, shape = table_cells(found, gold)
    values = None if weights is None else np.asarray(weights, float)[kept]
    return np.bincount(cells, values, math.prod(shape)).reshape(shape).astype(float)


def _table(
    found: ArrayLike, gold: ArrayLike | None, weights: ArrayLike | None
) -> NDArray[np.float64]:
    """Return the table of counts described by the arguments of a measure."""
    if gold is not None:
        return contingency(found, gold, weights)
    table = np.asarray(found, float)
    if table.ndim < 2:
        raise ParameterError(
            "pass found and gold labels, or one table of counts with a row for each found class"
        )
    return table


def _score(value: Any) -> Score:
    """Return a plain float if there is only one value."""
    return float(value) if np.ndim(value) == 0 else value


def _ratio(part: Any, whole: Any, otherwise: float) -> NDArray[np.float64]:
    """Return ``part / whole``, or ``otherwise`` where the whole is zero."""
    part, whole = np.broadcast_arrays(np.asarray(part, float), np.asarray(whole, float))
    result = np.full(whole.shape, otherwise)
    np.divide(part, whole, out=result, where=whole != 0)
    return result


class Entropies(NamedTuple):
    """Entropies of a table of counts, in bits."""

    found: Score
    gold: Score
    joint: Score

    @property
    def mutual(self) -> Score:
        """Mutual information of classes and labels; never negative."""
        return np.maximum(self.found + self.gold - self.joint, 0)


def entropies(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Entropies:
    """Return H(found), H(gold) and H(found, gold) in bits."""
    table = _table(found, gold, weights)
    total = table.sum(axis=(-2, -1))[..., None, None]
    shares = _ratio(table, total, np.nan)

    def bits(probabilities: NDArray[np.float64], axis: Any) -> Score:
        return _score(entr(probabilities).sum(axis=axis) / np.log(2))

    return Entropies(
        bits(shares.sum(axis=-1), -1), bits(shares.sum(axis=-2), -1), bits(shares, (-2, -1))
    )


def variation_of_information(
    found: ArrayLike,
    gold: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    normalized: bool = False,
) -> Score:
    """Return H(found|gold) + H(gold|found) in bits (Meilă 2003); 0 is best.

    Parameters
    ----------
    found, gold, weights
        Labels, or a table of counts.
    normalized : bool
        Divide by log2 N, the largest value that N items can have. (Van Gael et al. 2009 print
        one minus that.)
    """
    table = _table(found, gold, weights)
    parts = entropies(table)
    value = np.maximum(2 * parts.joint - parts.found - parts.gold, 0)
    if normalized:
        total = table.sum(axis=(-2, -1))
        value = _ratio(value, np.log2(np.maximum(total, 1)), 0.0)
    return _score(value)


def homogeneity(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Score:
    """Return 1 - H(gold|found) / H(gold): 1 if each class contains only one label."""
    parts = entropies(found, gold, weights)
    return _score(_ratio(parts.mutual, parts.gold, 1.0))


def completeness(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Score:
    """Return 1 - H(found|gold) / H(found): 1 if each label is in only one class."""
    parts = entropies(found, gold, weights)
    return _score(_ratio(parts.mutual, parts.found, 1.0))


def v_measure(
    found: ArrayLike,
    gold: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    beta: float | NDArray[np.float64] = 1.0,
) -> Score:
    """Return the weighted harmonic mean of homogeneity and completeness.

    ``(1 + beta) h c / (beta h + c)`` (Rosenberg & Hirschberg 2007); a larger ``beta`` gives
    more weight to completeness.
    """
    if not isinstance(beta, np.ndarray):
        check("v_measure", {"beta": real(above=0)}, {"beta": beta})
    table = _table(found, gold, weights)
    even, whole = homogeneity(table), completeness(table)
    return _score(_ratio((1 + beta) * even * whole, beta * even + whole, 0.0))


def v_beta(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Score:
    """Return the V-measure with beta = number of classes / number of labels.

    Unlike the V-measure, it does not favour large numbers of classes (Vlachos et al. 2009).
    """
    table = _table(found, gold, weights)
    n_found = (table.sum(axis=-1) > 0).sum(axis=-1)
    n_gold = (table.sum(axis=-2) > 0).sum(axis=-1)
    return v_measure(table, beta=_ratio(n_found, n_gold, 1.0))


def purity(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Score:
    """Return the share of items whose label is the most frequent one in their class.

    Also known as many-to-one accuracy: each class stands for its most frequent label.
    """
    table = _table(found, gold, weights)
    return _score(_ratio(table.max(axis=-1).sum(axis=-1), table.sum(axis=(-2, -1)), np.nan))


def collocation(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Score:
    """Return the share of items whose class is the most frequent one of their label."""
    table = _table(found, gold, weights)
    return _score(_ratio(table.max(axis=-2).sum(axis=-1), table.sum(axis=(-2, -1)), np.nan))


def f1(found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None) -> Score:
    """Return the harmonic mean of purity and collocation."""
    table = _table(found, gold, weights)
    pure, together = np.asarray(purity(table)), np.asarray(collocation(table))
    return _score(_ratio(2 * pure * together, pure + together, 0.0))


def assignment(
    found: ArrayLike,
    gold: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    method: str = "optimal",
) -> NDArray[np.int64]:
    """Return the column of the label assigned to each class, using no label twice; -1 for none.

    Parameters
    ----------
    found, gold, weights
        Labels, or one table of counts.
    method : {"optimal", "greedy"}
        The best assignment overall, or repeatedly the largest remaining cell (Haghighi & Klein
        2006; Gao & Johnson 2008).
    """
    check("assignment", {"method": one_of("optimal", "greedy")}, {"method": method})
    table = _table(found, gold, weights)
    if table.ndim != 2:
        raise ParameterError("assignment takes one table of counts")
    chosen = np.full(table.shape[0], -1, np.int64)
    if method == "optimal":
        from scipy import optimize  # slow to load, and seldom needed

        rows, columns = optimize.linear_sum_assignment(table, maximize=True)
        chosen[rows] = columns
        return chosen
    rest = table.copy()
    for _ in range(min(rest.shape)):
        row, column = np.unravel_index(int(rest.argmax()), rest.shape)
        chosen[row] = column
        rest[row, :] = rest[:, column] = -1
    return chosen


def one_to_one(
    found: ArrayLike,
    gold: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    method: str = "optimal",
) -> Score:
    """Return the accuracy if each class stands for one label and no label is used twice.

    See :func:`assignment` for ``method``.
    """
    table = _table(found, gold, weights)
    flat = table.reshape(-1, *table.shape[-2:])
    right = np.empty(len(flat))
    for i, one in enumerate(flat):
        columns = assignment(one, method=method)
        right[i] = one[np.flatnonzero(columns >= 0), columns[columns >= 0]].sum()
    value = _ratio(right.reshape(table.shape[:-2]), table.sum(axis=(-2, -1)), np.nan)
    return _score(value)


def accuracy(found: ArrayLike, gold: ArrayLike, weights: ArrayLike | None = None) -> float:
    """Return the share of items whose found label *is* the gold label, among those with gold."""
    both, _ = encode_labels(np.concatenate([np.asarray(found), np.asarray(gold)]))
    mine, theirs = np.split(both, 2)
    kept = theirs >= 0
    if not kept.any():
        raise ParameterError("no item has a gold label")
    values = np.ones(len(mine)) if weights is None else np.asarray(weights, float)
    return float(np.average(mine[kept] == theirs[kept], weights=values[kept]))


def clustering_scores(
    found: ArrayLike, gold: ArrayLike | None = None, weights: ArrayLike | None = None
) -> dict[str, float]:
    """Return every measure of this module by name.

    Returns
    -------
    dict
        items, classes, labels; vi and vi_normalized (lower is better); homogeneity,
        completeness, v_measure, v_beta, purity, collocation, f1, one_to_one and
        one_to_one_greedy (higher is better).
    """
    table = _table(found, gold, weights)
    if table.ndim != 2:
        raise ParameterError("clustering_scores takes one table of counts")
    return {
        "items": float(table.sum()),
        "classes": int((table.sum(axis=1) > 0).sum()),
        "labels": int((table.sum(axis=0) > 0).sum()),
        **{name: measure(table) for name, measure in MEASURES.items()},
    }


#: Every measure by its short name; ``vi`` and ``vi_normalized`` are better if lower.
MEASURES: dict[str, Callable[[Any], Score]] = {
    "vi": variation_of_information,
    "vi_normalized": partial(variation_of_information, normalized=True),
    "homogeneity": homogeneity,
    "completeness": completeness,
    "v_measure": v_measure,
    "v_beta": v_beta,
    "purity": purity,
    "collocation": collocation,
    "f1": f1,
    "one_to_one": one_to_one,
    "one_to_one_greedy": partial(one_to_one, method="greedy"),
}
