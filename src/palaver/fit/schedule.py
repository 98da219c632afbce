"""When to sweep, to keep a sample, to cool down and to stop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

#: Number of sweeps over which the rise of the log joint is measured.
SETTLED = 3


@dataclass(frozen=True)
class Schedule:
    """The sweeps of a fit: how many, which to keep, at which temperature, when to stop.

    Attributes
    ----------
    n_sweeps : int
        Total number of sweeps, including burn-in.
    burn_in : int
        Number of sweeps before the first sample is kept.
    thin : int
        Keep every ``thin``-th sweep after burn-in.
    anneal : float
        Share of the burn-in over which the temperature falls from ``start_temperature`` to 1.
    start_temperature : float
    max_seconds : float, optional
        Stop at the end of the sweep that exceeds this time; within the burn-in, one more sweep is
        made and kept, so that there is a result. Results then depend on the speed of the machine.
    tolerance : float
        Stop once the log joint of every chain has risen by less than this share of itself per
        sweep, over the last :data:`SETTLED` sweeps after burn-in; for models that optimize.
    """

    n_sweeps: int
    burn_in: int
    thin: int = 1
    anneal: float = 0.0
    start_temperature: float = 1.0
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
        """Return a schedule; by default, half of the sweeps are burn-in."""
        burn_in = n_sweeps // 2 if burn_in is None else min(burn_in, max(n_sweeps - 1, 0))
        thin = max(1, (n_sweeps - burn_in) // max(n_samples, 1))
        return cls(n_sweeps, burn_in, thin, max_seconds=max_seconds)

    def settled(self, log_joints: Sequence[Sequence[float]]) -> bool:
        """Whether every chain has stopped improving, given the log joints of its sweeps."""
        if not self.tolerance:
            return False
        return all(
            len(values) > self.burn_in + SETTLED
            and values[-1] - values[-1 - SETTLED] < SETTLED * self.tolerance * abs(values[-1])
            for values in log_joints
        )

    def keeps(self, sweep: int) -> bool:
        """Whether sweep ``sweep``, counted from 1, is kept as a sample."""
        return sweep > self.burn_in and (sweep - self.burn_in) % self.thin == 0

    def temperature(self, sweep: int) -> float:
        """Return the temperature of a sweep, which falls geometrically to 1 and stays there."""
        steps = self.anneal * self.burn_in
        if self.start_temperature == 1.0 or sweep > steps:
            return 1.0
        return float(self.start_temperature ** (1 - (sweep - 1) / steps))
