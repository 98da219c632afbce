"""The contract of every model, for what the infinite HMM does beyond its defaults."""

import pytest
from contract import test_every_model as contract

import palaver as pv
from palaver.encoding import encode

UNIT = {"unit": "message"}


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def encoded(corpus):
    return encode(corpus)


@pytest.mark.parametrize("sampler", ["beam", "dense"])
def test_messages(sampler, corpus, encoded, tmp_path):
    params = {**UNIT, "sampler": sampler}
    contract.test_fit_gives_distributions("infinite-hmm", params, corpus, encoded)
    contract.test_interrupted_and_resumed_equals_uninterrupted(
        "infinite-hmm", params, encoded, tmp_path
    )


TYPES, OCCURRENCES = {"one_state_per_word": True}, {"one_state_per_word": False}


@pytest.mark.parametrize("params", [{**TYPES, "forms": False}, OCCURRENCES])
def test_words(params, corpus, encoded, tmp_path):
    contract.test_fit_gives_distributions("infinite-hmm", params, corpus, encoded)
    contract.test_interrupted_and_resumed_equals_uninterrupted(
        "infinite-hmm", params, encoded, tmp_path
    )


def test_words_have_one_state_each(encoded):
    model = contract.make("infinite-hmm", None, **TYPES).fit(encoded)
    states = [set(model.states_[encoded.tokens == w].tolist()) for w in set(encoded.tokens)]
    assert all(len(found) == 1 for found in states)
    assert (model.predict(encoded) == model.states_).all()


@pytest.mark.parametrize("edge", contract.EDGES)
def test_edges_of_occurrences(edge):
    contract.test_edges("infinite-hmm", OCCURRENCES, edge)


@pytest.mark.parametrize("edge", contract.EDGES)
def test_edges_of_messages(edge):
    contract.test_edges("infinite-hmm", UNIT, edge)


def test_without_a_number_of_states(corpus, encoded, tmp_path):
    model = contract.make("infinite-hmm", None, **OCCURRENCES).fit(encoded)
    assert model.n_states is None
    model.save(tmp_path)
    assert contract.estimates(pv.load(tmp_path)) == contract.estimates(model)
    assert model.annotate(corpus).table["class"].n_unique() > 1
