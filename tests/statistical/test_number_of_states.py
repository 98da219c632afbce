"""One state per word finds the number of planted classes, wherever it starts."""

import numpy as np
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
        one_state_per_word=True, forms=False, first_states=first, n_sweeps=30
    ).fit(sentences)
    assert model.n_states_ == N_CLASSES
    assert v_measure(model.states_, classes) > 0.99
