"""Counts and orders over all messages of a run, each in one pass."""

from __future__ import annotations

from palaver.kernels.compiled import kernel


@kernel
def count_facets(passing, main, periods, codes, starts, counts):  # type: ignore[no-untyped-def]
    """Count the passing messages by act, by period and by the value of every column.

    Parameters
    ----------
    passing : array of bool, shape (n_messages,). IN
    main : array of int16, shape (n_messages,). IN
        Acts; -1 for none, as in the others.
    periods : array of int32, shape (n_messages,). IN
    codes : array of int32, shape (n_messages, n_columns). IN
    starts : array of int64, shape (n_columns + 2,). IN
        Where the counts of acts, periods and each column begin; messages without one come first.
    counts : array of int64, shape (n_counts,). IN/OUT
    """
    for row in range(len(passing)):
        if passing[row]:
            counts[starts[0] + main[row] + 1] += 1
            counts[starts[1] + periods[row] + 1] += 1
            for column in range(codes.shape[1]):
                counts[starts[column + 2] + codes[row, column] + 1] += 1


@kernel
def mark_numbers(digits, marks):  # type: ignore[no-untyped-def]
    """Mark the messages whose numbers a text lists.

    Parameters
    ----------
    digits : array of uint8, shape (n_bytes,). IN
        Numbers with a comma between them.
    marks : array of bool, shape (n_messages,). IN/OUT
    """
    number = 0
    for digit in digits:
        if digit == 44:  # a comma
            marks[number] = True
            number = 0
        else:
            number = number * 10 + (digit - 48)
    if len(digits):
        marks[number] = True


@kernel
def count_threads(passing, offsets):  # type: ignore[no-untyped-def]
    """Return how many of the threads that ``offsets`` (n + 1,) IN limit have a passing message."""
    found = 0
    for thread in range(len(offsets) - 1):
        for row in range(offsets[thread], offsets[thread + 1]):
            if passing[row]:
                found += 1
                break
    return found


@kernel
def mark_later(threads, people, marked, last, found):  # type: ignore[no-untyped-def]
    """Find messages before which, in the order given, one of the same thread is marked.

    Parameters
    ----------
    threads : array of int, shape (n_messages,). IN
        Messages of a thread stand together.
    people : array of int32, shape (n_messages,). IN
        Whose mark counts for a message; -1 for nobody's.
    marked : array of int32, shape (n_messages,). IN
        Person for whom a message is marked; -1 for none.
    last : array of int64, shape (n_people,). WORK
        -1 at first.
    found : array of bool, shape (n_messages,). OUT
    """
    for row in range(len(people)):
        thread, person = threads[row], people[row]
        found[row] = person >= 0 and last[person] == thread
        if marked[row] >= 0:
            last[marked[row]] = thread
