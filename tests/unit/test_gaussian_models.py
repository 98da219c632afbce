"""Gaussian models on arrays and corpora: robustness, recovery, prediction, what is saved."""

import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import palaver as pv
from palaver.errors import CorpusError, ParameterError
from palaver.models.gaussian.kernels import collapsed as gaussian_collapsed
from palaver.models.states.emissions.gaussian import GaussianEmissions

SAMPLERS = ("collapsed", "blocked")
COVARIANCES = ("full", "diag", "tied")


def clusters(n=300, seed=0):
    """Three well-separated states in the order 0, 1, 2, 0, 1, 2, ... with a few slips."""
    rng = np.random.default_rng(seed)
    states = np.arange(n) % 3
    slips = rng.random(n) < 0.1
    states[slips] = rng.integers(0, 3, slips.sum())
    centres = np.array([[0.0, 0, 0], [6, 0, 0], [0, 6, 2]])
    return centres[states] + rng.normal(size=(n, 3)), states


def hard_data():
    rng = np.random.default_rng(1)
    plain = rng.normal(size=(30, 4))
    constant = plain.copy()
    constant[:, 2] = 7e5
    far = plain.copy()
    far[::2] += 1e9
    return {
        "constant column": constant,
        "all constant": np.full((20, 3), 2.5),
        "all zero": np.zeros((20, 3)),
        "duplicates": np.repeat(plain[:3], 10, axis=0),
        "zero utterances among others": np.where(np.arange(30)[:, None] % 3 == 0, 0.0, plain),
        "more dimensions than utterances": rng.normal(size=(6, 25)),
        "one utterance": plain[:1],
        "one dimension": plain[:, :1],
        "a billion apart": far,
        "tiny numbers": plain * 1e-80,
        "large numbers": plain * 1e80,
        "dependent columns": np.hstack((plain, plain @ rng.normal(size=(4, 3)))),
    }


@pytest.mark.parametrize(("scale", "strength"), [(0.5, 0.1), ("identity", 0.0)])
@pytest.mark.parametrize("case", hard_data())
def test_no_data_breaks_a_factor(case, scale, strength):
    X = hard_data()[case]
    for sampler in SAMPLERS:
        for covariance in COVARIANCES:
            model = pv.GaussianHMM(
                4,
                covariance=covariance,
                sampler=sampler,
                strength=strength,
                scale=scale,
                n_sweeps=4,
            ).fit(X, [len(X)])
            assert model.trace_["log_joint"].is_finite().all()
            assert np.isfinite(model.covariances_).all()
            shares = model.predict_proba(X)
            np.testing.assert_allclose(shares.sum(axis=1), 1)
            assert np.isfinite(model.score(X))


def test_rounding_that_breaks_a_factor_is_mended():
    """A vector a billion away leaves its state; the digits lost with it are rebuilt."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(40, 5))
    X[7] += 1e9
    prior = GaussianEmissions("full", np.zeros(5), 0.1, 7.0, np.ones(5))
    states = (np.arange(40) % 3).astype(np.int16)
    rebuilt = gaussian_collapsed.collapsed_sweep(
        prior.kind, X, np.array([0, 40]), 0, 1.0, prior.mean, prior.strength, prior.dof,
        prior.scale, 1.0, np.ones(2, np.uint64), states, 3,
    )  # fmt: skip
    assert rebuilt > 0
    assert (states == states[7]).sum() == 1


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("covariance", COVARIANCES)
def test_planted_states_are_found(sampler, covariance):
    X, planted = clusters()
    model = pv.GaussianHMM(3, covariance=covariance, sampler=sampler, n_sweeps=40)
    model.fit(X, [100, 100, 100])
    assert pv.evaluate.v_measure(model.states_, planted) > 0.9
    names = [np.bincount(model.states_[planted == k], minlength=3).argmax() for k in range(3)]
    np.testing.assert_allclose(model.means_[names[1]], [6, 0, 0], atol=0.6)
    for k in range(3):  # 0 -> 1 -> 2 -> 0
        assert model.transitions_[names[k], names[(k + 1) % 3]] > 0.75
    np.testing.assert_allclose(model.transitions_.sum(axis=1), 1)
    shape = {"full": (3, 3, 3), "diag": (3, 3), "tied": (3, 3)}
    assert model.covariances_.shape == shape[covariance]


def test_context_helps_where_vectors_do_not():
    """Overlapping states that alternate: the mixture cannot know what the chain knows."""
    rng = np.random.default_rng(3)
    planted = np.arange(600) % 2
    X = planted[:, None] * 1.5 + rng.normal(size=(600, 1))
    right = {}
    for kind in (pv.GaussianHMM, pv.GaussianMixture):
        model = kind(2, n_sweeps=60).fit(X, [600])
        right[kind] = pv.evaluate.one_to_one(model.states_, planted)
    assert right[pv.GaussianHMM] > 0.98
    assert right[pv.GaussianMixture] < 0.85


def test_score_and_posteriors_are_the_mixtures():
    X, _ = clusters(60)
    model = pv.GaussianMixture(3, covariance="full", n_sweeps=20).fit(X)
    densities = np.array([
        model.transitions_[-1, k]
        * stats.multivariate_normal.pdf(X, model.means_[k], model.covariances_[k])
        for k in range(3)
    ])  # fmt: skip
    assert model.score(X) == pytest.approx(np.log(densities.sum(axis=0)).sum(), rel=1e-9)
    np.testing.assert_allclose(
        model.predict_proba(X), (densities / densities.sum(axis=0)).T, atol=1e-9
    )
    np.testing.assert_array_equal(model.predict(X), model.states_)
    np.testing.assert_allclose(model.transitions_, model.transitions_[:1].repeat(4, axis=0))


def test_estimates_do_not_depend_on_where_the_data_lie():
    X, _ = clusters(90)
    near = pv.GaussianHMM(3, n_sweeps=10).fit(X, [90])
    far = pv.GaussianHMM(3, n_sweeps=10).fit(X + 2.0**20, [90])
    np.testing.assert_array_equal(near.states_, far.states_)
    np.testing.assert_allclose(far.means_ - 2.0**20, near.means_, atol=1e-6)


def test_a_state_that_empties_is_removed_in_the_papers_setting():
    X, _ = clusters()
    model = pv.GaussianHMM(
        20, covariance="full", sampler="blocked", transition_prior=50 / 20, strength=0.0,
        extra_dof=0.0, scale="identity", init="random", n_sweeps=60,
    ).fit(X, [300])  # fmt: skip
    used = model.trace_["states"].to_numpy()
    assert (np.diff(used) <= 0).all()
    assert used[-1] < 20
    assert (model.class_shares_ > 0).sum() >= used[-1]


def test_wrong_data_is_explained():
    model = pv.GaussianHMM(2, n_sweeps=4)
    X = np.zeros((5, 2))
    X[3, 0] = np.nan
    with pytest.raises(CorpusError, match="row 3 of the vectors has nan in column 0"):
        model.fit(X)
    with pytest.raises(CorpusError, match="there are no vectors"):
        model.fit(np.zeros((0, 2)))
    with pytest.raises(ParameterError, match="vectors="):
        model.fit(np.ones((3, 2)), vectors="corpus")
    with pytest.raises(ParameterError, match="has its own lengths"):
        model.fit(pv.sample(3), [1, 2])
    model.fit(np.eye(4), [4])
    with pytest.raises(ParameterError, match="fitted on vectors of 4 dimensions, got 2"):
        model.predict(np.ones((3, 2)))
    with pytest.raises(ParameterError, match="fitted on an array"):
        model.transform(pv.sample(3))


def test_fitted_on_arrays_saved_and_loaded(tmp_path):
    X, _ = clusters(60)
    model = pv.GaussianHMM(3, n_sweeps=10).fit(X, [30, 30], folder=tmp_path / "run")
    again = pv.load(tmp_path / "run")
    np.testing.assert_array_equal(
        again.predict_proba(X, [30, 30]), model.predict_proba(X, [30, 30])
    )
    np.testing.assert_array_equal(again.states_, model.states_)
    assert again.top_words().height == 0
    assert again.summary().classes().height == 3
    assert np.isnan(again.coverage_)


def test_fitted_on_an_encoder(tmp_path):
    sample = pv.sample(20)

    def encoder(texts):
        return np.array([[len(t), t.count("?"), t.count("!")] for t in texts], float)

    model = pv.GaussianHMM(3, n_sweeps=10).fit(sample, vectors=encoder)
    assert model.transform(sample).shape == (sample.n_messages, 3)
    assert model.annotate(sample).table["class_probability"].min() > 1 / 3  # asks the encoder again
    assert model.shares(sample, by="speaker").height
    assert model.top_words(3, by="distinctiveness").height == 9
    same = pv.GaussianHMM(3, n_sweeps=10).fit(
        sample, vectors=encoder(sample.table["text"].to_list())
    )
    np.testing.assert_array_equal(same.states_, model.states_)
    model.save(tmp_path)
    with pytest.raises(ParameterError, match="new utterances must be given as one"):
        pv.load(tmp_path).transform(sample)


def test_the_summary_reports_coverage_and_used_states():
    vectors = pv.WordVectors(["thanks", "how"], np.eye(2, dtype=np.float32))
    model = pv.GaussianHMM(3, n_sweeps=10, whiten=None).fit(pv.sample(20), vectors=vectors)
    facts = model.summary().facts
    assert 0 < facts["coverage"] == model.coverage_ < 0.2
    assert facts["dimensions"] == 2
    assert 1 <= facts["states_used"] <= 3


def test_the_worked_example_with_a_sentence_encoder():
    text = (Path(__file__).parents[2] / "docs/models/gaussian_hmm.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    example = next(block for block in blocks if "TfidfVectorizer" in block)
    names = {"pv": pv}
    exec(compile(example, "gaussian_hmm.md", "exec"), names)
    assert names["model"].states_.shape == (names["corpus"].n_messages,)
    assert names["model"].means_.shape == (8, 20)
    assert names["annotated"].n_messages == names["corpus"].n_messages
