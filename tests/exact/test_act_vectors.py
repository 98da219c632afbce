"""The vector view of acts against enumeration, quadrature and naive twins."""

import itertools

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import palaver as pv
from palaver import rng
from palaver.encoding.corpus_vectors import learn_word_vectors
from palaver.models.acts import consensus, merging
from palaver.models.acts.engine import ActEngine, ActShard, cut_units
from palaver.models.acts.units import RELATIONS, units_of
from palaver.models.acts.vectors import UnitVectors, by_words, counted, explained, learn_view
from palaver.models.acts.views import features_of, learn_views
from palaver.models.states.emissions.gaussian import GaussianEmissions
from palaver.parallel import Globals

PARENTS = np.array([-1, 0, 0, 1], np.int32)
WHERE = np.array([0, 0, 1, 2], np.int8)
FEATURES, WEIGHTS = [0, 1, 1, 0], [0.7, 0.7, 0.4, 0.7]
VECTORS = np.array([[0.4, -1.0], [1.1, 0.3], [-0.8, 0.6]])
HAVING = np.array([0, 1, 3])  # the third unit has no vector
WEIGHT = 0.3


def shard():
    return ActShard(
        np.array(FEATURES, np.int32), np.array(WEIGHTS), np.arange(5), PARENTS, WHERE,
        np.empty(0, np.int16), np.array([0, 4]), 0, 0, VECTORS, HAVING,
    )  # fmt: skip


def emissions():
    return GaussianEmissions("tied", np.zeros(2), 0.1, 4.0, np.full(2, 0.5), weight=WEIGHT)


def engine(n_acts):
    return ActEngine(n_acts, np.array([0, 2]), np.full((2, n_acts), 0.6), 0.5, emissions())


def test_posteriors_and_evidence_equal_enumeration():
    generator = np.random.default_rng(0)
    model, n_acts = engine(3), 3
    drawn = emissions().draw(counted(VECTORS, generator.dirichlet(np.ones(3), 3)), generator)
    arrays = {
        "log_features": np.log(generator.dirichlet(np.ones(2), n_acts).T),
        "rows": generator.dirichlet(np.ones(n_acts), len(RELATIONS) * n_acts + 1),
        **drawn,
    }
    covariance = np.linalg.inv(drawn["factors"] @ drawn["factors"].T)
    joint, total = np.zeros((4, 3)), 0.0
    for acts in itertools.product(range(3), repeat=4):
        weight = 1.0
        for u, k in enumerate(acts):
            row = -1 if PARENTS[u] < 0 else WHERE[u] * n_acts + acts[PARENTS[u]]
            weight *= arrays["rows"][row, k]
            weight *= np.exp(WEIGHTS[u] * arrays["log_features"][FEATURES[u], k])
        for u, x in zip(HAVING, VECTORS, strict=True):
            weight *= multivariate_normal.pdf(x, drawn["means"][acts[u]], covariance) ** WEIGHT
        total += weight
        joint[np.arange(4), acts] += weight
    found, statistics, evidence = model.posteriors(arrays, shard())
    np.testing.assert_allclose(found, joint / total, atol=1e-12)
    np.testing.assert_allclose(evidence, np.log(total), atol=1e-10)
    shares = (joint / total)[HAVING]
    np.testing.assert_allclose(statistics["state_counts"], shares.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(statistics["state_sums"], shares.T @ VECTORS, atol=1e-12)
    np.testing.assert_allclose(statistics["state_squares"], VECTORS.T @ VECTORS, atol=1e-12)


def visits(model, n_sweeps):
    data, n_acts = shard(), model.n_acts
    shared = model.start(np.random.default_rng(0))
    state = model.open(shared, data, rng.key(1, "open", 0))
    found, powers = np.zeros(n_acts**4), n_acts ** np.arange(4)
    for sweep in range(n_sweeps):
        statistics = model.sweep(shared, data, state, rng.key(1, "sweep", 0, sweep))
        shared, trace = model.update(shared, statistics, rng.generator(1, "update", 0, sweep))
        found[int(state["states"] @ powers)] += 1
    return found / n_sweeps, trace


def target(model, weight=WEIGHT):
    """Return the probability of each assignment, with all parameters integrated out."""
    n_acts, exact = model.n_acts, []
    powers = n_acts ** np.arange(4)
    for code in range(n_acts**4):
        states = (code // powers % n_acts).astype(np.int16)
        counts = model.sweep(Globals("count", {}), shard(), {"states": states}, rng.key(0, "x"))
        log = model.log_joint(counts["feature_counts"], counts["moves"])
        exact.append(log + log_marginal(states[HAVING], weight))
    exact = np.exp(np.array(exact) - max(exact))
    return exact / exact.sum()


def log_marginal(states, weight):
    """Return the log of the integral over means and the common covariance, by hand.

    Weighted vectors are ``weight`` vectors each. With the means integrated out, the exponents
    add up to a scatter matrix, and what is left is a ratio of inverse Wishart constants.
    """
    scatter, strengths = np.diag(np.full(2, 0.5)), []
    for k in range(2):
        own = VECTORS[states == k]
        n = weight * len(own)
        mean = weight * own.sum(axis=0) / (0.1 + n)
        scatter = scatter + weight * own.T @ own - (0.1 + n) * np.outer(mean, mean)
        strengths.append(0.1 + n)
    dof = 4.0 + weight * len(VECTORS)
    return -dof / 2 * np.linalg.slogdet(scatter)[1] - np.log(strengths).sum()


def test_the_sampler_visits_assignments_as_often_as_the_tempered_target_says():
    model = engine(2)
    found, trace = visits(model, 8_000)
    assert np.abs(found - target(model)).sum() / 2 < 0.04
    assert np.abs(found - target(model, 3.0)).sum() / 2 > 0.06  # another weight is noticed
    assert np.isfinite(trace["log_joint"])


@pytest.mark.parametrize("sums", [200.0, 260.0])
def test_acts_that_differ_by_vectors_alone_stay_apart(sums):
    counts, sizes, model = np.full((2, 2), 300.0), np.full(2, 300.0), engine(2)
    assert merging.merge_alike(model, counts, sizes, fewest=1).max() == 0
    vectors = np.array([[sums, 0.0, 90.0], [-sums, 0.0, 90.0]])
    found = merging.merge_alike(model, counts, sizes, fewest=1, vectors=vectors)
    lost = 2 * sums**2 / (2 * 90)  # both means move to the centre
    assert (found.max() == 1) == (sums == 260.0) == (lost / 300 > merging.ALIKE)


def test_what_a_mean_of_its_own_explains_is_the_gain_of_likelihood():
    generator = np.random.default_rng(4)
    vectors = generator.standard_normal((50, 2))
    acts = generator.integers(0, 2, 50)
    statistics = counted(vectors, np.eye(2)[acts])
    parameters = emissions().expected(statistics)[2]
    covariance = np.linalg.inv(parameters["factors"] @ parameters["factors"].T)
    for k, row in enumerate(explained(emissions(), statistics)):
        own = vectors[acts == k]
        gain = sum(
            multivariate_normal.logpdf(x, own.mean(axis=0), covariance)
            - multivariate_normal.logpdf(x, np.zeros(2), covariance)
            for x in own
        )
        np.testing.assert_allclose(row[:2] @ row[:2] / (2 * row[2]), WEIGHT * gain)


def test_vectors_of_units_equal_a_naive_twin():
    encoded = pv.encode(pv.sample(20), sentences=True)
    units = units_of(encoded, "sentence")
    view = learn_view(encoded, units, "corpus")
    found = by_words(view, encoded, units)
    words, known = learn_word_vectors(as_messages(encoded, units)).look_up(encoded.vocabulary.words)
    words = words / np.maximum(np.linalg.norm(words, axis=1, keepdims=True), 1e-300)
    spoken = [set(units.tokens[a:b]) for a, b in itertools.pairwise(units.offsets)]
    spread = np.array([sum(w in own for own in spoken) for w in range(len(words))])
    rarity = np.sqrt(np.log(units.n_units / np.maximum(spread, 1))) * known
    rows = []
    for unit in found.units:
        tokens = units.tokens[units.offsets[unit] : units.offsets[unit + 1]]
        rows.append((words[tokens] * rarity[tokens, None]).sum(axis=0) / rarity[tokens].sum())
    rows = np.array(rows)
    centred = rows - rows.mean(axis=0)
    np.testing.assert_allclose(found.values, centred @ view.projection, atol=1e-8)
    np.testing.assert_allclose(np.cov(found.values.T, bias=True), np.eye(view.size), atol=1e-8)


def as_messages(encoded, units):
    from palaver.models.acts.vectors import _as_messages

    return _as_messages(encoded, units)


def test_shards_give_the_posteriors_of_the_whole(monkeypatch):
    encoded = pv.encode(pv.sample(40))
    units = units_of(encoded, "message")
    views = learn_views(encoded, units)
    features = features_of(views, encoded, units)
    generator = np.random.default_rng(2)
    having = np.flatnonzero(generator.random(units.n_units) < 0.8)
    vectors = UnitVectors(generator.standard_normal((len(having), 2)), having)
    model = ActEngine(3, views.starts, np.full((views.n_features, 3), 0.2), 1.0, emissions())
    whole = cut_units(units, features, np.empty(0, np.int16), vectors)
    monkeypatch.setattr("palaver.models.acts.engine.SMALLEST_UNITS", 50)
    parts = cut_units(units, features, np.empty(0, np.int16), vectors)
    assert len(whole) == 1 < len(parts)
    shares = generator.dirichlet(np.ones(3), units.n_units)
    statistics = {
        "feature_counts": generator.random((views.n_features, 3)) * 9,
        "moves": generator.random((model.n_rows, 3)) * 9,
        **counted(vectors.values, shares[having]),
    }
    arrays = model.expected(statistics)
    one, many = (consensus.posteriors_of(model, cut, arrays, 2) for cut in (whole, parts))
    np.testing.assert_allclose(one.posteriors, many.posteriors, atol=1e-12)
    for name, value in one.statistics.items():
        np.testing.assert_allclose(value, many.statistics[name], atol=1e-9)
