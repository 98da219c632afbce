"""What the driver of a cluster records about its rounds: their traffic, and how to repeat them."""

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
    """How much data the last round moved, and how long it took.

    Attributes
    ----------
    sent, received : int
        Bytes of globals stored (once for all actors), and of statistics returned to the driver.
    passed : int
        Bytes of statistics passed between actors.
    sweeping : float
        Total processor time that actors spent in sweeps, in seconds.
    """

    sent: int = 0
    received: int = 0
    passed: int = 0
    sweeping: float = 0.0


@dataclass(frozen=True)
class Broadcast:
    """The globals of all chains in the object store, with their number, keys and size in bytes."""

    number: int
    references: dict[int, Any]
    keys: Keys
    size: int


@dataclass
class Ledger:
    """The states after some round, and what has happened since.

    Attributes
    ----------
    states : dict of (chain, shard) to arrays, or None
        None if they are those created with ``opening``.
    opening : Broadcast or None
    rounds : list of Broadcast
    size : int
        Size of the globals of ``rounds``, in bytes.
    """

    states: States | None = None
    opening: Broadcast | None = None
    rounds: list[Broadcast] = field(default_factory=list)
    size: int = 0
