"""Which features there are."""

from __future__ import annotations

from dataclasses import dataclass

#: Blocks of features that can be chosen, in the order of their columns.
BLOCKS = (
    "words", "pairs", "edges", "characters", "length", "turn", "position", "gap", "role",
)  # fmt: skip


@dataclass(frozen=True)
class FeatureSettings:
    """Which features a tagger uses.

    Attributes
    ----------
    blocks : tuple of str
        Some of :data:`BLOCKS`.
    previous, following : int
        How many messages before and after lend their words and pairs of words.
    columns : tuple of str
        Columns of the corpus, of names or numbers.
    min_count : int
        Words, pairs, beginnings and ends seen less often are left out.
    """

    blocks: tuple[str, ...] = BLOCKS
    previous: int = 1
    following: int = 0
    columns: tuple[str, ...] = ()
    min_count: int = 2
