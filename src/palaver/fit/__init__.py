"""The loop that fits every model: sweeps, traces, samples, checkpoints and progress."""

from palaver.fit.loop import Chain, Fit, Interrupted, run
from palaver.fit.schedule import Schedule
from palaver.fit.trace import convergence, effective_sample_size, r_hat, trace_table

__all__ = [
    "Chain",
    "Fit",
    "Interrupted",
    "Schedule",
    "convergence",
    "effective_sample_size",
    "r_hat",
    "run",
    "trace_table",
]
