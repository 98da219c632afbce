"""Two groups of messages side by side: what a comparison needs, in a few passes."""

from __future__ import annotations

from palaver.kernels.compiled import kernel


@kernel
def mark_units(first, second, units, marks):  # type: ignore[no-untyped-def]
    """Find the units of both groups.

    Parameters
    ----------
    first, second : array of bool, shape (n_messages,). IN
    units : array of int32, shape (n_messages,). IN
    marks : array of bool, shape (2, n_units). IN/OUT
        Whether a unit has messages of each group; False at first.
    """
    for row in range(len(units)):
        if first[row]:
            marks[0, units[row]] = True
        if second[row]:
            marks[1, units[row]] = True


@kernel
def add_shares(first, second, units, bundles, periods, shares, sums, series):  # type: ignore[no-untyped-def]
    """Add up the shares of the messages of both groups, by bundle of units and by period.

    Parameters
    ----------
    first, second : array of bool, shape (n_messages,). IN
    units : array of int32, shape (n_messages,). IN
    bundles : array of int16, shape (n_units,). IN
    periods : array of int32, shape (n_messages,). IN
        -1 for none.
    shares : array of float32, shape (n_messages, n_acts). IN
    sums : array of float64, shape (2, n_bundles, n_acts + 1). IN/OUT
        The last column counts.
    series : array of float64, shape (2, n_periods + 1, n_acts + 1). IN/OUT
        Messages without a period come first.
    """
    n_acts = shares.shape[1]
    for row in range(len(units)):
        if not (first[row] or second[row]):
            continue
        bundle, period = bundles[units[row]], periods[row] + 1
        for group in range(2):
            if first[row] if group == 0 else second[row]:
                for act in range(n_acts):
                    share = shares[row, act]
                    sums[group, bundle, act] += share
                    series[group, period, act] += share
                sums[group, bundle, n_acts] += 1
                series[group, period, n_acts] += 1


@kernel
def count_values(first, second, codes, starts, counts):  # type: ignore[no-untyped-def]
    """Count the messages of both groups by value of several columns.

    Parameters
    ----------
    first, second : array of bool, shape (n_messages,). IN
    codes : array of int32, shape (n_messages, n_columns). IN
        -1 for none.
    starts : array of int64, shape (n_columns,). IN
        Where the counts of a column begin, with those of messages without a value.
    counts : array of int64, shape (2, n_counts). IN/OUT
    """
    for row in range(codes.shape[0]):
        for column in range(codes.shape[1]):
            cell = starts[column] + codes[row, column] + 1
            counts[0, cell] += first[row]
            counts[1, cell] += second[row]


@kernel
def count_talk(first, second, codes, starts, shown, periods, counts):  # type: ignore[no-untyped-def]
    """Count the messages of both groups by period and those values that are shown.

    Parameters
    ----------
    first, second : array of bool, shape (n_messages,). IN
    codes : array of int32, shape (n_messages, n_columns). IN
    starts : array of int64, shape (n_columns,). IN
    shown : array of int32, shape (n_counts,). IN
        Place among those that are shown, -1 for others; laid out as for :func:`count_values`.
    periods : array of int32, shape (n_messages,). IN
        -1 for none.
    counts : array of int64, shape (2, n_shown, n_periods). IN/OUT
    """
    for row in range(codes.shape[0]):
        period = periods[row]
        if period < 0 or not (first[row] or second[row]):
            continue
        for column in range(codes.shape[1]):
            place = shown[starts[column] + codes[row, column] + 1]
            if place >= 0:
                counts[0, place, period] += first[row]
                counts[1, place, period] += second[row]


@kernel
def count_answered(first, second, main, opens, answered, waits, cells, counts):  # type: ignore[no-untyped-def]
    """Count the messages of both groups by act: all, unanswered ones, those with a known wait.

    Parameters
    ----------
    first, second : array of bool, shape (n_messages,). IN
    main : array of int16, shape (n_messages,). IN
        Act of each message, -1 for none.
    opens : array of bool, shape (n_messages,). IN
        Messages that begin a thread.
    answered, waits : array of bool, shape (n_messages,). IN
        Whether somebody else answers, and whether it is known after how long.
    cells : array of int16, shape (n_messages,). OUT
        What :func:`middle_waits` needs: the act plus one, whether it opens, and the groups.
    counts : array of int64, shape (2, n_acts + 2, 3). IN/OUT
        Messages without an act come first, those that open a thread last.
    """
    last = counts.shape[1] - 1
    for row in range(len(main)):
        act = main[row] + 1
        cells[row] = act * 8 + opens[row] * 4 + second[row] * 2 + first[row]
        for group in range(2):
            if first[row] if group == 0 else second[row]:
                counts[group, act, 0] += 1
                counts[group, act, 1] += not answered[row]
                counts[group, act, 2] += waits[row]
                if opens[row]:
                    counts[group, last, 0] += 1
                    counts[group, last, 1] += not answered[row]
                    counts[group, last, 2] += waits[row]


@kernel
def middle_waits(cells, rows, seconds, known, passed, middle):  # type: ignore[no-untyped-def]
    """Find the two waits in the middle of those of every act in both groups.

    Parameters
    ----------
    cells : array of int16, shape (n_messages,). IN
        See :func:`count_answered`.
    rows : array of int32, shape (n_waits,). IN
        Messages whose wait is known, the shortest first.
    seconds : array of float64, shape (n_waits,). IN
        Their waits.
    known : array of int64, shape (2, n_acts + 2). IN
        How many waits of each act are known in each group.
    passed : array of int64, shape (2, n_acts + 2). WORK
        Zeros.
    middle : array of float64, shape (2, n_acts + 2, 2). OUT
        The same wait twice if their number is odd; untouched where none is known.
    """
    last = known.shape[1] - 1
    open_ = 0  # medians that are still looked for
    for group in range(2):
        for act in range(last + 1):
            open_ += known[group, act] > 0
    for i in range(len(rows)):
        if not open_:
            break
        cell = cells[rows[i]]
        for group in range(2):
            if not cell >> group & 1:
                continue
            for own in range(2 if cell & 4 else 1):
                act = last if own else cell >> 3
                place, size = passed[group, act], known[group, act]
                passed[group, act] += 1
                if place == (size - 1) // 2:
                    middle[group, act, 0] = seconds[i]
                if place == size // 2:
                    middle[group, act, 1] = seconds[i]
                    open_ -= 1
