"""Divided classes in the index: which part of its class each message is of.

``split-<name>.npy`` of the index has the probabilities of the parts of one division for every
message. It is made when a division is tried, and whenever the index is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from palaver.curation import Curation
from palaver.store.atomic import replace_file

Shares = NDArray[np.float32]


def parts_path(index: Path, folder: str) -> Path:
    """Return where an index keeps the parts of a division, given the folder of that."""
    return index / f"split-{Path(folder).name}.npy"


def write_parts(index: Path, parts: Mapping[str, NDArray[np.floating]]) -> None:
    """Write the probabilities of the parts of every message, (n_messages, n_parts) each."""
    for folder, own in parts.items():
        with replace_file(parts_path(index, folder)) as path, path.open("wb") as stream:
            np.save(stream, own.astype(np.float32))


def missing_parts(index: Path, state: Curation) -> list[str]:
    """Return the folders of divisions that an index does not have yet."""
    folders = [split.folder for split in state.splits]
    return [folder for folder in folders if not parts_path(index, folder).is_file()]


@dataclass(frozen=True, eq=False)
class Wide:
    """The shares of all ids in all messages, and their sizes.

    Attributes
    ----------
    shares : array of float32, shape (n_messages, n_ids)
    sizes : list of float
    which : dict of int to array of int16, shape (n_messages,)
        The likeliest part of each divided class in every message, as an id.
    """

    shares: Shares
    sizes: list[float]
    which: dict[int, NDArray[np.int16]] = field(default_factory=dict)


def widened(index: Path, shares: Shares, sizes: list[float], state: Curation) -> Wide:
    """Divide the shares of the classes of a model, as far as they were divided."""
    if not state.splits:
        return Wide(shares, list(sizes))
    from palaver.models.curated.divided import divide_columns

    wide = np.zeros((len(shares), state.n_ids), np.float32)
    wide[:, : state.n_classes] = shares
    every = [*sizes, *[0.0] * (state.n_ids - state.n_classes)]
    which = {}
    for split in state.splits:
        parts = np.load(parts_path(index, split.folder), mmap_mode="r")
        total = float(wide[:, split.id].sum(dtype=float))
        divide_columns(wide, split, parts)
        for id in split.parts:
            own = float(wide[:, id].sum(dtype=float))
            every[id] = every[split.id] * (own / total if total else 1 / len(split.parts))
        every[split.id] = 0.0
        which[split.id] = np.array(split.parts, np.int16)[np.argmax(parts, axis=1)]
    return Wide(wide, every, which)
