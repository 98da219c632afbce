"""When to sweep, to keep a sample, to cool down and to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Sweeps over which a rise is looked at.
SETTLED = 3


@dataclass(frozen=True)
class Schedule:
    """The course of a fit.

    Attributes
    ----------
    n_sweeps : int
        Sweeps in all, the first burn-in included.
    burn_in : int
        Sweeps before the first sample is kept.
    thin : int
        Keep every how manieth sweep after the burn-in.
    anneal : float
        Share of the burn-in over which the temperature falls from ``hottest`` to 1.
    hottest : float
    max_seconds : float, optional
        Stop at the first sweep that ends after so long; results then depend on the machine.
    tolerance : float
        Stop when the log joint of every chain has risen by less than this share of itself a
        sweep, over the last :data:`SETTLED` sweeps after the burn-in; for what is optimised.
    """

    n_sweeps: int
    burn_in: int
    thin: int = 1
    anneal: float = 0.0
    hottest: float = 1.0
    max_seconds: float | None = None
    tolerance: float = 0.0

    @classmethod
    def make(
        cls,
        n_sweeps: int,
        burn_in: int | None = None,
        n_samples: int = 10,
        max_seconds: float | None = None,
    ) -> Schedule:
        """Return a schedule that burns in for half of the sweeps unless told otherwise."""
        burn_in = n_sweeps // 2 if burn_in is None else min(burn_in, max(n_sweeps - 1, 0))
        thin = max(1, (n_sweeps - burn_in) // max(n_samples, 1))
        return cls(n_sweeps, burn_in, thin, max_seconds=max_seconds)

    def settled(self, log_joints: Sequence[Sequence[float]]) -> bool:
        """Whether there is nothing more to gain, given the log joints of each chain's sweeps."""
        if not self.tolerance:
            return False
        return all(
            len(values) > self.burn_in + SETTLED
            and values[-1] - values[-1 - SETTLED] < SETTLED * self.tolerance * abs(values[-1])
            for values in log_joints
        )

    def keeps(self, sweep: int) -> bool:
        """Whether sweep number ``sweep``, counted from 1, is a sample."""
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def temperature(self, sweep: int) -> float:
        """Return the temperature of a sweep: falls geometrically to 1, then stays there."""
        steps = self.anneal * self.burn_in
        if self.hottest == 1.0 or sweep > steps:
            return 1.0
        return float(self.hottest ** (1 - (sweep - 1) / steps))
