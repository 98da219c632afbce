"""Checks the keys of JSON lines without parsing the values."""

from __future__ import annotations

import numpy as np

from palaver.kernels.compiled import inner, kernel

_QUOTE, _BACKSLASH, _COLON, _NEWLINE, _NULL = ord('"'), ord("\\"), ord(":"), ord("\n"), ord("n")
_U, _D, _SMALL = ord("u"), ord("d"), 32  # the bit that makes a letter small
#: What :func:`only_these_keys` answers, and whether a string has escapes.
OTHER, SAME, SAME_WITH_SURROGATES = 0, 1, 2
_PLAIN, _ESCAPED, _SURROGATE = 0, 1, 2
_OPEN, _CLOSE, _OPEN_LIST, _CLOSE_LIST = ord("{"), ord("}"), ord("["), ord("]")


@inner
def _string_end(block, start):  # type: ignore[no-untyped-def]
    """Return the position of the quote that ends a string, or the end, and if it has escapes."""
    i, escaped = start, _PLAIN
    while i < block.size:
        byte = block[i]
        if byte == _QUOTE:
            return i, escaped
        if byte == _BACKSLASH:
            is_wide = i + 2 < block.size and block[i + 1] == _U and block[i + 2] | _SMALL == _D
            escaped = _SURROGATE if is_wide or escaped == _SURROGATE else _ESCAPED
            i += 1
        i += 1
    return block.size, escaped


@inner
def _skip_blanks(block, i):  # type: ignore[no-untyped-def]
    while i < block.size and block[i] in (32, 9):
        i += 1
    return i


@inner
def _is_name(block, start, stop, names, first, last):  # type: ignore[no-untyped-def]
    if stop - start != last - first:
        return False
    for i in range(stop - start):  # noqa: SIM110 - a generator is slower in compiled code
        if block[start + i] != names[first + i]:
            return False
    return True


@kernel
def only_these_keys(block, names, offsets, is_text):  # type: ignore[no-untyped-def]
    """Whether each line is an object with the given keys, each at most once, and texts as said.

    Neither keys inside values nor values beyond their first byte are examined, so :data:`SAME`
    holds for valid JSON only. One pass, with one comparison per key if keys come in order.

    Parameters
    ----------
    block : array of uint8, shape (n_bytes,)
        IN. Whole lines.
    names : array of uint8
        IN. The keys, one after another, in UTF-8.
    offsets : array of int64, shape (n_keys + 1,)
        IN. Where each key begins; at most 63 keys.
    is_text : array of bool, shape (n_keys,)
        IN. Keys whose values must be strings or null.

    Returns
    -------
    int
        :data:`OTHER`, :data:`SAME`, or :data:`SAME_WITH_SURROGATES` if a string has an escaped
        half of a pair, which may lack the other half.
    """
    n_keys = offsets.size - 1
    answer = SAME
    depth, seen, slot, i = 0, np.int64(0), 0, 0
    while i < block.size:
        byte = block[i]
        i += 1
        if byte == _QUOTE:
            start = i
            stop, escaped = _string_end(block, start)
            i = stop + 1
            if escaped == _SURROGATE:
                answer = SAME_WITH_SURROGATES
            if depth != 1:
                continue
            i = _skip_blanks(block, i)
            if i == block.size or block[i] != _COLON:
                continue
            if escaped != _PLAIN:
                return OTHER
            found = -1
            for step in range(n_keys):
                key = (slot + step) % n_keys
                if _is_name(block, start, stop, names, offsets[key], offsets[key + 1]):
                    found = key
                    break
            if found < 0 or seen >> found & 1:
                return OTHER
            if is_text[found]:
                i = _skip_blanks(block, i + 1)
                if i == block.size or (block[i] != _QUOTE and block[i] != _NULL):
                    return OTHER
            seen |= np.int64(1) << found
            slot = found + 1
        elif byte in (_OPEN, _OPEN_LIST):
            depth += 1
        elif byte in (_CLOSE, _CLOSE_LIST):
            depth -= 1
        elif byte == _NEWLINE:
            if depth != 0:
                return OTHER
            seen, slot = np.int64(0), 0
    return answer if depth == 0 else OTHER


@kernel
def has_more_keys(block, most):  # type: ignore[no-untyped-def]
    """Whether lines hold more than so many different keys, those of nested objects included.

    Keys are compared by their hashes; one pass, which ends as soon as the answer is known.

    Parameters
    ----------
    block : array of uint8, shape (n_bytes,)
        IN. Whole lines.
    most : int
    """
    size = 4
    while size < 4 * most:
        size *= 2
    table = np.zeros(size, np.uint64)
    count, i = 0, 0
    while i < block.size:
        if block[i] != _QUOTE:
            i += 1
            continue
        start = i + 1
        stop, _ = _string_end(block, start)
        i = _skip_blanks(block, stop + 1)
        if i >= block.size or block[i] != _COLON:
            continue
        code = np.uint64(14695981039346656037)
        for place in range(start, stop):
            code = (code ^ np.uint64(block[place])) * np.uint64(1099511628211)
        code |= np.uint64(1)  # 0 is an empty slot
        slot = np.int64((code >> np.uint64(20)) & np.uint64(size - 1))
        while table[slot] != 0 and table[slot] != code:
            slot = (slot + 1) % size
        if table[slot] == 0:
            table[slot] = code
            count += 1
            if count > most:
                return True
    return False
