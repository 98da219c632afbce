from __future__ import annotations

import pytest

from palaver.corpus.readers.turns import MAX_GAP, Segment, joined, seconds


def _turns(
    *segments: tuple[float | None, float | None, str | None, str],
) -> list[tuple[object, ...]]:
    made = [Segment(*segment, place=number) for number, segment in enumerate(segments)]
    return [tuple(turn)[:4] for turn in joined(made)]


def test_one_speaker_goes_on_across_short_gaps() -> None:
    assert _turns((0, 1, "A", "one"), (1.5, 2, "A", "two"), (2, 3, "A", "three")) == [
        (0, 3, "A", "one two three")
    ]


@pytest.mark.parametrize(
    "second",
    [
        (1 + MAX_GAP, 3, "A", "late"),
        (1.1, 3, "B", "other"),
        (1.1, 3, None, "nobody"),
        (None, 3, "A", "untimed"),
    ],
)
def test_what_begins_a_new_turn(second: tuple[float | None, float, str | None, str]) -> None:
    assert len(_turns((0, 1, "A", "one"), second)) == 2


def test_segments_without_speaker_stay_apart() -> None:
    assert len(_turns((0, 1, None, "a"), (1, 2, None, "b"))) == 2


def test_overlap_is_no_gap_and_empty_texts_add_nothing() -> None:
    assert _turns((0, 2, "A", "a"), (1.5, 3, "A", ""), (2.5, 4, "A", "b")) == [(0, 4, "A", "a b")]


def test_no_segments_no_turns() -> None:
    assert _turns() == []


@pytest.mark.parametrize(
    ("value", "expected"),
    [(1, 1.0), ("2.5", 2.5), (None, None), (True, None), ("x", None), ([1], None),
     (float("nan"), None), ("inf", None), (10**400, None)],
)  # fmt: skip
def test_seconds(value: object, expected: float | None) -> None:
    assert seconds(value) == expected
