"""What the driver of a cluster knows of its rounds: their traffic, and how to repeat them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver.parallel.executor import States

Keys = Mapping[int, NDArray[np.uint64]]


@dataclass
class Traffic:
    """What the last round moved and how long it took.

    Attributes
    ----------
    sent, received : int
        Bytes of globals put, once for all actors, and of statistics that came back.
    passed : int
        Bytes of statistics that actors passed to each other.
    sweeping : float
        Seconds of processor time that actors spent in sweeps, added up.
    """

    sent: int = 0
    received: int = 0
    passed: int = 0
    sweeping: float = 0.0


@dataclass(frozen=True)
class Broadcast:
    """Globals of all chains in the object store, with their number, keys and bytes."""

    number: int
    references: dict[int, Any]
    keys: Keys
    size: int


@dataclass
class Ledger:
    """States at a round boundary and what has happened since.

    Attributes
    ----------
    states : dict of (chain, shard) to arrays, or None
        None: they were opened, with ``opening``.
    opening : Broadcast or None
    rounds : list of Broadcast
    size : int
        Bytes of the globals of ``rounds``.
    """

    states: States | None = None
    opening: Broadcast | None = None
    rounds: list[Broadcast] = field(default_factory=list)
    size: int = 0
