"""Rows of sparse tables: the distinct columns of each, and several tables side by side."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import inner, kernel


@kernel
def count_distinct(offsets, items, list_offsets, lists, n_columns, sizes):  # type: ignore[no-untyped-def]
    """Set how many different columns the lists of each row's items have.

    Parameters
    ----------
    offsets : array of int64, shape (n_rows + 1,). IN
    items : array of int, shape (n_items,). IN
        Numbers of lists, negative for none.
    list_offsets, lists : arrays of int. IN
        The columns of each list.
    n_columns : int. IN
    sizes : array of int64, shape (n_rows,). OUT
    """
    seen = np.full(n_columns, -1, np.int64)
    for row in range(sizes.shape[0]):
        size = 0
        for place in range(offsets[row], offsets[row + 1]):
            item = items[place]
            if item >= 0:
                for entry in range(list_offsets[item], list_offsets[item + 1]):
                    if seen[lists[entry]] != row:
                        seen[lists[entry]] = row
                        size += 1
        sizes[row] = size


@kernel
def fill_distinct(offsets, items, list_offsets, lists, n_columns, ends, columns):  # type: ignore[no-untyped-def]
    """Set these columns, in order.

    Parameters
    ----------
    offsets, items, list_offsets, lists, n_columns : IN, as in :func:`count_distinct`
    ends : array of int64, shape (n_rows + 1,). IN
        Where the columns of each row go.
    columns : array of int32, shape (ends[-1],). OUT
    """
    seen = np.full(n_columns, -1, np.int64)
    for row in range(offsets.shape[0] - 1):
        end = ends[row]
        for place in range(offsets[row], offsets[row + 1]):
            item = items[place]
            if item >= 0:
                for entry in range(list_offsets[item], list_offsets[item + 1]):
                    if seen[lists[entry]] != row:
                        seen[lists[entry]] = row
                        columns[end] = lists[entry]
                        end += 1
        _sort(columns, ends[row], end)


@inner
def _sort(values, first, last):  # type: ignore[no-untyped-def]
    """Sort ``values[first:last]`` IN, OUT (Shell's method; numpy's takes seconds to compile)."""
    gap = 1
    while gap < (last - first) // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for place in range(first + gap, last):
            value, there = values[place], place
            while there >= first + gap and values[there - gap] > value:
                values[there] = values[there - gap]
                there -= gap
            values[there] = value
        gap //= 3


@kernel
def lay(offsets, columns, values, rows, shift, ends, all_columns, all_values):  # type: ignore[no-untyped-def]
    """Write the rows of a table behind what each row of a wider table has so far.

    Parameters
    ----------
    offsets, columns, values : arrays of a sparse table of rows. IN
    rows : array of int64, shape (n_rows,). IN
        Which row of the table each row of the wider one gets, -1 for none.
    shift : int. IN
        Number of the first column in the wider table.
    ends : array of int64, shape (n_rows,). IN, OUT
        Where each row of the wider table ends so far.
    all_columns, all_values : arrays of the wider table. OUT
    """
    for k in range(rows.shape[0]):
        if rows[k] >= 0:
            end = ends[k]
            for place in range(offsets[rows[k]], offsets[rows[k] + 1]):
                all_columns[end] = columns[place] + shift
                all_values[end] = values[place]
                end += 1
            ends[k] = end
