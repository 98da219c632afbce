"""One state per word: the sampler against all partitions of a small vocabulary.

False alarms 1e-6 for each test, seeds fixed.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from exact.test_infinite_posterior import expected, together, worst
from scipy.special import logsumexp
from support.infinite_reference import log_partition, partitions, rising

from palaver import rng
from palaver.encoding import encode_sentences
from palaver.encoding.shards import cut_sentences
from palaver.models.infinite.forms import folded, shape, word_forms
from palaver.models.infinite.types import TypeEngine
from palaver.models.states import types
from palaver.models.states.kernels.types import TypePriors
from palaver.models.states.priors import Hyperpriors

SENTENCES = [["Bob", "runs"], ["Ann", "runs", "runs", "home"], [], ["Bob", "digs"], ["digs"]]
WORDS = ["Bob", "runs", "Ann", "home", "digs"]
FORMS = np.array([[0, 0], [1, 1], [0, 0], [2, 1], [1, 1]], np.int32)
VALUES = np.array([4, 2])
ALPHA, ETA, GAMMA = 0.3, 0.6, 1.4
SUMS = np.array([1.5, 0.4])


def naive(classes, discount: float, with_forms: bool) -> float:
    """log p(sentences, forms, classes), equation by equation."""
    n_classes = max(classes) + 1
    of = dict(zip(WORDS, classes, strict=True))
    result = log_partition(list(Counter(classes).values()), GAMMA, discount)
    steps = Counter(
        pair
        for sentence in SENTENCES
        if sentence
        for pair in pairwise(["edge", *(of[word] for word in sentence), "edge"])
    )
    for source in ["edge", *range(n_classes)]:
        row = [steps[source, target] for target in ["edge", *range(n_classes)]]
        result += sum(rising(ALPHA, n) for n in row) - rising(ALPHA * len(row), sum(row))
    totals = Counter(word for sentence in SENTENCES for word in sentence)
    for k in range(n_classes):
        mine = [w for w, word in enumerate(WORDS) if classes[w] == k]
        counts = [totals[WORDS[w]] for w in mine]
        result += sum(rising(ETA, n) for n in counts) - rising(ETA * len(mine), sum(counts))
        for f in range(2 if with_forms else 0):
            seen = Counter(FORMS[mine, f].tolist())
            result += sum(rising(SUMS[f] / VALUES[f], n) for n in seen.values())
            result -= rising(SUMS[f], len(mine))
    return result


def exact(discount: float, with_forms: bool, most: int = 5) -> dict[tuple[int, ...], float]:
    logs = {
        labels: naive(labels, discount, with_forms)
        for labels in partitions(5)
        if max(labels) < most
    }
    total = logsumexp(list(logs.values()))
    return {labels: float(np.exp(value - total)) for labels, value in logs.items()}


def make(discount=0.0, with_forms=True, most=5, eta=ETA, fixed=True):
    n_forms = 2 if with_forms else 0
    engine = TypeEngine(most, fixed, most, ALPHA, GAMMA, discount, eta, (0.1, 1.0), Hyperpriors(),
                        FORMS[:, :n_forms], VALUES[:n_forms])  # fmt: skip
    return engine


def sampled(engine: TypeEngine, n_sweeps: int = 3000) -> np.ndarray:
    data = encode_sentences(SENTENCES)
    order = [data.vocabulary.words.index(word) for word in WORDS]
    engine.forms = engine.forms[np.argsort(order)]
    (shard,) = cut_sentences(data, most=1)
    shared = engine.start(rng.generator(0, "start"))
    shared.arrays["form_priors"] = SUMS[: len(engine.n_values)]
    state = engine.open(shared, shard, rng.key(0, "open"))
    rows = []
    for sweep in range(n_sweeps):
        engine.sweep(shared, shard, state, rng.key(0, "sweep", 0, sweep))
        rows.append(together(state["classes"][order]))
        assert (state["states"] == state["classes"][shard.tokens]).all()
    return np.array(rows)


@pytest.mark.parametrize("discount", [0.0, 0.3], ids=["DP", "PY"])
@pytest.mark.parametrize("with_forms", [True, False], ids=["forms", "company"])
def test_the_sampler_has_the_exact_posterior(discount, with_forms):
    assert worst(sampled(make(discount, with_forms)), expected(exact(discount, with_forms))) < 1


@pytest.mark.parametrize("fixed", [True, False], ids=["fixed", "with splits and merges"])
def test_no_more_states_than_asked_for(fixed):
    rows = sampled(make(most=2, fixed=fixed))
    assert rows[:, -3].max() == 2
    found = expected(exact(0.0, True, 2))
    constant = rows.std(axis=0) == 0
    assert worst(rows[:, ~constant], found[~constant]) < 1


def test_a_wrong_prior_is_caught():
    assert worst(sampled(make(eta=4 * ETA)), expected(exact(0.0, True))) > 1
    assert worst(sampled(make(with_forms=False)), expected(exact(0.0, True))) > 1


def tallies_of(labels, with_forms=True):
    data = encode_sentences(SENTENCES)
    order = [WORDS.index(word) for word in data.vocabulary.words]
    (shard,) = cut_sentences(data, most=1)
    n_forms = 2 if with_forms else 0
    pairs = types.count_pairs(shard.tokens, shard.message_offsets, 5)
    links = types.links_of(pairs, 5, FORMS[order, :n_forms])
    classes = np.array(labels, np.int32)[order]
    return types.tallied(links, classes, 7, 4), links


@pytest.mark.parametrize("labels", [(0, 1, 0, 2, 1), (0, 0, 0, 0, 0), (0, 1, 2, 3, 4)])
def test_the_log_joint(labels):
    tallies, links = tallies_of(labels)
    priors = TypePriors(ALPHA, ETA, GAMMA, 0.3, SUMS, VALUES)
    found = types.log_density(tallies, links.totals, priors)
    assert found == pytest.approx(naive(labels, 0.3, True), abs=1e-9)


def test_shards_count_the_same_pairs_in_any_order():
    data = encode_sentences(SENTENCES * 3)
    (whole,) = cut_sentences(data, most=1)
    parts = [types.count_pairs(shard.tokens, shard.message_offsets, 5)
             for shard in cut_sentences(data, smallest=4, most=None)]  # fmt: skip
    assert len(parts) > 1
    expected_pairs = types.count_pairs(whole.tokens, whole.message_offsets, 5)
    for order in (parts, parts[::-1]):
        np.testing.assert_array_equal(types.add_pairs(np.hstack(order)), expected_pairs)


def test_priors_move_within_their_posterior():
    """Each prior given the classes, by integration over a fine grid."""
    tallies, links = tallies_of((0, 1, 0, 2, 1))
    hyper = Hyperpriors((2.0, 0.5), (2.0, 3.0))
    learned = frozenset({"transition", "word", "concentration", "discount"})
    priors = TypePriors(ALPHA, ETA, GAMMA, 0.3, SUMS, VALUES)
    generator, rows = np.random.default_rng(1), []
    for _ in range(12_000):
        priors = types.moved(tallies, links.totals, priors, generator, learned, hyper, (0.1, 2.0))
        rows.append([np.log(priors.transition), np.log(priors.word), *np.log(priors.forms)])
    grid = np.linspace(-25, 12, 4000)
    densities = [
        lambda v: types.log_transitions(tallies, v) + 2 * np.log(v) - 0.5 * v,
        lambda v: types.log_words(tallies, links.totals, v) if 0.1 <= v <= 2 else -np.inf,
        *(
            lambda v, f=f: (
                types.log_form(tallies, f, int(VALUES[f]), v)
                if types.FORM_PRIORS[0] <= v <= types.FORM_PRIORS[1]
                else -np.inf
            )
            for f in (0, 1)
        ),
    ]
    means = []
    for density in densities:
        logs = np.array([density(float(np.exp(place))) for place in grid])
        weights = np.exp(logs - logs.max())
        means.append(float(weights @ grid / weights.sum()))
    assert worst(np.array(rows), np.array(means)) < 1


def test_forms_of_words_in_several_scripts():
    assert shape("iPhone") == "xXx"
    assert shape("東京") == shape("ไทย") == "o"
    assert shape("Ἀθῆναι") == "Xx"
    assert folded("ÉTÉ-2024") == "été-0000"
    forms, n_values = word_forms(["going", "doing", "1999", "2024", ""])
    assert (forms[0] == forms[1]).all()
    assert (forms[2] == forms[3]).all()
    assert n_values.tolist() == [3, 3, 3]


def split_and_merged(discount: float, n_rounds: int = 4000, eta: float = ETA) -> np.ndarray:
    """Partitions visited by split and merge moves alone."""
    labels = [0, 1, 0, 2, 1]
    tallies, links = tallies_of(labels)
    order = [encode_sentences(SENTENCES).vocabulary.words.index(word) for word in WORDS]
    priors = TypePriors(ALPHA, eta, GAMMA, discount, SUMS, VALUES)
    rows = []
    for sweep in range(n_rounds):
        types.split_or_merged(links, tallies, 20, 5, priors, 1.0, rng.key(0, "moves", 0, sweep))
        rows.append(together(tallies.classes[order]))
    again = types.tallied(links, tallies.classes, 7, 4)
    for found, counted in zip(tallies, again, strict=True):
        np.testing.assert_array_equal(found, counted)
    return np.array(rows)


@pytest.mark.parametrize("discount", [0.0, 0.3], ids=["DP", "PY"])
def test_split_and_merge_moves_have_the_exact_posterior(discount):
    assert worst(split_and_merged(discount), expected(exact(discount, True))) < 1


def test_split_and_merge_moves_with_a_wrong_prior_are_caught():
    assert worst(split_and_merged(0.0, eta=4 * ETA), expected(exact(0.0, True))) > 1
