"""Dialogue acts of Switchboard from utterance vectors: the measurements of Brychcín & Král (2017).

The usual rows (no ``+``, no ``@``: 196,258 training and 4,186 test utterances), 42 acts, the split
of Stolcke et al. (2000). Unsupervised models are fitted on the texts of the training part; all
settings were chosen on training conversations with training labels, never with test labels. States
of the test part come from frozen parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers import Options, Size
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.gaussian_hmm_page import page
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.encode import Encoded, encode
from palaver.encode.utterances import learn_pooling, word_vectors_of

__all__ = ["cells", "page"]

SEED = 0
VERSION = 1
_MEASURES = {
    "PU": evaluate.purity,
    "CO": evaluate.collocation,
    "F1": evaluate.f1,
    "HO": evaluate.homogeneity,
    "CM": evaluate.completeness,
    "V1": evaluate.v_measure,
}


@dataclass(frozen=True)
class Recipe:
    """A model and how its utterances become vectors."""

    model: str
    n_states: int
    vectors: str = "glove"
    weighting: str = "root-idf"
    pooling: str = "mean"
    unit: bool = True
    whiten: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How much is done at one size of the experiment."""

    n_conversations: int | None
    n_sweeps: int
    n_ablation: int
    n_seeds: int


PLANS: dict[Size, Plan] = {
    "quick": Plan(60, 20, 20, 1),
    "full": Plan(None, 80, 40, 3),
    "paper": Plan(None, 1000, 150, 5),
}

_PAPER = {"covariance": "full", "alpha": 50 / 42, "strength": 0.0, "extra_dof": 0.0,
          "scale": "identity", "init": "random"}  # fmt: skip


def hmm(n_states: int = 10, **changes: Any) -> Recipe:
    """Return the context GMM with Palaver's defaults but for some changes."""
    names = ("vectors", "weighting", "pooling", "unit", "whiten")
    shape = {name: changes.pop(name) for name in names if name in changes}
    return Recipe(changes.pop("model", "gaussian-hmm"), n_states, **shape, params=changes)


#: Rows of the main table.
ROWS = {
    "k-means, 42": Recipe("k-means", 42),
    "k-means, 10": Recipe("k-means", 10),
    "GMM, 10 states": hmm(model="gaussian-mixture"),
    "context GMM, 10 states": hmm(),
    "context GMM, 10 states, best of 4 chains by log joint": hmm(n_chains=4),
    "context GMM, 10 states, vectors from the corpus": hmm(vectors="corpus"),
    "GMM, 42 states": hmm(42, model="gaussian-mixture"),
    "context GMM, 42 states": hmm(42),
    "context GMM, 42 states, full covariance, whitened to 20": hmm(
        42, covariance="full", whiten=20
    ),
    "block HMM, 42": Recipe("block-hmm", 42),
    "M4, 42": Recipe("m4", 42),
}

#: Rows of the ablation: the headline with one thing changed.
ABLATION = {
    "the default": hmm(),
    "no context": hmm(model="gaussian-mixture"),
    "full covariance": hmm(covariance="full"),
    "diagonal covariance": hmm(covariance="diag"),
    "idf weights": hmm(weighting="idf"),
    "even weights": hmm(weighting="even"),
    "words of any length": hmm(unit=False),
    "words of any length, idf weights": hmm(unit=False, weighting="idf"),
    "sum of the vectors": hmm(pooling="sum"),
    "whitened to 10": hmm(whiten=10),
    "whitened to 20": hmm(whiten=20),
    "whitened to 40": hmm(whiten=40),
    "whitened, all 100": hmm(whiten=100),
    "whitened to 20, full covariance": hmm(whiten=20, covariance="full"),
    "random start": hmm(init="random"),
    "random start, annealed from 10": hmm(init="random", hottest=10.0),
    "annealed from 5": hmm(hottest=5.0),
    "prior scale 0.05": hmm(scale=0.05),
    "prior scale 5": hmm(scale=5.0),
    "alpha 0.01": hmm(alpha=0.01),
    "alpha 20": hmm(alpha=20.0),
    "4 states": hmm(4),
    "7 states": hmm(7),
    "15 states": hmm(15),
    "42 states": hmm(42),
    "42 states, full covariance, whitened to 20": hmm(42, whiten=20, covariance="full"),
    "42 states, the paper's prior": hmm(42, **_PAPER),
    "42 states, the paper's prior, whitened to 20": hmm(42, whiten=20, **_PAPER),
    "vectors from the corpus": hmm(vectors="corpus"),
}


@cache
def usual(data: Path) -> Corpus:
    """Return the usual rows of Switchboard; each utterance answers the one before."""
    corpus = pv.read(data / "swda/swda-full.jsonl.gz")
    rows = ~corpus.table["raw_act"].str.contains("[+@]").fill_null(False)
    table = corpus.table.filter(rows).with_columns(reply_to=pl.lit(None, pl.String))
    return Corpus.from_polars(table).chained()


def part_of(corpus: Corpus, split: str, n: int | None = None) -> Corpus:
    """Return the conversations of one part, or ``n`` of them, evenly spread."""
    firsts = corpus.table["split"].to_numpy()[corpus.conversation_offsets[:-1]]
    chosen = np.flatnonzero(firsts == split)
    return corpus.take(chosen if n is None else chosen[:: max(len(chosen) // n, 1)][:n])


@cache
def glove(data: Path) -> pv.WordVectors:
    """Return the 100-dimensional GloVe vectors, with the estimated ones for i, a, don't ..."""
    return pv.WordVectors.read(data / "glove-100d")


def found_states(
    recipe: Recipe, options: Options, train: Corpus, others: list[Corpus], n_sweeps: int, seed: int
) -> list[np.ndarray]:
    """Fit a recipe to ``train``; return the states of its utterances and of the others'."""
    if recipe.model in ("m4", "block-hmm"):
        return _word_states(recipe, options, train, others, n_sweeps, seed)
    encoded = encode(train)
    vectors: Any = glove(options.data) if recipe.vectors == "glove" else recipe.vectors
    pool = learn_pooling(
        encoded, word_vectors_of(encoded, vectors), weighting=recipe.weighting,
        pooling=recipe.pooling, unit=recipe.unit, whiten=recipe.whiten,
    )  # fmt: skip
    parts = [encoded, *(encode(other, encoded.vocabulary) for other in others)]
    arrays = [(pool(part), np.diff(part.conversation_offsets)) for part in parts]
    if recipe.model == "k-means":
        from sklearn.cluster import KMeans

        means = KMeans(recipe.n_states, n_init=1, random_state=seed).fit(arrays[0][0])
        return [means.predict(X) for X, _ in arrays]
    kind = pv.GaussianHMM if recipe.model == "gaussian-hmm" else pv.GaussianMixture
    model = kind(
        recipe.n_states, sampler="blocked", n_sweeps=n_sweeps, random_state=seed,
        n_jobs=options.n_jobs, **recipe.params,
    )  # fmt: skip
    model.fit(*arrays[0], show_progress=False)
    return [model.predict(X, lengths) for X, lengths in arrays]


def _word_states(
    recipe: Recipe, options: Options, train: Corpus, others: list[Corpus], n_sweeps: int, seed: int
) -> list[np.ndarray]:
    kind = {"m4": pv.M4, "block-hmm": pv.BlockHMM}[recipe.model]
    encoded: Encoded = encode(train)
    model = kind(
        recipe.n_states, sampler="parallel", n_sweeps=n_sweeps, random_state=seed,
        n_jobs=options.n_jobs,
    ).fit(encoded, show_progress=False)  # fmt: skip
    parts = [encoded, *(encode(other, encoded.vocabulary) for other in others)]
    return [model.transform(part, 10).argmax(axis=1) for part in parts]


def measures(states: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    """Return the clustering measures of the paper, and how many states are used."""
    table = evaluate.contingency(states, gold)
    found = {name: float(measure(table)) for name, measure in _MEASURES.items()}
    return {"states": len(np.unique(states)), **found}


def judged(states: list[np.ndarray], corpora: list[Corpus]) -> dict[str, Any]:
    """Judge states of (train, dev, test): the test part, and all parts together.

    Accuracy reads each state as the act that is most frequent in it in the training part, and
    one that the training part does not have as the most frequent act of all.
    """
    golds = [corpus.table["act"].to_numpy() for corpus in corpora]
    names, codes = np.unique(golds[0], return_inverse=True)
    votes = np.zeros((max(part.max() for part in states) + 1, len(names)))
    np.add.at(votes, (states[0], codes), 1)
    votes[votes.sum(axis=1) == 0] = votes.sum(axis=0)
    act_of = names[votes.argmax(axis=1)]
    result = {}
    for part, k in (("test", [2]), ("all", [0, 1, 2])):
        mine = np.concatenate([states[i] for i in k])
        gold = np.concatenate([golds[i] for i in k])
        accuracy = evaluate.accuracy(act_of[mine], gold)
        result[part] = {"AC": accuracy, **measures(mine, gold)}
    return result


@cache
def corpora(options: Options) -> list[Corpus]:
    """Return train, dev and test."""
    corpus = usual(options.data)
    n = PLANS[options.size].n_conversations
    return [part_of(corpus, split, n if split == "train" else None)
            for split in ("train", "dev", "test")]  # fmt: skip


def row_cell(options: Options, name: str, recipe: Recipe) -> Cell:
    """Return the cell of one row of the main table."""
    plan = PLANS[options.size]

    def work(folder: Path) -> dict[str, Any]:
        parts = corpora(options)
        states = found_states(recipe, options, parts[0], parts[1:], plan.n_sweeps, SEED)
        return judged(states, parts)

    settings = {"row": asdict(recipe), "plan": asdict(plan), "seed": SEED, "version": VERSION}
    return Cell(f"row/{name}", settings, work, cost=_cost(recipe) * 20)


def trivial_cell(options: Options) -> Cell:
    """Return the cell of states that know nothing."""

    def work(folder: Path) -> dict[str, Any]:
        parts = corpora(options)
        sizes = [part.n_messages for part in parts]
        ends = np.cumsum([0, *sizes])
        rows = {
            "random, 42": [evaluate.random_classes(n, 42, seed) for seed, n in enumerate(sizes)],
            "one state (majority)": [np.zeros(n, np.int64) for n in sizes],
            "one state an utterance (distinct)": [
                np.arange(first, last) for first, last in pairwise(ends)
            ],
        }
        return {name: judged(states, parts) for name, states in rows.items()}

    settings = {"trivial": 2, "plan": asdict(PLANS[options.size]), "version": VERSION}
    return Cell("trivial", settings, work, cost=2)


def facts_cell(options: Options) -> Cell:
    """Return the cell of what the page says of the data."""

    def work(folder: Path) -> dict[str, Any]:
        sizes = [part.n_messages for part in corpora(options)]
        coverage = glove(options.data).coverage(encode(usual(options.data), min_count=1))
        return {**dict(zip(("n_train", "n_dev", "n_test"), sizes, strict=True)),
                "coverage": coverage}  # fmt: skip

    settings = {"facts": 1, "plan": asdict(PLANS[options.size]), "version": VERSION}
    return Cell("facts", settings, work)


def maxent_cell(options: Options, context: bool, features: str) -> Cell:
    """Return the cell of one supervised tagger."""
    params = {"context": context, "features": features, "min_count": 5, "max_iter": 40}

    def work(folder: Path) -> dict[str, Any]:
        train, _, test = corpora(options)
        tagger = pv.MaxEntTagger(**params).fit(train, vectors=glove(options.data))
        gold, found = test.table["act"].to_numpy(), tagger.predict(test)
        return {"test": {"AC": evaluate.accuracy(found, gold), **measures(found, gold)}}

    settings = {"maxent": params, "plan": asdict(PLANS[options.size]), "version": VERSION}
    name = f"{'context ' if context else ''}MaxEnt, {features}"
    return Cell(f"maxent/{name}", settings, work, cost=40 if context else 15)


def ablation_cell(options: Options, name: str, recipe: Recipe) -> Cell:
    """Return the cell of one change to the headline, on training conversations alone."""
    plan = PLANS[options.size]

    def work(folder: Path) -> list[dict[str, float]]:
        train = part_of(usual(options.data), "train", plan.n_ablation)
        gold = train.table["act"].to_numpy()
        return [
            measures(found_states(recipe, options, train, [], plan.n_sweeps // 2, seed)[0], gold)
            for seed in range(plan.n_seeds)
        ]

    settings = {"ablation": asdict(recipe), "plan": asdict(plan), "version": VERSION}
    return Cell(f"ablation/{name}", settings, work, cost=_cost(recipe))


def _cost(recipe: Recipe) -> float:
    size = (recipe.whiten or 100) / 20
    full = recipe.params.get("covariance") == "full"
    return recipe.n_states / 10 * (size**2 if full else size) + 1


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, the cheap ones first."""
    return [
        facts_cell(options),
        trivial_cell(options),
        *(ablation_cell(options, name, recipe) for name, recipe in ABLATION.items()),
        *(row_cell(options, name, recipe) for name, recipe in ROWS.items()),
        *(
            maxent_cell(options, context, features)
            for features in ("words", "vectors")
            for context in (False, True)
        ),
    ]
