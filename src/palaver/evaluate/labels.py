"""Labels as numbers, and tokens paired with the labels of their messages."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from palaver import rng
from palaver.errors import ParameterError
from palaver.params import check, whole


def encode_labels(labels: ArrayLike) -> tuple[NDArray[np.int64], int]:
    """Return labels as numbers from zero in sorted order (-1: missing), and how many there are.

    Parameters
    ----------
    labels : array-like, shape (n_items,)
        Whole numbers or strings; negative numbers, None and NaN are missing.
    """
    array = np.asarray(labels)
    if array.ndim != 1:
        raise ParameterError(f"labels must be a flat array, got shape {array.shape}")
    if array.dtype.kind in "iufb":
        values = array.astype(float) if array.dtype.kind == "f" else array
        there = values >= 0  # false for NaN
    else:
        there = np.array([value is not None and value == value for value in array], bool)
        values = np.array([str(value) for value in array], object)
    names, codes = np.unique(values[there], return_inverse=True)
    result = np.full(len(array), -1, np.int64)
    result[there] = codes
    return result, len(names)


class LabelledTokens(NamedTuple):
    """Tokens of labelled messages, once per label of their message.

    Attributes
    ----------
    found : array, shape (n_rows,)
        Class of the token.
    gold : array of int64, shape (n_rows,)
        Number of the label, into ``names``.
    message : array of int64, shape (n_rows,)
    names : list
        The labels, sorted.
    """

    found: NDArray[Any]
    gold: NDArray[np.int64]
    message: NDArray[np.int64]
    names: list[Any]


def labelled_tokens(classes: ArrayLike, message_offsets: ArrayLike, labels: Any) -> LabelledTokens:
    """Give each token the label of its message; messages with several labels count once per label.

    This is the expanded set on which Paul (2012, footnote 7) measures the variation of
    information. Lists with exactly one label per token in every labelled message label the tokens
    themselves. Messages without a label are left out. Tokens with a negative class
    (background) stay in the rows; the measures ignore them.

    Parameters
    ----------
    classes : array-like, shape (n_tokens,)
    message_offsets : array-like, shape (n_messages + 1,)
        Message ``b`` has the tokens ``message_offsets[b]:message_offsets[b + 1]``.
    labels : sequence, length n_messages
        A label, a list of labels, or None per message; numbers below zero are missing.
    """
    found = np.asarray(classes)
    offsets = np.asarray(message_offsets, np.int64)
    pairs = message_labels(labels)
    if len(offsets) != pairs.n_messages + 1 or offsets[-1] != len(found):
        raise ParameterError(
            f"{len(offsets) - 1} messages with {offsets[-1]} tokens need as many labels and "
            f"classes, got {pairs.n_messages} and {len(found)}"
        )
    if one_per_token(labels, np.diff(offsets)):
        codes = {name: number for number, name in enumerate(pairs.names)}
        flat = labels.filter(labels.list.len() > 0).explode()
        gold = np.full(len(found), -1, np.int64)
        labelled = np.repeat(labels.is_not_null().to_numpy(), np.diff(offsets))
        gold[labelled] = [codes.get(value, -1) for value in flat]
        message = np.repeat(np.arange(len(labels)), np.diff(offsets))
        return LabelledTokens(found, gold, message, pairs.names)
    lengths = (offsets[1:] - offsets[:-1])[pairs.message]
    starts = np.repeat(offsets[:-1][pairs.message], lengths)
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return LabelledTokens(
        found[starts + within],
        np.repeat(pairs.label, lengths),
        np.repeat(pairs.message, lengths),
        pairs.names,
    )


def one_per_token(labels: Any, lengths: NDArray[np.int64]) -> bool:
    """Whether labels are lists with one label for each token, null for messages without labels.

    Parameters
    ----------
    labels : sequence, length n_messages
    lengths : array of int64, shape (n_messages,)
        Tokens of each message; some labelled one must have several.
    """
    if not isinstance(labels, pl.Series) or not isinstance(labels.dtype, pl.List):
        return False
    known = labels.is_not_null().to_numpy()
    sizes, lengths = labels.list.len().fill_null(0).to_numpy()[known], lengths[known]
    return bool(lengths.max(initial=0) > 1 and (sizes == lengths).all())


class MessageLabels(NamedTuple):
    """Pairs of a message and one of its labels."""

    message: NDArray[np.int64]
    label: NDArray[np.int64]
    names: list[Any]
    n_messages: int


def message_labels(labels: Any) -> MessageLabels:
    """Return one row per message and label; a repeated label counts once.

    Parameters
    ----------
    labels : sequence, length n_messages
        A label, a list of labels, or None per message; numbers below zero are missing.
    """
    table, n_messages = _label_rows(labels)
    table = table.drop_nulls().unique(maintain_order=True)
    if table["label"].dtype.is_numeric():
        table = table.filter(pl.col("label") >= 0)
    names = table["label"].unique().sort()
    codes = table["label"].replace_strict(
        names, pl.int_range(len(names), eager=True), return_dtype=pl.Int64
    )
    return MessageLabels(
        table["message"].cast(pl.Int64).to_numpy(),
        codes.cast(pl.Int64).to_numpy(),
        names.to_list(),
        n_messages,
    )


def _label_rows(labels: Any) -> tuple[pl.DataFrame, int]:
    """Return a table with a row per message and label, with nulls, and the number of messages."""
    if isinstance(labels, pl.Series) and labels.dtype != pl.Object:
        table = labels.alias("label").to_frame().with_row_index("message")
        several = isinstance(labels.dtype, pl.List)
        return (table.explode("label") if several else table), len(labels)
    # polars would turn a list next to plain labels into one string
    given = [
        list(value) if isinstance(value, list | tuple | np.ndarray | pl.Series) else [value]
        for value in labels
    ]
    flat = [None if value != value else value for values in given for value in values]  # NaN
    rows = np.repeat(np.arange(len(given)), [len(values) for values in given])
    table = pl.DataFrame({"message": rows, "label": pl.Series(flat, strict=False)})
    return table, len(given)


def grouped_contingency(
    found: ArrayLike, gold: ArrayLike, groups: ArrayLike, n_groups: int | None = None
) -> tuple[csr_array, tuple[int, int]]:
    """Count classes against labels in each group, so that groups can be resampled.

    Parameters
    ----------
    found, gold : array-like, shape (n_items,)
        As in :func:`palaver.evaluate.contingency`.
    groups : array-like of int, shape (n_items,)
        Number of each item's group, such as its conversation.
    n_groups : int, optional
        Number of groups, including empty ones.

    Returns
    -------
    counts : scipy.sparse.csr_array, shape (n_groups, n_found * n_gold)
    shape : (n_found, n_gold)
        ``counts.sum(axis=0).reshape(shape)`` is the table of counts over all groups.
    """
    cells, kept, shape = table_cells(found, gold)
    places = np.asarray(groups, np.int64)
    height = n_groups if n_groups is not None else int(places.max()) + 1
    counts = csr_array(
        (np.ones(len(cells)), (places[kept], cells)), shape=(height, math.prod(shape))
    )  # entries at the same position add up
    return counts, shape


def table_cells(
    found: ArrayLike, gold: ArrayLike
) -> tuple[NDArray[np.int64], NDArray[np.bool_], tuple[int, int]]:
    """Return the flat index of the table cell that each item with both labels falls into.

    Returns
    -------
    cells : array of int64, shape (n_kept,)
    kept : array of bool, shape (n_items,)
        Items that have both.
    shape : (n_found, n_gold)
    """
    rows, n_found = encode_labels(found)
    columns, n_gold = encode_labels(gold)
    if len(rows) != len(columns):
        raise ParameterError(
            f"found and gold must have one label per item, got {len(rows)} and {len(columns)}"
        )
    kept = (rows >= 0) & (columns >= 0)
    if not kept.any():
        raise ParameterError("no item has both a found class and a gold label")
    return rows[kept] * n_gold + columns[kept], kept, (n_found, n_gold)


def random_classes(
    n_items: int, n_classes: int, random_state: rng.RandomState = 0
) -> NDArray[np.int64]:
    """Return classes drawn uniformly at random: the baseline that every model should beat."""
    check("random_classes", {"n_items": whole(0), "n_classes": whole(1)},
          {"n_items": n_items, "n_classes": n_classes})  # fmt: skip
    seed = rng.resolve_seed(random_state)
    return rng.generator(seed, "random classes").integers(n_classes, size=n_items)
