"""What a new fit goes by, and which classes are the same."""

import numpy as np
import pytest

import palaver as pv
from palaver.curation import Curation, Step
from palaver.models.curated import apply_curation, curation_of
from palaver.models.curated.refitting import carried, guidance, matched
from palaver.models.curated.versions import compare_versions
from palaver.models.views.marks import keys_of

KEY = "0" * 16


def test_classes_are_the_same_if_they_share_enough_messages():
    old = np.repeat([0, 1, 2], [10, 10, 10])
    new = np.concatenate(
        [np.full(10, 1), np.full(6, 0), np.full(4, 2), np.repeat([0, 1, 2], [3, 3, 4])]
    )
    assert matched(np.eye(3)[old], np.eye(3)[new]) == [1, 0, -1]


def test_a_class_that_is_a_part_of_many_messages_finds_its_counterpart():
    old = np.array([[0.8, 0.2, 0.0]] * 10 + [[0.0, 0.3, 0.7]] * 10)
    new = np.array([[0.1, 0.0, 0.9]] * 10 + [[0.3, 0.7, 0.0]] * 10)
    assert matched(old, new) == [2, 0, 1]  # the second is the main class of no message
    assert matched(old, np.ones((20, 1))) == [0, -1, -1]


def test_what_was_decided_goes_to_the_same_class():
    state = Curation.empty("old", 4)
    for by, action in (
        ("ann", {"do": "name", "class": 0, "name": "asks"}),
        ("bob", {"do": "name", "class": 3, "name": "rare"}),
        ("ann", {"do": "describe", "class": 0, "text": "wants to know"}),
        ("ann", {"do": "seeds", "class": 0, "words": ["How", "why"]}),
        ("ann", {"do": "merge", "classes": [1, 2]}),
        ("ann", {"do": "hide", "class": 1}),
        ("ann", {"do": "order", "classes": [3, 0]}),
        ("ann", {"do": "mark", "class": 2, "id": "a", "key": KEY}),
        ("ann", {"do": "mark", "class": 3, "id": "b", "key": KEY}),
    ):
        state = state.after(Step((action,), by))
    new, lost = carried(state, "new", 3, [2, 0, -1])
    assert lost == [2]
    assert new.run == "new"
    assert (new.classes[2].name.text, new.classes[2].name.by) == ("asks", "ann")
    assert new.classes[2].description.text == "wants to know"
    assert new.classes[2].seeds == ("how", "why")
    assert new.classes[0].hidden
    assert new.order == (2,)
    assert {place[1]: mark.right for place, mark in new.marks.items()} == {"a": 0}


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(40)


@pytest.fixture(scope="module")
def model(corpus):
    return pv.Acts(n_acts=5, n_sweeps=20, n_chains=2).fit(corpus)


def decided(model, *actions):
    return apply_curation(model, curation_of(model).after(Step(actions)))


def test_names_merges_words_and_marks_guide_the_fit(model, corpus):
    id, key = corpus.table["id"][3], keys_of(corpus)[3]
    own = decided(
        model,
        {"do": "name", "class": 0, "name": "first"},
        {"do": "seeds", "class": 0, "words": ["thanks", "nowhere-to-be-found"]},
        {"do": "merge", "classes": [1, 2]},
        {"do": "mark", "class": 0, "id": id, "key": key},
    )
    found = guidance(own, corpus)
    assert found.model.n_acts == 4
    assert found.seeds == {"first": ["thanks"]}
    assert found.labels[3] == "first"
    assert found.n_marked == 1
    assert found.labels.drop_nulls().len() == found.n_marked + found.n_sure
    shares = own.message_shares(corpus)
    merged = own.summary().class_names[1]
    rows = [row for row, name in enumerate(found.labels) if name == merged]
    assert rows
    assert (shares[rows, 1] >= 0.8).all()
    again = found.model.set_params(n_sweeps=10).fit(corpus, found.labels)
    assert "first" in again.act_names_


def test_a_new_fit_begins_with_the_acts_as_they_are(model, corpus):
    own = decided(
        model,
        {"do": "merge", "classes": [1, 2]},
        {"do": "name", "class": 3, "name": "mine"},
    )
    found = guidance(own, corpus)
    acts, names = own.unit_acts(corpus)["act"].to_numpy(), own.summary().class_names
    first = sorted(set(found.labels.drop_nulls()))  # classes of labels are the first of a fit
    assert first
    for act in set(acts.tolist()):
        (begun,) = set(found.first_acts[acts == act].tolist())
        assert begun == first.index(names[act]) if names[act] in first else begun >= len(first)
    assert len(set(found.first_acts.tolist())) == len(set(acts.tolist()))
    assert guidance(own, corpus, n_classes=6).first_acts is None


def test_acts_that_nobody_touched_stay_in_a_new_fit(model, corpus):
    found = guidance(model, corpus).model.set_params(random_state=1)
    afresh = pv.Acts(**found.get_params()).fit(corpus)
    begun, afresh = (
        compare_versions(model, own, corpus).content for own in (found.fit(corpus), afresh)
    )
    assert all(row["new"] is not None for row in begun["classes"])
    assert begun["kappa"] > afresh["kappa"]


def test_a_new_fit_that_was_stopped_ends_like_one_that_was_not(model, corpus, tmp_path):
    own = decided(model, {"do": "merge", "classes": [1, 2]})

    def fresh():
        found = guidance(own, corpus)
        return found.model.set_params(n_sweeps=8), found.labels

    first, labels = fresh()
    with pytest.raises(pv.errors.StoppedError):
        first.fit(corpus, labels, folder=tmp_path, callbacks=[lambda sweep, chains: sweep == 2])
    again, whole = (fresh()[0] for _ in range(2))
    again.fit(corpus, labels, folder=tmp_path)
    whole.fit(corpus, labels)
    assert np.array_equal(again.feature_counts_, whole.feature_counts_)


def test_acts_to_begin_with_are_those_of_the_units(model, corpus):
    with pytest.raises(pv.errors.ParameterError, match="one act below 5 for each of the"):
        pv.Acts(n_acts=5, n_sweeps=2, n_chains=1).begin_with(np.zeros(3, int)).fit(corpus)


@pytest.mark.parametrize(
    "acts", [[0.0, 1.0], 3, [[0, 1]], [-2, 0], [70_000], [1 + 2j], ["0"]], ids=str
)
def test_what_are_no_acts_is_not_what_a_fit_begins_with(acts):
    with pytest.raises(pv.errors.ParameterError, match="a flat array of whole numbers"):
        pv.Acts().begin_with(np.array(acts))


def test_a_model_that_cannot_be_guided_says_so(corpus):
    model = pv.LDA(n_classes=3, n_sweeps=5).fit(corpus)
    found = guidance(decided(model, {"do": "name", "class": 0, "name": "first"}), corpus)
    assert found.left_out == ["lda takes no labels"]
    assert found.labels is None


def test_a_fit_agrees_with_itself(model, corpus):
    own = decided(model, {"do": "name", "class": 1, "name": "mine"})
    found = compare_versions(own, model, corpus)
    assert found.content["same"] == 1
    assert found.content["moves"] == found.content["lost"] == []
    assert found.curation.classes[1].name.text == "mine"
    assert all(row["before"] == row["after"] for row in found.content["classes"])


def test_what_moved_is_counted(model, corpus):
    merged = model.merge([[0, 1]])
    found = compare_versions(merged, model, corpus).content
    assert len({row["new"] for row in found["classes"] if row["new"]}) == 5
    moved = sum(move["messages"] for move in found["moves"])
    assert 0 < moved == round((1 - found["same"]) * found["messages"])
    assert all(move["examples"] for move in found["moves"])
