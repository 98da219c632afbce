"""What every extension of M4 must do in addition to what every model must."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.encoding import encode
from palaver.errors import CorpusError, ParameterError, StoreError
from palaver.fit import Interrupted

SMALL = {"n_classes": 3, "n_sweeps": 8, "random_state": 1}
EXTENSIONS = {
    "dirichlet": {"transition": "dirichlet"},
    "topics": {"n_topics": 4, "background": "message", "transition": "softmax"},
    "sentences": {"unit": "sentence", "n_topics": 2, "transition": "dirichlet"},
    "messages": {"unit": "message", "background": False, "transition": "softmax"},
    "features": {
        "features": ["same_speaker", "position", "time_gap", "topic"],
        "weight_step": "metropolis",
    },
    "parents": {"parents": "all"},
    "labels": {"unit": "message", "n_classes": 14},
    "seeds": {"seed_words": {"thanks": ["thanks", "thank"], "asks": ["?", "how"]}},
}


#: What some of them are fitted with.
OPTIONS = {"labels": {"labels": "some"}}


def fit(name, data, params=None, **options):
    """Fit an extension, with labels where it takes them."""
    model = pv.M4(**{**SMALL, **EXTENSIONS[name], **(params or {})})
    return model.fit(data, **OPTIONS.get(name, {}), **options)


@pytest.fixture(scope="module")
def corpus():
    corpus = pv.sample(60)
    table = corpus.table
    ids = table["id"].to_list()
    others = [[ids[corpus.conversation_offsets[0]]] if i == 3 else [] for i in range(len(ids))]
    known = [act if i % 2 else None for i, act in enumerate(table["act"])]
    return corpus.with_columns(
        other_parents=pl_list(others), some=known, noise=np.arange(len(ids)) % 7
    )


def pl_list(values):
    return pl.Series(values, dtype=pl.List(pl.String))


@pytest.fixture(scope="module")
def encoded(corpus):
    return encode(corpus, sentences=True)


def estimates(model):
    arrays = [*model.chains_[-1].values(), model.trace_.to_numpy()]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.fixture
def small_shards(monkeypatch):
    import palaver.encoding.shards as module

    monkeypatch.setattr(module, "SMALLEST", 500)


@pytest.mark.parametrize("name", EXTENSIONS)
def test_fit_use_and_load(name, corpus, tmp_path):
    model = fit(name, corpus)
    shares = model.transform(corpus, 6)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    tokens = model.token_classes(corpus, 4)
    assert ("topic" in tokens.columns) == (model.n_topics > 0)
    if model.n_topics:
        assert (tokens["class"].is_null() | tokens["topic"].is_null()).all()
        assert model.topics_table(5).height == model.n_topics
        assert 0 < model.topic_probability_ < 1
    if name == "sentences":  # all class-bearing words of a sentence have its class
        data = encode(corpus, model.vocabulary_, sentences=True)
        own = np.searchsorted(data.sentence_offsets, np.arange(data.n_tokens), side="right")
        seen = tokens.with_columns(sentence=own).drop_nulls("class").group_by("sentence")
        assert (seen.agg(n=pl_n_unique())["n"] <= 2).mean() > 0.9
    for method in ("sequential", "paper"):
        perplexity = model.perplexity(corpus, method, n_sweeps=6, n_particles=20)
        assert 1 < perplexity < len(model.vocabulary_)
    assert model.trace_["log_joint"].is_finite().all()
    assert len(model.transitions_) == model.n_classes + len(model.transition_rows)
    summary = model.summary()
    assert -1e-9 <= summary.background_share <= 1
    assert summary.next_shares().shape == (model.n_classes + 1, model.n_classes)
    model.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    np.testing.assert_array_equal(again.transform(corpus, 6), shares)
    assert again.transition_rows == model.transition_rows
    assert again.class_names_ == model.class_names_
    assert again.label_ == model.label_ == OPTIONS.get(name, {}).get("labels")


def pl_n_unique():
    return pl.col("class").n_unique()


@pytest.mark.parametrize("name", ["sentences", "features", "labels"])
def test_same_bytes_for_any_number_of_workers(name, encoded, small_shards):
    one, three = (
        fit(name, encoded, {"sampler": "parallel", "n_jobs": n_jobs}) for n_jobs in (1, 3)
    )
    assert estimates(three) == estimates(one)


@pytest.mark.parametrize("name", ["dirichlet", "sentences", "seeds", "labels"])
def test_interrupted_and_resumed_equals_uninterrupted(name, encoded, tmp_path):
    whole = estimates(fit(name, encoded))

    def stop(sweep, chains):
        if sweep == 5:
            raise KeyboardInterrupt

    with pytest.raises((Interrupted, KeyboardInterrupt)):
        fit(name, encoded, folder=tmp_path, checkpoint_seconds=0, callbacks=[stop])
    assert estimates(fit(name, encoded, folder=tmp_path)) == whole


def rotated(coded):
    return replace(coded, codes=np.roll(coded.codes, 1))


def with_labels(data, name):
    return replace(data, labels={**data.labels, name: rotated(data.labels[name])})


def another_parent(data):
    first = data.conversation_offsets[np.diff(data.conversation_offsets).argmax()]
    return np.array([[first + 2, first]], np.int32)


CHANGES = {
    "labels": ("labels", lambda data: with_labels(data, "some")),
    "topics": ("features", lambda data: with_labels(data, "topic")),
    "speakers": ("features", lambda data: replace(data, speakers=rotated(data.speakers))),
    "parents": ("parents", lambda data: replace(data, other_parents=another_parent(data))),
}


@pytest.mark.parametrize("what", CHANGES)
def test_a_run_is_not_continued_with_other_conditions(what, encoded, tmp_path):
    name, change = CHANGES[what]
    fit(name, encoded, {"n_sweeps": 2}, folder=tmp_path)
    with pytest.raises(StoreError, match=f"{name} of the data"):
        fit(name, change(encoded), {"n_sweeps": 2}, folder=tmp_path)


@pytest.mark.parametrize(
    "model",
    [pv.BlockHMM(n_classes=14, n_sweeps=2), pv.M4(n_classes=14, unit="message", n_sweeps=2)],
    ids=["block-hmm", "m4"],
)
def test_a_run_is_not_continued_with_other_labels_or_without(model, encoded, tmp_path):
    model.fit(encoded, labels="some", folder=tmp_path)
    with pytest.raises(StoreError, match="labels of the data"):
        model.fit(with_labels(encoded, "some"), labels="some", folder=tmp_path)
    with pytest.raises(StoreError, match="labels of the data"):
        model.fit(encoded, folder=tmp_path)
    model.fit(encoded, folder=tmp_path / "free")
    with pytest.raises(StoreError, match="labels of the data"):
        model.fit(encoded, labels="some", folder=tmp_path / "free")


def test_seed_words_and_labels_name_classes(corpus):
    seeds = {"thanks": ["thanks", "thank"], "asks": ["?", "how"]}
    model = pv.M4(n_classes=6, n_sweeps=60, seed_words=seeds, random_state=2).fit(corpus)
    words = model.vocabulary_.index
    assert model.class_names_ == ["thanks", "asks"]
    assert model.class_words_[:, words["thanks"]].argmax() == 0
    assert model.class_words_[:, words["?"]].argmax() == 1
    assert model.summary().facts["class_names"] == ["thanks", "asks"]
    guided = pv.M4(n_classes=14, n_sweeps=40, unit="message", random_state=2)
    guided.fit(corpus, labels="some")
    assert guided.summary().facts["label"] == "some"
    acts = corpus.table["act"].to_list()
    found = guided.transform(corpus, 20).argmax(axis=1)
    names = [*guided.class_names_, *[""] * 14]
    silent = corpus.table["some"].is_null().to_numpy()
    right = np.array([names[k] == act for k, act in zip(found, acts, strict=True)])
    # messages whose label it was not told, against always saying the most frequent one
    _, counts = np.unique(np.array(acts)[silent], return_counts=True)
    assert right[silent].mean() > 1.5 * counts.max() / counts.sum()


@pytest.mark.parametrize("sampler", ["collapsed", "parallel"])
def test_seeds_of_the_block_hmm(sampler, corpus, tmp_path):
    seeds = {"thanks": ["thanks", "thank"], "asks": ["?", "how"]}
    model = pv.BlockHMM(6, True, seed_words=seeds, n_sweeps=60, sampler=sampler, random_state=2)
    model.fit(corpus).save(tmp_path)
    words = model.vocabulary_.index
    assert model.class_words_[:, words["thanks"]].argmax() == 0
    assert model.class_words_[:, words["?"]].argmax() == 1
    assert pv.load(tmp_path).class_names_ == ["thanks", "asks"]
    assert 0.05 < model.class_probability_ < 0.95  # the switch counts tokens, not seeds


@pytest.mark.parametrize("sampler", ["collapsed", "parallel"])
def test_labels_of_the_block_hmm(sampler, corpus, encoded, small_shards, tmp_path):
    model = pv.BlockHMM(n_classes=14, n_sweeps=60, sampler=sampler, random_state=2)
    model.fit(encoded, labels="some").save(tmp_path)
    assert pv.load(tmp_path).label_ == "some"
    names = pv.load(tmp_path).class_names_
    assert names == sorted(set(corpus.table["some"].drop_nulls()))
    engine = model._engine(encoded)
    shared = engine.start(np.random.default_rng(0))
    for shard in model._shards(encoded, engine):
        known = shard.fixed_classes >= 0
        assert 0.4 < known.mean() < 0.6
        state = engine.open(shared, shard, np.array([1, 2], np.uint64))
        np.testing.assert_array_equal(state["message_classes"][known], shard.fixed_classes[known])
    acts = corpus.table["act"].to_list()
    found = model.transform(corpus, 10).argmax(axis=1)
    right = np.array([[*names, *[""] * 14][k] == act for k, act in zip(found, acts, strict=True)])
    silent = corpus.table["some"].is_null().to_numpy()
    _, counts = np.unique(np.array(acts)[silent], return_counts=True)
    assert right[silent].mean() > 1.5 * counts.max() / counts.sum()


@pytest.mark.parametrize("name", ["dirichlet", "sentences", "features", "parents"])
def test_replies_are_rebuilt(name, corpus):
    part = corpus.take(range(12))
    model = fit(name, corpus)
    found = model.reconstruct(part, n_sweeps=5, n_restarts=1)
    assert found["id"].to_list() == part.table["id"].to_list()
    again = model.set_params(n_jobs=2).reconstruct(part, n_sweeps=5, n_restarts=1)
    assert again.equals(found)


def test_the_page_shows_topics_apart(corpus, tmp_path):
    params = {**SMALL, "n_topics": 4, "unit": "sentence", "seed_words": {"thanks": ["thanks"]}}
    model = pv.M4(**params).fit(corpus)
    html = pv.report(model, corpus, tmp_path / "page.html").read_text("utf-8")
    assert html.index('id="graph"') < html.index('id="topics"') < html.index('id="reader"')
    assert html.count('<tr id="topic-') == 4
    assert 'id="show-topics"' in html
    assert "tick <em>topics</em> to see which" in html
    assert ">thanks</h3>" in html  # the class is called as its seeds are
    plain = pv.M4(**SMALL).fit(corpus)
    html = pv.report(plain, corpus, tmp_path / "page.html").read_text("utf-8")
    assert 'id="show-topics"' not in html


def test_features_have_readable_weights(corpus):
    model = pv.M4(**SMALL, features=["same_speaker", "noise", "topic"]).fit(corpus)
    names = model.weights_table()["source"].unique().to_list()
    assert {"same_speaker", "noise"} < set(names)
    assert any(name.startswith("topic=") for name in names)


@pytest.mark.parametrize(
    ("params", "labels", "error", "words"),
    [
        ({"features": ["nothing"]}, None, CorpusError, "feature 'nothing'"),
        ({}, "act", ParameterError, "unit='sentence'"),
        ({"unit": "message"}, "nothing", CorpusError, "no column 'nothing'"),
        ({"unit": "message"}, "act", ParameterError, "n_classes is 3"),
        ({"unit": "message"}, 7, ParameterError, "labels must be"),
        ({"unit": "message"}, ["act", 7], ParameterError, "labels must be"),
        ({"unit": "message"}, ["act"], ParameterError, "there are 1 labels"),
        ({"seed_words": {"x": ["zzzz"]}}, None, ParameterError, "no seed word"),
        ({"n_topics": -1}, None, ParameterError, "n_topics must be a whole number"),
    ],
)
def test_what_cannot_be_says_so(params, labels, error, words, corpus):
    with pytest.raises(error, match=words):
        pv.M4(**{**SMALL, **params}).fit(corpus, labels=labels)


@pytest.mark.parametrize(
    "model",
    [pv.BlockHMM(n_classes=14, n_sweeps=3), pv.M4(n_classes=14, unit="message", n_sweeps=3)],
    ids=["block-hmm", "m4"],
)
def test_a_list_of_labels_is_as_good_as_a_column(model, encoded, corpus):
    named = estimates(model.fit(encoded, labels="some"))
    assert model.label_ == "some"
    given = corpus.table["some"]
    for labels in (given, given.to_list(), given.to_numpy()):
        assert estimates(model.fit(encoded, labels=labels)) == named
        assert model.label_ == ("some" if labels is given else None)
    assert estimates(model.fit(encoded)) != named


def test_a_fit_without_labels_forgets_those_of_the_fit_before(corpus):
    model = pv.BlockHMM(n_classes=14, n_sweeps=2).fit(corpus, labels="some")
    assert model.class_names_
    model.fit(corpus)
    assert model.label_ is None
    assert model.class_names_ == []


def test_simulated_classes_go_by_features_and_all_parents(corpus):
    rows = [("1", None, "ann", []), ("2", "1", "bob", []), ("3", "2", "bob", []),
            ("4", "3", "cid", ["2"]), ("5", "3", "cid", [])]  # fmt: skip
    table = pl.DataFrame(rows, ["id", "reply_to", "speaker", "other_parents"], orient="row")
    table = table.with_columns(conversation=pl.lit("c"), text=pl.lit("one two three"))
    model = pv.M4(2, transition="softmax", parents="all", features=["same_speaker"], n_sweeps=2)
    model.fit(pv.Corpus.from_polars(table))
    model.background, model.class_probability_ = False, 1.0
    # from class 0, from class 1, start, bias, same speaker: nothing is left to chance
    model.transitions_ = np.array([[90.0, 0], [0, 200], [0, 90], [0, 0], [300, 0]])
    drawn = model.simulate(pv.Corpus.from_polars(table)).table["token_classes"].to_list()
    # 3 is of the same speaker; 4 answers 3 (class 0) and 2 (class 1), which weighs more
    assert [set(classes) for classes in drawn] == [{1}, {1}, {0}, {1}, {0}]
    with pytest.raises(ParameterError, match=r"model.simulate\(corpus\)"):
        model.simulate((2, 3, 4))


def test_sentences_need_their_limits(corpus):
    with pytest.raises(CorpusError, match="sentences=True"):
        pv.M4(**SMALL, unit="sentence").fit(encode(corpus))
