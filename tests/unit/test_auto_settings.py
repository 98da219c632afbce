"""What "auto" stands for; it may depend on data and parameters alone."""

import polars as pl
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


@pytest.mark.parametrize("model", [pv.M4, pv.BlockHMM, pv.LDA])
def test_a_background_is_for_long_messages(model, tmp_path):
    settings = {"n_classes": 2, "n_sweeps": 3, "random_state": 0}
    text = " ".join(f"w{i % 7} the" for i in range(20))  # 40 words
    for repeats, has_background in ((1, False), (2, True)):
        texts = pl.DataFrame({"text": [" ".join([text] * repeats)] * 6})
        corpus = pv.Corpus.from_polars(texts)
        chosen = model(background="auto", **settings).fit(corpus)
        given = model(background=has_background, **settings).fit(corpus)
        assert chosen.background_ is given.background_ is has_background
        assert (chosen.class_probability_ < 1) == has_background
        assert chosen.class_words_.tobytes() == given.class_words_.tobytes()
        # a loaded model reads one message as the fitted one does, however long it is
        chosen.save(tmp_path / str(repeats))
        loaded = pv.load(tmp_path / str(repeats))
        short = pv.Corpus.from_polars(pl.DataFrame({"text": ["w1 the w2", "w3 the"]}))
        assert loaded.background_ is has_background
        assert loaded.transform(short).tobytes() == chosen.transform(short).tobytes()
        assert loaded.summary().facts["background"] is has_background


def test_the_default_of_models_of_acts():
    assert pv.M4().background == pv.BlockHMM().background == "auto"
    assert pv.LDA().background is False
