"""Palaver: find out what people do in conversations.

Names are loaded when they are first used, so that ``import palaver`` is quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from palaver.names import NAMES

if TYPE_CHECKING:  # what lazy loading hides from type checkers; a test compares it with the table
    from palaver import evaluate as evaluate
    from palaver.corpus.filled import with_labels as with_labels
    from palaver.corpus.sample import sample as sample
    from palaver.corpus.table import Corpus as Corpus
    from palaver.corpus.table import read as read
    from palaver.encoding import Encoded as Encoded
    from palaver.encoding import Vocabulary as Vocabulary
    from palaver.encoding import WordVectors as WordVectors
    from palaver.encoding import encode as encode
    from palaver.encoding import utterance_vectors as utterance_vectors
    from palaver.language.backoff import BackoffModel as BackoffModel
    from palaver.models.acts import Acts as Acts
    from palaver.models.block_hmm import BlockHMM as BlockHMM
    from palaver.models.documents.markov_m3 import MarkovM3 as MarkovM3
    from palaver.models.documents.nested_hdp import NestedHDP as NestedHDP
    from palaver.models.documents.online_lda import OnlineLDA as OnlineLDA
    from palaver.models.gaussian import GaussianHMM as GaussianHMM
    from palaver.models.gaussian import GaussianMixture as GaussianMixture
    from palaver.models.infinite import InfiniteHMM as InfiniteHMM
    from palaver.models.lda import LDA as LDA
    from palaver.models.m4 import M4 as M4
    from palaver.models.registry import load as load
    from palaver.models.taggers.crf import CRFTagger as CRFTagger
    from palaver.models.taggers.hidden_backoff import HiddenBackoffTagger as HiddenBackoffTagger
    from palaver.models.taggers.maxent import MaxEntTagger as MaxEntTagger
    from palaver.page import report as report
    from palaver.parallel.ray import RayExecutor as RayExecutor
    from palaver.questions.talk import Talk as Talk
    from palaver.questions.talk import ask as ask
    from palaver.ranking.baselines import rank as rank
    from palaver.ranking.exemplars import exemplars as exemplars
    from palaver.ranking.grasshopper import grasshopper as grasshopper
    from palaver.ranking.labelling import to_label as to_label
    from palaver.ranking.outline import outline as outline
    from palaver.ranking.people import people as people
    from palaver.ranking.summarize import summarize as summarize
    from palaver.threads.rebuilder import ThreadRebuilder as ThreadRebuilder
    from palaver.trials.choose import choose as choose
    from palaver.trials.compare import compare as compare
    from palaver.trials.taggers import choose_tagger as choose_tagger

__version__ = "0.1.0.dev0"

_HOMES = {line.name: line.module for line in NAMES if line.kind != "example"}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'palaver' has no attribute {name!r}")
    home = import_module(_HOMES[name])
    value = home if home.__name__ == f"palaver.{name}" else getattr(home, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
