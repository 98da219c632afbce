"""Every public name: where it lives, and what the command line calls it.

The package, the registry of models and the help texts read this table and nothing else, so a new
model is one line here. Nothing heavy is imported.
"""

from __future__ import annotations

from typing import NamedTuple


class Name(NamedTuple):
    """A line of the table.

    Attributes
    ----------
    name : str
        What Python calls it: ``palaver.M4``.
    module : str
        Where it is defined.
    kind : {"model", "tagger", "example", "other"}
        Models learn without labels, taggers from labels. An example is registered and tested like
        a model, but neither public nor listed: it is there to be copied.
    command : str
        What the command line and stored folders call a model or tagger.
    """

    name: str
    module: str
    kind: str = "other"
    command: str = ""


NAMES = (
    Name("Acts", "palaver.models.acts", "model", "acts"),
    Name("M4", "palaver.models.m4", "model", "m4"),
    Name("BlockHMM", "palaver.models.block_hmm", "model", "block-hmm"),
    Name("LDA", "palaver.models.lda", "model", "lda"),
    Name("InfiniteHMM", "palaver.models.infinite", "model", "infinite-hmm"),
    Name("GaussianHMM", "palaver.models.gaussian", "model", "gaussian-hmm"),
    Name("GaussianMixture", "palaver.models.gaussian", "model", "gaussian-mixture"),
    Name("MarkovM3", "palaver.models.documents.markov_m3", "model", "markov-m3"),
    Name("NestedHDP", "palaver.models.documents.nested_hdp", "model", "nested-hdp"),
    Name("OnlineLDA", "palaver.models.documents.online_lda", "model", "online-lda"),
    Name("Skeleton", "palaver.models.skeleton", "example", "skeleton"),
    Name("CRFTagger", "palaver.models.taggers.crf", "tagger", "crf"),
    Name("HiddenBackoffTagger", "palaver.models.taggers.hidden_backoff", "tagger",
         "hidden-backoff"),
    Name("MaxEntTagger", "palaver.models.taggers.maxent", "tagger", "maxent"),
    Name("BackoffModel", "palaver.language.backoff"),
    Name("Corpus", "palaver.corpus.table"),
    Name("Encoded", "palaver.encoding"),
    Name("RayExecutor", "palaver.parallel.ray"),
    Name("Talk", "palaver.questions.talk"),
    Name("ThreadRebuilder", "palaver.threads.rebuilder"),
    Name("Vocabulary", "palaver.encoding"),
    Name("WordVectors", "palaver.encoding"),
    Name("ask", "palaver.questions.talk"),
    Name("choose", "palaver.trials.choose"),
    Name("choose_tagger", "palaver.trials.taggers"),
    Name("compare", "palaver.trials.compare"),
    Name("encode", "palaver.encoding"),
    Name("evaluate", "palaver.evaluate"),  # the package itself
    Name("exemplars", "palaver.ranking.exemplars"),
    Name("grasshopper", "palaver.ranking.grasshopper"),
    Name("load", "palaver.models.registry"),
    Name("outline", "palaver.ranking.outline"),
    Name("people", "palaver.ranking.people"),
    Name("rank", "palaver.ranking.baselines"),
    Name("read", "palaver.corpus.table"),
    Name("report", "palaver.page"),
    Name("sample", "palaver.corpus.sample"),
    Name("summarize", "palaver.ranking.summarize"),
    Name("to_label", "palaver.ranking.labelling"),
    Name("utterance_vectors", "palaver.encoding"),
    Name("with_labels", "palaver.corpus.filled"),
)  # fmt: skip


def commands(*kinds: str) -> list[str]:
    """Return what the command line calls all models of some kinds."""
    return [line.command for line in NAMES if line.kind in kinds]
