"""Models on trial: against labels, against each other, and with different numbers of classes."""

from palaver.trials.choose import Choice, choose
from palaver.trials.labels import Judgement, judge

__all__ = ["Choice", "Judgement", "choose", "judge"]
