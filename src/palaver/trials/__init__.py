"""Trials of models: against labels, against each other, and with different numbers of classes."""

from palaver.trials.choose import Choice, choose
from palaver.trials.compare import Comparison, compare
from palaver.trials.labels import Judgement, judge
from palaver.trials.taggers import TaggerChoice, choose_tagger

__all__ = [
    "Choice",
    "Comparison",
    "Judgement",
    "TaggerChoice",
    "choose",
    "choose_tagger",
    "compare",
    "judge",
]
