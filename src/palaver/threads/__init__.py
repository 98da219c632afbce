"""Rebuilding reply structure: who replies to whom if the data do not say."""

from palaver.corpus.replies import components
from palaver.threads.asking import Asker
from palaver.threads.learn import learn_defaults
from palaver.threads.links import interleaved, relinked
from palaver.threads.places import Defaults
from palaver.threads.rebuilder import ThreadRebuilder

__all__ = [
    "Asker",
    "Defaults",
    "ThreadRebuilder",
    "components",
    "interleaved",
    "learn_defaults",
    "relinked",
]
