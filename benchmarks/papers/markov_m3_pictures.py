"""Pictures of Markov M3's results: the graph of topics, and two documents as walks over it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

import palaver as pv
from benchmarks.papers.pictures import keep
from palaver.draw.palette import letters
from palaver.draw.walk import walk_chart
from palaver.encoding.documents import Documents

SEED, N_TOPICS, N_WALKS = 0, 12, 2
#: Steps with a smaller share of a document are not drawn; fewer steps make no picture.
SMALLEST, SHORTEST = 0.03, 4
GRAPH, WALK = "markov_m3-graph.svg", "markov_m3-walk{}.svg"


def draw(train: Documents, unseen: Documents) -> dict[str, Any]:
    """Learn topics from a stream and draw them; return their words and what the walks show."""
    model = pv.MarkovM3(min(N_TOPICS, train.n_documents), random_state=SEED)
    model.fit_stream(train, passes=3)
    named = model.graph(n_words=3).nodes.sort("share", descending=True)
    names = dict(zip(named["topic"].to_list(), named["name"].to_list(), strict=True))
    keep(model.plot_graph(names=names).standalone(), GRAPH)
    rank = {topic: number for number, topic in enumerate(names)}
    walks = model.path(unseen).filter(pl.col("weight") >= SMALLEST)
    long = walks.group_by("document").len().filter(pl.col("len") >= SHORTEST)["document"].sort()
    shown = long.head(N_WALKS).to_list() or walks["document"].unique().sort()[:1].to_list()
    steps = []
    for number, document in enumerate(shown, 1):
        own = walks.filter(pl.col("document") == document)
        ranks = [rank[topic] for topic in own["topic"].to_list()]
        chart = walk_chart(ranks, own["weight"].to_list(), list(names.values()))
        keep(chart.standalone(), WALK.format(number))
        steps.append([[letters(place), weight] for place, weight in
                      zip(ranks, own["weight"].to_list(), strict=True)])  # fmt: skip
    return {
        "topics": {letters(number): name for number, name in enumerate(names.values())},
        "walks": [
            {"document": document, "words": _words(unseen, document), "steps": own}
            for document, own in zip(shown, steps, strict=True)
        ],
    }


def _words(documents: Documents, number: int, most: int = 8) -> list[str]:
    """Return the most frequent words of a document."""
    own = slice(int(documents.offsets[number]), int(documents.offsets[number + 1]))
    order = np.argsort(-documents.counts[own], kind="stable")[:most]
    return [documents.vocabulary.words[int(word)] for word in documents.words[own][order]]


def write_pictures(results: Mapping[str, Any]) -> list[str]:
    """Return the part of the page with the pictures."""
    found = next(((name, r) for name, r in results.items() if name.endswith("/pictures")), None)
    if found is None:
        return []
    corpus, result = found[0].split("/")[0], found[1]
    said = "; ".join(f"{letter}: {name}" for letter, name in result["topics"].items())
    lines = ["", "## Topics as a graph, documents as walks", "",
             f"{len(result['topics'])} topics of {corpus}, learned from a stream in three passes. "
             "An arrow leads to a topic that is likelier than usual as the next step of a "
             f"walk. {said}.", "", f"![Topics of {corpus} as a graph]({GRAPH})", "",
             f"The most probable walks of {len(result['walks'])} test documents; circles are sized "
             f"by their share of the words, those below {SMALLEST:.0%} are left out."]  # fmt: skip
    for number, walk in enumerate(result["walks"], 1):
        said = ", ".join(f"{letter} {weight:.0%}" for letter, weight in walk["steps"])
        lines += ["", f"Most frequent words: {', '.join(walk['words'])}. Walk: {said}.", "",
                  f"![A document's walk over topics]({WALK.format(number)})"]  # fmt: skip
    return lines
