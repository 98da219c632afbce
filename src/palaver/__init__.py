"""Palaver: find out what people do in conversations.

Names are loaded when they are first used, so that ``import palaver`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from palaver import evaluate
    from palaver.corpus.sample import sample
    from palaver.corpus.table import Corpus, read
    from palaver.encode import Encoded, Vocabulary, WordVectors, utterance_vectors
    from palaver.language.backoff import BackoffModel
    from palaver.models.block_hmm import BlockHMM
    from palaver.models.documents.markov_m3 import MarkovM3
    from palaver.models.documents.online_lda import OnlineLDA
    from palaver.models.gaussian import GaussianHMM, GaussianMixture
    from palaver.models.infinite import InfiniteHMM
    from palaver.models.lda import LDA
    from palaver.models.m4 import M4
    from palaver.models.registry import load
    from palaver.models.taggers.hidden_backoff import HiddenBackoffTagger
    from palaver.models.taggers.maxent import MaxEntTagger
    from palaver.page import report
    from palaver.parallel.ray import RayExecutor
    from palaver.ranking.baselines import rank
    from palaver.ranking.exemplars import exemplars
    from palaver.ranking.grasshopper import grasshopper
    from palaver.ranking.people import people
    from palaver.ranking.summarize import summarize
    from palaver.threads.rebuilder import ThreadRebuilder
    from palaver.trials.choose import choose
    from palaver.trials.compare import compare

__version__ = "0.1.0.dev0"

__all__ = [
    "LDA",
    "M4",
    "BackoffModel",
    "BlockHMM",
    "Corpus",
    "Encoded",
    "GaussianHMM",
    "GaussianMixture",
    "HiddenBackoffTagger",
    "InfiniteHMM",
    "MarkovM3",
    "MaxEntTagger",
    "OnlineLDA",
    "RayExecutor",
    "ThreadRebuilder",
    "Vocabulary",
    "WordVectors",
    "choose",
    "compare",
    "evaluate",
    "exemplars",
    "grasshopper",
    "load",
    "people",
    "rank",
    "read",
    "report",
    "sample",
    "summarize",
    "utterance_vectors",
]

_HOMES = {
    "BackoffModel": "palaver.language.backoff",
    "BlockHMM": "palaver.models.block_hmm",
    "Corpus": "palaver.corpus.table",
    "Encoded": "palaver.encode",
    "GaussianHMM": "palaver.models.gaussian",
    "GaussianMixture": "palaver.models.gaussian",
    "HiddenBackoffTagger": "palaver.models.taggers.hidden_backoff",
    "InfiniteHMM": "palaver.models.infinite",
    "LDA": "palaver.models.lda",
    "M4": "palaver.models.m4",
    "MaxEntTagger": "palaver.models.taggers.maxent",
    "OnlineLDA": "palaver.models.documents.online_lda",
    "MarkovM3": "palaver.models.documents.markov_m3",
    "RayExecutor": "palaver.parallel.ray",
    "ThreadRebuilder": "palaver.threads.rebuilder",
    "Vocabulary": "palaver.encode",
    "choose": "palaver.trials.choose",
    "compare": "palaver.trials.compare",
    "WordVectors": "palaver.encode",
    "evaluate": "palaver.evaluate",  # a room as it is
    "exemplars": "palaver.ranking.exemplars",
    "grasshopper": "palaver.ranking.grasshopper",
    "load": "palaver.models.registry",
    "people": "palaver.ranking.people",
    "rank": "palaver.ranking.baselines",
    "read": "palaver.corpus.table",
    "report": "palaver.page",
    "sample": "palaver.corpus.sample",
    "summarize": "palaver.ranking.summarize",
    "utterance_vectors": "palaver.encode",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if home.__name__ == f"palaver.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
