"""What every tagger of the registry must do, whoever wrote it."""

import functools
import os
import signal

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import palaver as pv
from palaver import store
from palaver.encoding import encode
from palaver.errors import CorpusError, NotFittedError, ParameterError, StoppedError, StoreError
from palaver.fit import Interrupted
from palaver.models.registry import TAGGERS, tagger_class

pytestmark = pytest.mark.parametrize("name", TAGGERS)


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def parts():
    return pv.sample(80).split(test=0.25, random_state=0)


#: Something to learn in more than one sweep and from words that occur once.
PARAMS = {
    "hidden-backoff": {"n_states": 2, "min_count": 2},
    "maxent": {"context": True, "min_count": 1},
    "crf": {"min_count": 1},
}
#: A sweep after which there is more to do.
EARLY = {"hidden-backoff": 3, "maxent": 1, "crf": 3}


def make(name, **params):
    return tagger_class(name)(**{**PARAMS[name], **params})


@pytest.fixture(scope="module")
def fitted(corpus):
    """Return a tagger, trained once, for tests that do not change it."""
    return functools.cache(lambda name: make(name).fit(corpus))


def estimates(tagger):
    """All learned numbers, to the bit."""
    return {key: array.tobytes() for key, array in tagger.chains_[0].items()}


def tiny(*messages):
    rows = [
        {"conversation": c, "id": str(i), "text": t, "act": a}
        for i, (c, t, a) in enumerate(messages)
    ]
    columns = ("conversation", "id", "text", "act")
    return pv.Corpus.from_polars(pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)))


def test_learns_the_acts_of_the_sample(name, parts):
    train, test = parts
    tagger = make(name).fit(train, labels="act")
    assert tagger.score(test) > 0.6
    assert tagger.score(train) > tagger.score(test)
    assert set(tagger.tags_) == set(train.table["act"].unique())


def test_probabilities_and_tags(name, corpus, fitted):
    tagger = fitted(name)
    shares = tagger.predict_proba(corpus)
    assert shares.shape == (corpus.n_messages, len(tagger.tags_))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    agreement = np.array(tagger.tags_)[shares.argmax(axis=1)] == tagger.predict(corpus)
    assert agreement.mean() > 0.9
    np.testing.assert_array_equal(tagger.transform(corpus), shares)


def test_same_bytes_for_any_number_of_workers(name, corpus, monkeypatch):
    from palaver.models.taggers import hidden_backoff, linear

    monkeypatch.setattr(hidden_backoff, "SHARD_TOKENS", 300)  # else there is one shard
    monkeypatch.setattr(linear, "SHARD_MESSAGES", 50)
    tagger = make(name)
    data = tagger._labelled(corpus, "act")
    assert len(tagger._shards(data, tagger._engine(data))) > 2
    many = [make(name, n_jobs=n_jobs).fit(corpus) for n_jobs in (1, 3)]
    assert estimates(many[0]) == estimates(many[1])
    assert many[0].trace_.equals(many[1].trace_)


def test_saved_and_loaded(name, corpus, fitted, tmp_path):
    tagger = fitted(name)
    tagger.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    assert type(again) is type(tagger)
    assert again.get_params() == tagger.get_params()
    assert again.label_ == "act"
    assert estimates(again) == estimates(tagger)
    np.testing.assert_array_equal(again.predict_proba(corpus), tagger.predict_proba(corpus))


def test_interrupted_and_resumed_equals_uninterrupted(name, corpus, fitted, tmp_path):
    whole = fitted(name)

    def interrupt(sweep, chains):
        if sweep == EARLY[name]:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted, match=f"after sweep {EARLY[name]} of"):
        make(name).fit(corpus, folder=tmp_path, callbacks=[interrupt])
    with pytest.raises(StoreError, match="not finished; fit it again with the same data"):
        pv.load(tmp_path)
    resumed = make(name, n_jobs=2).fit(corpus, folder=tmp_path)
    assert estimates(resumed) == estimates(whole)
    assert resumed.trace_.equals(whole.trace_)
    again = make(name).fit(corpus, folder=tmp_path)  # a finished run stays as it is
    assert estimates(again) == estimates(whole)
    assert again.trace_.equals(whole.trace_)
    with pytest.raises(StoreError, match="data"):
        make(name).fit(pv.sample(30), folder=tmp_path)
    acts = corpus.table["act"]
    with pytest.raises(StoreError, match="labels of the data"):
        make(name).fit(corpus.with_columns(act=acts.shift(1, fill_value=acts[0])), folder=tmp_path)


def test_scikit_learns_manners(name, corpus):
    tagger = make(name)
    assert clone(tagger).get_params() == tagger.get_params()
    assert set(tagger.limits) == set(tagger.get_params()) - {"random_state"}
    with pytest.raises(ParameterError, match="there is no parameter 'classes'"):
        tagger.set_params(classes=2)
    with pytest.raises(ParameterError, match="n_jobs must be"):
        make(name, n_jobs=0).fit(corpus)


def test_not_fitted(name, corpus):
    for call in (lambda t: t.predict(corpus), lambda t: t.predict_proba(corpus),
                 lambda t: t.score(corpus), lambda t: t.summary(), lambda t: t.save("x"),
                 lambda t: t.annotate(corpus)):  # fmt: skip
        with pytest.raises(NotFittedError, match=r"call fit\(corpus\)"):
            call(make(name))


def test_labels_that_are_not_there(name, corpus):
    with pytest.raises(ParameterError, match=r"no column 'mood' of labels; the corpus has: .*act"):
        make(name).fit(corpus, labels="mood")
    with pytest.raises(CorpusError, match=r"no (message|column)"):
        make(name).fit(tiny(("a", "hello", None), ("a", "world", None)))
    with pytest.raises((CorpusError, ParameterError), match=r"no (labelled|message|column)"):
        make(name).fit(tiny())
    with pytest.raises(CorpusError, match="no words"):
        make(name).fit(tiny(("a", "", "x"), ("a", " ", "y")))
    with pytest.raises(ParameterError, match="takes a Corpus"):
        make(name).fit([["hello"]])


EDGES = {
    "one label": tiny(("a", "yes", "s"), ("a", "no no", "s"), ("b", "well", "s")),
    "one message": tiny(("a", "hello world", "s")),
    "empty sentences": tiny(("a", "", "b"), ("a", "so what", "q"), ("a", "", "b"), ("b", "", "s")),
    "unlabelled ones": tiny(("a", "yes", None), ("a", "why", "q"), ("b", "so", None),
                            ("c", "because", "s")),
}  # fmt: skip


@pytest.mark.parametrize("edge", EDGES)
def test_edges(name, edge):
    corpus = EDGES[edge]
    tagger = make(name).fit(corpus)
    new = tiny(("n", "", "z"), ("n", "never seen words", "z"), ("n", "yes", "s"))
    for data in (corpus, new):
        shares = tagger.predict_proba(data)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert np.isfinite(shares).all()
        assert set(tagger.predict(data)) <= set(tagger.tags_)
    if edge == "one label":
        assert set(tagger.predict(new)) == {"s"}


def test_labels_that_training_never_saw_count_as_errors(name, corpus):
    tagger = make(name).fit(tiny(("a", "yes", "s"), ("a", "why", "q")))
    new = tiny(("n", "yes", "s"), ("n", "why", "z"))
    assert tagger.score(new) <= 0.5
    confusion = tagger.confusion(new)
    assert confusion.filter(pl.col("label") == "z")["messages"].sum() == 1
    with pytest.raises(CorpusError, match="no message has a label"):
        tagger.score(tiny(("n", "yes", None), ("n", "no", None)).with_columns(
            act=pl.Series([None, None], dtype=pl.String)))  # fmt: skip


def test_tables(name, corpus, fitted):
    tagger = fitted(name)
    tagged = tagger.annotate(corpus)
    np.testing.assert_array_equal(tagged.table["tag"], tagger.predict(corpus))
    rows = np.arange(corpus.n_messages)
    best = [tagger.tags_.index(tag) for tag in tagged.table["tag"]]
    shares = tagger.predict_proba(corpus)[rows, best]
    np.testing.assert_allclose(tagged.table["tag_probability"], shares)
    confusion = tagger.confusion(corpus)
    assert confusion.columns == ["label", "tag", "messages"]
    assert confusion["messages"].sum() == corpus.n_messages
    right = confusion.filter(pl.col("label") == pl.col("tag"))["messages"].sum()
    assert right / corpus.n_messages == pytest.approx(tagger.score(corpus))
    errors = tagger.errors(corpus, n=5)
    assert errors.columns == ["message", "label", "tag", "probability", "text"]
    assert (errors["label"] != errors["tag"]).all()
    summary = tagger.summary()
    assert summary.classes(4).height == len(tagger.tags_)
    np.testing.assert_allclose(tagger.transitions_.sum(axis=1), 1)


def test_encoded_data_give_the_same(name, corpus, fitted):
    tagger = fitted(name)
    assert estimates(make(name).fit(encode(corpus, min_count=1))) == estimates(tagger)
    np.testing.assert_array_equal(
        tagger.predict(encode(corpus, min_count=1)), tagger.predict(corpus)
    )


def test_a_conversations_tags_do_not_depend_on_the_others(name, corpus, fitted):
    tagger = fitted(name)
    first = corpus.take(np.arange(10))
    np.testing.assert_allclose(
        tagger.predict_proba(first), tagger.predict_proba(corpus)[: first.n_messages], rtol=1e-12
    )


def test_a_tagger_without_errors_keeps_their_columns(name, tmp_path):
    corpus = tiny(("c", "hello there", "greets"), ("c", "bye", "leaves"))
    tagger = make(name).fit(corpus).judge(corpus)
    assert tagger.errors_.height == 0
    tagger.save(tmp_path)
    again = pv.load(tmp_path)
    assert again.errors_.schema == tagger.errors_.schema
    assert again.confusion_.equals(tagger.confusion_)


def test_a_tagger_that_is_stopped_before_its_end(name, corpus):
    with pytest.raises(StoppedError, match="stopped after 1 sweeps"):
        make(name).fit(corpus, callbacks=[lambda *_: True])


def test_a_fit_that_fails_leaves_the_tagger_as_it_was(name, parts):
    train, test = parts
    tagger = make(name).fit(train).judge(test)
    before = tagger.predict_proba(test)
    other = train.with_columns(act=pl.Series(["one", "two"] * train.n_messages)[: train.n_messages])
    with pytest.raises(StoppedError):
        tagger.fit(other, callbacks=[lambda *_: True])
    assert set(tagger.tags_) == set(train.table["act"])
    np.testing.assert_array_equal(tagger.predict_proba(test), before)
    assert tagger.accuracy_ == tagger.score(test)
    assert tagger.fit(other).accuracy_ is None, "what was judged before no longer holds"


def test_a_folder_in_use_is_refused(name, corpus, tmp_path):
    with store.locked(tmp_path), pytest.raises(StoreError, match="another process"):
        make(name).fit(corpus, folder=tmp_path)


def test_a_folder_gets_the_fitted_tagger(name, corpus, fitted, tmp_path):
    make(name).fit(corpus, folder=tmp_path)
    assert estimates(pv.load(tmp_path)) == estimates(fitted(name))


def test_progress_is_shown_if_asked_for(name, corpus, fitted, capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    make(name).fit(corpus, show_progress=False)
    assert not capsys.readouterr().err
    make(name).fit(corpus, show_progress=True)
    assert type(fitted(name)).__name__ in capsys.readouterr().err


def test_coherence_counts_the_taggers_own_words(name, corpus, fitted):
    for by in ("probability", "distinctiveness"):
        table = fitted(name).coherence(pv.sample(30), by=by)
        assert table.height == len(fitted(name).tags_)
        assert table["coherence"].drop_nulls().is_between(-1, 1).all()
        assert table["coherence"].count() > 0


def test_the_page_shows_how_well_it_tags(name, parts, tmp_path):
    train, test = parts
    tagger = make(name).fit(train).judge(test)
    page = pv.report(tagger, test, tmp_path / "page.html").read_text()
    assert "How well it tags" in page
    assert all(tag in page for tag in tagger.tags_)


def test_at_most_three_classes_of_ours_above_a_tagger(name):
    ours = [
        kind for kind in tagger_class(name).__mro__[1:] if kind.__module__.startswith("palaver")
    ]
    assert [kind.__name__ for kind in ours] == ["Tagger", "Model", "HasParams"]
