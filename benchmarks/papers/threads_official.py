"""The comparison of Kummerfeld et al. (2019) on the test logs of the Ubuntu IRC channel.

Their measures count a message that starts a conversation as a link to itself, all annotated parents
of a message, and the system lines (joins, parts), which are links to themselves. The data here lack
system lines, but not their numbers: a number that is missing among the annotated lines is one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import palaver as pv
from palaver import evaluate
from palaver.threads import ThreadRebuilder, components

#: First annotated line of every log, and the number of annotated lines of a test log.
FIRST, LINES = 1000, 500
#: Published figures in percent: F of links, scaled VI, F of exact matches.
PUBLISHED = {
    "feed-forward network (Kummerfeld et al. 2019)": (72.3, 91.3, 36.2),
    "best published since, of any method": (None, 93.3, 46.8),
}


def official_scores(corpus: pv.Corpus, found: NDArray[np.int64]) -> list[float]:
    """Return precision, recall and F of links, scaled VI, one-to-one and exact F, in percent.

    Parameters
    ----------
    corpus : Corpus
        Logs in order, with ids that end in line numbers and a column ``other_parents``.
    found : array of int64, shape (n_messages,)
        Row that each message replies to, -1 for a start.
    """
    ids = corpus.table["id"].str.extract(r"\|(.*)$", 1)
    place = {name: row for row, name in enumerate(ids)}
    lines = ids.str.extract(r":(\d+)$", 1).cast(pl.Int64).to_numpy()
    judged = np.flatnonzero(lines >= FIRST)
    n_system = LINES * corpus.n_conversations - len(judged)
    others = [
        [place[name] for name in names or [] if name in place]
        for names in corpus.table["other_parents"].to_list()
    ]
    gold = [{int(corpus.parents[row]), *others[row]} for row in judged]
    right = sum(int(found[row]) in parents for row, parents in zip(judged, gold, strict=True))
    right += n_system
    precision = right / (len(judged) + n_system)
    recall = right / (sum(map(len, gold)) + n_system)
    alone = corpus.n_messages + np.arange(n_system)
    mine = np.concatenate((components(found)[judged], alone))
    theirs = np.concatenate((_with_others(corpus.parents, others)[judged], alone))
    split = evaluate.conversation_scores(mine, theirs)
    scores = (precision, recall, 2 * precision * recall / (precision + recall),
              split["scaled_vi"], split["one_to_one"], split["exact_f1"])  # fmt: skip
    return [100 * float(score) for score in scores]


def _with_others(parents: NDArray[np.int32], others: list[list[int]]) -> NDArray[np.int64]:
    """Return conversations that all parents of a message join."""
    from scipy import sparse
    from scipy.sparse.csgraph import connected_components

    links = [(row, int(parent)) for row, parent in enumerate(parents) if parent >= 0]
    links += [(row, other) for row, some in enumerate(others) for other in some]
    one, two = np.array(links, np.int64).reshape(-1, 2).T
    n = len(parents)
    graph = sparse.csr_matrix((np.ones(len(one)), (one, two)), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], np.int64)


def years(corpus: pv.Corpus) -> NDArray[np.str_]:
    """Return the year of each log."""
    first = corpus.table["id"].gather(corpus.conversation_offsets[:-1])
    return first.str.extract(r"(?:train|dev|test):(\d{4})-", 1).to_numpy().astype(str)


def judge_official(train: pv.Corpus, test: pv.Corpus, links: Any) -> dict[str, Any]:
    """Return the scores of all methods.

    Parameters
    ----------
    train, test : Corpus
        Channels.
    links : callable
        Applies a rebuilder to a corpus without its replies.
    """
    how: dict[str, Any] = {"channel": True, "order": "corpus"}
    elsewhere = train.take(np.flatnonzero(~np.isin(years(train), years(test))))
    rebuilders = {
        "untrained, by places": ThreadRebuilder.by_places(**how),
        "shipped": ThreadRebuilder.default(**how),
        "trained, one look": ThreadRebuilder(looks=1, **how).fit(train),
        "trained": ThreadRebuilder(**how).fit(train),
        "trained on other years": ThreadRebuilder(**how).fit(elsewhere),
    }
    found = {"previous message": evaluate.previous_parents(test.conversation_offsets)}
    found |= {name: links(rebuilder, test).parents for name, rebuilder in rebuilders.items()}
    return {
        "scores": {name: official_scores(test, parents) for name, parents in found.items()},
        "messages": [train.n_messages, elsewhere.n_messages, test.n_messages],
    }
