"""Sequences of acts, against a search that tries all paths."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest

from palaver.errors import InputError
from palaver.explore.sequences import matches, read_pattern


def forest(generator, n_threads=12, longest=9):
    """Threads with random replies, acts and people."""
    lengths = generator.integers(1, longest, n_threads)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    links = np.full(offsets[-1], -1, np.int32)
    for start, end in pairwise(offsets):
        for row in range(start + 1, end):
            if generator.random() < 0.85:
                links[row] = generator.integers(start, row)
    n = len(links)
    index = SimpleNamespace(
        offsets=offsets, links=links, conversation=np.repeat(np.arange(n_threads), lengths)
    )
    main = generator.integers(-1, 3, n).astype(np.int16)
    return index, main, generator.integers(-1, 3, n).astype(np.int32)


def naive(steps, index, main, speakers):
    """Try every path, message by message."""
    n = len(main)
    found = set()

    def fits(step, row, first, before):
        if step.act is not None and main[row] != step.act:
            return False
        if step.is_same and (speakers[first] < 0 or speakers[row] != speakers[first]):
            return False
        if step.is_later:
            return row > before and index.conversation[row] == index.conversation[before]
        return index.links[row] == before

    def extend(path, rest):
        if not rest:
            found.update(path)
            return
        step, *others = rest
        after = [row for row in range(n) if fits(step, row, path[0], path[-1])]
        if step.is_absent:
            if not after:
                found.update(path)
            return
        for row in after:
            extend([*path, row], others)

    for row in range(n):
        if steps[0].act is None or main[row] == steps[0].act:
            extend([row], steps[1:])
    return sorted(found)


PATTERNS = [
    "0", "*", "0 > 1", "0 > * > 1", "0 > 1 > 2", "0 > !", "0 > !1", "0 >> 1", "0 >> 1 > 2",
    "0 > 1 >> 2", "0 >> !1", "1 > 2@", "1 > * > 2@", "1 >> 2@", "1 >> 2@ > 0", "1 > 2@ >> 0@",
    "0 > !1@", "0 >> !2@", "* > 1 > !", "0 >> *@ > !",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_as_a_search_of_all_paths_finds_them(pattern):
    steps = read_pattern(pattern)
    n_found = 0
    for seed in range(25):
        index, main, speakers = forest(np.random.default_rng(seed))
        found = np.flatnonzero(matches(steps, index, main, speakers)).tolist()
        assert found == naive(steps, index, main, speakers)
        n_found += len(found)
    assert n_found  # or nothing was compared


@pytest.mark.parametrize(
    "text",
    ["", ">", "0 >", "> 0", "0 > x", "!0 > 1", "0@ > 1", "0 > !1 > 2", "0 > 1 2", "0 >> 1 > 2@",
     " > ".join("0" * 7), "0 -> 1", "0 > 1; DROP TABLE messages"],
)  # fmt: skip
def test_what_is_no_sequence_is_refused(text):
    with pytest.raises(InputError):
        read_pattern(text)
