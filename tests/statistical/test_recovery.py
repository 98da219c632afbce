"""Classes, shares and transitions that were planted in simulated threads are found again.

Seeds are fixed and the planted structure is strong: a chain that ends in a poor mode fails,
so each fit takes the best of several chains, as users do.
"""

from dataclasses import replace

import numpy as np
import pytest
from support.planted import N_CLASSES, match, plant, planted_class, spelled

from palaver.encoding import encode
from palaver.models import model_class

THREAD_MODELS = ("lda", "block-hmm", "m4", "m4 dirichlet")
CASES = [
    (name, sampler)
    for name in THREAD_MODELS[:3]
    for sampler in model_class(name).limits["sampler"].options[1:]
] + [("m4 dirichlet", "auto")]


@pytest.mark.parametrize(("name", "sampler"), CASES)
def test_planted_classes_are_recovered(name, sampler):
    planted = plant(name, np.random.default_rng(11))
    corpus = planted.simulate((400, 5, 12), random_state=2)
    found = planted_class(name)(
        n_classes=N_CLASSES, background=True, n_sweeps=300, n_chains=3, sampler=sampler,
        random_state=5, n_jobs=2,
    ).fit(encode(corpus))  # fmt: skip
    found.class_words_ = spelled(planted, found)
    order = match(planted, found)
    error = np.abs(planted.class_words_ - found.class_words_[order]).sum(axis=1)
    assert error.max() < 0.25  # of at most 2; unmatched classes are above 1
    assert abs(found.class_probability_ - planted.class_probability_) < 0.08
    if name == "block-hmm":
        rows = found.transitions_[np.append(order, N_CLASSES)][:, order]
        assert np.abs(rows - planted.transitions_).max() < 0.12
    if name.startswith("m4"):
        weights = found.transitions_[np.append(order, [N_CLASSES, N_CLASSES + 1])][:, order]
        likely = weights[: N_CLASSES + 1].argmax(axis=1)
        np.testing.assert_array_equal(likely, planted.transitions_[: N_CLASSES + 1].argmax(axis=1))


@pytest.mark.parametrize("name", THREAD_MODELS)
def test_planted_token_classes_are_recovered(name):
    planted = plant(name, np.random.default_rng(3), background=0.0)
    corpus = planted.simulate((100, 5, 12), random_state=4)
    truth = np.concatenate(corpus.table["token_classes"].to_list())
    planted.background = False
    planted.seed_ = 0
    tokens = planted.token_classes(replace(corpus))
    share = (tokens["class"].to_numpy() == truth).mean()
    assert share > {"lda": 0.75, "block-hmm": 0.97, "m4": 0.75}[name.split()[0]]
