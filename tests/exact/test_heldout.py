"""Held-out likelihoods against enumeration, and the paper's protocol against a naive twin."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import logsumexp
from support import block_hmm_reference, lda_reference, m4_reference
from support.forests import make_forest, random_forest
from support.planted import plant

import palaver as pv
from palaver.encoding import encode
from palaver.kernels import particles
from palaver.kernels.random import open_stream
from palaver.kernels.switch import (
    SWITCH_CORPUS,
    SWITCH_MESSAGE,
    SWITCH_OFF,
    class_probability_nodes,
)
from palaver.models.block_hmm.kernels.heldout import block_log_likelihoods, message_emissions
from palaver.models.lda.kernels.heldout import lda_log_likelihoods
from palaver.models.m4.kernels.heldout import filter_log_likelihoods
from palaver.rng import key

SWITCHES = [SWITCH_OFF, SWITCH_CORPUS, SWITCH_MESSAGE]
#: Two conversations: one with two roots, branching, a chain; an empty message with replies.
FOREST = make_forest(
    [[0, 1], [1, 1], [0], [], [1], [0], [1, 0]], [-1, 0, 0, 1, 3, -1, -1], [6, 1], n_words=2
)


def conversations(forest):
    """Each conversation as a forest of its own."""
    for first, last in itertools.pairwise(forest.conversation_offsets):
        messages = [
            forest.tokens[forest.message_offsets[b] : forest.message_offsets[b + 1]].tolist()
            for b in range(first, last)
        ]
        parents = [p if p < 0 else p - first for p in forest.parents[first:last]]
        yield make_forest(messages, parents, n_words=forest.n_words)


def enumerated(forest, model, reference):
    """log p(words) of each conversation, by the sum over all assignments."""
    return np.array(
        [
            logsumexp(
                [
                    reference.log_joint(part, classes, model)
                    for classes in reference.all_assignments(part, model)
                ]
            )
            for part in conversations(forest)
        ]
    )


def m4_estimate(forest, model, n_particles, run):
    result = np.empty(forest.n_conversations)
    variant, parameters = m4_reference.arguments(model)
    threads = m4_reference.threads_of(forest)._replace(first_conversation=0)
    draws = key(7, "test", 0, run)
    filter_log_likelihoods(variant, threads, parameters, n_particles, draws, result)
    return result


def lda_estimate(forest, model, n_particles, run):
    result = np.empty(forest.n_conversations)
    lda_log_likelihoods(
        forest.tokens, forest.message_offsets, forest.conversation_offsets, 0,
        model.word_weights, model.alpha, model.switch, model.switch_prior,
        model.class_probability, n_particles, key(7, "test", 0, run), result,
    )  # fmt: skip
    return result


def block_exact(forest, parameters):
    nodes, log_weights = class_probability_nodes(
        parameters.switch, parameters.switch_prior, parameters.class_probability,
        int(np.diff(forest.message_offsets).max()),
    )  # fmt: skip
    emissions = np.empty((forest.n_messages, parameters.n_classes))
    message_emissions(
        forest.tokens, forest.message_offsets, parameters.word_weights, nodes, log_weights,
        emissions,
    )  # fmt: skip
    result = np.empty(forest.n_conversations)
    block_log_likelihoods(
        forest.parents, forest.conversation_offsets, parameters.rows, emissions, result
    )
    return result


#: For LDA, whose messages are weighed word by word: the first words leave all open.
LONG = make_forest([[2, 2, 0, 0, 0, 0], [1, 0]], [-1, 0], n_words=3)
CASES = {"m4": (m4_reference, m4_estimate), "lda": (lda_reference, lda_estimate)}


def sharp_model(reference, switch):
    """A model under which particles soon differ so much that they are resampled."""
    n_words = 2 if reference is m4_reference else 3
    model = reference.random_model(np.random.default_rng(3), 2, n_words, switch, True)
    if reference is m4_reference:
        model.word_weights[:] = [[0.97, 0.04, 0.5], [0.03, 0.96, 0.5]]
        model.weights[:] = [[4.0, -4.0], [-4.0, 4.0], [0.5, 0.0], [0.2, 0.0]]
    else:
        model.word_weights[:] = [[0.69, 0.01, 0.1], [0.01, 0.69, 0.1], [0.3, 0.3, 0.8]]
        model.alpha[:] = 0.02
    return model


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("n_particles", [1, 4])
def test_estimates_are_unbiased(name, switch, n_particles):
    reference, estimate = CASES[name]
    model = sharp_model(reference, switch)
    forest = FOREST if name == "m4" else LONG
    exact = np.exp(enumerated(forest, model, reference))
    runs = np.exp([estimate(forest, model, n_particles, run) for run in range(20_000)])
    errors = runs.std(axis=0) / math.sqrt(len(runs))
    assert (np.abs(runs.mean(axis=0) - exact) <= 4.5 * errors + 1e-12).all()
    assert (errors < 0.03 * exact).all()  # so that a bias of a tenth is seen


@pytest.mark.parametrize("switch", SWITCHES)
@pytest.mark.parametrize("name", CASES)
def test_many_particles_come_near_the_exact_value(name, switch):
    reference, estimate = CASES[name]
    generator = np.random.default_rng(8)
    for _ in range(3):
        forest = random_forest(generator, n_tokens=7, n_messages=5, n_conversations=2)
        model = reference.random_model(generator, 2, 3, switch, True)
        exact = enumerated(forest, model, reference)
        np.testing.assert_allclose(estimate(forest, model, 20_000, 0), exact, atol=0.02)


@pytest.mark.parametrize("switch", [SWITCH_OFF, SWITCH_CORPUS])
def test_m4_is_exact_where_parents_say_nothing(switch):
    model = m4_reference.random_model(np.random.default_rng(4), 3, 2, switch, True)
    model.weights[:3] = 0.0
    exact = enumerated(FOREST, model, m4_reference)
    np.testing.assert_allclose(m4_estimate(FOREST, model, 2, 0), exact, atol=1e-12)


@pytest.mark.parametrize("switch", SWITCHES)
def test_the_block_hmm_is_exact(switch):
    generator = np.random.default_rng(5)
    parameters = block_hmm_reference.random_parameters(generator, 3, 2, switch)
    exact = [
        logsumexp(
            [
                block_hmm_reference.log_likelihood(part, classes, background, parameters)
                for classes in block_hmm_reference.all_classes(part, 3)
                for background in block_hmm_reference.all_switches(part, switch)
            ]
        )
        for part in conversations(FOREST)
    ]
    np.testing.assert_allclose(block_exact(FOREST, parameters), exact, atol=1e-10)


def all_words(forest):
    for words in itertools.product(range(forest.n_words), repeat=forest.n_tokens):
        yield forest.with_tokens(words)


@pytest.mark.parametrize("switch", SWITCHES)
def test_probabilities_of_all_texts_sum_to_one(switch):
    forest = make_forest([[0, 0], [0], [0, 0]], [-1, 0, 1], n_words=2)
    generator = np.random.default_rng(6)
    parameters = block_hmm_reference.random_parameters(generator, 2, 2, switch)
    total = sum(np.exp(block_exact(text, parameters)[0]) for text in all_words(forest))
    assert total == pytest.approx(1.0, abs=1e-10)
    for reference, estimate in CASES.values():
        model = reference.random_model(generator, 2, 2, switch, True)
        total = sum(np.exp(estimate(text, model, 20_000, 0)[0]) for text in all_words(forest))
        assert total == pytest.approx(1.0, abs=0.01)


def test_quadrature_holds_for_messages_longer_than_its_degree():
    generator = np.random.default_rng(9)
    words = generator.integers(0, 3, 400)
    row = generator.dirichlet(np.ones(3), 2)
    prior = np.array([10.0, 10.0])
    nodes, log_weights = class_probability_nodes(SWITCH_MESSAGE, prior, 1.0, len(words))
    emissions = np.empty((1, 1))
    message_emissions(
        words.astype(np.int32), np.array([0, 400]), np.ascontiguousarray(row.T), nodes,
        log_weights, emissions,
    )  # fmt: skip
    grid = np.linspace(0, 1, 200_001)[1:-1]
    logs = 9 * (np.log(grid) + np.log1p(-grid))
    values = logs + sum(np.log(grid * row[0, w] + (1 - grid) * row[1, w]) for w in words)
    assert emissions[0, 0] == pytest.approx(logsumexp(values) - logsumexp(logs), abs=1e-3)


def test_resampling_keeps_shares_and_even_weights_stay():
    state = np.empty(4, np.uint64)
    survivors = np.empty(1000, np.int64)
    logs = np.log(np.random.default_rng(1).dirichlet(np.full(1000, 0.2))).clip(-700)
    shares = np.exp(logs) / np.exp(logs).sum()
    counts = np.zeros(1000)
    for run in range(200):
        open_stream(key(1, "test", 0, run), 0, state)
        weights = logs.copy()
        mean = particles.choose_survivors(weights, state, survivors)
        assert mean == pytest.approx(particles.log_mean(logs))
        assert (weights == 0).all()
        counts += np.bincount(survivors, minlength=1000)
    np.testing.assert_allclose(counts / 200, 1000 * shares, atol=0.2)
    even = np.zeros(1000)
    assert particles.choose_survivors(even, state, survivors) == 0.0
    assert survivors[0] == -1


# the paper's protocol


def naive_paper_score(model, encoded, states):
    """Mean over samples of the sum over tokens of log p(w); `states` as (z of a message, its x)."""
    words = np.vstack((model.class_words_, model.background_words_))
    total = 0.0
    for classes in states:
        for b, parent in enumerate(encoded.parents):
            own = range(encoded.message_offsets[b], encoded.message_offsets[b + 1])
            shares = naive_shares(model, encoded, classes, b, parent)
            chance = model.class_probability_
            if model.background == "message":
                classed = sum(classes[i] < model.n_classes for i in own)
                chance = (classed + model.switch_prior) / (len(own) + 2 * model.switch_prior)
            for i in own:
                w = encoded.tokens[i]
                mixed = sum(shares[k] * words[k, w] for k in range(model.n_classes))
                total += math.log(chance * mixed + (1 - chance) * words[-1, w])
    return total / len(states)


def naive_shares(model, encoded, classes, b, parent):
    n_classes = model.n_classes

    def histogram(message):
        own = classes[encoded.message_offsets[message] : encoded.message_offsets[message + 1]]
        return np.array([(own == k).sum() for k in range(n_classes)], float)

    if model.name == "lda":
        counts = histogram(b) + model.share_prior_
        return counts / counts.sum()
    if parent < 0:
        scores = model.transitions_[n_classes] + model.transitions_[n_classes + 1]
    else:
        counts = histogram(parent)
        scores = counts / max(counts.sum(), 1) @ model.transitions_[:n_classes]
        scores = scores + model.transitions_[n_classes + 1]
    return np.exp(scores) / np.exp(scores).sum()


def recorded_states(model, encoded, n_sweeps, n_kept):
    """The fold-in that the paper's protocol runs, its last states kept."""
    from palaver.fit.fold import fold_in

    engine, frozen = model._frozen()
    kept = []
    fold_in(
        engine, frozen, model.cut(encoded),
        lambda shard, state: kept.append({k: v.copy() for k, v in state.items()}),
        seed=model.seed_, n_sweeps=n_sweeps, burn_in=n_sweeps - n_kept, purpose="perplexity",
    )  # fmt: skip
    return kept


@pytest.fixture(scope="module")
def threads():
    return plant("m4", np.random.default_rng(2)).simulate((6, 4, 5), random_state=1)


@pytest.mark.parametrize("background", [False, True, "message"])
@pytest.mark.parametrize("name", ["m4", "lda"])
def test_the_papers_protocol_is_its_naive_twin(name, background, threads):
    model = plant(name, np.random.default_rng(2), 0.3 if background is True else 0.0)
    model.seed_, model.background = 0, background
    encoded = encode(threads, model.vocabulary_)
    states = [state["classes"] for state in recorded_states(model, encoded, 13, 10)]
    expected = naive_paper_score(model, encoded, states)
    logs = model.log_likelihoods(encoded, "paper", n_sweeps=13)
    assert logs.shape == (6,)
    assert logs.sum() == pytest.approx(expected, abs=1e-8)
    perplexity = model.perplexity(encoded, "paper", n_sweeps=13)
    assert perplexity == pytest.approx(math.exp(-expected / encoded.n_tokens))


@pytest.mark.parametrize("method", ["paper", "blocks"])
def test_the_block_hmms_two_scores_are_their_naive_twins(method, threads):
    model = plant("block-hmm", np.random.default_rng(2))
    model.seed_ = 0
    encoded = encode(threads, model.vocabulary_)
    p, words = model.class_probability_, model.class_words_
    total = 0.0
    states = recorded_states(model, encoded, 3, 3)
    for state in states:
        for b, parent in enumerate(encoded.parents):
            row = model.transitions_[state["message_classes"][parent] if parent >= 0 else -1]
            own = encoded.tokens[encoded.message_offsets[b] : encoded.message_offsets[b + 1]]
            emissions = p * words[:, own] + (1 - p) * model.background_words_[own]
            if method == "paper":
                total += np.log(row @ emissions).sum()
            else:
                total += math.log(row @ emissions.prod(axis=1))
    logs = model.log_likelihoods(encoded, method, n_sweeps=3)
    assert logs.sum() == pytest.approx(total / len(states), abs=1e-8)


def test_one_class_is_the_unigram_model():
    train, test = pv.sample(60).split(random_state=1)
    model = pv.LDA(n_classes=1, n_sweeps=10).fit(train)
    tokens = encode(test, model.vocabulary_).tokens
    expected = math.exp(-np.log(model.class_words_[0, tokens]).mean())
    assert model.perplexity(test) == pytest.approx(expected)
    assert model.perplexity(test, "paper", n_sweeps=3) == pytest.approx(expected)
