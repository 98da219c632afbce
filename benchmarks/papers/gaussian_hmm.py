"""Dialogue acts of Switchboard from utterance vectors: the measurements of Brychcín & Král (2017).

The usual rows (no ``+``, no ``@``: 196,258 training and 4,186 test utterances), 42 acts, split as
in Stolcke et al. (2000). Unsupervised models are fitted to the texts of the training set; all
settings were chosen on training conversations with training labels, never with test labels. States
of the test set come from frozen parameters. Every row has as many sweeps as the others, and every
setting that matters is written down here, so that a default that changes does not change a row.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
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
from benchmarks.papers.gaussian_hmm_page import (
    DEFAULT,
    HEADLINE,
    INFINITE,
    MIXTURE,
    PUBLISHED,
    page,
)
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.encoding import Encoded, encode
from palaver.encoding.utterances import learn_pooling, word_vectors_of
from palaver.models.gaussian.acts import join_states

__all__ = ["cells", "page"]

SEED = 0
VERSION = 3
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
    """A model, and how utterances become vectors."""

    model: str
    n_states: int | None
    vectors: str = "glove"
    weighting: str = "root-idf"
    pooling: str = "mean"
    normalize: bool = True
    whiten: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """How much to compute at one size of the experiment."""

    n_conversations: int | None
    n_sweeps: int
    n_ablation: int
    n_seeds: int


PLANS: dict[Size, Plan] = {
    "quick": Plan(60, 20, 20, 1),
    "full": Plan(None, 200, 40, 3),
    "paper": Plan(None, 1000, 150, 5),
}

#: What the paper says of its model: idf weights, one covariance a state, these priors, a random
#: start. It has the collapsed sampler; the blocked one has the same posterior.
_PAPER = {"covariance": "full", "transition_prior": 50 / 42, "strength": 0.0, "extra_dof": 0.0,
          "scale": "identity", "init": "random"}  # fmt: skip
_PAPER_VECTORS = {"weighting": "idf", "normalize": False}
#: The settings of the vector models, where a row changes nothing.
_SETTINGS = {"covariance": "tied", "transition_prior": 1.0, "strength": 0.1, "extra_dof": 2.0,
             "scale": 0.5, "init": "kmeans", "start_temperature": 1.0}  # fmt: skip
#: Numbers of acts to merge the default's states into, in the ablation.
ACTS = (6, 8, 10, 11, 12, 13, 14, 16, 20)


def hmm(n_states: int | None = 42, **changes: Any) -> Recipe:
    """Return the context GMM with the settings of this page, except for some changes."""
    names = ("vectors", "weighting", "pooling", "normalize", "whiten")
    shape = {name: changes.pop(name) for name in names if name in changes}
    model = changes.pop("model", "gaussian-hmm")
    return Recipe(model, n_states, **shape, params={**_SETTINGS, **changes})


def words(model: str, n_states: int = 42, **changes: Any) -> Recipe:
    """Return a model of words; with this many words, "auto" is the parallel sampler."""
    return Recipe(model, n_states, params={"background": True, "sampler": "collapsed", **changes})


#: Rows of the main table; vector models also appear with their states merged into acts.
ROWS = {
    HEADLINE: hmm(),
    MIXTURE: hmm(model="gaussian-mixture"),
    "k-means, 42": Recipe("k-means", 42),
    "context GMM, 12 states": hmm(12),
    "context GMM, 42 states, vectors from the corpus": hmm(vectors="corpus"),
    INFINITE: hmm(None),
    "block HMM, 42": words("block-hmm"),
    "block HMM, 42, parallel": words("block-hmm", sampler="auto"),
    "block HMM, no background, 42, parallel": words("block-hmm", sampler="auto", background=False),
    "M4, softmax, 42": words("m4", transition="softmax"),
    "M4, softmax, 42, parallel": words("m4", transition="softmax", sampler="auto"),
    "M4, Dirichlet, 42": words("m4", transition="dirichlet"),
    "M4, Dirichlet, 42, parallel": words("m4", transition="dirichlet", sampler="auto"),
    "M4, Dirichlet, 12": words("m4", 12, transition="dirichlet"),
    "M4, Dirichlet, 12, parallel": words("m4", 12, transition="dirichlet", sampler="auto"),
    "context GMM, 42 states, full covariance, whitened to 20": hmm(covariance="full", whiten=20),
    PUBLISHED.format(50): hmm(vectors="glove-50", **_PAPER_VECTORS, **_PAPER),
    "context GMM, 42 states, best of 4 chains by log joint": hmm(n_chains=4),
    PUBLISHED.format(100): hmm(**_PAPER_VECTORS, **_PAPER),
    DEFAULT.format("GloVe"): Recipe("default", pv.GaussianHMM().n_states),
    DEFAULT.format("vectors from the corpus"): Recipe(
        "default", pv.GaussianHMM().n_states, vectors="corpus"
    ),
}

#: Rows of the ablation: the first row of the main table with one thing changed.
ABLATION = {
    "as above": hmm(),
    "no context": hmm(model="gaussian-mixture"),
    "idf weights": hmm(weighting="idf"),
    "even weights": hmm(weighting="even"),
    "words of any length": hmm(normalize=False),
    "words of any length, idf weights": hmm(normalize=False, weighting="idf"),
    "sum of the vectors": hmm(pooling="sum"),
    "diagonal covariance": hmm(covariance="diag"),
    "whitened to 20": hmm(whiten=20),
    "whitened to 50": hmm(whiten=50),
    "whitened, all 100": hmm(whiten=100),
    "whitened to 20, full covariance": hmm(whiten=20, covariance="full"),
    "whitened to 20, the paper's prior": hmm(whiten=20, **_PAPER),
    "random start": hmm(init="random"),
    "random start, annealed from 10": hmm(init="random", start_temperature=10.0),
    "annealed from 5": hmm(start_temperature=5.0),
    "prior scale 0.05": hmm(scale=0.05),
    "prior scale 5": hmm(scale=5.0),
    "alpha 0.01": hmm(transition_prior=0.01),
    "alpha 20": hmm(transition_prior=20.0),
    "20 states": hmm(20),
    "30 states": hmm(30),
    "vectors from the corpus": hmm(vectors="corpus"),
    "full covariance": hmm(covariance="full"),
    "full covariance, idf weights": hmm(covariance="full", weighting="idf"),
    "the paper's settings": hmm(**_PAPER_VECTORS, **_PAPER),
}


@cache
def usual(data: Path) -> Corpus:
    """Return the usual rows of Switchboard; each utterance replies to the previous one."""
    corpus = pv.read(data / "swda/swda-full.jsonl.gz")
    rows = ~corpus.table["raw_act"].str.contains("[+@]").fill_null(False)
    table = corpus.table.filter(rows).with_columns(reply_to=pl.lit(None, pl.String))
    return Corpus.from_polars(table).chained()


def part_of(corpus: Corpus, split: str, n: int | None = None) -> Corpus:
    """Return the conversations of one split, or ``n`` of them, evenly spread."""
    firsts = corpus.table["split"].to_numpy()[corpus.conversation_offsets[:-1]]
    chosen = np.flatnonzero(firsts == split)
    return corpus.take(chosen if n is None else chosen[:: max(len(chosen) // n, 1)][:n])


@cache
def glove(data: Path) -> pv.WordVectors:
    """Return the 100-dimensional GloVe vectors, with the estimated ones for i, a, don't ..."""
    return pv.WordVectors.read(data / "glove-100d")


def vectors_of(name: str, data: Path) -> Any:
    """Return word vectors: ``glove``, ``glove-50`` (its first principal components) or a name."""
    if name == "glove":
        return glove(data)
    if not name.startswith("glove-"):
        return name
    whole = glove(data)
    centred = whole.vectors - whole.vectors.mean(axis=0)
    axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1]
    return pv.WordVectors(whole.words, centred @ axes[:, : int(name.removeprefix("glove-"))])


def found_states(
    recipe: Recipe,
    options: Options,
    train: Corpus,
    others: list[Corpus],
    n_sweeps: int,
    seed: int,
    acts: Sequence[int] = (12,),
) -> dict[str, list[np.ndarray]]:
    """Fit a recipe to ``train``; return the states of its utterances and of the others'.

    ``"fitted"`` holds the states themselves; vector models also have the states merged into each
    number of ``acts``.
    """
    if recipe.model in ("m4", "block-hmm"):
        return {"fitted": _word_states(recipe, options, train, others, n_sweeps, seed)}
    encoded = encode(train)
    vectors = vectors_of(recipe.vectors, options.data)
    if recipe.model == "default":
        parts = [encoded, *(encode(other, encoded.vocabulary) for other in others)]
        return _default_states(parts, vectors, options, n_sweeps, seed, acts)
    pool = learn_pooling(
        encoded, word_vectors_of(encoded, vectors), weighting=recipe.weighting,
        pooling=recipe.pooling, normalize=recipe.normalize, whiten=recipe.whiten,
    )  # fmt: skip
    parts = [encoded, *(encode(other, encoded.vocabulary) for other in others)]
    arrays = [(pool(part), np.diff(part.conversation_offsets)) for part in parts]
    if recipe.model == "k-means":
        return _centres(recipe, [X for X, _ in arrays], acts, seed)
    kind = pv.GaussianHMM if recipe.model == "gaussian-hmm" else pv.GaussianMixture
    params = {"n_jobs": options.n_jobs, **recipe.params}
    model = kind(recipe.n_states, sampler="blocked", n_sweeps=n_sweeps, random_state=seed, **params)
    model.fit(*arrays[0], show_progress=False)
    return _merged_states(model, arrays, acts)


def _merged_states(
    model: Any, parts: Sequence[tuple[Any, ...]], acts: Sequence[int]
) -> dict[str, list[np.ndarray]]:
    """Return the states of all parts as fitted, and merged into each number of acts."""
    found = {}
    for number in [None, *(n for n in acts if n < model.n_states_)]:
        model.set_params(n_acts=number)._set_estimates()  # the fit itself does not depend on it
        name = "fitted" if number is None else str(number)
        states = [model.predict(*part) for part in parts]
        silent = max(part.max() for part in states) + 1  # utterances without a word have -1
        found[name] = [np.where(part < 0, silent, part) for part in states]
    return found


def _default_states(
    parts: list[Encoded], vectors: Any, options: Options, n_sweeps: int, seed: int,
    acts: Sequence[int],
) -> dict[str, list[np.ndarray]]:  # fmt: skip
    """Return the states of Palaver's default, which also emits marks and weighs its vectors."""
    model = pv.GaussianHMM(n_sweeps=n_sweeps, random_state=seed, n_jobs=options.n_jobs)
    model.fit(parts[0], vectors=vectors, show_progress=False)
    return _merged_states(model, [(part,) for part in parts], acts)


def _centres(
    recipe: Recipe, arrays: list[np.ndarray], acts: Sequence[int], seed: int
) -> dict[str, list[np.ndarray]]:
    """Cluster by k-means, and merge the clusters as the models merge their states."""
    from sklearn.cluster import KMeans

    means = KMeans(recipe.n_states, n_init=1, random_state=seed).fit(arrays[0])
    found = {"fitted": [means.predict(X) for X in arrays]}
    within = arrays[0] - means.cluster_centers_[means.labels_]
    covariance = within.T @ within / len(within)
    counts = np.bincount(means.labels_, minlength=recipe.n_states).astype(float)
    for number in acts:
        act_of = join_states(means.cluster_centers_, covariance, counts, number)
        found[str(number)] = [act_of[states] for states in found["fitted"]]
    return found


def _word_states(
    recipe: Recipe, options: Options, train: Corpus, others: list[Corpus], n_sweeps: int, seed: int
) -> list[np.ndarray]:
    kind = {"m4": pv.M4, "block-hmm": pv.BlockHMM}[recipe.model]
    encoded: Encoded = encode(train)
    model = kind(
        recipe.n_states, n_sweeps=n_sweeps, random_state=seed, n_jobs=options.n_jobs,
        **recipe.params,
    ).fit(encoded, show_progress=False)  # fmt: skip
    parts = [encoded, *(encode(other, encoded.vocabulary) for other in others)]
    return [model.transform(part).argmax(axis=1) for part in parts]


def measures(states: np.ndarray, gold: np.ndarray) -> dict[str, float]:
    """Return the paper's clustering measures and the number of states in use."""
    table = evaluate.contingency(states, gold)
    found = {name: float(measure(table)) for name, measure in _MEASURES.items()}
    return {"states": len(np.unique(states)), **found}


def judged(states: list[np.ndarray], corpora: list[Corpus]) -> dict[str, Any]:
    """Score the states of (train, dev, test): on the test set, and on all three together.

    Accuracy reads each state as its most frequent act in the training set; a state that does not
    occur there counts as the most frequent act overall.
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
    """Return the cell for one row of the main table."""
    plan = PLANS[options.size]

    def work(folder: Path) -> dict[str, Any]:
        parts = corpora(options)
        start, busy = time.monotonic(), time.process_time()
        found = found_states(recipe, options, parts[0], parts[1:], plan.n_sweeps, SEED)
        times = {"seconds": time.monotonic() - start, "busy": time.process_time() - busy,
                 "sweeps": plan.n_sweeps}  # fmt: skip
        return {name: judged(states, parts) for name, states in found.items()} | {"times": times}

    settings = {"row": asdict(recipe), "plan": asdict(plan), "seed": SEED, "version": VERSION}
    return Cell(f"row/{name}", settings, work, cost=_cost(recipe) * 20)


def trivial_cell(options: Options) -> Cell:
    """Return the cell for the trivial baselines."""

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

    settings = {"trivial": 3, "n_conversations": PLANS[options.size].n_conversations}
    return Cell("trivial", settings, work, cost=2)


def facts_cell(options: Options) -> Cell:
    """Return the cell for the page's facts about the data."""

    def work(folder: Path) -> dict[str, Any]:
        sizes = [part.n_messages for part in corpora(options)]
        coverage = glove(options.data).coverage(encode(usual(options.data), min_count=1))
        return {**dict(zip(("n_train", "n_dev", "n_test"), sizes, strict=True)),
                "coverage": coverage}  # fmt: skip

    settings = {"facts": 2, "n_conversations": PLANS[options.size].n_conversations}
    return Cell("facts", settings, work)


def maxent_cell(options: Options, context: bool, inputs: str) -> Cell:
    """Return the cell for one supervised tagger."""
    params = {"context": context, "inputs": inputs, "min_count": 5, "max_iter": 40}

    def work(folder: Path) -> dict[str, Any]:
        train, _, test = corpora(options)
        seen = ["words", "pairs"] if inputs != "vectors" else []
        given = glove(options.data) if inputs != "words" else None
        tagger = pv.MaxEntTagger(context, seen, previous=0, min_count=5).fit(train, vectors=given)
        gold, found = test.table["act"].to_numpy(), tagger.predict(test)
        return {"test": {"AC": evaluate.accuracy(found, gold), **measures(found, gold)}}

    settings = {"maxent": params, "n_conversations": PLANS[options.size].n_conversations}
    name = f"{'context ' if context else ''}MaxEnt, {inputs}"
    return Cell(f"maxent/{name}", settings, work, cost=40 if context else 15)


def ablation_cell(options: Options, name: str, recipe: Recipe) -> Cell:
    """Return the cell for one change to the headline, on training conversations only."""
    plan = PLANS[options.size]

    def work(folder: Path) -> list[dict[str, Any]]:
        train = part_of(usual(options.data), "train", plan.n_ablation)
        gold = train.table["act"].to_numpy()
        acts = ACTS if name == "as above" else (12,)
        return [
            {
                acts: measures(states[0], gold)
                for acts, states in found_states(
                    recipe, options, train, [], plan.n_sweeps, seed, acts
                ).items()
            }
            for seed in range(plan.n_seeds)
        ]

    settings = {"ablation": asdict(recipe), "plan": asdict(plan), "version": VERSION}
    return Cell(f"ablation/{name}", settings, work, cost=_cost(recipe))


def context_cell(options: Options) -> Cell:
    """Return the cell that compares the states with and without context, utterance by utterance."""
    plan = PLANS[options.size]
    recipes = [ABLATION["as above"], ABLATION["no context"]]

    def work(folder: Path) -> list[dict[str, float]]:
        train = part_of(usual(options.data), "train", plan.n_ablation)
        shares = []
        for seed in range(plan.n_seeds):
            with_it, without = (
                found_states(recipe, options, train, [], plan.n_sweeps, seed) for recipe in recipes
            )
            shares.append(
                {name: float(evaluate.one_to_one(with_it[name][0], without[name][0]))
                 for name in ("fitted", "12")}
            )  # fmt: skip
        return shares

    settings = {"context": [asdict(recipe) for recipe in recipes], "plan": asdict(plan),
                "version": VERSION}  # fmt: skip
    return Cell("context", settings, work, cost=2 * _cost(recipes[0]))


def _cost(recipe: Recipe) -> float:
    size = (recipe.whiten or (50 if recipe.vectors == "glove-50" else 100)) / 20
    full = recipe.params.get("covariance") == "full"
    chains = recipe.params.get("n_chains", 1)
    return chains * (recipe.n_states or 60) / 10 * (size**2 if full else size) + 1


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells: the main rows first, the expensive ones last."""
    rows = [row_cell(options, name, recipe) for name, recipe in ROWS.items()]
    costly = sum(cell.cost > 1000 for cell in rows)
    rows.sort(key=lambda cell: cell.cost > 1000)
    taggers = [maxent_cell(options, context, inputs)
               for inputs in ("words", "vectors", "both") for context in (False, True)]  # fmt: skip
    return [
        facts_cell(options),
        trivial_cell(options),
        *rows[: len(rows) - costly],
        context_cell(options),
        *(ablation_cell(options, name, recipe) for name, recipe in ABLATION.items()),
        *taggers,
        *rows[len(rows) - costly :],
    ]
