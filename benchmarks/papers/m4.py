"""M4, the block HMM and LDA on threads: the measurements of Paul (2012), section 5.

Every corpus is split 75/25 by conversation. Models are fitted on the first part, all with the
background of section 5.3; the best of the chains by log joint is the model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

import palaver as pv
from benchmarks.papers import Options, Size
from benchmarks.papers import m4_judge as judge
from benchmarks.papers.cells import Cell, Cells
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.models.registry import load

SEED = 0
#: The paper's models: M4 with the softmax of equation (2).
MODELS: dict[str, Callable[..., Any]] = {
    "lda": pv.LDA,
    "block-hmm": pv.BlockHMM,
    "m4": partial(pv.M4, transition="softmax"),
}
#: Raised when a model's sampler changes, so that its fits are computed again.
VERSIONS = {"m4": 2}
#: Time of a sweep relative to LDA's.
_COST = {"lda": 1.0, "block-hmm": 1.1, "m4": 2.6}


@dataclass(frozen=True)
class Source:
    """A corpus: its file below the data folder (None: built in) and how much of it is used.

    Attributes
    ----------
    path : str or None
    n_conversations : int or None
        Use only this many conversations, the first ones; None: all.
    is_talk : bool
        The file does not say who answers whom: every message answers the one before it.
    """

    path: str | None
    n_conversations: int | None = None
    is_talk: bool = False


@dataclass(frozen=True)
class Plan:
    """How much is done at one size of the experiment.

    The sweeps of the paper would take hours on the larger corpora, so its plan has the two small
    ones only. ``fewer`` has the numbers of classes of corpora that do not take all of ``classes``.
    """

    sources: Mapping[str, Source]
    classes: tuple[int, ...]
    n_chains: int
    n_sweeps: int
    n_samples: int
    fold_sweeps: int
    n_restarts: int
    fewer: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def classes_of(self, name: str) -> tuple[int, ...]:
        """Return the numbers of classes that are tried on a corpus."""
        return self.fewer.get(name, self.classes)


#: In the name of a corpus on which all models go without the background.
BARE = ", no background"
_RUMOURS = Source("rumoureval2017/rumoureval2017.jsonl.gz")
_MAIL = "r-help/r-help-2001-2002.jsonl.gz"
_FORUM = "4forums/4forums.jsonl.gz"
_IRC = "ubuntu-irc/ubuntu-irc.jsonl.gz"
_TALK = "swda/swda-full.jsonl.gz"
PLANS: dict[Size, Plan] = {
    "quick": Plan(
        {
            "sample": Source(None),
            "rumoureval2017": _RUMOURS,
            "r-help": Source(_MAIL, 400),
        },
        classes=(5, 15), n_chains=1, n_sweeps=200, n_samples=5, fold_sweeps=100,
        n_restarts=1,
    ),
    "full": Plan(
        {
            "sample": Source(None),
            "rumoureval2017": _RUMOURS,
            f"rumoureval2017{BARE}": _RUMOURS,
            "r-help": Source(_MAIL),
            "ubuntu-irc": Source(_IRC),
            "swda": Source(_TALK, 150, is_talk=True),
            "4forums": Source(_FORUM, 500),
        },
        classes=(5, 10, 15, 20, 25), n_chains=2, n_sweeps=1000, n_samples=10,
        fold_sweeps=500, n_restarts=2,
        fewer=dict.fromkeys(("r-help", "ubuntu-irc", "4forums"), (5, 15)),
    ),
    "paper": Plan(
        {
            "sample": Source(None),
            "rumoureval2017": _RUMOURS,
        },
        classes=(5, 10, 15, 20, 25), n_chains=4, n_sweeps=5000, n_samples=5,
        fold_sweeps=500, n_restarts=5,
    ),
}  # fmt: skip


@cache
def corpus_of(data: Path, source: Source) -> Corpus:
    """Read a corpus, or the part of it that is used."""
    corpus = pv.sample() if source.path is None else pv.read(data / source.path)
    if source.n_conversations is not None:
        corpus = corpus.take(range(min(source.n_conversations, corpus.n_conversations)))
    return corpus.chained() if source.is_talk else corpus


@cache
def training(data: Path, source: Source) -> Encoded:
    """Return the training part as arrays."""
    return encode(corpus_of(data, source).split(test=0.25, random_state=SEED)[0])


def fit_cell(options: Options, name: str, model: str, n_classes: int) -> Cell:
    """Return the cell that fits one model; the model is in ``folder / "model"``."""
    plan = PLANS[options.size]
    source = plan.sources[name]
    burn_in = plan.n_sweeps - plan.n_sweeps // 10 if options.size == "paper" else None
    params = {
        "n_classes": n_classes,
        "background": BARE not in name,
        "sampler": "collapsed",
        "n_chains": plan.n_chains,
        "n_sweeps": plan.n_sweeps,
        "burn_in": burn_in,
        "n_samples": plan.n_samples,
        "random_state": SEED,
    }

    def work(folder: Path) -> dict[str, Any]:
        encoded = training(options.data, source)
        fitted = MODELS[model](**params, n_jobs=options.n_jobs)
        fitted.fit(encoded, folder=folder / "model", show_progress=False)
        return {
            "n_conversations": encoded.n_conversations,
            "n_messages": encoded.n_messages,
            "n_tokens": encoded.n_tokens,
            "n_words": len(encoded.vocabulary),
            **fitted.convergence_,
        }

    version = {"version": VERSIONS[model]} if model in VERSIONS else {}
    settings = {
        "fit": model, "source": vars(source), **params, "split": [0.25, SEED], **version
    }  # fmt: skip
    cost = _COST[model] * (1 + n_classes / 25) * _SIZES.get(name, 1.0)
    return Cell(f"{name}/{model}/{n_classes}/fit", settings, work, cost)


#: Rough sizes of the corpora, for the estimate of the time left.
_SIZES = {
    "sample": 0.05, "rumoureval2017": 0.08, f"rumoureval2017{BARE}": 0.08, "ubuntu-irc": 0.4,
    "swda": 0.12, "r-help": 1.0,
}  # fmt: skip


def split_of(options: Options, name: str) -> tuple[Corpus, Corpus]:
    """Return the two parts of a corpus."""
    source = PLANS[options.size].sources[name]
    return corpus_of(options.data, source).split(test=0.25, random_state=SEED)


def judge_cells(options: Options, kept: Cells, name: str, fit: Cell) -> list[Cell]:
    """Return the cells that measure one fitted model."""
    plan = PLANS[options.size]
    place = fit.name.removesuffix("/fit")

    def cell(kind: str, work: Callable[[Any, Path], Any], cost: float, **settings: Any) -> Cell:
        def measure(folder: Path) -> Any:
            model = load(kept.folder(fit) / "model").set_params(n_jobs=options.n_jobs)
            return work(model, folder)

        given = {kind: 1, "of": fit.key, **settings}
        return Cell(f"{place}/{kind}", given, measure, cost * fit.cost)

    def test() -> Corpus:
        return split_of(options, name)[1]

    found = [
        cell(
            "perplexity", lambda m, _: judge.perplexities(m, test(), plan.fold_sweeps), 0.1,
            n_sweeps=plan.fold_sweeps, n_particles=judge.N_PARTICLES,
        )
    ]  # fmt: skip
    if "lda" not in place and name != "swda":
        found.append(
            cell(
                "replies",
                lambda m, _: judge.rebuilt(m, test(), plan.fold_sweeps, plan.n_restarts),
                0.5 if "m4" in place else 0.1,
                n_sweeps=plan.fold_sweeps, n_restarts=plan.n_restarts, **judge.HOT_START,
            )
        )  # fmt: skip
    if judge.labelled(name):
        source = plan.sources[name]
        given = {"topic": 1} if name == "sample" else {}
        found.append(
            cell(
                "acts", lambda m, f: judge.clusters(m, corpus_of(options.data, source), f), 0.1,
                **given,
            )
        )  # fmt: skip
    return found


def acts_cells(name: str, kept: Cells, measures: list[list[Cell]]) -> list[Cell]:
    """Return the cells that compare the models' classes with acts, one for each K."""

    def cell(parts: dict[str, Cell], n_classes: str) -> Cell:
        settings = {"against acts": 1, "of": {model: part.key for model, part in parts.items()}}

        def work(_: Path) -> dict[str, Any]:
            return judge.against_acts({m: kept.folder(part) for m, part in parts.items()})

        return Cell(f"{name}/{n_classes}/acts", settings, work, 0.02)

    by_size: dict[str, dict[str, Cell]] = {}
    for part in chain.from_iterable(measures):
        _, model, n_classes, kind = part.name.split("/")
        if kind == "acts":
            by_size.setdefault(n_classes, {})[model] = part
    return [cell(parts, n_classes) for n_classes, parts in by_size.items()]


def unigram_cell(options: Options, name: str) -> Cell:
    """Return the cell of the baseline that knows one distribution of words."""
    settings = {"unigram": 1, "source": vars(PLANS[options.size].sources[name])}
    return Cell(
        f"{name}/unigram", settings, lambda _: judge.unigram(*split_of(options, name)), 0.05
    )


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, corpus by corpus: fits, then what is measured of them."""
    plan = PLANS[options.size]
    result = []
    for name in plan.sources:
        fits = [
            fit_cell(options, name, model, n_classes)
            for n_classes in plan.classes_of(name)
            for model in MODELS
        ]
        measures = [judge_cells(options, kept, name, fit) for fit in fits]
        result += [*fits, unigram_cell(options, name), *chain.from_iterable(measures)]
        result += acts_cells(name, kept, measures)
    return result


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the page's text, from what is done."""
    from benchmarks.papers.m4_page import page_text

    return page_text(options, kept, results)
