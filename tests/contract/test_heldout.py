"""Held-out likelihoods of every thread model: shapes, edges, the same bytes for any workers."""

import functools

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.encoding import encode
from palaver.errors import CorpusError, NotFittedError, ParameterError
from palaver.models import MODELS, model_class
from palaver.models.words.model import ThreadModel

THREAD_MODELS = [name for name in MODELS if issubclass(model_class(name), ThreadModel)]
CASES = [(name, method) for name in THREAD_MODELS for method in model_class(name).heldout_methods]


def make(name, **params):
    return model_class(name)(**{"n_classes": 3, "n_sweeps": 12, "random_state": 1, **params})


@pytest.fixture(scope="module")
def split():
    return pv.sample(60).split(random_state=1)


@pytest.fixture(scope="module")
def fitted(split):
    """Return a short fit of a model, made once, for tests that do not change it."""
    return functools.cache(lambda name, background: make(name, background=background).fit(split[0]))


@pytest.fixture
def small_shards(monkeypatch):
    import palaver.encoding.shards as module

    monkeypatch.setattr(module, "SMALLEST", 300)


@pytest.mark.parametrize(("name", "method"), CASES)
@pytest.mark.parametrize("background", [False, True, "message"])
def test_same_bytes_for_any_number_of_workers(
    name, method, background, split, fitted, small_shards
):
    _, test = split
    model = fitted(name, background).set_params(n_jobs=1)
    options = {"n_sweeps": 12, "n_particles": 20}
    first = model.log_likelihoods(test, method, **options)
    assert first.shape == (test.n_conversations,)
    assert (first < 0).all()
    model.set_params(n_jobs=3)
    np.testing.assert_array_equal(model.log_likelihoods(test, method, **options), first)
    n_tokens = encode(test, model.vocabulary_).n_tokens
    perplexity = model.perplexity(test, method, **options)
    assert perplexity == pytest.approx(np.exp(-first.sum() / n_tokens))
    assert 20 < perplexity < len(model.vocabulary_)


@pytest.mark.parametrize(("name", "method"), CASES)
def test_a_conversation_does_not_depend_on_the_others(name, method, split, fitted):
    _, test = split
    model = fitted(name, True)
    options = {"n_sweeps": 12, "n_particles": 20}
    whole = model.log_likelihoods(test, method, **options)
    first = test.take(np.arange(5))
    np.testing.assert_allclose(model.log_likelihoods(first, method, **options), whole[:5])


@pytest.mark.parametrize("name", THREAD_MODELS)
def test_unusual_use(name, split, fitted):
    _, test = split
    with pytest.raises(NotFittedError):
        make(name).perplexity(test)
    model = fitted(name, True)
    with pytest.raises(ParameterError, match="method must be"):
        model.perplexity(test, "best")
    unknown = pv.Corpus.from_polars(test.table.head(2).with_columns(text=pl.lit("xyzzy plugh")))
    with pytest.raises(CorpusError, match="no word that the model knows"):
        model.perplexity(unknown)
    assert model.log_likelihoods(unknown).sum() == 0.0
    assert model.score(test) == pytest.approx(-np.log(model.perplexity(test)))
