"""The nested HDP as people use it: its tree, new documents, streams, stored models."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import DamagedStoreError, ParameterError
from palaver.models.documents.nested_hdp.tree import levels_of

QUICK = {"n_topics": 7, "n_levels": 2, "branching": 2, "start_sweeps": 30, "n_sweeps": 15}


def planted(n_documents=150, seed=0):
    """Documents of two branches, each with common words and two kinds of special ones."""
    draws = np.random.default_rng(seed)
    branch, special = draws.integers(0, 2, n_documents), draws.integers(0, 2, n_documents)
    counts = np.zeros((n_documents, 48))
    for d in range(n_documents):
        common = 24 * branch[d] + draws.integers(0, 8, 15)
        own = 24 * branch[d] + 8 + 8 * special[d] + draws.integers(0, 8, 25)
        np.add.at(counts[d], np.concatenate((common, own)), 1)
    return counts, 2 * branch + special


@pytest.fixture(scope="module")
def fitted():
    counts, kinds = planted()
    return pv.NestedHDP(**QUICK).fit(counts), counts, kinds


def test_branches_hold_what_belongs_together(fitted):
    """Almost all words of a planted branch come from topics of one branch of the tree."""
    model, *_ = fitted
    tops = np.array([model.lineage(k)[0] for k in range(7)])
    by_word = model.class_words_ * model.class_shares_[:, None]
    halves = np.array([[by_word[tops == top][:, part].sum() for part in (slice(24), slice(24, 48))]
                       for top in np.unique(tops)])  # fmt: skip
    assert (halves.max(axis=1) > 0.95 * halves.sum(axis=1)).all()
    assert model.perplexity(planted(40, seed=5)[0]) < 20  # 48 words; 8 to 16 where all is known


def test_the_tree_as_a_table(fitted):
    model, *_ = fitted
    table = model.tree(3)
    assert table.columns == ["topic", "parent", "level", "share", "below", "words"]
    assert sorted(table["topic"]) == list(range(7))
    seen = set()
    for row in table.iter_rows(named=True):
        assert row["parent"] is None or row["parent"] in seen
        seen.add(row["topic"])
        path = model.lineage(row["topic"])
        assert (len(path), path[-1]) == (row["level"], row["topic"])
        assert path[:-1] == ([] if row["parent"] is None else model.lineage(row["parent"]))
        below = table.filter(pl.col("topic").is_in(
            [k for k in range(7) if row["topic"] in model.lineage(k)]))  # fmt: skip
        assert row["below"] == pytest.approx(below["share"].sum())
        assert len(row["words"].split()) == 3
    first = table.filter(pl.col("level") == 1)
    assert first["below"].sum() == pytest.approx(1)
    assert first["below"].is_sorted(descending=True)
    assert model.summary().tables["tree"].height == 7
    for wrong in (-1, 7, 1.5):
        with pytest.raises(ParameterError, match="lineage: topic must be"):
            model.lineage(wrong)
    with pytest.raises(ParameterError, match="tree: n_words must be"):
        model.tree(0)


def test_a_tree_of_one_level_and_of_one_topic():
    counts, _ = planted(30)
    flat = pv.NestedHDP(4, n_levels=1, start_sweeps=3, n_sweeps=3).fit(counts)
    assert (flat.parents_ == -1).all()
    one = pv.NestedHDP(1, start_sweeps=3, n_sweeps=3).fit(counts)
    np.testing.assert_allclose(one.transform(counts), 1)


def test_a_stream_finds_the_branches_too(fitted):
    _, counts, _ = fitted
    test = planted(40, seed=9)[0]

    def perplexity(**changes):
        model = pv.NestedHDP(**{**QUICK, **changes}).fit_stream(counts, batch_size=30, passes=4)
        assert levels_of(model.parents_).max() == 2
        return model.perplexity(test)

    informed = perplexity()
    assert informed < 20
    assert informed == perplexity(n_jobs=2)
    assert perplexity(start_sweeps=0) < 25


def test_steps_without_a_start_make_a_tree_of_what_lda_found(fitted):
    _, counts, _ = fitted
    model = pv.NestedHDP(**QUICK)
    random = None
    for step in range(20):
        model.partial_fit(counts[7 * step : 7 * step + 7], total_documents=150)
        if step == 13:
            random = model.parents_.copy()
            assert not model.chains_[0]["uses"].any()
    assert (model.parents_ != random).any()
    assert model.chains_[0]["uses"].any()
    assert (model.parents_ < np.arange(7)).all()


def test_given_topics_are_taken_as_levels(fitted):
    model, counts, _ = fitted
    topics = np.ascontiguousarray(model.class_words_.T) * 100 + 0.01
    again = pv.NestedHDP(**QUICK).fit_stream(counts, topics=topics, batch_size=50)
    same = (again.class_words_ @ model.class_words_.T).argmax(axis=1)
    assert (same == np.arange(7)).mean() > 0.7  # and not put into another order


def test_split_topics_are_siblings(fitted):
    model, counts, _ = fitted
    inner = int(np.flatnonzero(np.bincount(model.parents_[model.parents_ >= 0], minlength=7))[0])
    for topic in (inner, 6):
        made = model.split(counts, topic, into=3)
        assert made.parents_.tolist() == [*model.parents_, *[model.parents_[topic]] * 2]
        uses = made.chains_[0]["uses"]
        assert uses[[topic, 7, 8]].sum() == pytest.approx(model.chains_[0]["uses"][topic])
        assert made.tree().height == 9
        assert np.isfinite(made.score(counts))
        made.partial_fit(counts, rate=0.1)


def test_it_is_kept_whole(fitted, tmp_path):
    model, counts, _ = fitted
    model.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    assert again.tree().equals(model.tree())
    np.testing.assert_array_equal(again.transform(counts), model.transform(counts))


@pytest.mark.parametrize("parents", [[-1, 1, 0, 0, 0, 0, 0], [-2] + [-1] * 6, [-1] * 6])
def test_a_stored_tree_that_kernels_could_not_follow_is_refused(fitted, tmp_path, parents):
    model, *_ = fitted
    altered = pv.NestedHDP(**QUICK)
    altered.__dict__.update(model.__dict__)
    altered.chains_ = [{**model.chains_[0], "parents": np.array(parents)}]
    altered.save(tmp_path / "run")
    with pytest.raises(DamagedStoreError, match="parents"):
        pv.load(tmp_path / "run")


def test_the_bound_of_documents_is_that_of_their_choice(fitted):
    """What `score` says is the bound with few topics, which is higher than with all."""
    model, counts, _ = fitted
    chosen = model.score(counts)
    whole = []
    model._fold(model._known_documents(counts),
                lambda engine, frozen, shard, state: whole.append(state["bounds"].sum()),
                phase="whole")  # fmt: skip
    assert sum(whole) < chosen < 0
