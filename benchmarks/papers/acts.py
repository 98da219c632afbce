"""Acts against everything else on corpora with gold acts, ablations, and how weights were chosen.

Settings were chosen on training parts (``benchmarks/papers/acts_data.py``); judged parts are looked
at once per row. Every row has as many classes as :class:`palaver.Acts` chose with seed 0, and as
many as there are gold acts.
"""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options
from benchmarks.papers.acts_data import JUDGED, TRAINING, Parts, apart, parts, training_part
from benchmarks.papers.acts_data import whole_train as whole_swda
from benchmarks.papers.acts_more import UNLABELLED, all_cell, eye_cell
from benchmarks.papers.acts_number import number_cell
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.gaussian_hmm import glove
from benchmarks.papers.gaussian_hmm_page import HEADLINE, JOINED
from palaver import evaluate
from palaver.corpus.table import Corpus
from palaver.encoding import encode
from palaver.evaluate.bootstrap import bootstrap, of_tables
from palaver.trials import rivals

VERSION = 1
#: Versions of Acts: with a given number, raise it when searches or views change; where Acts
#: decides how many there are, raise it also when that changes.
SEARCHES_VERSION, ACTS_VERSION = 4, 5
#: Versions of rivals: those with the number of acts that Acts chose depend on its defaults.
NUMBER_VERSIONS = {"chosen": 6, "gold": 1}
#: Seeds of Acts, of the training parts, and of the names.
SEEDS, TRAIN_SEEDS, NAME_SEEDS = range(5), range(2), range(3)
#: Seeds of k-means and of the other rivals: five where the agreement of seeds is measured.
KMEANS_SEEDS = {"chosen": range(3), "gold": range(5)}
RIVAL_SEEDS = {"chosen": range(1), "gold": range(5)}
#: Seeds of Acts on all training calls of Switchboard.
WHOLE_SEEDS = range(3)
#: Sweeps of the word models; the Gaussian HMM has its default.
N_SWEEPS, N_TOPICS = 200, 10
#: Acts on training parts.
TRAIN_ACTS = 10
#: Corpora where a few acts are compared with the rule, and their numbers.
FEW, FEW_ACTS = ("dailydialog", "mrda"), (2, 3, 4)
NAMED = ("swda", "mrda")

_BASE = {"words": 0.5, "beginning": 0.75, "end": 0.5, "closing": 1.25, "question": 1.5,
         "exclamation": 1.0, "length": 1.0}  # fmt: skip
#: Candidate weights that were compared on training parts.
CANDIDATES: dict[str, dict[str, float]] = {
    "base": _BASE,
    "a": _BASE | {"words": 0.6, "beginning": 1.0, "end": 0.75, "length": 0.8},
    "b": _BASE | {"words": 0.6, "beginning": 1.0, "end": 0.5, "length": 0.8},
    "c": _BASE | {"words": 0.75, "beginning": 0.75, "end": 0.75, "length": 0.8},
    "d": _BASE | {"words": 0.6, "beginning": 1.0, "end": 0.75, "question": 1.25, "length": 1.0,
                  "exclamation": 0.75},
    "e": _BASE | {"words": 0.5, "beginning": 0.9, "end": 0.6, "length": 0.8},
}  # fmt: skip
DEFAULT = "c"
VIEWS = ("words", "beginning", "end", "closing", "question", "exclamation", "link", "length")
#: Changes to the default, by the name of their row: view weights, and whether context is kept.
ABLATIONS: dict[str, tuple[dict[str, float], bool]] = {
    **{f"without {view}": ({view: 0.0}, True) for view in VIEWS},
    "even weights": (dict.fromkeys(VIEWS, 1.0), True),
    "without context": ({}, False),
}
ABLATED = tuple(name for name in TRAINING if name != "mrda, words")

#: Rivals with a number of classes; the names of their rows.
KMEANS = ("k-means, tf-idf", "k-means, corpus vectors", "k-means, GloVe")
GAUSSIAN = ("Gaussian HMM, corpus vectors", "Gaussian HMM, GloVe")
WORDS = ("block HMM", "M4", "LDA", "M4 with topics")
#: Rivals without one.
RULE, ONE, MAXENT = "has a ?", "one class", "MaxEnt (supervised)"
NUMBERS = ("chosen", "gold")
#: Name of the result that comes from the page of the Gaussian HMM.
OTHER_PAGE = "swda/Gaussian HMM/its own page"


def silent_apart(found: np.ndarray, corpus: Corpus) -> np.ndarray:
    """Give messages without any text a class of their own: no model can say anything about them."""
    silent = ~corpus.table["text"].str.contains(r"\S").to_numpy()
    return np.where(silent, int(found.max(initial=0)) + 1, found)


def _silent(corpus: str) -> dict[str, str]:
    """Return what tells cells of corpora with empty texts from those before they were set apart."""
    return {"silent": "apart"} if corpus == "swda" else {}


def judge(found: np.ndarray, corpus: Corpus) -> dict[str, Any]:
    """Compare classes of all messages with their gold acts; V has an interval."""
    gold = corpus.table["act"].to_numpy()
    lengths = np.diff(corpus.conversation_offsets)
    conversation = np.repeat(np.arange(len(lengths)), lengths)
    counts, shape = evaluate.grouped_contingency(found, gold, conversation, len(lengths))
    table = np.asarray(counts.sum(axis=0)).reshape(shape)
    interval = bootstrap(counts, of_tables(evaluate.v_measure, shape), n_resamples=500)
    several = table[table.sum(axis=1) > 1]
    return {
        "classes": int((table.sum(axis=1) > 0).sum()),
        "V": float(evaluate.v_measure(table)),
        "low": interval.low,
        "high": interval.high,
        "V without singletons": float(evaluate.v_measure(several)) if len(several) else 0.0,
        "VI": float(evaluate.variation_of_information(table)),
        "F1": float(evaluate.f1(table)),
        "purity": float(evaluate.purity(table)),
        "collocation": float(evaluate.collocation(table)),
        "one-to-one": float(evaluate.one_to_one(table)),
    }


def n_gold(corpus: Corpus) -> int:
    """Return the number of gold acts."""
    return int(corpus.table["act"].drop_nulls().n_unique())


def fit_acts(corpus: Corpus, options: Options, seed: int, **params: Any) -> Any:
    """Return a fitted model with its defaults, except for some parameters."""
    model = pv.Acts(random_state=seed, n_jobs=options.n_jobs, **params)
    return model.fit(corpus, show_progress=False)


def _timed(work: Callable[[], np.ndarray]) -> tuple[np.ndarray, float]:
    start = time.process_time()
    return work(), time.process_time() - start


def _kept_classes(folder: Path, seed: int, work: Callable[[], np.ndarray]) -> np.ndarray:
    """Return classes of a seed, from the cell's folder if they are there, and keep their time."""
    path = folder / f"{seed}.npy"
    if not path.exists():
        classes, seconds = _timed(work)
        (folder / f"{seed}.json").write_text(json.dumps(seconds), encoding="utf-8")
        np.save(path, classes)
    return np.asarray(np.load(path))


def _of_seeds(folder: Path, found: Sequence[np.ndarray], judged: Corpus) -> dict[str, Any]:
    """Judge the classes of all seeds."""
    seeds = range(len(found))
    times = [json.loads((folder / f"{s}.json").read_text(encoding="utf-8")) for s in seeds]
    between = [float(evaluate.v_measure(a, b)) for a, b in combinations(found, 2)]
    agree = {"between": float(np.mean(between))} if between else {}
    return {
        "seeds": [judge(silent_apart(classes, judged), judged) for classes in found],
        "seconds": float(np.median(times)),
        **agree,
    }


def acts_cell(options: Options, corpus: str, number: str) -> Cell:
    """Return the cell of Acts with five seeds; classes of finished seeds are kept."""

    def work(folder: Path) -> dict[str, Any]:
        own = parts(options.data, corpus)
        n_acts = "auto" if number == "chosen" else n_gold(own.judged)

        def classes(seed: int) -> np.ndarray:
            model = fit_acts(own.fitted, options, seed, n_acts=n_acts)
            return np.asarray(model.message_classes(own.judged))

        found = [_kept_classes(folder, seed, partial(classes, seed)) for seed in SEEDS]
        return _of_seeds(folder, found, own.judged)

    version = ACTS_VERSION if number == "chosen" else SEARCHES_VERSION
    settings = {"acts": corpus, "number": number, "seeds": len(SEEDS),
                "acts_version": version, **_silent(corpus)}  # fmt: skip
    return Cell(f"{corpus}/Acts/{number}", settings, work, cost=30)


def _number(options: Options, kept: Cells, corpus: str, number: str) -> int:
    """Return the number of classes: what Acts chose with seed 0, or that of gold acts."""
    if number == "gold":
        return n_gold(parts(options.data, corpus).judged)
    chosen = kept.stored(acts_cell(options, corpus, "chosen"))
    if chosen is None:
        raise RuntimeError(f"{corpus}: the number of classes is that of Acts, which has no result")
    return int(chosen["result"]["seeds"][0]["classes"]) - len(_silent(corpus))


def kmeans(name: str, options: Options, own: Parts, n_classes: int, seed: int) -> np.ndarray:
    """Return the classes of the judged messages by k-means."""
    texts, new = own.fitted.table["text"], own.judged.table["text"]
    if name == "k-means, tf-idf":
        return rivals.kmeans_tfidf(texts, n_classes, seed, new=new)
    if name == "k-means, GloVe":
        return rivals.kmeans_vectors(texts, n_classes, seed, vectors=glove(options.data), new=new)
    return rivals.kmeans_vectors(texts, n_classes, seed, new=new)


def kmeans_cell(options: Options, kept: Cells, corpus: str, name: str, number: str) -> Cell:
    seeds = KMEANS_SEEDS[number]

    def work(folder: Path) -> dict[str, Any]:
        own, n_classes = parts(options.data, corpus), _number(options, kept, corpus, number)
        return _by_seed(
            folder, own, seeds, lambda seed: kmeans(name, options, own, n_classes, seed)
        )

    settings = {"k-means": name, "corpus": corpus, "number": number, "seeds": len(seeds),
                "version": NUMBER_VERSIONS[number], **_silent(corpus)}  # fmt: skip
    return Cell(f"{corpus}/{name}/{number}", settings, work, cost=10)


def _by_seed(
    folder: Path, own: Parts, seeds: Sequence[int], classes: Callable[[int], np.ndarray]
) -> dict[str, Any]:
    """Judge the classes of all seeds; those of finished seeds are kept."""
    found = [_kept_classes(folder, seed, partial(classes, seed)) for seed in seeds]
    return _of_seeds(folder, found, own.judged)


def gaussian_cell(options: Options, kept: Cells, corpus: str, name: str, number: str) -> Cell:
    """Return the cell of a Gaussian HMM, its states merged into acts.

    It has its default number of states, or as many as classes where these are more.
    """

    def work(folder: Path) -> dict[str, Any]:
        n_classes = _number(options, kept, corpus, number)
        vectors = glove(options.data) if name.endswith("GloVe") else "corpus"
        n_states = max(pv.GaussianHMM().n_states, n_classes)
        own = parts(options.data, corpus)

        def classes(seed: int) -> np.ndarray:
            model = pv.GaussianHMM(n_states, n_classes, random_state=seed, n_jobs=options.n_jobs)
            return _classes(model, own, vectors=vectors)

        return _by_seed(folder, own, RIVAL_SEEDS[number], classes)

    settings = {"gaussian": name, "corpus": corpus, "number": number, **_more_seeds(number),
                "version": NUMBER_VERSIONS[number], **_silent(corpus)}  # fmt: skip
    return Cell(f"{corpus}/{name}/{number}", settings, work, cost=10)


def _classes(model: Any, own: Parts, **options: Any) -> np.ndarray:
    """Fit a model; return the classes of the judged messages."""
    encoded = encode(own.fitted)
    judged = encode(own.judged, encoded.vocabulary)
    return np.asarray(model.fit(encoded, show_progress=False, **options).message_classes(judged))


def _more_seeds(number: str) -> dict[str, int]:
    """Return what tells cells with several seeds from those with one."""
    n_seeds = len(RIVAL_SEEDS[number])
    return {"seeds": n_seeds} if n_seeds > 1 else {}


def word_model(name: str, n_classes: int, seed: int, options: Options) -> Any:
    """Return an unfitted word model with its defaults, except for fewer sweeps."""
    common = {"n_sweeps": N_SWEEPS, "random_state": seed, "n_jobs": options.n_jobs}
    if name == "M4 with topics":
        return pv.M4(n_classes, n_topics=N_TOPICS, **common)
    return {"M4": pv.M4, "block HMM": pv.BlockHMM, "LDA": pv.LDA}[name](n_classes, **common)


def words_cell(options: Options, kept: Cells, corpus: str, name: str, number: str) -> Cell:
    def work(folder: Path) -> dict[str, Any]:
        own, n_classes = parts(options.data, corpus), _number(options, kept, corpus, number)
        return _by_seed(
            folder, own, RIVAL_SEEDS[number],
            lambda seed: _classes(word_model(name, n_classes, seed, options), own),
        )  # fmt: skip

    settings = {"words": name, "corpus": corpus, "n_sweeps": N_SWEEPS, "number": number,
                **_more_seeds(number), "version": NUMBER_VERSIONS[number],
                **_silent(corpus)}  # fmt: skip
    return Cell(f"{corpus}/{name}/{number}", settings, work, cost=10)


def plain_cell(options: Options, corpus: str) -> Cell:
    """Return the cell of the rule and of one class, with facts about the corpus."""

    def work(folder: Path) -> dict[str, Any]:
        own = parts(options.data, corpus)
        texts = own.judged.table["text"]
        return {
            "facts": {
                "conversations": own.judged.n_conversations,
                "messages": own.judged.n_messages,
                "labelled": int(own.judged.table["act"].is_not_null().sum()),
                "fitted": own.fitted.n_messages,
                "supervised": own.labelled.n_messages,
                "gold": n_gold(own.judged),
            },
            RULE: judge(rivals.has_question(texts), own.judged),
            ONE: judge(rivals.one_class(len(texts)), own.judged),
        }

    return Cell(f"{corpus}/plain", {"plain": corpus, "version": VERSION}, work)


def maxent_cell(options: Options, corpus: str) -> Cell:
    """Return the cell of the supervised tagger, which learns from labels of other parts."""

    def work(folder: Path) -> dict[str, Any]:
        own = parts(options.data, corpus)

        def tagged() -> np.ndarray:
            model = pv.MaxEntTagger(min_count=5, max_iter=40, n_jobs=options.n_jobs)
            return np.asarray(model.fit(own.labelled, show_progress=False).predict(own.judged))

        found, seconds = _timed(tagged)
        return {"seeds": [judge(found, own.judged)], "seconds": seconds}

    return Cell(f"{corpus}/{MAXENT}", {"maxent": corpus, "version": VERSION}, work, cost=15)


def whole_cell(options: Options) -> Cell:
    """Return the cell of Acts fitted to all training calls of Switchboard, judged on its test."""

    def work(folder: Path) -> dict[str, Any]:
        judged, train = parts(options.data, "swda").judged, whole_swda(options.data)

        def classes(seed: int) -> np.ndarray:
            return np.asarray(fit_acts(train, options, seed).message_classes(judged))

        found = [_kept_classes(folder, seed, partial(classes, seed)) for seed in WHOLE_SEEDS]
        return {**_of_seeds(folder, found, judged), "fitted": train.n_messages}

    settings = {"whole": "swda", "seeds": len(WHOLE_SEEDS), "acts_version": ACTS_VERSION}
    return Cell("swda/Acts/whole", settings, work, cost=300)


def few_cell(options: Options, corpus: str, n_acts: int) -> Cell:
    def work(folder: Path) -> dict[str, Any]:
        own = parts(options.data, corpus)
        return {"seeds": [
            judge(fit_acts(own.fitted, options, seed, n_acts=n_acts).message_classes(own.judged),
                  own.judged)
            for seed in TRAIN_SEEDS
        ]}  # fmt: skip

    settings = {"few": n_acts, "corpus": corpus, "seeds": len(TRAIN_SEEDS),
                "acts_version": SEARCHES_VERSION}  # fmt: skip
    return Cell(f"few/{corpus}/{n_acts}", settings, work, cost=12)


def training_cell(
    options: Options, corpus: str, name: str, weights: Mapping[str, float], context: bool = True
) -> Cell:
    """Return the cell of one setting on the training part of a corpus: V of each seed."""

    def work(folder: Path) -> list[float]:
        part = training_part(options.data, corpus)
        seen = part if context else apart(part)
        gold = part.table["act"].to_numpy()
        found = [
            fit_acts(seen, options, seed, n_acts=TRAIN_ACTS, view_weights=dict(weights))
            for seed in TRAIN_SEEDS
        ]
        return [float(evaluate.v_measure(model.message_classes(seen), gold)) for model in found]

    settings = {"training": corpus, "weights": dict(weights), "context": context,
                "n_acts": TRAIN_ACTS, "seeds": len(TRAIN_SEEDS),
                "version": SEARCHES_VERSION}  # fmt: skip
    return Cell(f"training/{name}/{corpus}", settings, work, cost=12)


def accepted() -> dict[str, dict[str, list[str]]]:
    """Return the gold tags that fit each proposed name, by corpus."""
    text = (Path(__file__).parent / "act_names.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def entry_of(name: str) -> str:
    """Return a proposed name without its beginning or number: what the inventory calls it."""
    return name.split(" “")[0].rstrip("0123456789 ")


def fitting_names(
    found: np.ndarray, gold: Sequence[str | None], names: Sequence[str],
    table: Mapping[str, Sequence[str]],
) -> dict[str, Any]:  # fmt: skip
    """Return the share of labelled messages whose act has a name that fits its majority tag."""
    labels = np.asarray(gold, dtype=object)
    kept = np.array([label is not None for label in labels])
    rows, right = [], 0
    for act in np.unique(found[kept]):
        tags, counts = np.unique(labels[kept & (found == act)].astype(str), return_counts=True)
        most, size = str(tags[counts.argmax()]), int(counts.sum())
        fits = most in table.get(entry_of(names[act]), ())
        right += size * fits
        rows.append({"name": names[act], "messages": size, "most": most,
                     "share": float(counts.max() / size), "fits": fits})  # fmt: skip
    rows.sort(key=lambda row: -row["messages"])
    named = sum(r["messages"] for r in rows if entry_of(r["name"]) in table)
    return {"share": right / int(kept.sum()), "named": named / int(kept.sum()), "acts": rows}


def names_cell(options: Options, corpus: str) -> Cell:
    def work(folder: Path) -> list[dict[str, Any]]:
        own = parts(options.data, corpus)
        found = []
        for seed in NAME_SEEDS:
            model = fit_acts(own.fitted, options, seed)
            classes = model.message_classes(own.judged)
            gold = own.judged.table["act"].to_list()
            found.append(fitting_names(classes, gold, model.act_names_, accepted()[corpus]))
        return found

    settings = {"names": corpus, "table": accepted()[corpus], "acts_version": ACTS_VERSION}
    return Cell(f"names/{corpus}", settings, work, cost=15)


def _rivals(
    cell: Callable[..., Cell], options: Options, kept: Cells, corpora: Sequence[str],
    names: Sequence[str],
) -> list[Cell]:  # fmt: skip
    return [cell(options, kept, corpus, name, number)
            for corpus in corpora for name in names for number in NUMBERS]  # fmt: skip


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells: those of Acts and k-means first, slow rivals and names last."""
    names = [name for name in JUDGED if name != "swda"] + ["swda"]  # the largest last
    if options.size == "quick":
        names = ["sample"]
    found = [plain_cell(options, corpus) for corpus in names]
    found += [acts_cell(options, corpus, n) for corpus in names for n in NUMBERS]
    found += _rivals(kmeans_cell, options, kept, names, KMEANS)
    if options.size == "quick":
        return found
    found += [few_cell(options, corpus, n) for corpus in FEW for n in FEW_ACTS]
    found += _rivals(gaussian_cell, options, kept, names, GAUSSIAN)
    found += [maxent_cell(options, corpus) for corpus in names]
    found += [training_cell(options, corpus, f"weights {name}", weights)
              for name, weights in CANDIDATES.items() for corpus in TRAINING]  # fmt: skip
    found += [training_cell(options, corpus, name, weights, context)
              for name, (weights, context) in ABLATIONS.items() for corpus in ABLATED]  # fmt: skip
    found += [number_cell(options, corpus) for corpus in TRAINING]
    found += _rivals(words_cell, options, kept, names, WORDS)
    found += [whole_cell(options), all_cell(options, judge, silent_apart)]
    found += [eye_cell(options, name) for name in UNLABELLED]
    return found + [names_cell(options, corpus) for corpus in NAMED]


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page."""
    from benchmarks.papers.acts_page import text

    missing = [cell.name for cell in cells(options, kept) if cell.name not in results]
    return text({**results, **_other_page(kept)}, missing)


def _other_page(kept: Cells) -> dict[str, Any]:
    """Return what the page of the Gaussian HMM has for its headline on Switchboard's test part."""
    path = kept.root if kept.shelf is None else kept.shelf.with_name("gaussian_hmm.json")
    if not path.is_file():
        return {}
    found = {r["name"]: r["result"] for r in json.loads(path.read_text(encoding="utf-8"))}
    row = found.get(f"row/{HEADLINE}")
    return {} if row is None else {OTHER_PAGE: row[JOINED]["test"]}
