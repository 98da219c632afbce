"""Markov M3, LDA and trees of topics: the measurements of Zhang & Paisley (2015), section 4.

A tenth of the documents of each corpus is for testing. All models see the same 90% of the words of
these documents and predict the other 10%: ``p(w) = sum_k share_k p(w | k)``. Our models learn
their priors; tomotopy's have a word prior of 0.01, LDA also the one that is best on training words;
these average ten samples of a document's shares, and so does HDP; hierarchical LDA, which does not
say which path it found for a new document, has its topics folded in by LDA's step. Variational LDA,
the nested HDP and M3 start with the same number of Gibbs sweeps and make the same number of passes
over the documents. Tags are learned online.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import palaver as pv
from benchmarks.papers import Options, Size
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.markov_m3_online import PASSES, curves, perplexity
from benchmarks.papers.markov_m3_online import SEED as STREAM_SEED
from benchmarks.papers.markov_m3_page import write_page
from benchmarks.papers.markov_m3_pictures import draw
from palaver.encoding import encode
from palaver.encoding.documents import Documents, documents_of
from palaver.models.documents.heldout import hold_out_words
from palaver.models.documents.model import START_PER_TOPIC
from palaver.models.documents.stream import begin_stream
from palaver.parallel import Globals

SEED, VERSION, BATCH_VERSION, ONLINE_VERSION, STREAM_VERSION = 0, 3, 6, 4, 3
#: Topics of the models that learn from a stream.
STREAM_TOPICS = 50
#: Up to this number of topics all of our models begin with 100 Gibbs sweeps and have walks of 15
#: positions; with more topics both grow, and the models of "FEW" have the 100 sweeps of before.
SAME_START = 50
FEW = ("lda-vb-few", "m3-few")
#: Gibbs sampling with twice the sweeps, with the most topics.
MORE = ("lda-tuned-more",)
MODELS = ("lda-vb", "lda-gibbs", "lda-tuned", "hdp", "hlda", "m3", "nhdp", *FEW, *MORE)
#: Models that find their own number of topics, and are fitted once per corpus.
GROWING = ("hdp", "hlda")
#: Models that are fitted with more seeds.
SEEDED = ("lda-vb", "lda-tuned", "m3", "nhdp", "m3-few")
#: Word priors of tomotopy's LDA to choose from, and where: on training words of these corpora.
ETAS, ETA_CORPORA, ETA_TOPICS = (0.01, 0.03, 0.1, 0.3), ("ap", "kos"), 50
#: The best of them on both (cells "ap/eta/...", "kos/eta/..."), and of a tree ("ap/tree/...").
BEST_ETA, TREE_ETA = 0.03, 0.3
#: Levels of a tree of topics.
TREE_DEPTH = 3
#: Share prior, over all topics together, of the step by which the topics of any model are folded
#: into the test documents for comparison.
COMMON_PRIOR = 5.0
#: Children of a topic of the nested HDP to choose from, on training words (cells
#: "ap/branching/..."), and the best on both corpora; only these are fitted.
BRANCHINGS, BEST_BRANCHING, NESTED_CORPORA = (2, 4, 8, 16), 8, ("ap", "kos")
#: Sweeps after which to take samples of the shares of new documents from tomotopy.
INFERENCES = range(20, 60, 4)


@dataclass(frozen=True)
class Plan:
    """How much to compute at one size of the experiment: batch, Gibbs and online passes.

    Our models start with half as many Gibbs sweeps as the sampler they are compared with, or more.
    """

    corpora: tuple[str, ...]
    topics: tuple[int, ...]
    n_sweeps: int
    n_gibbs: int
    n_passes: int
    online: tuple[str, ...]
    sensitivity: int
    tag_topics: int
    more_seeds: tuple[int, ...] = ()

    @property
    def passes(self) -> dict[str, int]:
        """Sweeps of our models, with few topics."""
        return {"start_sweeps": self.n_gibbs // 2, "n_sweeps": self.n_sweeps}

    def longer(self, n_topics: int) -> dict[str, int]:
        """Sweeps of our models: with many topics, two at first for each."""
        few = self.passes
        return {**few, "start_sweeps": max(few["start_sweeps"], START_PER_TOPIC * n_topics)}


PLANS: dict[Size, Plan] = {
    "quick": Plan(("ap",), (20,), 8, 60, 2, ("kos",), 20, 0),
    "full": Plan(("ap", "kos", "nips", "20news"), (20, 50, 100, 150), 20, 200, 6,
                 ("kos", "20news", "nips"), 20, 50, (1, 2)),
    "paper": Plan(("ap", "kos", "nips", "20news"), (20, 50, 100, 150), 60, 1000, 20,
                  ("kos", "20news", "nips"), 100, 100, (1, 2)),
}  # fmt: skip
TRUNCATIONS = (3, 5, 10, 15, 25)
#: Of walks through many topics, by their number; one more topic may be visited.
LONG_TRUNCATIONS = {100: (15, 30), 150: (30,)}
GAMMAS: tuple[float | str, ...] = (0.3, 1.0, 3.0, 10.0, "learn")
SWAPPED = (20, 100)
BETAS, ALPHAS = (0.02, 0.1, 0.3), (2.0, 200.0)
_FILES = {"20news": "20news/docword.20news-train.txt.gz"}


@dataclass(frozen=True)
class Split:
    """Training documents, and observed and held-out words of the test documents."""

    train: Documents
    observed: Documents
    heldout: Documents


@cache
def split_of(data: Path, name: str) -> Split:
    """Read and split a corpus; 20news loses words that occur in over half of the documents."""
    corpus = pv.read(data / _FILES.get(name, f"{name}/docword.{name}.txt.gz"))
    few = {"min_count": 10, "max_share": 0.5} if name == "20news" else {"min_count": 1}
    documents = documents_of(encode(corpus, **few))
    order = np.random.default_rng(SEED).permutation(documents.n_documents)
    n_test = documents.n_documents // 10
    observed, heldout = hold_out_words(documents.take(order[:n_test]), 0.9, SEED)
    return Split(documents.take(order[n_test:]), observed, heldout)


def _words_of(documents: Documents, d: int) -> list[str]:
    """Return a document as tomotopy takes it."""
    own = slice(int(documents.offsets[d]), int(documents.offsets[d + 1]))
    counts = documents.counts[own].astype(int)
    return [str(w) for w in np.repeat(documents.words[own], counts).tolist()]


def common_perplexity(split: Split, words: NDArray[np.float64]) -> float:
    """Return the perplexity with given topics (K, W), folded in by variational LDA's step."""
    n_topics = len(words)
    model = pv.OnlineLDA(n_topics, share_prior=COMMON_PRIOR / n_topics, random_state=SEED)
    begin_stream(model, split.train.vocabulary, np.ascontiguousarray(words.T) * 1e9)
    return model.perplexity(split.observed, split.heldout)


@cache
def training_split(data: Path, name: str) -> Split:
    """Return a split of the training documents alone, on which settings are chosen."""
    documents = split_of(data, name).train
    order = np.random.default_rng(SEED).permutation(documents.n_documents)
    n_judged = documents.n_documents // 10
    observed, heldout = hold_out_words(documents.take(order[:n_judged]), 0.9, SEED)
    return Split(documents.take(order[n_judged:]), observed, heldout)


def _tomotopy(kind: str, n_topics: int, eta: float, seed: int) -> Any:
    """Return one of tomotopy's models, which learns its priors in its default way."""
    import tomotopy

    if kind.startswith("lda"):
        return tomotopy.LDAModel(k=n_topics, seed=seed, eta=eta)
    if kind == "hdp":
        return tomotopy.HDPModel(initial_k=n_topics, seed=seed)
    return tomotopy.HLDAModel(depth=TREE_DEPTH, seed=seed, eta=eta)


def fit_tomotopy(
    kind: str,
    split: Split,
    n_topics: int,
    n_sweeps: int,
    n_jobs: int,
    eta: float = 0.01,
    seed: int = SEED,
) -> tuple[Any, list[int], NDArray[np.float64]]:
    """Fit one of tomotopy's models; return it, its live topics and their words, (topics, W)."""
    model = _tomotopy(kind, n_topics, eta, seed)
    for d in range(split.train.n_documents):
        words = _words_of(split.train, d)
        if words:
            model.add_doc(words)
    model.train(n_sweeps, workers=n_jobs)
    live = [k for k in range(model.k) if kind not in GROWING or model.is_live_topic(k)]
    places = [int(word) for word in model.used_vocabs]
    smooth = 0.01 / len(split.train.vocabulary)  # words that training never saw
    words = np.full((len(live), len(split.train.vocabulary)), smooth)
    for row, k in enumerate(live):
        words[row, places] += model.get_topic_word_dist(k)
    return model, live, words / words.sum(axis=1, keepdims=True)


def tomotopy_perplexity(
    kind: str,
    split: Split,
    n_topics: int,
    n_sweeps: int,
    n_jobs: int,
    eta: float = 0.01,
    seed: int = SEED,
) -> dict[str, Any]:
    """Fit one of tomotopy's models, and predict with shares averaged over samples of a chain."""
    model, live, words = fit_tomotopy(kind, split, n_topics, n_sweeps, n_jobs, eta, seed)
    common = common_perplexity(split, words)
    if kind == "hlda":
        return {"perplexity": common, "topics": len(live), "common": common}
    shares = np.full((split.observed.n_documents, len(live)), 1 / len(live))
    texts = [_words_of(split.observed, d) for d in range(split.observed.n_documents)]
    made = [model.make_doc(text) if text else None for text in texts]
    known = [d for d, document in enumerate(made) if document is not None and len(document.words)]
    samples = [  # inference restarts with the same random numbers: these belong to one chain
        model.infer([model.make_doc(texts[d]) for d in known], iterations=n, workers=n_jobs)[0]
        for n in INFERENCES
    ]
    shares[known] = np.mean(samples, axis=0)[:, live]
    shares /= shares.sum(axis=1, keepdims=True)
    return {"perplexity": perplexity(shares, words, split.heldout), "topics": len(live),
            "common": common}  # fmt: skip


#: The paper's symbols, which name the cells, and the models' parameters.
SYMBOLS = {"alpha": "step_concentration", "beta": "word_prior", "gamma": "position_concentration"}


#: Walks of few topics, for all of them.
SHORT_WALKS = {"truncation": 15, "max_visits": 16}


def _our(kind: str, n_topics: int, seed: int = SEED, **params: Any) -> Any:
    model = {"lda-vb": pv.OnlineLDA, "nhdp": pv.NestedHDP}.get(kind, pv.MarkovM3)
    named = {SYMBOLS.get(k, k): v for k, v in params.items()}
    return model(n_topics, random_state=seed, **named)


def fit_cell(
    options: Options, name: str, kind: str, n_topics: int, seed: int = SEED, **params: Any
) -> Cell:
    """Return the cell for one model's perplexity."""
    plan = PLANS[options.size]
    ours = kind.startswith(("lda-vb", "m3", "nhdp"))
    n_sweeps = plan.n_gibbs * (2 if kind in MORE else 1)
    named = kind.removesuffix("-few").removesuffix("-more")
    short = kind in FEW or params or n_topics <= SAME_START
    passes = plan.passes if short else plan.longer(n_topics)

    def work(folder: Path) -> dict[str, Any]:
        split = split_of(options.data, name)
        if not ours:
            eta = {"lda-tuned": BEST_ETA, "hlda": TREE_ETA}.get(named, 0.01)
            return tomotopy_perplexity(named, split, n_topics, n_sweeps, options.n_jobs, eta,
                                       seed)  # fmt: skip
        given = {"max_visits": 16, **params} if "truncation" in params else params
        given = {"branching": BEST_BRANCHING, **given} if kind == "nhdp" else given
        model = _our(named, n_topics, seed, **passes, n_jobs=options.n_jobs, **given)
        model.fit(split.train, show_progress=False)
        learned = {"alpha_": getattr(model, "share_prior_", None)}
        learned |= {f"{letter}_": getattr(model, f"{name}_", learned.get(f"{letter}_"))
                    for letter, name in SYMBOLS.items()}  # fmt: skip
        own = {name: value for name, value in learned.items() if value is not None}
        return {"perplexity": model.perplexity(split.observed, split.heldout),
                "common": common_perplexity(split, model.class_words_),
                "elbo": model.elbo_, "sweeps": model.n_sweeps_, **own}  # fmt: skip

    apart = {**params, "seed": seed} if seed != SEED else params
    changed = "".join(f"/{key}={value}" for key, value in apart.items())
    version = BATCH_VERSION if ours else VERSION
    settings = {"version": version, "corpus": name, "model": named, "n_topics": n_topics,
                **(passes if ours else {"n_sweeps": n_sweeps}), "seed": seed,
                **_newer(named, n_topics), **params}  # fmt: skip
    cost = {"hdp": 3, "hlda": 3, "m3": 4, "nhdp": 4}.get(named, 1) * (1 + n_topics / 50)
    size = {"ap": 1, "kos": 1, "nips": 3, "20news": 4}[name]
    return Cell(f"{name}/{kind}/{n_topics}{changed}", settings, work, cost * size)


def _newer(kind: str, n_topics: int) -> dict[str, Any]:
    """Return what sets a cell apart from an older one of the same name."""
    if kind == "m3" and n_topics > SAME_START:
        return {"walks": "auto"}
    return {"lda-tuned": {"eta": BEST_ETA}, "hdp": {"folded": "both ways"},
            "hlda": {"eta": TREE_ETA, "depth": TREE_DEPTH},
            "nhdp": {"branching": BEST_BRANCHING}}.get(kind, {})  # fmt: skip


def eta_cell(options: Options, name: str, eta: float, kind: str = "lda-tuned") -> Cell:
    """Return the cell for a word prior of tomotopy's LDA or tree, judged by training words."""
    n_sweeps = PLANS[options.size].n_gibbs
    tree = {"depth": TREE_DEPTH} if kind == "hlda" else {}

    def work(folder: Path) -> dict[str, Any]:
        split = training_split(options.data, name)
        return tomotopy_perplexity(kind, split, ETA_TOPICS, n_sweeps, options.n_jobs, eta)

    settings = {"version": VERSION, "eta": eta, "corpus": name, "n_topics": ETA_TOPICS,
                "n_sweeps": n_sweeps, "seed": SEED, **tree}  # fmt: skip
    return Cell(f"{name}/{'tree' if tree else 'eta'}/{eta:g}", settings, work, 2.0)


def branching_cell(options: Options, name: str, branching: int) -> Cell:
    """Return the cell for a shape of the nested HDP's tree, judged by training words."""
    passes = PLANS[options.size].passes

    def work(folder: Path) -> dict[str, Any]:
        split = training_split(options.data, name)
        model = _our("nhdp", ETA_TOPICS, **passes, n_jobs=options.n_jobs, branching=branching)
        model.fit(split.train, show_progress=False)
        found = {"perplexity": model.perplexity(split.observed, split.heldout),
                 "common": common_perplexity(split, model.class_words_)}  # fmt: skip
        model.share_phase = "fresh"  # as documents are inferred while the model learns
        return {**found, "chosen": model.perplexity(split.observed, split.heldout)}

    settings = {"version": BATCH_VERSION, "branching": branching, "corpus": name,
                "n_topics": ETA_TOPICS, **passes, "seed": SEED}  # fmt: skip
    return Cell(f"{name}/branching/{branching}", settings, work, 4.0)


def swap_cell(options: Options, name: str, n_topics: int) -> Cell:
    """Return the cell that separates topics from predictions: models swap their topics."""
    plan = PLANS[options.size]

    def work(folder: Path) -> dict[str, Any]:
        split = split_of(options.data, name)
        walks: dict[str, dict[str, Any]] = {"lda-vb": {}, "m3": SHORT_WALKS}
        models = {kind: _our(kind, n_topics, **plan.passes, n_jobs=options.n_jobs, **own)
                  for kind, own in walks.items()}  # fmt: skip
        kept: dict[str, dict[str, Any]] = {}
        for kind, model in models.items():
            model.fit(split.train, show_progress=False)
            kept[kind] = dict(model.chains_[0])
        topics, beta = gibbs_topics(options, split, n_topics)
        kept["lda-gibbs"] = {"topics": topics, "topic_totals": topics.sum(axis=0),
                             "beta": np.array(beta)}  # fmt: skip
        found = {}
        for kind, model in models.items():
            for source, theirs in kept.items():
                own = {key: theirs[key] for key in ("topics", "topic_totals", "beta")}
                even = (
                    {}
                    if kind == source or kind != "m3"
                    else {"start": np.ones(n_topics), "transitions": np.ones((n_topics, n_topics))}
                )
                model._keep_globals([Globals("fresh", {**kept[kind], **own, **even})])
                found[f"{kind} with topics of {source}"] = model.perplexity(
                    split.observed, split.heldout)  # fmt: skip
        return found

    settings = {"version": BATCH_VERSION, "swap": name, "n_topics": n_topics,
                **plan.passes, "seed": SEED}  # fmt: skip
    return Cell(f"{name}/swap/{n_topics}", settings, work, 8.0)


def gibbs_topics(
    options: Options, split: Split, n_topics: int
) -> tuple[NDArray[np.float64], float]:
    """Return topics of Gibbs sampling in our format, (n_words, n_topics), and a word prior."""
    n_sweeps = PLANS[options.size].n_gibbs
    peer, _, words = fit_tomotopy("lda-gibbs", split, n_topics, n_sweeps, options.n_jobs)
    sizes = np.array(peer.get_count_by_topics()) + peer.eta * words.shape[1]
    return np.ascontiguousarray(words.T * sizes), float(peer.eta)


def start_cell(options: Options, name: str, n_topics: int) -> Cell:
    """Return the cell for variational LDA from random topics, with twice as many passes."""
    n_sweeps = 2 * PLANS[options.size].n_sweeps

    def work(folder: Path) -> dict[str, Any]:
        split = split_of(options.data, name)
        model = _our("lda-vb", n_topics, start_sweeps=0, n_sweeps=n_sweeps, n_jobs=options.n_jobs)
        model.fit(split.train, show_progress=False)
        heldout = model.perplexity(split.observed, split.heldout)
        return {"lda-vb": {"perplexity": heldout, "elbo": model.elbo_}}

    settings = {"version": ONLINE_VERSION, "start": name, "n_topics": n_topics, "passes": n_sweeps,
                "seed": SEED}  # fmt: skip
    return Cell(f"{name}/start/{n_topics}", settings, work, 8.0)


def stream_cell(options: Options, name: str, n_topics: int) -> Cell:
    """Return the cell for streams by documents seen and seconds, against scikit-learn's."""

    def work(folder: Path) -> dict[str, Any]:
        split = split_of(options.data, name)
        return {**curves(split.train, split.observed, split.heldout, n_topics)}

    settings = {"version": STREAM_VERSION, "stream": name, "n_topics": n_topics,
                "passes": PASSES, "seed": STREAM_SEED}  # fmt: skip
    return Cell(f"{name}/stream/{n_topics}", settings, work, 3.0)


def picture_cell(options: Options, name: str) -> Cell:
    """Return the cell that draws topics and walks."""

    def work(folder: Path) -> dict[str, Any]:
        split = split_of(options.data, name)
        return draw(split.train, split.observed)

    settings = {"version": STREAM_VERSION, "pictures": name, "seed": SEED}
    return Cell(f"{name}/pictures", settings, work, 1.0)


@cache
def tagged(data: Path) -> tuple[Documents, list[str], Documents, list[str]]:
    """Return 20 newsgroups: training documents and their groups, test documents and theirs."""
    parts = []
    vocabulary = None
    for part in ("train", "test"):
        corpus = pv.read(data / f"20news/docword.20news-{part}.txt.gz")
        encoded = encode(corpus, vocabulary, **({} if vocabulary else
                         {"min_count": 10, "max_share": 0.5}))  # fmt: skip
        vocabulary = encoded.vocabulary
        parts.append((documents_of(encoded), corpus.table["label"].to_list()))
    (train, labels), (test, test_labels) = parts
    return train, labels, test, test_labels


def tag_cell(options: Options, kind: str, n_topics: int, count: float) -> Cell:
    """Return the cell for predicting hidden tags: precision at 1 on the official test set."""
    plan = PLANS[options.size]

    def work(folder: Path) -> dict[str, Any]:
        from scipy.sparse import csr_matrix, hstack

        train, labels, test, test_labels = tagged(options.data)
        names = sorted(set(labels))
        places = [names.index(label) for label in labels]
        X, Y = train.matrix(), test.matrix()
        if kind == "linear":
            from sklearn.feature_extraction.text import TfidfTransformer
            from sklearn.linear_model import SGDClassifier

            weights = TfidfTransformer(sublinear_tf=True)
            classifier = SGDClassifier(random_state=SEED).fit(weights.fit_transform(X), labels)
            found = classifier.predict(weights.transform(Y)).tolist()
        else:
            tags = csr_matrix((np.full(len(places), count), (np.arange(len(places)), places)),
                              (X.shape[0], len(names)))  # fmt: skip
            words = [*train.vocabulary.words, *(f"tag {name}" for name in names)]
            model = _our(kind, n_topics, n_jobs=options.n_jobs)
            model.fit_stream(hstack((X, tags)).tocsr(), passes=plan.n_passes, vocabulary=words)
            blank = hstack((Y, csr_matrix((Y.shape[0], len(names))))).tocsr()
            scores = model.predict_words(blank, [f"tag {name}" for name in names])
            found = [names[i] for i in scores.argmax(axis=1)]
        right = sum(a == b for a, b in zip(found, test_labels, strict=True))
        return {"precision": right / len(test_labels), "documents": len(test_labels)}

    version = VERSION if kind == "linear" else ONLINE_VERSION
    settings = {"version": version, "tags": kind, "n_topics": n_topics, "count": count,
                "passes": plan.n_passes, "seed": SEED}  # fmt: skip
    return Cell(f"20news/tags/{kind}/{n_topics}/{count:g}", settings, work, 12.0)


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, small corpora first, so that every question gets an early answer."""
    plan = PLANS[options.size]
    small, large = plan.corpora[:2], plan.corpora[2:]
    found = [stream_cell(options, name, STREAM_TOPICS) for name in plan.online[:1]]
    found.append(picture_cell(options, plan.online[0]))
    found += _batch(options, small, plan.topics[:2], ("lda-vb", "lda-gibbs", "m3"))
    found += [fit_cell(options, "ap", "m3", plan.sensitivity, truncation=t) for t in TRUNCATIONS]
    for kind in ("lda-tuned", "hlda"):
        found += [eta_cell(options, name, eta, kind) for name in ETA_CORPORA for eta in ETAS]
    found += [branching_cell(options, name, b) for name in NESTED_CORPORA for b in BRANCHINGS]
    found += [fit_cell(options, "ap", "m3", k, truncation=t, max_visits=t + 1)
              for k in plan.topics for t in LONG_TRUNCATIONS.get(k, ())]  # fmt: skip
    found += [fit_cell(options, "ap", "m3", plan.sensitivity, gamma=g) for g in GAMMAS]
    found += [fit_cell(options, "ap", kind, plan.sensitivity, beta=b)
              for kind in ("m3", "lda-vb") for b in BETAS]  # fmt: skip
    found += [fit_cell(options, "ap", "m3", plan.sensitivity, alpha=a) for a in ALPHAS]
    for cell in (swap_cell, start_cell):
        found += [cell(options, "ap", k) for k in plan.topics if k in SWAPPED]
    if plan.tag_topics:
        found.append(tag_cell(options, "linear", 0, 0.0))
        found += [tag_cell(options, kind, plan.tag_topics, count)
                  for kind in ("lda-vb", "m3") for count in (1.0, 10.0)]  # fmt: skip
    for corpora in (small, large):
        for n_topics in plan.topics:
            found += _batch(options, corpora, (n_topics,), MODELS)
    found += [fit_cell(options, name, kind, n_topics, seed)
              for corpora in (small, large) for n_topics in plan.topics for name in corpora
              for kind in SEEDED for seed in plan.more_seeds
              if not (kind in FEW and (n_topics <= SAME_START or name in large))
              and not (kind == "nhdp" and name not in NESTED_CORPORA)]  # fmt: skip
    found += [stream_cell(options, name, STREAM_TOPICS) for name in plan.online]
    return list({cell.name: cell for cell in found}.values())


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page, from the results computed so far."""
    return write_page(options, results, [cell.name for cell in cells(options, kept)])


def _batch(
    options: Options, corpora: Sequence[str], topics: Sequence[int], kinds: Sequence[str]
) -> list[Cell]:
    """Return the cells of perplexities."""
    first = PLANS[options.size].topics[0]
    return [
        fit_cell(options, name, kind, n_topics)
        for name in corpora
        for n_topics in topics
        for kind in kinds
        if not (kind in GROWING and n_topics != first)
        and not (kind in FEW and n_topics <= SAME_START)
        and not (kind == "nhdp" and name not in NESTED_CORPORA)
        and not (kind in MORE and n_topics < PLANS[options.size].topics[-1])
    ]
