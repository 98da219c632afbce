"""M4 beyond the paper: which extensions predict words better, and whose classes agree with acts.

Every corpus is split 75/25 by conversation as in :mod:`benchmarks.papers.m4`; models are fitted to
the larger part. Perplexity is measured on the smaller one by the sequential protocol, agreement
with acts on the whole corpus.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import palaver as pv
from benchmarks.papers import Options, Size
from benchmarks.papers.cells import Cell, Cells
from benchmarks.papers.m4 import SEED, Source, corpus_of
from benchmarks.papers.m4_grown_replies import reply_cells
from benchmarks.papers.m4_judge import gold_tokens
from palaver.encoding import encode
from palaver.evaluate.clustering import v_measure, variation_of_information
from palaver.evaluate.labels import labelled_tokens, message_labels

N_PARTICLES = 300
_FEATURES = ["same_speaker", "position"]
#: Models to compare, with their settings other than sizes, seeds, the paper's transitions and its
#: background.
VARIANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "LDA": (pv.LDA, {"background": True}),
    "block HMM": (pv.BlockHMM, {}),
    "M4": (pv.M4, {}),
    "M4, dirichlet": (pv.M4, {"transition": "dirichlet"}),
    "M4, topics": (pv.M4, {"n_topics": 20}),
    "M4, dirichlet, topics": (pv.M4, {"transition": "dirichlet", "n_topics": 20}),
    "M4, features": (pv.M4, {"features": _FEATURES}),
    "M4, dirichlet, features": (pv.M4, {"transition": "dirichlet", "features": _FEATURES}),
    "M4, sentences": (pv.M4, {"unit": "sentence"}),
    "M4, sentences, topics": (pv.M4, {"unit": "sentence", "n_topics": 20}),
    "M4, sentences, features": (pv.M4, {"unit": "sentence", "features": _FEATURES}),
    "M4, messages": (pv.M4, {"unit": "message"}),
}
#: Names that parameters had when the results were stored: the keys of cells are made of them.
_STORED_AS = {"n_topics": "topics", "unit": "segment"}


@dataclass(frozen=True)
class Plan:
    """How much to compute at one size of the experiment."""

    sources: Mapping[str, Source]
    n_classes: int
    n_chains: int
    n_sweeps: int


_TALK = Source("swda/swda-full.jsonl.gz", 100, is_talk=True)
_MEETINGS = Source("mrda/mrda.jsonl.gz", 12, is_talk=True)
_TWEETS = Source("rumoureval2017/rumoureval2017.jsonl.gz")
_ALL = {"sample": Source(None), "rumoureval2017": _TWEETS, "swda": _TALK, "mrda": _MEETINGS}
PLANS: dict[Size, Plan] = {
    "quick": Plan({"sample": Source(None)}, 10, 1, 100),
    "full": Plan(_ALL, 10, 2, 400),
    "paper": Plan(_ALL, 25, 4, 2000),
}


def variant_cell(options: Options, name: str, variant: str) -> Cell:
    """Return the cell that fits and scores one variant on one corpus."""
    plan = PLANS[options.size]
    source, (kind, extra) = plan.sources[name], VARIANTS[variant]
    params = {
        "n_classes": plan.n_classes,
        "n_chains": plan.n_chains,
        "n_sweeps": plan.n_sweeps,
        "sampler": "collapsed",
        "random_state": SEED,
        **extra,
    }

    def work(folder: Path) -> dict[str, Any]:
        corpus = corpus_of(options.data, source)
        train, test = corpus.split(test=0.25, random_state=SEED)
        start = time.process_time()
        as_in_paper: dict[str, Any] = {"background": True}
        if kind is pv.M4:
            as_in_paper["transition"] = "softmax"
        whole = {**as_in_paper, **params, "n_jobs": options.n_jobs}
        model = kind(**whole).fit(train, show_progress=False)
        seconds = time.process_time() - start
        return {"cpu_seconds": round(seconds, 2), **judge(model, corpus, test)}

    stored = {_STORED_AS.get(name, name): value for name, value in params.items()}
    settings = {"grown": 2, "model": kind.__name__, "source": vars(source), **stored}
    settings["n_particles"] = N_PARTICLES
    if kind is pv.M4 and "transition" not in extra:
        settings["softmax"] = 2  # raised when the sampler of the paper's transitions changes
    return Cell(f"{name}/{variant}", settings, work)


def judge(model: Any, corpus: Any, test: Any) -> dict[str, Any]:
    """Return log likelihoods per conversation, and how well classes agree with acts."""
    held_out = encode(test, model.vocabulary_, sentences=model.needs_sentences)
    logs = model.log_likelihoods(held_out, n_particles=N_PARTICLES)
    encoded = encode(corpus, model.vocabulary_, sentences=model.needs_sentences)
    tokens = model.token_classes(encoded)
    classes = tokens["class"].fill_null(-1).to_numpy()
    offsets, labels = gold_tokens(corpus, model.vocabulary_)
    words = labelled_tokens(classes, offsets, labels)
    kept = words.found >= 0
    acts = message_labels(corpus.table["act"])
    largest = model.transform(encoded).argmax(axis=1)[acts.message]
    topics = float(tokens["topic"].is_not_null().mean()) if "topic" in tokens.columns else 0.0
    return {
        "log_likelihoods": np.round(logs, 4).tolist(),
        "words": np.diff(held_out.message_offsets[held_out.conversation_offsets]).tolist(),
        "vi": float(variation_of_information(words.found[kept], words.gold[kept])),
        "v_words": float(v_measure(words.found[kept], words.gold[kept])),
        "v_messages": float(v_measure(largest, acts.label)),
        "classed": float((classes >= 0).mean()),
        "topics": topics,
        **model.convergence_,
    }


def cells(options: Options, kept: Cells) -> list[Cell]:
    """Return all cells, corpus by corpus."""
    plan = PLANS[options.size]
    judged = [variant_cell(options, name, v) for name in plan.sources for v in VARIANTS]
    return judged + (reply_cells(options) if options.size != "quick" else [])


def page(options: Options, kept: Cells, results: Mapping[str, Any]) -> str:
    """Return the text of the page, from the results computed so far."""
    from benchmarks.papers.m4_grown_page import page_text

    return page_text(options, results)
