"""Which sampler "auto" stands for; it may depend on data and parameters alone."""

import pytest

import palaver as pv
from palaver.models.words import model as thread_model


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(8)


@pytest.mark.parametrize(
    ("model", "params", "chosen"),
    [
        (pv.M4, {}, "collapsed"),
        (pv.M4, {"background": False}, "collapsed"),
        (pv.M4, {"background": "message", "transition": "softmax"}, "collapsed"),
        (pv.M4, {"background": False, "transition": "softmax"}, "collapsed"),
        (pv.BlockHMM, {}, "collapsed"),
        (pv.LDA, {}, "collapsed"),
    ],
)
def test_small_and_large_corpora(corpus, monkeypatch, model, params, chosen):
    model = model(n_classes=2, n_sweeps=2, random_state=0, **params)
    assert model.fit(corpus).sampler_ == chosen
    monkeypatch.setattr(thread_model, "COLLAPSED_TOKENS", 10)
    assert model.fit(corpus).sampler_ == "parallel"


@pytest.mark.parametrize("sampler", ["collapsed", "parallel"])
@pytest.mark.parametrize("step", ["bound", "gradient", "metropolis"])
def test_every_sampler_goes_with_every_way_to_learn(corpus, sampler, step):
    model = pv.M4(n_classes=2, n_sweeps=4, sampler=sampler, weight_step=step).fit(corpus)
    assert model.sampler_ == sampler
    assert model.trace_["log_joint"].is_finite().all()
