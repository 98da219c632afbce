"""Trials of models: against labels, against each other, and with different numbers of classes."""

from palaver.trials.choose import Choice, choose
from palaver.trials.compare import Comparison, compare
from palaver.trials.labels import Judgement, judge

__all__ = ["Choice", "Comparison", "Judgement", "choose", "compare", "judge"]
