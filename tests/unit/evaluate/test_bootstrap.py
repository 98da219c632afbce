"""Bootstrap over conversations: exact by enumeration, right coverage, paired draws."""

import itertools

import numpy as np
import pytest
from scipy import stats

from palaver import evaluate
from palaver.errors import ParameterError


def test_resamples_follow_the_enumerated_distribution():
    sums = np.array([[1.0, 2], [3, 3], [0, 4]])
    exact = [
        sum(sums[i, 0] for i in draw) / sum(sums[i, 1] for i in draw)
        for draw in itertools.product(range(3), repeat=3)
    ]
    interval = evaluate.bootstrap(sums, n_resamples=20_000, level=0.5, random_state=2)
    assert interval.value == pytest.approx(4 / 9)
    low, high = np.quantile(exact, [0.25, 0.75], method="inverted_cdf")
    centred = 4 / 9 - (high - np.mean(exact)), 4 / 9 - (low - np.mean(exact))
    assert (interval.low, interval.high) == pytest.approx(centred, abs=3e-3)


def test_paired_p_value_is_the_enumerated_one():
    first = np.array([[2.0, 2], [1, 3], [3, 4]])
    second = np.array([[1.0, 2], [1, 3], [2, 4]])

    def difference(draw):
        rows = list(draw)
        return (first[rows, 0].sum() - second[rows, 0].sum()) / first[rows, 1].sum()

    observed = difference(range(3))
    all_draws = np.array([difference(d) for d in itertools.product(range(3), repeat=3)])
    as_far = np.abs(all_draws - all_draws.mean()) >= observed - 1e-12
    result = evaluate.paired_bootstrap(first, second, n_resamples=40_000, random_state=4)
    assert result.difference == pytest.approx(observed)
    assert result.p_value == pytest.approx(np.mean(as_far), abs=0.012)
    swapped = evaluate.paired_bootstrap(second, first, n_resamples=40_000, random_state=4)
    assert swapped.p_value == result.p_value
    assert (swapped.low, swapped.high) == (pytest.approx(-result.high), pytest.approx(-result.low))


def test_p_values_are_even_where_there_is_no_difference():
    generator = np.random.default_rng(8)
    p_values, covered = [], 0
    for seed in range(200):
        both = generator.normal(size=(60, 2)) + generator.normal(size=(60, 1))
        first, second = (np.column_stack([column, np.ones(60)]) for column in both.T)
        result = evaluate.paired_bootstrap(first, second, n_resamples=300, random_state=seed)
        p_values.append(result.p_value)
        covered += result.low <= 0 <= result.high
    assert stats.kstest(p_values, "uniform").pvalue > 1e-4
    assert 175 <= covered <= 199  # 95 % of 200, less a little for percentiles of 60


def test_pairing_sees_small_steady_differences():
    generator = np.random.default_rng(9)
    hard = generator.normal(5, 3, size=100)
    first = np.column_stack([hard + 0.1 + generator.normal(0, 0.1, 100), np.ones(100)])
    second = np.column_stack([hard, np.ones(100)])
    result = evaluate.paired_bootstrap(first, second)
    assert result.p_value < 0.01
    alone = evaluate.bootstrap(first)
    assert alone.low < result.second < alone.high  # unpaired, the difference would not show
    same = evaluate.paired_bootstrap(second, second)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_tables_dense_and_sparse_give_the_same():
    generator = np.random.default_rng(6)
    groups = np.repeat(np.arange(40), 10)
    gold = generator.integers(3, size=400)
    good = np.where(generator.random(400) < 0.8, gold, generator.integers(3, size=400))
    poor = generator.integers(5, size=400)
    better, shape = evaluate.grouped_contingency(good, gold, groups)
    worse, other = evaluate.grouped_contingency(poor, gold, groups)
    vi = evaluate.variation_of_information
    statistics = evaluate.of_tables(vi, shape), evaluate.of_tables(vi, other)
    sparse = evaluate.paired_bootstrap(better, worse, *statistics, n_resamples=200)
    dense = evaluate.paired_bootstrap(
        better.toarray(), worse.toarray(), *statistics, n_resamples=200
    )
    np.testing.assert_allclose(sparse, dense)
    assert sparse.first == pytest.approx(vi(good, gold))
    assert sparse.high < 0
    assert sparse.p_value < 0.02


def test_all_clustering_measures_at_once_equal_each_alone():
    generator = np.random.default_rng(7)
    gold = generator.integers(3, size=300)
    found = np.where(generator.random(300) < 0.7, gold, 3)
    groups = np.repeat(np.arange(30) * 10, 10)  # numbers with gaps
    intervals = evaluate.clustering_intervals(found, gold, groups, n_resamples=100, random_state=3)
    assert set(intervals) == set(evaluate.MEASURES)
    counts, shape = evaluate.grouped_contingency(found, gold, groups // 10)
    for name, measure in evaluate.MEASURES.items():
        alone = evaluate.bootstrap(
            counts, evaluate.of_tables(measure, shape), n_resamples=100, random_state=3
        )
        np.testing.assert_allclose(intervals[name], alone)
        assert alone.low < alone.high


def test_intervals_stay_within_the_range_of_their_measure():
    generator = np.random.default_rng(2)
    groups = np.repeat(np.arange(20), 5)
    gold = generator.integers(4, size=100)
    nearly = gold.copy()
    nearly[0] = (gold[0] + 1) % 4
    for found in (generator.integers(2, size=100), nearly):
        intervals = evaluate.clustering_intervals(found, gold, groups, n_resamples=100)
        for name, (value, low, high) in intervals.items():
            assert 0 <= low <= value <= high, name
            assert high <= 1 or name in ("vi", "vi_normalized"), name
    alone = evaluate.of_tables(evaluate.homogeneity, (2, 4))
    counts, _ = evaluate.grouped_contingency(generator.integers(2, size=100), gold, groups)
    assert evaluate.bootstrap(counts, alone, n_resamples=100).low < 0, "there was something to cut"


def test_intervals_of_entropies_are_not_moved_by_their_bias():
    generator = np.random.default_rng(10)
    truth = np.full((6, 5), 0.01)
    truth[range(5), range(5)] += 0.14
    truth /= truth.sum()
    homogeneity = evaluate.of_tables(evaluate.homogeneity, (6, 5))
    samples = generator.multinomial(4, truth.ravel(), size=(200, 60))
    intervals = [evaluate.bootstrap(counts, homogeneity, n_resamples=200) for counts in samples]
    values = np.array([interval.value for interval in intervals])
    expected = values.mean()  # of samples of this size
    assert expected > evaluate.homogeneity(truth) + 0.01
    covered = sum(low <= expected <= high for _, low, high in intervals)
    assert 180 <= covered <= 199
    assert all(low < value < high for value, low, high in intervals)


def test_perplexity_seeds_and_nonsense():
    sums = np.array([[-20.0, 10], [-30, 10], [0, 0]])
    interval = evaluate.bootstrap(sums, evaluate.perplexity, random_state=1)
    assert interval.value == pytest.approx(np.exp(2.5))
    assert interval.low < interval.value < interval.high
    assert interval.high - interval.low == pytest.approx(np.exp(3) - np.exp(2))
    assert interval == evaluate.bootstrap(sums, evaluate.perplexity, random_state=1)
    assert np.isnan(evaluate.bootstrap(sums[2:]).low)  # nothing to measure in any resample
    with pytest.raises(ParameterError, match="same conversations"):
        evaluate.paired_bootstrap(sums, sums[:2])
    with pytest.raises(ParameterError, match="n_resamples must be"):
        evaluate.bootstrap(sums, n_resamples=0)
    with pytest.raises(ParameterError, match="no conversations"):
        evaluate.bootstrap(sums[:0])
