"""Models on trial: against labels, against each other, and with different numbers of classes."""

from palaver.trials.labels import Judgement, judge

__all__ = ["Judgement", "judge"]
