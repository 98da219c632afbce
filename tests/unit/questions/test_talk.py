"""Classes by letter or name, examples, profiles and balance."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.questions.people import evenness
from palaver.questions.talk import Talk


@pytest.fixture(scope="module")
def talk():
    corpus = pv.sample(60)
    model = pv.BlockHMM(n_classes=4, n_sweeps=30, random_state=0).fit(corpus)
    return pv.ask(model, corpus, {0: "asks for help", 1: "asks back", 2: "thanks"})


def test_classes_are_found_by_letter_name_and_number(talk):
    assert talk.find_class(talk.letters[3]) == talk.find_class("3") == talk.find_class(3) == 3
    assert talk.find_class("Thanks") == talk.find_class("than") == 2
    assert talk.find_class("asks for") == 0
    assert talk.find_class("help") == 0
    with pytest.raises(ParameterError, match="several classes"):
        talk.find_class("asks")
    with pytest.raises(ParameterError, match=r"no class 'x'; there are A "):
        talk.find_class("x")
    with pytest.raises(ParameterError, match="no class 4"):
        talk.find_class(4)


def test_letters_follow_the_sizes_of_the_model(talk):
    largest = int(np.argmax(talk.sizes))
    assert talk.letters[largest] == "A"
    assert sorted(talk.letters) == list("ABCD")
    assert talk.called(2) == f"{talk.letters[2]} thanks"
    assert talk.called(3) == talk.letters[3]


def test_examples_are_mainly_of_the_class_and_different(talk):
    table = talk.examples("thanks", 5)
    assert 0 < table.height <= 5
    assert table["text"].n_unique() == table.height
    assert (talk.main[table["message"].to_numpy()] == 2).all()
    assert table["id"].to_list() == talk.corpus.table["id"].gather(table["message"]).to_list()
    with pytest.raises(ParameterError, match="n must be"):
        talk.examples("thanks", 0)


def test_a_profile_compares_a_person_with_everybody(talk):
    who = talk.corpus.table["speaker"].value_counts(sort=True)["speaker"][0]
    found = talk.profile(who)
    mine = talk.corpus.table["speaker"] == who
    assert found["messages"] == mine.sum()
    assert found["conversations"] == talk.corpus.table.filter(mine)["conversation"].n_unique()
    acts = found["acts"].sort("class")
    rows = mine.to_numpy() & talk.known
    assert acts["share"].to_list() == pytest.approx(talk.shares[rows].mean(axis=0).tolist())
    assert acts["overall"].to_list() == pytest.approx(talk.shares[talk.known].mean(axis=0).tolist())
    pairs = talk.helpers().filter(pl.col("helper") == who)
    assert found["helps"]["answers"].sum() <= pairs["answers"].sum()
    with pytest.raises(ParameterError, match="did you mean"):
        talk.profile(who + "x")
    with pytest.raises(ParameterError, match="there are"):
        talk.profile("§§§")


def small(texts, speakers, **columns):
    table = pl.DataFrame({"text": texts, "speaker": speakers, **columns})
    corpus = pv.Corpus.from_polars(table)
    return Talk(corpus, np.ones((len(texts), 1)), np.ones(len(texts), bool))


def test_balance_counts_words_turns_and_conversations():
    talk = small(["one two", "three", "it's four", ""], ["a", "a", "b", None],
                 conversation=["x", "x", "x", "y"])  # fmt: skip
    rows = {row["group"]: row for row in talk.balance().to_dicts()}
    assert rows["a"]["words"] == 3
    assert rows["a"]["turns"] == 1
    assert rows["a"]["messages"] == 2
    assert rows["b"]["words_share"] == pytest.approx(0.4)
    assert rows["a"]["in_conversation"] == pytest.approx(0.6)
    assert rows["a"]["seconds"] is None
    assert rows["(none)"]["words"] == 0
    assert evenness(talk) == {"conversations": 1, "loudest": pytest.approx(0.6), "even": 0.5}


def test_talk_time_is_counted_where_messages_have_an_end():
    talk = small(["a", "b", "c"], ["ann", "bob", "ann"], conversation=["x"] * 3,
                 time=[0.0, 10.0, 20.0], end=[9.0, 12.5, None])  # fmt: skip
    rows = {row["group"]: row for row in talk.balance().to_dicts()}
    assert rows["ann"]["seconds"] == 9
    assert rows["bob"]["seconds"] == 2.5
    assert rows["bob"]["seconds_share"] == pytest.approx(2.5 / 11.5)


def test_one_speaker_has_no_balance():
    assert evenness(small(["a"], ["ann"])) is None


def test_only_a_corpus_can_be_asked_about(talk):
    model = pv.BlockHMM(n_classes=2, n_sweeps=2).fit(pv.sample(5))
    with pytest.raises(ParameterError, match="takes a Corpus"):
        pv.ask(model, {"a": 1})
    with pytest.raises(ParameterError, match="one row for each"):
        Talk(pv.sample(2), np.ones((1, 1)), np.ones(1, bool))


def test_sentences_are_looked_at_one_by_one():
    corpus = pv.sample(12)
    model = pv.Acts(n_sweeps=6, n_chains=2, unit="sentence").fit(corpus)
    talk = pv.ask(model, corpus)
    units = model.unit_acts(corpus)
    by_hand = np.zeros_like(talk.shares, bool)
    by_hand[units["message"].to_numpy(), units["act"].to_numpy()] = True
    spoken = talk.known & (corpus.table["text"].str.len_chars() > 0).to_numpy()
    assert (talk.contains[spoken] <= by_hand[spoken]).all()
    assert (talk.contains[spoken].sum(axis=1) >= 1).all()
    assert talk.contains[spoken].sum() > 0.9 * by_hand[spoken].sum()  # all but empty sentences
    assert (
        pv.ask(pv.Acts(n_sweeps=6, n_chains=2, unit="message").fit(corpus), corpus).contains is None
    )
