"""LDA's variational kernel against the updates written out and scikit-learn's."""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp
from sklearn.decomposition import LatentDirichletAllocation
from support.markov_m3_reference import dirichlet_bound, log_expectation

import palaver as pv
from palaver.encoding.documents import documents_of
from palaver.kernels.lda import sweep_parallel
from palaver.kernels.simd.spaces import aligned_space, padded
from palaver.kernels.states import start_classes
from palaver.kernels.switch import SWITCH_OFF
from palaver.models.documents.kernels.shares import log_prior_of, share_space, sweep_shares
from palaver.models.documents.kernels.tokens import draw_topics, slots_of_ranks


def case(seed, n_topics=5, n_words=9, n_documents=6):
    generator = np.random.default_rng(seed)
    topics = generator.gamma(0.5, 3.0, (n_words, n_topics)) + 0.05
    counts = generator.poisson(1.0, (n_documents, n_words)).astype(float)
    counts[0], counts[1, 0] = 0, 2.5
    return topics, counts, documents_of(counts)


def run(topics, documents, alpha, fresh, n_iterations, gammas):
    n_documents, n_topics = gammas.shape
    bounds, terms = np.zeros(n_documents), np.zeros(2)
    word_topics, log_shares = np.zeros_like(topics), np.zeros(n_topics)
    logs = np.zeros((len(topics), -(-n_topics // 8) * 8))
    logs[:, :n_topics] = log_expectation(topics.T).T
    peaks = logs[:, :n_topics].max(axis=1)
    weights = np.exp(logs - peaks[:, None]) * (np.arange(logs.shape[1]) < n_topics)
    sweep_shares(
        documents.offsets, documents.words, documents.counts, weights, peaks,
        log_prior_of(alpha), fresh, n_iterations, 0.0,
        *share_space(alpha, int(np.diff(documents.offsets).max())), gammas, bounds, word_topics,
        log_shares, terms,
    )  # fmt: skip
    return bounds, word_topics, log_shares, terms


@pytest.mark.parametrize("n_topics", [1, 5, 8, 11])
def test_updates_and_bound_written_out(n_topics):
    topics, counts, documents = case(n_topics, n_topics)
    alpha = np.random.default_rng(1).gamma(1.0, 0.5, n_topics) + 0.05
    gammas = np.ones((6, n_topics))
    bounds, word_topics, log_shares, terms = run(topics, documents, alpha, True, 4, gammas)
    log_beta, expected_topics = log_expectation(topics.T), np.zeros_like(topics)
    expected_log_shares, total = np.zeros(n_topics), 0.0
    for d in range(1, 6):
        gamma = alpha + counts[d].sum() / n_topics
        for _ in range(5):
            logits = log_expectation(gamma)[:, None] + log_beta
            phi = np.exp(logits - logsumexp(logits, axis=0))
            last, gamma = gamma, alpha + phi @ counts[d]
        np.testing.assert_allclose(gammas[d], last, rtol=1e-11)
        expected_topics += (phi * counts[d]).T
        expected_log_shares += log_expectation(last)
        bound = np.sum(counts[d] * phi * (logits - np.log(phi)))
        bound += gammaln(alpha.sum()) - gammaln(alpha).sum()
        bound += np.sum((alpha - 1) * log_expectation(last))
        bound -= gammaln(last.sum()) - gammaln(last).sum()
        bound -= np.sum((last - 1) * log_expectation(last))
        assert bounds[d] == pytest.approx(bound, rel=1e-11)
        total += bound
    np.testing.assert_allclose(word_topics, expected_topics, atol=1e-11)
    np.testing.assert_allclose(log_shares, expected_log_shares, rtol=1e-11, atol=1e-14)
    assert terms.sum() == pytest.approx(total, rel=1e-11)


def test_a_pass_is_that_of_scikit_learn():
    topics, counts, documents = case(3)
    peer = LatentDirichletAllocation(
        5, doc_topic_prior=0.3, topic_word_prior=0.1, learning_method="batch", max_iter=1,
        mean_change_tol=1e-9, max_doc_update_iter=2000, random_state=0,
    )  # fmt: skip
    peer.fit(counts)
    peer.components_ = topics.T.copy()
    peer.exp_dirichlet_component_ = np.exp(log_expectation(topics.T))
    peer._em_step(counts, total_samples=6, batch_update=True)
    gammas = np.ones((6, 5))
    _, word_topics, _, _ = run(topics, documents, np.full(5, 0.3), True, 2000, gammas)
    np.testing.assert_allclose(0.1 + word_topics.T, peer.components_, rtol=1e-4)


def test_bound_rises_from_iteration_to_iteration():
    topics, _, documents = case(4)
    alpha, gammas = np.full(5, 0.2), np.ones((6, 5))
    before, *_ = run(topics, documents, alpha, True, 0, gammas)
    for _ in range(20):
        bounds, *_ = run(topics, documents, alpha, False, 1, gammas)
        assert (bounds >= before - 1e-10 * np.abs(before)).all()
        before = bounds


def test_whole_bound_and_learned_priors():
    generator = np.random.default_rng(5)
    counts = generator.poisson(0.6, (40, 15)).astype(float)
    model = pv.OnlineLDA(n_topics=3, n_sweeps=30, tolerance=0).fit(counts)
    bound = model.trace_["log_joint"].to_numpy()
    assert bound[-1] > bound[0]
    start = pv.OnlineLDA(3, share_prior=0.4, word_prior=0.2, start_sweeps=0, n_sweeps=1).fit(counts)
    engine = start._make_engine(15)
    from palaver import rng

    first = engine.start(rng.generator(0, "start", 0)).arrays["topics"]
    documents = documents_of(counts)
    gammas = np.ones((40, 3))
    bounds, *_ = run(first, documents, np.full(3, 0.4), True, 100, gammas)
    expected = bounds.sum() + dirichlet_bound(first.T, 0.2)
    assert start.elbo_ == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("n_topics", [1, 5, 8, 19])
def test_topics_of_tokens_are_drawn_as_lda_draws_classes(n_topics):
    generator = np.random.default_rng(n_topics)
    tokens = generator.integers(0, 12, 200).astype(np.int32)
    offsets = np.array([0, 30, 30, 120, 200])
    weights = generator.gamma(0.3, 1.0, (12, n_topics + 1))
    key = np.array([3, 4], np.uint64)
    own, classes = np.empty(200, np.int16), np.empty(200, np.int16)
    each, alpha = np.arange(5), np.full(n_topics, 0.4)

    def draw(word_weights):
        counts = np.zeros((12, n_topics))
        width = padded(n_topics)
        draw_topics(
            tokens, offsets, 7, own, word_weights.reshape(-1), n_topics + 1, 0.4,
            slots_of_ranks(n_topics), key, np.empty(4, np.uint64), aligned_space(width),
            aligned_space(width), counts,
        )  # fmt: skip
        return counts

    assert not draw(weights[:0]).any()
    start_classes(offsets, each, 7, n_topics, SWITCH_OFF, np.ones(2), key, classes)
    np.testing.assert_array_equal(own, classes)
    for _ in range(3):
        found = draw(np.concatenate((weights, np.zeros((8, n_topics + 1)))))
        counts = np.zeros((12, n_topics + 1), np.int32)
        sweep_parallel(tokens, offsets, each, 7, classes, weights, alpha, SWITCH_OFF, np.ones(2),
                       1.0, key, counts, np.zeros((0, 1)))  # fmt: skip
        np.testing.assert_array_equal(own, classes)
        np.testing.assert_array_equal(found, counts[:, :-1])
