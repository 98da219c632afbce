"""The model of acts as users meet it."""

from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import CorpusError, ParameterError, StoreError
from palaver.models.acts import FEWEST_ACTS, merging, names, preparing

QUESTIONS = ["do you like {} ?", "what is {} ?", "is the {} here ?", "how much is {} ?"]
THANKS = ["thanks a lot !", "thank you so much !", "thanks , great !"]
TALK = [
    "i went to the {} with my friends and we stayed",
    "the {} was closed on that day of the year",
]
THINGS = ["tea", "bread", "train", "garden", "music", "river", "paper", "stone"]


def talk(n=120, **columns):
    """Return conversations of questions, statements and thanks, with their true acts."""
    generator = np.random.default_rng(0)
    rows = []
    for c in range(n):
        for turn, (act, phrases) in enumerate(
            (("question", QUESTIONS), ("statement", TALK), ("thanks", THANKS))
        ):
            text = generator.choice(phrases).format(generator.choice(THINGS))
            rows.append({"conversation": f"c{c}", "id": f"c{c}.{turn}", "text": text,
                         "speaker": "AB"[turn % 2], "act": act,
                         "role": "helper" if turn == 1 else "asker"})  # fmt: skip
    return pl.DataFrame(rows)


@pytest.fixture(scope="module")
def corpus():
    return pv.Corpus.from_polars(talk())


@pytest.fixture(scope="module")
def model(corpus):
    return pv.Acts(n_acts=3, n_sweeps=30, n_chains=3).fit(corpus)


def test_planted_acts_are_found_named_and_agreed_on(model, corpus):
    found = model.message_classes(corpus)
    gold = corpus.table["act"].to_numpy()
    called = {model.act_names_[k]: set(gold[found == k]) for k in np.unique(found)}
    assert {frozenset(acts) for acts in called.values()} == {
        frozenset({"question"}), frozenset({"statement"}), frozenset({"thanks"})
    }  # fmt: skip
    assert next(name for name, acts in called.items() if acts == {"thanks"}) == "thanks"
    assert "question" in next(name for name, acts in called.items() if acts == {"question"})
    assert set(model.acts_table()["searches"]) <= {"2 of 3", "3 of 3"}
    assert all(model.names_are_proposed_)


def test_what_follows_what_is_learned(model, corpus):
    found = model.message_classes(corpus)
    question, statement, thanks = found[:3]
    assert model.transitions_[question, statement] > 0.9
    assert model.transitions_[statement, thanks] > 0.9
    assert model.transitions_[-1, question] > 0.9


def test_views_without_variety_are_left_out():
    table = talk().with_columns(pl.col("text").str.replace_all("[?!,]", ""))
    model = pv.Acts(n_acts=3, n_sweeps=10, n_chains=2).fit(pv.Corpus.from_polars(table))
    assert {"question", "exclamation", "closing", "link"} <= set(model.left_out_)
    assert model.summary().facts["views_left_out"] == model.left_out_


def test_roles_and_columns_are_views(corpus):
    model = pv.Acts(n_acts=3, n_sweeps=10, n_chains=2).fit(corpus)
    assert "role" in model._views.names
    none = pv.Acts(n_acts=3, n_sweeps=10, n_chains=2, columns=[]).fit(corpus)
    assert "role" not in none._views.names
    with pytest.raises(CorpusError, match="nowhere"):
        pv.Acts(columns=["nowhere"]).fit(corpus)


def test_weights_of_views_can_be_set(corpus):
    model = pv.Acts(n_acts=3, n_sweeps=5, n_chains=1, view_weights={"question": 0}).fit(corpus)
    assert "question" not in model._views.names
    with pytest.raises(ParameterError, match="view_weights"):
        pv.Acts(view_weights={"colour": 1}).fit(corpus)


def test_labels_and_seed_words_guide_acts(corpus):
    labels = [act if i < 30 else None for i, act in enumerate(corpus.table["act"])]
    model = pv.Acts(n_sweeps=20, n_chains=2).fit(corpus, labels=labels)
    assert model.act_names_[:3] == ["question", "statement", "thanks"]
    assert model.names_are_proposed_[:3] == [False] * 3
    found = [model.act_names_[k] for k in model.message_classes(corpus)]
    assert np.mean(np.array(found) == corpus.table["act"].to_numpy()) > 0.95
    seeded = pv.Acts(n_acts=3, n_sweeps=20, n_chains=2, seed_words={"gratitude": ["thanks"]})
    seeded.fit(corpus)
    thanked = corpus.table["text"].str.starts_with("thanks").to_numpy()
    assert np.all(seeded.message_classes(corpus)[thanked] == 0)
    assert seeded.act_names_[0] == "gratitude"


def test_names_stay_with_their_words_instead_of_taking_the_largest_act(corpus, tmp_path):
    seeds = {"gratitude": ["thanks"], "never": ["zebra"], "rivers": ["river"]}
    model = pv.Acts(n_sweeps=20, n_chains=4, seed_words=seeds).fit(corpus)
    found, texts = model.message_classes(corpus), corpus.table["text"]
    for name, word in (("gratitude", "thanks"), ("rivers", "river")):
        own = found == model.act_names_.index(name)
        assert own.any()
        assert texts.filter(own).str.contains(word).all()
    assert not (found == model.act_names_.index("never")).any()
    model.save(tmp_path / "run")
    stored = pv.load(tmp_path / "run")
    np.testing.assert_array_equal(stored.transform(corpus), model.transform(corpus))


def test_sentences_have_acts_of_their_own():
    corpus = pv.sample(60)
    model = pv.Acts(n_sweeps=20, n_chains=2).fit(corpus)
    assert model.unit_ == "sentence"
    units = model.unit_acts(corpus)
    assert units.height > corpus.n_messages
    assert units["message"].n_unique() == corpus.n_messages
    assert units.filter(pl.col("unit") == 0).height == corpus.n_messages
    shares = model.transform(corpus)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


def test_unknown_words_of_new_texts_keep_their_place(model):
    new = pv.Corpus.from_polars(
        pl.DataFrame({"conversation": ["x"], "id": ["x"], "text": ["zzz qqq the jjj ?"]})
    )
    name = model.act_names_[model.message_classes(new)[0]]
    assert "question" in name


def test_empty_messages_have_no_act(model, corpus):
    table = talk(4).with_columns(
        text=pl.when(pl.col("id") == "c1.1").then(pl.lit("")).otherwise(pl.col("text"))
    )
    found = model.annotate(pv.Corpus.from_polars(table)).table
    assert found.filter(pl.col("id") == "c1.1")["class"].to_list() == [None]
    assert found["class"].null_count() == 1


def test_identical_messages_are_one_act_with_a_number_that_fits():
    table = pl.DataFrame({"conversation": ["a"] * 50, "id": [str(i) for i in range(50)],
                          "text": ["the same again"] * 50})  # fmt: skip
    model = pv.Acts(n_sweeps=5, n_chains=2).fit(pv.Corpus.from_polars(table))
    assert len(np.unique(model.message_classes(pv.Corpus.from_polars(table)))) == 1


def test_more_acts_than_messages_are_said():
    table = talk(1)
    with pytest.warns(UserWarning, match="9 acts for 3 messages"):
        pv.Acts(n_acts=9, n_sweeps=5, n_chains=1).fit(pv.Corpus.from_polars(table))


def test_every_entry_of_the_inventory_uses_known_cues():
    known = {"begins", "has", "ends", "closes", "question", "exclamation", "link", "short", "long",
             "after", "form"}  # fmt: skip
    for name, entry in names.inventory().items():
        assert set(entry) <= known, name
        assert set(entry.get("after", [])) <= set(names.inventory()), name


def encoder(texts):
    """Return a vector per text: does it ask, does it thank, how long is it?"""
    return np.array([["?" in t, "thank" in t, len(t) / 20] for t in texts], float)


@pytest.mark.parametrize("kind", ["corpus", "words", "encoder", "array"])
def test_vectors_are_one_more_view(kind, corpus, tmp_path):
    params = {"n_acts": 3, "n_sweeps": 20, "n_chains": 2, "view_weights": {"vector": 0.5}}
    source = {
        "corpus": "corpus",
        "words": pv.WordVectors(["do", "thanks", "the"], np.eye(3)),
        "encoder": encoder,
        "array": encoder(corpus.table["text"].to_list()),
    }[kind]
    one, two = (pv.Acts(**params, n_jobs=n_jobs).fit(corpus, vectors=source) for n_jobs in (1, 2))
    shares = one.transform(corpus)
    np.testing.assert_array_equal(shares, two.transform(corpus))
    assert "vector" in one.summary().facts["views"]
    plain = pv.Acts(**params).fit(corpus)
    assert "vector" not in plain.summary().facts["views"]
    assert not np.array_equal(plain.trace_["log_joint"], one.trace_["log_joint"])
    one.save(tmp_path)
    loaded = pv.load(tmp_path)
    if kind in ("encoder", "array"):
        with pytest.warns(UserWarning, match="read without that view"):
            loaded.transform(corpus)
        loaded.encoder_ = encoder
    np.testing.assert_allclose(loaded.transform(corpus), shares)
    assert loaded.needs_texts == (kind in ("encoder", "array"))


def test_a_fit_is_not_continued_with_other_vectors(corpus, tmp_path):
    params = {"n_acts": 3, "n_sweeps": 10, "n_chains": 2}
    vectors = encoder(corpus.table["text"].to_list())
    pv.Acts(**params).fit(corpus, vectors=vectors, folder=tmp_path)
    with pytest.raises(StoreError, match="vectors of the data"):
        pv.Acts(**params).fit(corpus, vectors=2 - vectors**2, folder=tmp_path)


def test_vectors_that_do_not_fit_are_refused(corpus):
    with pytest.raises(ParameterError, match="vectors for"):
        pv.Acts(n_sweeps=5).fit(corpus, vectors=np.zeros((3, 2)))
    with pytest.raises(ParameterError, match="needs texts"):
        pv.Acts(n_sweeps=5).fit(pv.encode(corpus), vectors=encoder)


def test_question_marks_within_texts_do_not_ask():
    shares = object.__new__(names.Shares)
    features = ["question: yes", "question: no", "closing: ?", "closing: ?)", "closing: ."]
    shares.views = SimpleNamespace(features=features)
    shares._places = {name: place for place, name in enumerate(features)}
    shares.by_act = np.array([[1.0, 0.5], [0, 0.5], [0.8, 0.01], [0.1, 0], [0.1, 0.99]])
    shares.overall = shares.by_act.mean(axis=1)
    share, usual = shares.marked("question")
    assert share.tolist() == [1.0, 0.01]  # "are you there?", and "see ?try."
    assert usual == 0.75


def named(features, shares, class_shares, beginnings=None):
    """Return the names proposed for acts with these shares of features."""
    views = SimpleNamespace(features=features, starts=starts_of(features))
    counts = np.array(shares, float).T
    n = counts.shape[1]
    model = SimpleNamespace(
        _views=views, feature_counts_=counts, class_shares_=np.array(class_shares),
        transitions_=np.full((n + 1, n), 1 / n), beginnings_=beginnings or [[]] * n,
    )  # fmt: skip
    return names.propose(model)


def starts_of(features):
    views = [f.split(":")[0] for f in features]
    first = [i for i, view in enumerate(views) if i == 0 or views[i - 1] != view]
    return np.array([*first, len(features)])


FEATURES = ["beginning: do", "beginning: what", "beginning: okay", "beginning: <other>",
            "question: no", "question: yes", "length: 1 word", "length: 8-15 words"]  # fmt: skip


def test_mixed_questions_are_questions_and_clear_ones_have_their_kind():
    rows = [[20, 10, 0, 70, 0, 100, 10, 90], [30, 3, 0, 67, 0, 100, 10, 90],
            [0, 0, 0, 200, 200, 0, 20, 180]]  # fmt: skip
    found = named(FEATURES, rows, [0.25, 0.25, 0.5])
    assert found == ["question", "yes/no question", "statement"]


def test_long_talk_is_not_named_after_something_short():
    rows = [[0, 0, 30, 70, 100, 0, 10, 90], [0, 0, 30, 70, 100, 0, 80, 20],
            [0, 0, 0, 200, 200, 0, 60, 140]]  # fmt: skip
    found = named(FEATURES, rows, [0.15, 0.15, 0.7], [["okay so"], [], []])
    assert found == ["statement “okay so …”", "acknowledgement", "statement"]


def test_large_acts_that_are_shorter_than_others_state_nothing():
    rows = [[0, 0, 0, 100, 100, 0, 45, 55], [0, 0, 0, 100, 100, 0, 10, 90]]
    assert named(FEATURES, rows, [0.4, 0.6]) == ["other talk", "statement"]
    rows = [[0, 0, 0, 100, 100, 0, 30, 70], [0, 0, 0, 100, 100, 0, 10, 90]]
    assert named(FEATURES, rows, [0.4, 0.6]) == ["statement", "statement 2"]


def test_signatures_and_placeholders_are_no_beginnings():
    rows = []
    for i in range(30):
        speaker = f"s{i % 6}"
        rows.append((f"c{i}", speaker, "could you look at this please"))
        rows.append((f"c{i}", "ann", "ann smith of the garden"))
    table = pl.DataFrame(rows, schema=["conversation", "speaker", "text"], orient="row")
    model = pv.Acts(n_acts=2, n_sweeps=10, n_chains=2).fit(pv.Corpus.from_polars(table))
    assert sorted(map(tuple, model.beginnings_)) == [(), ("could you",)]


def test_acts_that_nobody_found_are_merged(corpus):
    model = pv.Acts(n_sweeps=20, n_chains=5).fit(corpus)
    assert (model._found_by() >= merging.FEWEST_FINDERS).all()


def test_acts_of_one_name_become_one_act(monkeypatch, corpus):
    monkeypatch.setattr(merging, "ALIKE", 0.0)  # nothing else is merged
    monkeypatch.setattr(merging, "SMALL_SHARE", 0.0)
    monkeypatch.setattr(preparing, "_UNITS_PER_ACT", 5)  # twelve states
    with monkeypatch.context() as patched:
        patched.setattr("palaver.models.acts.FEWEST_ACTS", 2)
        model = pv.Acts(n_sweeps=20, n_chains=2).fit(corpus)
    same = names.namesakes(model)
    assert len(set(same)) == len(same) < len(model._states)
    given = pv.Acts(n_acts=12, n_sweeps=20, n_chains=2).fit(corpus)
    assert len(given.act_names_) == 12  # a number is taken as it is
    monkeypatch.setattr(names, "entries_of", lambda model: ["thanks"] * len(model.class_shares_))
    few = pv.Acts(n_sweeps=20, n_chains=2).fit(corpus)
    assert len(few.act_names_) == FEWEST_ACTS  # names alone leave five


def test_names_that_tell_the_form_merge_nothing(monkeypatch, model):
    """Thanks and greetings are both exclaimed, in languages whose words are no cues."""
    found = ["exclamation", "question", "exclamation", "question", "", "statement", "statement"]
    monkeypatch.setattr(names, "entries_of", lambda model: found)
    assert names.namesakes(model) == [0, 1, 2, 1, 3, 4, 5]


def test_acts_with_given_names_are_not_merged_by_name(monkeypatch, corpus):
    monkeypatch.setattr(names, "entries_of", lambda model: ["thanks"] * len(model.class_shares_))
    seeds = {"thanks": ["thanks"], "asks": ["how"]}
    model = pv.Acts(n_sweeps=20, n_chains=2, seed_words=seeds).fit(corpus)
    assert model.act_names_[:2] == ["thanks", "asks"]
    assert len(model.act_names_) == FEWEST_ACTS


def test_no_proposal_is_called_like_an_act_that_somebody_named(monkeypatch):
    monkeypatch.setattr(names, "propose", lambda model: ["statement", "greeting", "thanks"])
    model = SimpleNamespace(class_names_=["greeting"])
    pv.Acts._name_acts(model)
    assert model.act_names_ == ["greeting", "greeting 2", "thanks"]
    assert model.names_are_proposed_ == [False, True, True]
