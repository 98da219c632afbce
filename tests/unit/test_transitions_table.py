"""Transitions as a table with intervals."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import NotFittedError, ParameterError


@pytest.mark.parametrize(
    ("kind", "rows"), [(pv.M4, ["0", "1", "start", "bias"]), (pv.BlockHMM, ["0", "1", "start"])]
)
def test_every_transition_has_an_interval(kind, rows):
    params = {"weight_step": "metropolis"} if kind is pv.M4 else {}
    corpus = pv.sample(40)
    model = kind(n_classes=2, n_sweeps=60, n_samples=25, **params).fit(corpus)
    likely = model.transitions_table(level=0.8)
    assert likely.columns == ["source", "target", "probability", "low", "high", "times", "after",
                              "comes"]  # fmt: skip
    assert likely["source"].unique(maintain_order=True).to_list() == ["0", "1", "start"]
    sums = likely.group_by("source").agg(pl.col("probability").sum())["probability"]
    np.testing.assert_allclose(sums, 1)
    inside = (likely["low"] <= likely["probability"]) & (likely["probability"] <= likely["high"])
    assert inside.all()
    np.testing.assert_allclose(likely["times"], model.summary().effects().ravel())
    answered = model.count_replies(corpus)
    effects = model.summary().effects(answered).ravel()
    np.testing.assert_allclose(model.transitions_table(corpus=corpus)["times"], effects)
    assert set(likely["after"]) == {"A", "B", "(start)"}
    if kind is pv.BlockHMM:
        with pytest.raises(AttributeError):
            model.weights_table()
        return
    table = model.weights_table(level=0.8)
    assert table["source"].unique(maintain_order=True).to_list() == rows
    np.testing.assert_allclose(table["weight"], model.transitions_.ravel())
    draws = model.draws_["transitions"].reshape(len(model.draws_["transitions"]), -1)
    assert len(draws) >= 25
    within = (draws >= table["low"].to_numpy()) & (draws <= table["high"].to_numpy())
    assert (within.mean(axis=0) >= 0.75).all()
    assert (within.mean(axis=0) < 0.95).any()
    wide = model.weights_table(level=0.99)
    assert (wide["low"] <= table["low"]).all()
    assert (wide["high"] >= table["high"]).all()


def test_intervals_are_kept_with_the_model(tmp_path):
    model = pv.BlockHMM(n_classes=2, n_sweeps=10).fit(pv.sample(20))
    model.save(tmp_path / "run")
    assert pv.load(tmp_path / "run").transitions_table().equals(model.transitions_table())


@pytest.mark.parametrize(
    "model",
    [pv.GaussianHMM(3, whiten=5, n_sweeps=4), pv.InfiniteHMM(3, n_sweeps=4),
     pv.HiddenBackoffTagger()],
)  # fmt: skip
def test_models_without_samples_of_their_transitions_give_the_values(model):
    model.fit(pv.sample(20))
    table = model.transitions_table()
    assert table["source"].unique(maintain_order=True).to_list()[-1] == "start"
    np.testing.assert_allclose(table["probability"], model.transitions_.ravel(), atol=1e-12)
    assert table["low"].dtype == table["high"].dtype == pl.Float64
    assert table["low"].is_null().all()
    assert table["high"].is_null().all()


def test_models_without_transitions_say_so():
    with pytest.raises(NotFittedError):
        pv.M4().transitions_table()
    model = pv.LDA(n_classes=2, n_sweeps=4).fit(pv.sample(20))
    with pytest.raises(ParameterError, match="LDA: the model has no transitions"):
        model.transitions_table()
