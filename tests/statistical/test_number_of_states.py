"""The number of planted classes is found, wherever the search starts."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.evaluate import v_measure

N_CLASSES, N_WORDS = 6, 20


def planted():
    """Sentences of classes that follow one another; class and number of each word."""
    generator = np.random.default_rng(3)
    rows = generator.dirichlet(np.full(N_CLASSES, 0.3), N_CLASSES)
    classes = np.zeros((400, 12), int)
    classes[:, 0] = generator.integers(N_CLASSES, size=400)
    for at in range(1, 12):
        classes[:, at] = [generator.choice(N_CLASSES, p=rows[k]) for k in classes[:, at - 1]]
    words = classes * N_WORDS + generator.integers(N_WORDS, size=classes.shape)
    return classes.ravel(), words


@pytest.mark.parametrize("first", [10, 20, 50, 100])
def test_the_number_of_planted_classes_is_found(first):
    classes, words = planted()
    sentences = [[f"w{word}" for word in row] for row in words]
    model = pv.InfiniteHMM(
        one_state_per_word=True, forms=False, first_states=first, max_states=1000, n_sweeps=30
    ).fit(sentences)
    assert model.n_states_ == N_CLASSES
    assert v_measure(model.states_, classes) > 0.99


def joint_and_states(first, most=1000):
    """Log joint, given all priors, and states of the planted words."""
    sentences = [[f"w{word}" for word in row] for row in planted()[1]]
    model = pv.InfiniteHMM(
        one_state_per_word=True, forms=False, first_states=first, max_states=most, n_sweeps=30,
        row_concentration=0.3, state_concentration=1.0, word_prior=1.0,
    ).fit(sentences)  # fmt: skip
    return model.trace_["log_joint"][-1], model.states_


def test_all_starts_end_with_the_same_states_and_log_joint():
    found = [joint_and_states(first) for first in (10, 20, 50, 100)]
    for joint, states in found[1:]:
        assert joint == pytest.approx(found[0][0], abs=1e-6)
        assert v_measure(states, found[0][1]) == pytest.approx(1)


def test_a_search_that_begins_at_the_limit_finds_the_same():
    """With no room for one more, classes are exchanged."""
    joint, states = joint_and_states(20, N_CLASSES)
    assert joint == pytest.approx(joint_and_states(20)[0], abs=1e-6)
    assert v_measure(states, planted()[0]) > 0.99


def test_a_search_for_few_states_begins_at_the_limit_whatever_the_first_number():
    found = [joint_and_states(first, 50) for first in (2, 100)]
    assert v_measure(found[0][1], planted()[0]) > 0.99
    assert found[0][0] == found[1][0]
    np.testing.assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("first", [10, 100])
def test_the_number_of_states_of_occurrences(first):
    classes, words = planted()
    sentences = [[f"w{word}" for word in row] for row in words]
    model = pv.InfiniteHMM(one_state_per_word=False, first_states=first, n_sweeps=120).fit(
        sentences
    )
    assert (model.class_shares_ > 0.01).sum() == N_CLASSES  # a new state may have a word or two
    assert v_measure(model.states_, classes) > 0.9


@pytest.mark.parametrize("first", [2, 40])
def test_the_number_of_states_of_messages(first):
    """Messages of five kinds of words, each an answer to the one before."""
    generator = np.random.default_rng(1)
    kinds = np.cumsum(generator.integers(1, 3, (40, 8)), axis=1) % 5
    rows = [
        {"conversation": str(c), "id": f"{c}-{i}", "reply_to": f"{c}-{i - 1}" if i else None,
         "text": " ".join(f"w{kind}x{word}" for word in generator.integers(12, size=8))}
        for c, conversation in enumerate(kinds)
        for i, kind in enumerate(conversation)
    ]  # fmt: skip
    model = pv.InfiniteHMM(unit="message", first_states=first, n_sweeps=240)
    model.fit(pv.Corpus.from_polars(pl.DataFrame(rows)))
    assert model.n_states_ == 5
    assert v_measure(model.states_, kinds.ravel()) > 0.99


def test_the_number_of_states_of_vectors():
    generator = np.random.default_rng(0)
    centres = 3 * generator.standard_normal((5, 6))
    states = np.cumsum(generator.integers(1, 3, (60, 15)), axis=1).ravel() % 5
    vectors = centres[states] + generator.standard_normal((900, 6))
    model = pv.GaussianHMM(n_states=None, init="random", n_sweeps=100)
    model.fit(vectors, lengths=[15] * 60)
    assert model.n_states_ == 5
    assert v_measure(model.states_, states) > 0.99
