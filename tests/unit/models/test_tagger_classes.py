"""Classes of a model that has seen no labels are features of linear taggers."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver import store
from palaver.encoding import encode
from palaver.errors import DamagedStoreError, ParameterError
from palaver.models.taggers.classes import shares_of_classes

LINEAR = {"crf": pv.CRFTagger, "maxent": pv.MaxEntTagger}


@pytest.fixture(scope="module")
def parts():
    return pv.sample(40).split(0.3, 0)


@pytest.fixture(scope="module")
def acts(parts):
    bare = pv.Corpus.from_polars(parts[0].table.drop("act"))
    return pv.Acts(n_sweeps=20, n_chains=2).fit(bare, show_progress=False)


@pytest.mark.parametrize("name", LINEAR)
def test_shares_are_the_last_features_and_are_kept(name, parts, acts, tmp_path):
    train, test = parts
    kind = LINEAR[name]
    tagger = kind(max_iter=20).fit(train, classes=acts, show_progress=False)
    plain = kind(max_iter=20).fit(train, show_progress=False)
    n_acts = len(acts.class_shares_)
    names = tagger._features.feature_names()
    assert names[:-n_acts] == plain._features.feature_names()
    assert all(text.startswith("class: ") for text in names[-n_acts:])
    shares = acts.transform(test)
    table = tagger._features(encode(test, min_count=1), None, shares).toarray()[:, -n_acts:]
    expected = 2 * shares / np.linalg.norm(shares, axis=1, keepdims=True)
    np.testing.assert_allclose(table, expected, atol=1e-6)
    tagger.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    assert again.classes_.name == "acts"
    np.testing.assert_array_equal(again.predict_proba(test), tagger.predict_proba(test))
    assert plain.classes_ is None


class _Oracle(pv.LDA):
    """Its classes are the acts, which no word tells."""

    def transform(self, corpus, n_sweeps=0):
        return np.eye(2)[(corpus.table["act"] == "x").to_numpy().astype(int)]


@pytest.mark.parametrize("name", LINEAR)
def test_they_tell_what_words_do_not(name):
    rng = np.random.default_rng(0)
    rows = [(str(c), "so it goes", "xy"[rng.integers(2)]) for c in range(40) for _ in "1234"]
    corpus = pv.Corpus.from_polars(
        pl.DataFrame(rows, ["conversation", "text", "act"], orient="row")
    )
    oracle = _Oracle(2, n_sweeps=2).fit(corpus, show_progress=False)
    kind = LINEAR[name]
    plain = kind(features=["words"], previous=0)
    assert plain.fit(corpus, show_progress=False).score(corpus) < 0.8
    assert kind().fit(corpus, classes=oracle, show_progress=False).score(corpus) == 1


def test_what_cannot_lend_classes(parts, acts):
    train, test = parts
    labelled = pv.Acts(n_sweeps=10, n_chains=1).fit(train, labels="act", show_progress=False)
    for model in (labelled, pv.CRFTagger(max_iter=2).fit(train, show_progress=False)):
        with pytest.raises(ParameterError, match="must be fitted without labels"):
            pv.CRFTagger().fit(train, classes=model)
    with pytest.raises(ParameterError, match="expected a fitted model, got str"):
        pv.MaxEntTagger().fit(train, classes="acts")
    with pytest.raises(ParameterError, match="give a Corpus"):
        shares_of_classes(acts, encode(test, min_count=1))


def test_a_damaged_model_of_classes_is_found(parts, acts, tmp_path):
    pv.CRFTagger(max_iter=2).fit(parts[0], classes=acts, show_progress=False).save(tmp_path)
    stored = store.load(tmp_path, "model")
    del stored.content["extra"]["classes"]["words"]
    store.save(tmp_path, "model", stored.content, stored.arrays)
    with pytest.raises(DamagedStoreError):
        pv.load(tmp_path)


def test_the_choice_is_among_taggers_that_take_them(parts, acts):
    chosen = pv.choose_tagger(parts[0], classes=acts, params={"max_iter": 5})
    assert set(chosen.table["tagger"]) == set(LINEAR)
    with pytest.raises(ParameterError, match="hidden-backoff cannot take classes"):
        pv.choose_tagger(parts[0], taggers=["hidden-backoff"], classes=acts)
