"""Dirichlet priors: likelihoods against gammaln, Minka's alpha, concentrations, word weights."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import integrate, optimize, stats
from scipy.special import gammaln
from support.geweke import batch_means_variance

from palaver.kernels.dirichlet import (
    count_histogram,
    log_classes,
    log_concentration,
    log_counts,
    log_dirichlet_multinomial,
    sample_concentration,
    seeded_histogram,
    update_alpha,
)
from palaver.kernels.random import open_stream
from palaver.kernels.word_weights import (
    draw_word_weights,
    log_gamma_draw,
    mean_word_weights,
    word_key,
)

FALSE_ALARM_RATE = 1e-6


def sparse_counts(rng: np.random.Generator, n_words: int, n_columns: int) -> np.ndarray:
    """Mostly zeros, some ones, a few counts beyond the kernel's tables."""
    counts = rng.poisson(0.3, (n_words, n_columns))
    counts[rng.random(counts.shape) < 0.02] = 511
    counts[rng.random(counts.shape) < 0.02] = 512
    counts[rng.random(counts.shape) < 0.02] = 123_456
    counts[:, 0] = 0
    return counts.astype(np.int32)


def naive_log_dirichlet_multinomial(column: np.ndarray, prior: np.ndarray) -> float:
    return float(
        np.sum(gammaln(column + prior) - gammaln(prior))
        + gammaln(prior.sum())
        - gammaln(prior.sum() + column.sum())
    )


@given(st.integers(0, 2**32 - 1), st.floats(1e-4, 20.0))
@settings(max_examples=100, deadline=None)
def test_log_dirichlet_multinomial_is_the_gammaln_line(seed, concentration):
    rng = np.random.default_rng(seed)
    counts = sparse_counts(rng, int(rng.integers(1, 60)), int(rng.integers(1, 5)))
    found = log_dirichlet_multinomial(counts, concentration)
    prior = np.full(len(counts), concentration)
    naive = [naive_log_dirichlet_multinomial(column, prior) for column in counts.T]
    np.testing.assert_allclose(found, naive, rtol=1e-10, atol=1e-8)
    assert found[0] == 0.0


def test_log_dirichlet_multinomial_of_an_urn():
    """Small enough to multiply out: two words, three draws."""
    a = 0.7
    expected = math.log(a / (2 * a) * (a + 1) / (2 * a + 1) * a / (2 * a + 2))
    assert log_dirichlet_multinomial(np.array([[2], [1]], np.int32), a)[0] == pytest.approx(
        expected, abs=1e-14
    )


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_count_histogram_counts_positive_entries(seed):
    rng = np.random.default_rng(seed)
    counts = sparse_counts(rng, int(rng.integers(1, 60)), int(rng.integers(1, 5)))
    values, occurrences = count_histogram(counts)
    expanded = np.sort(np.repeat(values, occurrences))
    np.testing.assert_array_equal(expanded, np.sort(counts[counts > 0]))


# ---------------------------------------------------------------- concentrations


def summaries(counts: np.ndarray):
    values, occurrences = count_histogram(counts)
    return values, occurrences, counts.sum(axis=0, dtype=np.int64), len(counts)


@pytest.mark.parametrize(("shape", "rate"), [(1.0, 1.0), (2.5, 0.3)])
def test_log_concentration_is_prior_times_likelihood(shape, rate):
    counts = sparse_counts(np.random.default_rng(51), 40, 4)
    prior = stats.gamma(shape, scale=1.0 / rate)

    def reference(c):
        return prior.logpdf(c) + log_dirichlet_multinomial(counts, c).sum()

    def found(c):
        return log_concentration(c, *summaries(counts), shape, rate)

    for c in (1e-3, 0.2, 1.0, 7.0):
        difference = (found(c) - found(0.5)) - (reference(c) - reference(0.5))
        assert abs(difference) < 1e-6  # of terms as large as 1e6


def concentration_chain(n_steps: int, shape: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Long run on small data: (log c of each step, exact mean and variance of log c)."""
    counts = np.array([[3, 0], [1, 1], [0, 5], [0, 0]], np.int32)
    facts = summaries(counts)
    generator = np.random.default_rng(52)
    chain = np.empty(n_steps)
    c = 1.0
    for i in range(n_steps):
        # with the prior's shape one lower: the chain without the factor c'/c of the proposal
        c = sample_concentration(c, *facts, generator, (1.0,), shape=shape)
        chain[i] = math.log(c)

    def density(x, power):
        return x**power * math.exp(log_concentration(math.exp(x), *facts) + x)

    moments = [integrate.quad(density, -30, 10, args=(power,), limit=200)[0] for power in range(3)]
    mean = moments[1] / moments[0]
    return chain, np.array([mean, moments[2] / moments[0] - mean**2]), np.mean(np.diff(chain) != 0)


def chain_t(chain: np.ndarray, moments: np.ndarray) -> np.ndarray:
    samples = np.column_stack([chain, (chain - moments[0]) ** 2])
    return (samples.mean(axis=0) - moments) / np.sqrt(batch_means_variance(samples))


# Student's t with 49 degrees of freedom (50 batches), two statistics
CHAIN_LIMIT = stats.t.isf(FALSE_ALARM_RATE / 4, 49)


def test_sampled_concentrations_follow_the_integrated_posterior():
    chain, moments, accepted = concentration_chain(40_000, shape=1.0)
    assert 0.2 < accepted < 0.9
    assert np.abs(chain_t(chain, moments)).max() < CHAIN_LIMIT


def test_without_the_proposals_factor_the_posterior_is_missed():
    chain, moments, _ = concentration_chain(40_000, shape=0.0)
    assert np.abs(chain_t(chain, moments)).max() > CHAIN_LIMIT


def test_concentration_is_reproducible_and_stays_positive():
    facts = summaries(sparse_counts(np.random.default_rng(53), 30, 3))
    one = sample_concentration(0.3, *facts, np.random.default_rng(1))
    assert one == sample_concentration(0.3, *facts, np.random.default_rng(1))
    wild = sample_concentration(0.3, *facts, np.random.default_rng(1), steps=(500.0,) * 20)
    assert 0.0 < wild < np.inf
    empty = summaries(np.zeros((5, 2), np.int32))
    assert sample_concentration(0.3, *empty, np.random.default_rng(2)) > 0.0


def test_concentration_finds_its_scale_on_much_data():
    """From far off, the default steps come to the mode of a sharp posterior."""
    rng = np.random.default_rng(54)
    phi = rng.dirichlet(np.full(2000, 0.05), 20)
    counts = np.array([rng.multinomial(5000, p) for p in phi]).T.astype(np.int32)
    facts = summaries(counts)
    c = 5.0
    for _ in range(100):
        c = sample_concentration(c, *facts, rng)
    mode = optimize.minimize_scalar(
        lambda x: -log_concentration(math.exp(x), *facts), bounds=(-8, 3), method="bounded"
    )
    assert abs(math.log(c) - mode.x) < 0.1
    assert abs(mode.x - math.log(0.05)) < 0.1


# ---------------------------------------------------------------- alpha


def histograms(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Histograms of messages' class counts (n_messages, n_classes)."""
    lengths = counts.sum(axis=1)
    width = int(lengths.max(initial=0)) + 1
    by_class = np.zeros((counts.shape[1], width), np.int64)
    for k, column in enumerate(counts.T):
        by_class[k] = np.bincount(column, minlength=width)
        by_class[k, 0] = 0
    return by_class, np.bincount(lengths, minlength=width).astype(np.int64)


def message_counts(rng: np.random.Generator, alpha, n_messages: int, longest: int) -> np.ndarray:
    shares = rng.dirichlet(alpha, n_messages)
    lengths = rng.integers(0, longest + 1, n_messages)
    return np.array([rng.multinomial(n, p) for n, p in zip(lengths, shares, strict=True)])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=50, deadline=None)
def test_log_classes_is_the_sum_over_messages(seed):
    rng = np.random.default_rng(seed)
    alpha = rng.uniform(0.05, 3.0, int(rng.integers(1, 6)))
    counts = message_counts(rng, alpha, int(rng.integers(1, 20)), 30)
    naive = sum(naive_log_dirichlet_multinomial(row, alpha) for row in counts)
    assert log_classes(*histograms(counts), alpha) == pytest.approx(naive, rel=1e-10, abs=1e-9)


def naive_minka_step(counts: np.ndarray, alpha: np.ndarray, shape: float, rate: float):
    """Minka's fixed point as a double sum over messages and tokens."""
    total = alpha.sum()
    denominator = sum(1 / (total + i) for row in counts for i in range(row.sum()))
    result = np.empty(len(alpha))
    for k in range(len(alpha)):
        numerator = sum(1 / (alpha[k] + i) for n in counts[:, k] for i in range(n))
        result[k] = (alpha[k] * numerator + shape - 1) / (denominator + rate)
    return result


@given(st.integers(0, 2**32 - 1), st.sampled_from([(1.0, 0.0), (1.5, 0.2), (3.0, 2.0)]))
@settings(max_examples=100, deadline=None)
def test_minka_step_is_the_double_sum_and_never_lowers_the_posterior(seed, prior):
    shape, rate = prior
    rng = np.random.default_rng(seed)
    n_classes = int(rng.integers(1, 6))
    counts = message_counts(rng, rng.uniform(0.05, 2.0, n_classes), int(rng.integers(1, 30)), 20)
    counts[:, 0] *= rng.random() < 0.5  # perhaps a class without tokens
    by_class, by_length = histograms(counts)
    alpha = rng.uniform(1e-4, 3.0, n_classes)

    def objective(a):
        log_prior = np.sum((shape - 1) * np.log(a) - rate * a)
        return log_classes(by_class, by_length, a) + log_prior

    floor = 1e-4
    for _ in range(15):
        after = update_alpha(by_class, by_length, alpha, 1, shape, rate, floor)
        assert (after >= floor).all()
        if counts.sum() > 0 or rate > 0:
            naive = np.maximum(naive_minka_step(counts, alpha, shape, rate), floor)
            np.testing.assert_allclose(after, naive, rtol=1e-10)
        else:
            np.testing.assert_array_equal(after, alpha)
        assert objective(after) >= objective(alpha) - 1e-9 * abs(objective(alpha))
        alpha = after


@pytest.mark.parametrize(("shape", "rate"), [(1.0, 0.0), (1.5, 0.5)])
def test_minka_agrees_with_a_general_optimiser(shape, rate):
    rng = np.random.default_rng(55)
    truth = np.array([0.1, 0.5, 2.0])
    counts = message_counts(rng, truth, 400, 40)
    by_class, by_length = histograms(counts)
    found = update_alpha(by_class, by_length, np.ones(3), 5000, shape, rate)

    def loss(log_alpha):
        alpha = np.exp(log_alpha)
        likelihood = sum(naive_log_dirichlet_multinomial(row, alpha) for row in counts)
        return -likelihood - np.sum((shape - 1) * log_alpha - rate * alpha)

    best = optimize.minimize(loss, np.zeros(3), method="L-BFGS-B", options={"ftol": 1e-14})
    np.testing.assert_allclose(np.log(found), best.x, atol=1e-3)
    assert abs(loss(np.log(found)) - best.fun) < 1e-5
    np.testing.assert_allclose(np.log(found), np.log(truth), atol=0.5)


def test_an_empty_class_and_empty_data_keep_alpha_positive():
    counts = np.array([[0, 4], [0, 2], [0, 0]])
    alpha = update_alpha(*histograms(counts), np.array([0.5, 0.5]), 200)
    assert alpha[0] == 1e-4
    assert np.isfinite(alpha).all()
    nothing = histograms(np.zeros((4, 2), np.int64))
    np.testing.assert_array_equal(update_alpha(*nothing, np.array([0.5, 0.7]), 5), [0.5, 0.7])


# ---------------------------------------------------------------- word weights


@njit
def _log_gammas(shape, key, n):
    state = np.empty(4, np.uint64)
    open_stream(key, 0, state)
    draws = np.empty(n)
    for i in range(n):
        draws[i] = log_gamma_draw(shape, state)
    return draws


@pytest.mark.parametrize("shape", [0.001, 0.05, 0.5, 0.95, 1.0, 1.7, 40.0, 1e5])
def test_log_gamma_draws_have_the_gamma_distribution(shape):
    draws = _log_gammas(shape, np.array([56, 0], np.uint64), 100_000)
    assert np.isfinite(draws).all()
    # where exp() underflows the distribution is that of U ** (1 / shape) / constant
    log_cdf = np.where(
        draws < -600.0,
        shape * draws - gammaln(shape + 1.0),
        stats.gamma.logcdf(np.exp(np.maximum(draws, -600.0)), shape),
    )
    assert stats.kstest(np.exp(log_cdf), "uniform").pvalue > FALSE_ALARM_RATE
    biased = np.exp(log_cdf) ** 1.03  # the test can fail: 3 % in the power of the CDF are seen
    assert stats.kstest(biased, "uniform").pvalue < FALSE_ALARM_RATE


def test_word_weights_have_the_dirichlet_marginals():
    """Each weight is Beta(count + c, the rest); words within a column are drawn together."""
    counts = np.array([[0, 3], [0, 0], [2, 0], [0, 1]], np.int32)
    c = 0.3
    generator = np.random.default_rng(57)
    draws = np.array([draw_word_weights(counts, c, word_key(generator)) for _ in range(20_000)])
    np.testing.assert_allclose(draws.sum(axis=1), 1.0, rtol=1e-12)
    posterior = counts + c
    for w in range(4):
        for k in range(2):
            marginal = stats.beta(posterior[w, k], posterior[:, k].sum() - posterior[w, k])
            assert stats.kstest(draws[:, w, k], marginal.cdf).pvalue > FALSE_ALARM_RATE
    both = draws[:, 0, 1] + draws[:, 3, 1]
    marginal = stats.beta(4 + 2 * c, 2 * c)
    assert stats.kstest(both, marginal.cdf).pvalue > FALSE_ALARM_RATE


def test_word_weights_of_an_empty_column_with_a_tiny_concentration():
    """All gammas underflow here, and still one word gets nearly all, each as often."""
    counts = np.zeros((3, 1), np.int32)
    generator = np.random.default_rng(58)
    draws = np.array(
        [draw_word_weights(counts, 1e-4, word_key(generator))[:, 0] for _ in range(6000)]
    )
    assert (draws > 0.0).all()
    assert np.mean(draws.max(axis=1) > 0.99) > 0.99
    winners = np.bincount(draws.argmax(axis=1), minlength=3)
    assert stats.chisquare(winners).pvalue > FALSE_ALARM_RATE


def test_word_weights_are_positive_reproducible_and_the_same_in_threads():
    counts = sparse_counts(np.random.default_rng(59), 10_000, 3)
    one = draw_word_weights(counts, 0.01, word_key(np.random.default_rng(3)))
    assert one.flags.c_contiguous
    assert (one > 0.0).all()
    np.testing.assert_allclose(one.sum(axis=0), 1.0, rtol=1e-12)
    with ThreadPoolExecutor(2) as pool:
        again = draw_word_weights(counts, 0.01, word_key(np.random.default_rng(3)), pool.map)
    np.testing.assert_array_equal(one, again)
    other = draw_word_weights(counts, 0.01, word_key(np.random.default_rng(4)))
    assert (one != other).mean() > 0.9
    # streams of words and slices are not shared: no two rows of zeros are alike
    zeros = one[(counts == 0).all(axis=1)]
    assert len(np.unique(zeros[:, 0])) > 0.9 * len(zeros)


def test_mean_word_weights():
    counts = np.array([[3, 0], [1, 0]], np.int32)
    expected = np.array([[3.5 / 5, 0.5], [1.5 / 5, 0.5]])
    np.testing.assert_allclose(mean_word_weights(counts, 0.5), expected, rtol=1e-14)


def test_seeds_are_a_prior_of_the_tokens_alone():
    """Counts with seeds, the seeds taken off, are tokens under an asymmetric prior."""
    generator = np.random.default_rng(6)
    tokens = generator.poisson(0.8, (7, 3)).astype(np.int32)
    seeds = (generator.random((7, 3)) < 0.2).astype(np.int32) * 4
    *facts, signs = seeded_histogram(tokens + seeds, seeds)
    for c in (0.03, 0.5, 2.0):
        expected = -c
        for n, s in zip(tokens.T, seeds.T, strict=True):
            prior = c + s
            expected += (gammaln(n + prior) - gammaln(prior)).sum()
            expected -= gammaln(n.sum() + prior.sum()) - gammaln(prior.sum())
        assert log_concentration(c, *facts, 7, signs=signs) == pytest.approx(expected, abs=1e-10)


def test_log_counts():
    prior = np.array([0.5, 2.0, 1.0])
    counts = np.array([[0, 0, 0], [2, 0, 1]])
    expected = [0.0, math.log(0.5 / 3.5) + math.log(1.5 / 4.5) + math.log(1.0 / 5.5)]
    np.testing.assert_allclose(log_counts(counts, prior), expected, atol=1e-12)
