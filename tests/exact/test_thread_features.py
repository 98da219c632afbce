"""Evidence of replies against a reference that knows nothing of arrays."""

import numpy as np
import polars as pl
import pytest
from support.thread_reference import Reference
from support.words import tokenize

import palaver as pv
from palaver.models.views.reconstruct import order_of
from palaver.threads.evidence import gather_evidence
from palaver.threads.kernels.features import FEATURES
from palaver.threads.kernels.links import best_candidates, link_greedily
from palaver.threads.leanings import learn_leanings
from palaver.threads.pairs import pairs_of
from palaver.threads.transitions import Transitions

WORDS = [
    "the", "cat", "sat", "on", "a", "mat", "?", "ok", "yes", "no", "why", "dog", "tree", "house",
    "river", "stone", "cloud", "bird", "fish",
]  # fmt: skip
LEADS = ["anna: ", "bob_2, ", "@zoë ", "@zoë @kim ", "ravi, Berg: ", "Wong ", "kim: ", "lee: "]
PEOPLE = ["Anna Berg", "Zoë", "bob_2", "Kim", "Lee Wong", "Ravi", None]


def messages(seed, n_conversations=2, length=32):
    """Draw short messages with names, handles, quotations, and times that may be equal."""
    dice = np.random.default_rng(seed)
    rows = []
    for c in range(n_conversations):
        seconds = 1000 * c
        for _ in range(length):
            words = list(dice.choice(WORDS, dice.integers(1, 7)))
            if rows and dice.random() < 0.3:
                words += rows[dice.integers(len(rows))]["text"].split()[:4]
            lead = dice.choice(LEADS) if dice.random() < 0.4 else ""
            seconds += int(dice.integers(0, 90))
            if not rows or dice.random() < 0.7:
                speaker = PEOPLE[dice.integers(len(PEOPLE))]
            rows.append({"conversation": f"c{c}", "speaker": speaker, "seconds": seconds,
                         "text": lead + " ".join(words)})  # fmt: skip
    return rows


def corpus_of(rows):
    return pv.Corpus.from_polars(
        pl.DataFrame(
            {
                "conversation": [row["conversation"] for row in rows],
                "id": [str(i) for i in range(len(rows))],
                "speaker": pl.Series([row["speaker"] for row in rows], dtype=pl.String),
                "time": [row["seconds"] for row in rows],
                "text": [row["text"] for row in rows],
            }
        )
    )


@pytest.mark.parametrize(
    ("seed", "window", "is_ordered"), [(8, 100, True), (1, 4, True), (2, 100, False), (3, 4, False)]
)
def test_features_are_those_of_the_reference(seed, window, is_ordered):
    rows = messages(seed)
    corpus = corpus_of(rows)
    gathered = gather_evidence(corpus, order_of(corpus, "time" if is_ordered else None))
    reference = Reference(rows, is_ordered, window)
    (pairs,) = pairs_of(gathered, window, is_ordered)
    owners = pairs.owners
    seen = set()
    for i in range(len(rows)):
        own = owners == i
        assert pairs.candidates[own].tolist() == reference.candidates(i)
        for j, row in zip(pairs.candidates[own], pairs.features[own], strict=True):
            wanted = reference.features(i, int(j))
            expected = np.array([float(wanted.get(name, 0.0)) for name in FEATURES])
            wrong = np.flatnonzero(np.abs(row - expected) > 1e-4 * (1 + np.abs(expected)))
            assert not len(wrong), [
                (i, int(j), FEATURES[k], row[k], expected[k]) for k in wrong
            ]  # fmt: skip
            seen |= {name for name, value in wanted.items() if value}
    if is_ordered and window == 100:
        learned = {name for name in FEATURES if name == "model" or name.endswith("leaning")}
        assert set(FEATURES) - seen == learned  # tested below


def test_messages_in_any_order_of_rows_have_the_same_evidence():
    rows = messages(5, n_conversations=1)
    times = np.cumsum(np.arange(1, len(rows) + 1))  # no ties
    for row, seconds in zip(rows, times, strict=True):
        row["seconds"] = int(seconds)
    mixed = np.random.default_rng(0).permutation(len(rows))
    corpora = [corpus_of(rows), corpus_of([rows[k] for k in mixed])]
    first, second = (
        next(iter(pairs_of(gather_evidence(c, order_of(c, "time")), 100, True))) for c in corpora
    )
    np.testing.assert_allclose(first.features, second.features, atol=1e-5)


def test_score_of_a_model():
    rows = messages(6, n_conversations=1, length=5)
    corpus = corpus_of(rows)
    dice = np.random.default_rng(0)
    shares, replies = dice.random((5, 3)), dice.random((6, 3))
    found = Transitions(shares.astype(np.float32), replies.astype(np.float32))
    (pairs,) = pairs_of(gather_evidence(corpus, order_of(corpus, "time"), found), 100, True)
    for owner, candidate, row in zip(pairs.owners, pairs.candidates, pairs.features, strict=True):
        expected = shares[owner] @ replies[candidate]  # -1 is the start
        assert row[FEATURES.index("model")] == pytest.approx(expected, abs=1e-5)


def test_leanings_of_words():
    rows = messages(9, n_conversations=2, length=12)
    corpus = corpus_of(rows)
    gathered = gather_evidence(corpus, order_of(corpus, "time"))
    dice = np.random.default_rng(1)
    parents = np.array([dice.integers(i // 12 * 12 - 1, i) for i in range(24)])
    parents[parents % 12 == 11] = -1
    leanings, scores = learn_leanings(gathered, parents)
    bags = [set(tokenize(row["text"])) for row in rows]
    speakers = [row["speaker"] for row in rows]
    same = [p >= 0 and speakers[i] is not None and speakers[i] == speakers[p]
            for i, p in enumerate(parents)]  # fmt: skip
    labels = [
        (same, [p >= 0 for p in parents]),
        ([any(p == i and not same[k] for k, p in enumerate(parents)) for i in range(24)], [1] * 24),
        ([p < 0 for p in parents], [1] * 24),
    ]
    for number, (label, counts) in enumerate(labels):
        inside = [k for k in range(24) if counts[k]]
        share = np.mean([label[k] for k in inside])

        def odds(word, without, label=label, inside=inside, share=share):
            there = [label[k] for k in inside if word in bags[k] and k != without]
            if len(there) < 3:
                return 0.0
            ratio = (sum(there) + 5 * share) / (len(there) - sum(there) + 5 * (1 - share))
            return np.log(ratio) - np.log(share / (1 - share))

        again = leanings.scores(gathered)[:, number]
        for i in range(24):
            root = np.sqrt(len(bags[i]))
            assert scores[i, number] == pytest.approx(
                sum(odds(w, i) for w in bags[i]) / root, abs=1e-5
            )
            assert again[i] == pytest.approx(sum(odds(w, -1) for w in bags[i]) / root, abs=1e-5)
    (pairs,) = pairs_of(gathered.leaning(scores), 100, True)
    own = pairs.features[:, FEATURES.index("same speaker")]
    previous = pairs.features[:, FEATURES.index("previous")]
    mine = scores[pairs.owners]
    theirs = np.where(pairs.candidates >= 0, scores[pairs.candidates, 1], 0.0)
    wanted = {"same speaker, leaning": own * mine[:, 0], "previous, leaning": previous * mine[:, 0],
              "answered, leaning": theirs,
              "start, leaning": (pairs.candidates < 0) * mine[:, 2]}  # fmt: skip
    for name, column in wanted.items():
        np.testing.assert_allclose(pairs.features[:, FEATURES.index(name)], column, atol=1e-6)


def test_best_candidates():
    chances = np.array([0.2, 0.5, 0.3, 1.0, 0.4, 0.4, 0.2])
    best, second = np.empty(3, np.int64), np.empty(3, np.int64)
    best_candidates(chances, np.array([0, 3, 4, 7]), best, second)
    assert best.tolist() == [1, 3, 5]
    assert second.tolist() == [2, -1, 4]


def test_greedy_links_close_no_cycle():
    # two messages that answer each other: the surer link stays, the other starts
    owners = np.array([0, 0, 1, 1], np.int32)
    candidates = np.array([1, -1, 0, -1], np.int32)
    chances = np.array([0.9, 0.1, 0.8, 0.2])
    parents, chosen = np.empty(2, np.int64), np.empty(2, np.int64)
    link_greedily(np.argsort(-chances), owners, candidates, parents, chosen)
    assert parents.tolist() == [1, -1]
    assert chosen.tolist() == [0, 3]
