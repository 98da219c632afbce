"""Which sampler "auto" stands for; it may depend on data and parameters alone."""

import pytest

import palaver as pv
from palaver.models import thread_model


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(8)


@pytest.mark.parametrize(
    ("model", "background", "chosen"),
    [
        (pv.M4, True, "metropolis"),
        (pv.M4, "message", "metropolis"),
        (pv.M4, False, "collapsed"),
        (pv.BlockHMM, True, "collapsed"),
        (pv.LDA, True, "collapsed"),
    ],
)
def test_small_and_large_corpora(corpus, monkeypatch, model, background, chosen):
    model = model(n_classes=2, n_sweeps=2, background=background, random_state=0)
    assert model.fit(corpus).sampler_ == chosen
    monkeypatch.setattr(thread_model, "COLLAPSED_TOKENS", 10)
    assert model.fit(corpus).sampler_ == "parallel"


def test_a_chosen_sampler_is_kept(corpus):
    assert pv.M4(n_classes=2, n_sweeps=2, sampler="collapsed").fit(corpus).sampler_ == "collapsed"
