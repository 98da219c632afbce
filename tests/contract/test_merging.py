"""Merged classes of every model: counts add up, and everything that a model does still works."""

import functools

import numpy as np
import pytest

import palaver as pv
from palaver.curation import Step
from palaver.encoding import encode
from palaver.errors import ParameterError
from palaver.models import model_class, registry
from palaver.models.curated import apply_curation, curation_of
from palaver.models.curated.splitting import divide
from palaver.models.summary import next_shares

MODELS = registry.MODELS | registry.EXAMPLES
CASES = [
    *((name, {}) for name in MODELS),
    ("m4", {"transition": "softmax"}),
    ("m4", {"n_topics": 2, "background": True}),
    ("acts", {"unit": "message"}),
    ("infinite-hmm", {"unit": "message"}),
    ("online-lda", {"unit": "conversation"}),
]
GROUPS = [[3, 1], [4, 2]]
#: What class each of the five old ones becomes: 0, 1 with 3, 2 with 4.
NEW = np.array([0, 1, 2, 1, 2])


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(40)


@pytest.fixture(scope="module")
def fitted(corpus):
    data = encode(corpus)

    @functools.cache
    def fit(name, params):
        kind = model_class(name)
        short = {"tolerance": 0.0, "start_sweeps": 2, "whiten": 8, "n_acts": 5, "n_chains": 2}
        params = {k: v for k, v in short.items() if k in kind.limits} | dict(params)
        return kind(**{"n_sweeps": 8, "random_state": 1, **kind.sized(5), **params}).fit(data)

    return lambda name, params: fit(name, tuple(params.items()))


def summed(values):
    """Add up columns by the new classes, the slow way."""
    result = np.zeros((*np.shape(values)[:-1], 3))
    for old, new in enumerate(NEW):
        result[..., new] += np.asarray(values)[..., old]
    return result


@pytest.mark.parametrize(("name", "params"), CASES)
def test_counts_add_up(name, params, fitted, corpus):
    model = fitted(name, params)
    merged = model.merge(GROUPS)
    assert merged.origin is not merged
    np.testing.assert_allclose(merged.class_shares_, summed(model.class_shares_))
    np.testing.assert_allclose(merged.transform(corpus), summed(model.transform(corpus)))
    shares = model.message_shares(corpus)
    np.testing.assert_allclose(merged.message_shares(corpus), summed(shares))
    np.testing.assert_array_equal(merged.message_classes(corpus), summed(shares).argmax(axis=1))
    np.testing.assert_allclose(merged.class_words_.sum(axis=1), 1)
    totals = model._word_totals()
    for new in range(3):
        old = np.flatnonzero(new == NEW)
        counts = sum(totals[k] * model.class_words_[k] for k in old)
        np.testing.assert_allclose(merged.class_words_[new] * counts.sum(), counts, atol=1e-12)


@pytest.mark.parametrize(("name", "params"), CASES)
def test_what_follows_what_adds_up(name, params, fitted):
    model = fitted(name, params)
    merged = model.merge(GROUPS)
    if model.transition_kind == "none":
        assert merged.summary().next_shares() is None
        return
    old = next_shares(
        model.transitions_, model.transition_kind, model.transition_rows, model.class_shares_
    )
    weights = model._transition_totals()
    for new in range(3):
        rows = np.flatnonzero(new == NEW)
        flow = sum(weights[k] * summed(old[k]) for k in rows)
        np.testing.assert_allclose(merged.transitions_[new], flow / flow.sum(), rtol=1e-10)
    np.testing.assert_allclose(merged.transitions_[-1], summed(old[-1]))
    table = merged.transitions_table()
    assert table.height == 12
    assert table["probability"].to_numpy() == pytest.approx(merged.transitions_.ravel())


@pytest.mark.parametrize(("name", "params"), CASES)
def test_it_works_everywhere(name, params, fitted, corpus, tmp_path):
    merged = fitted(name, params).merge(GROUPS)
    by_speaker = merged.shares(corpus, "speaker", top=2)
    assert by_speaker["class"].max() == 2
    assert {"share_0", "share_2"} < set(merged.annotate(corpus).table.columns)
    assert merged.summary().classes(3).height == 3
    assert merged.top_words(3)["class"].max() == 2
    assert "3 classes" in repr(merged)
    pv.report(merged, corpus, tmp_path / "page.html", predict_heldout=False)
    merged.save(tmp_path / "kept")
    again = pv.load(tmp_path / "kept")
    np.testing.assert_array_equal(again.class_words_, merged.class_words_)
    np.testing.assert_array_equal(again.transform(corpus), merged.transform(corpus))
    assert again.summary().view_id == merged.summary().view_id
    np.testing.assert_array_equal(
        again.merge([[0, 1]]).class_shares_, merged.merge([[1, 0]]).class_shares_
    )


@pytest.mark.parametrize("name", ["acts", "gaussian-hmm", "gaussian-mixture"])
def test_totals_are_those_of_the_words_that_were_counted(name, fitted):
    """Words of classes times their totals are all words of the corpus, each counted once."""
    model = fitted(name, {})
    for one in (model, model.merge(GROUPS)):
        counted = one._word_totals() @ one.class_words_
        np.testing.assert_allclose(counted, model.vocabulary_.counts, rtol=1e-9)


def test_totals_of_the_infinite_hmm_and_the_block_hmm_are_counts(fitted, corpus):
    model = fitted("infinite-hmm", {})
    assert model._word_totals().sum() == encode(corpus).n_tokens
    block = fitted("block-hmm", {})
    replies = (corpus.parents >= 0).sum()
    prior = block.transition_prior_.sum()
    assert block._transition_totals().sum() == pytest.approx(replies + 5 * prior)


def test_transitions_of_merged_acts_are_those_of_merged_counts(fitted):
    """As if the counts of moves had been merged before they were made probabilities."""
    model = fitted("acts", {"unit": "message", "n_acts": 5})
    moves = model._answer["moves"]
    n = 5
    between = moves[:n] + moves[n : 2 * n] + float(model.transition_prior)
    rows = np.zeros((3, 3))
    for a in range(n):
        for b in range(n):
            rows[NEW[a], NEW[b]] += between[a, b]
    merged = model.merge(GROUPS)
    np.testing.assert_allclose(merged.transitions_[:3], rows / rows.sum(axis=1, keepdims=True))


def test_tokens_and_units_have_the_merged_classes(fitted, corpus):
    model = fitted("m4", {})
    merged = model.merge(GROUPS)
    old = model.token_classes(corpus)["class"]
    new = merged.token_classes(corpus)["class"]
    assert new.null_count() == old.null_count()
    np.testing.assert_array_equal(new.drop_nulls(), NEW[old.drop_nulls().to_numpy()])
    acts = fitted("acts", {})
    units = acts.merge(GROUPS).unit_acts(corpus)
    assert units.height == acts.unit_acts(corpus).height
    assert units["act"].max() <= 2
    assert acts.merge(GROUPS).acts_table().height == 3


def test_a_merged_model_does_not_pretend(fitted, corpus):
    merged = fitted("lda", {}).merge(GROUPS)
    with pytest.raises(ParameterError, match=r"fit model\.origin"):
        merged.fit(corpus)
    with pytest.raises(AttributeError, match=r"model\.origin\.nonsense"):
        _ = merged.nonsense
    assert merged.perplexity(corpus) == merged.origin.perplexity(corpus)
    assert not hasattr(fitted("gaussian-hmm", {}).merge(GROUPS), "token_classes")


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([[0, 9]], "no class 9"),
        ([[0, -1]], "no class -1"),
        ([[0, 1], [1, 2]], "one group only"),
        ([[0, 0]], "one group only"),
        ([[0]], "two classes or more"),
        ([[0, 1, 2, 3, 4]], "leave at least one out"),
    ],
)
def test_wrong_groups_are_refused(groups, said, fitted):
    with pytest.raises(ParameterError, match=said):
        fitted("lda", {}).merge(groups)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_parts_add_up_to_their_class(name, fitted, corpus, tmp_path):
    """Messages, words and what follows: merging the parts gives the class back."""
    model = fitted(name, {})
    id = int(model.message_shares(corpus).sum(axis=0).argmax())
    found = divide(model, corpus, id, 2)
    found.division.save(tmp_path / "splits/ab")
    split = {"do": "split", "class": id, "parts": 2, "folder": "splits/ab"}
    state = curation_of(model).after(Step((split,)))
    parts = apply_curation(model, state, tmp_path)
    numbers = [state.number_of(one) for one in state.splits[0].parts]
    whole = model.message_shares(corpus)
    np.testing.assert_allclose(
        parts.message_shares(corpus)[:, numbers].sum(axis=1), whole[:, id], atol=1e-9
    )
    assert (parts.message_classes(corpus)[:, None] == numbers).any(axis=0).all()
    joined = state.after(Step(({"do": "merge", "classes": list(state.splits[0].parts)},)))
    again = apply_curation(parts, joined)
    order = [joined.numbers_of(k)[0] for k in range(len(model.class_shares_))]
    np.testing.assert_allclose(again.class_shares_[order], model.class_shares_, atol=1e-12)
    np.testing.assert_allclose(again.class_words_[order], model.class_words_, atol=1e-12)
    old = model.summary().next_shares()
    if old is not None:
        new = again.summary().next_shares()
        np.testing.assert_allclose(new[[*order, -1]][:, order], old, atol=1e-12)
    parts.save(tmp_path / "run")
    restored = pv.load(tmp_path / "run")
    np.testing.assert_array_equal(restored.message_shares(corpus), parts.message_shares(corpus))
