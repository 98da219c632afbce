"""A page splits, encodes and folds in its texts once, and says how far it is."""

import numpy as np
import polars as pl
import pytest
from support.calls import count_calls

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.part import take_conversations
from palaver.encoding.tokenizer import split_words
from palaver.errors import StoreError
from palaver.fit.fold import fold_in, progress_listener
from palaver.models import MODELS, model_class
from palaver.models.base.model import Model
from palaver.models.views.reading import ReadsTokens, read
from palaver.page.findings import gather
from palaver.page.prediction import PredictsWords
from palaver.page.walks import FindsPaths


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(40)


def fitted(name, corpus, **params):
    kind = model_class(name)
    return kind(n_sweeps=4, random_state=1, **kind.sized(3), **params).fit(corpus)


@pytest.fixture
def counts(monkeypatch):
    return {
        function.__name__: count_calls(monkeypatch, function)
        for function in (split_words, encode, fold_in)
    }


def texts_in(calls):
    """How many texts were split."""
    return sum(len(texts) for texts, *_ in calls)


@pytest.mark.parametrize("name", ["m4", "lda", "block-hmm"])
@pytest.mark.parametrize("heldout", [False, True])
def test_texts_are_split_encoded_and_folded_in_once(name, heldout, corpus, counts, tmp_path):
    model = fitted(name, corpus)
    for calls in counts.values():
        calls.clear()
    pv.report(model, corpus, tmp_path / "page.html", predict_heldout=heldout)
    assert texts_in(counts["split_words"]) == corpus.n_messages
    assert len(counts["encode"]) == len(counts["fold_in"]) == 1


def test_an_anonymized_page_also_splits_what_it_shows(corpus, counts, tmp_path):
    model = fitted("lda", corpus)
    for calls in counts.values():
        calls.clear()
    pv.report(model, corpus, tmp_path / "page.html", anonymize=True)
    assert texts_in(counts["split_words"]) == 2 * corpus.n_messages
    assert len(counts["encode"]) == len(counts["fold_in"]) == 1


def test_only_the_sample_of_test_texts_is_encoded_too(corpus, counts, tmp_path):
    model, test = fitted("lda", corpus), pv.sample(30, random_state=3)
    for calls in counts.values():
        calls.clear()
    pv.report(model, corpus, tmp_path / "page.html", test=test)
    assert [read.n_messages for read, *_ in counts["encode"]] == [
        corpus.n_messages, test.n_messages]  # fmt: skip
    assert len(counts["fold_in"]) == 1


@pytest.mark.parametrize("name", MODELS)
def test_no_model_splits_texts_again(name, corpus, counts, tmp_path):
    model = fitted(name, corpus)
    counts["split_words"].clear()
    pv.report(model, corpus, tmp_path / "page.html")
    sentences = corpus.table["sentences"].list.len().sum() if model.needs_sentences else 0
    assert texts_in(counts["split_words"]) == corpus.n_messages + sentences


def test_a_sentence_encoder_runs_once(corpus, tmp_path):
    encoded = []

    def encoder(texts):
        encoded.extend(texts)
        return np.array([[len(text), text.count("e"), 1 + text.count("?")] for text in texts])

    silent = pl.when(pl.int_range(pl.len()) % 7 == 0).then(pl.lit(" ")).otherwise("text")
    corpus = pv.Corpus.from_polars(corpus.table.with_columns(text=silent))
    model = pv.GaussianHMM(3, n_sweeps=4, random_state=0).fit(corpus, vectors=encoder)
    encoded.clear()
    pv.report(model, corpus, tmp_path / "page.html")
    assert encoded == corpus.table["text"].to_list()
    known = model.known_messages(corpus)
    np.testing.assert_array_equal(known, corpus.table["text"].to_numpy() != " ")


def test_a_summary_is_made_once(corpus, monkeypatch, tmp_path):
    model, asked = fitted("lda", corpus), []
    plain = Model.summary
    monkeypatch.setattr(Model, "summary", lambda self: asked.append(1) or plain(self))
    pv.report(model, corpus, tmp_path / "page.html")
    assert len(asked) == 1


def test_words_given_with_a_corpus_are_what_the_model_reads(corpus):
    """Marks and examples still are of the texts, which is what people see."""
    backwards = split_words(corpus.table["text"]).list.reverse()
    given = corpus.with_columns(tokens=backwards)
    model = fitted("lda", given)
    reading = read(model, given)
    np.testing.assert_array_equal(reading.encoded.tokens, encode(given, model.vocabulary_).tokens)
    assert reading.words.equals(split_words(corpus.table["text"]))
    assert gather(model, given, predict_heldout=False).same_texts


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("m4", {}), ("m4", {"n_topics": 2}), ("lda", {}), ("block-hmm", {}),
        ("infinite-hmm", {}), ("infinite-hmm", {"unit": "message"}),
    ],
)  # fmt: skip
def test_one_pass_says_what_two_said(name, params, corpus):
    model = fitted(name, corpus, **params)
    other = pv.sample(20, random_state=4)
    reading = read(model, other)
    encoded = encode(other, model.vocabulary_, sentences=model.needs_sentences)
    np.testing.assert_array_equal(reading.shares, model.transform(encoded))
    np.testing.assert_array_equal(reading.known, encoded.known_words > 0)
    table = model.token_classes(encoded)
    np.testing.assert_array_equal(reading.tokens.classes, table["class"].fill_null(-1))
    assert (reading.tokens.topics is None) == ("topic" not in table.columns)
    if reading.tokens.topics is not None:
        assert (reading.tokens.topics >= 0).any()
        np.testing.assert_array_equal(reading.tokens.topics, table["topic"].fill_null(-1))


def test_shards_are_counted_apart_and_let_go(corpus, monkeypatch):
    """Counts of tokens are as large as the shard that is swept, not as the corpus."""
    from palaver.encoding import shards
    from palaver.models.words import tallies

    model = fitted("lda", corpus)
    whole = read(model, corpus)
    monkeypatch.setattr(shards, "SMALLEST", 500)
    held = []

    class Watched(tallies.TokenTally):
        def visit(self, *args):
            super().visit(*args)
            held.append(len(self._open))

    monkeypatch.setattr("palaver.models.words.model.TokenTally", Watched)
    parts = read(model, corpus)
    assert len(shards.cut(parts.encoded)) > 3
    assert max(held) == 1
    assert held[-1] == 0
    np.testing.assert_array_equal(parts.shares, whole.shares)
    np.testing.assert_array_equal(parts.tokens.classes, whole.tokens.classes)


def test_what_models_may_add_is_asked_for_by_protocol(corpus):
    able = {name: fitted(name, corpus) for name in MODELS}

    def those(ability):
        return {name for name, model in able.items() if isinstance(model, ability)}

    assert those(ReadsTokens) == {"acts", "m4", "lda", "block-hmm", "infinite-hmm"}
    assert those(PredictsWords) == {"m4", "lda", "block-hmm", "infinite-hmm"}
    assert those(FindsPaths) == {"markov-m3"}


@pytest.mark.parametrize("sentences", [False, True])
def test_taken_conversations_are_those_of_the_corpus(sentences):
    table = pv.sample(40).table.with_columns(
        weight=pl.int_range(pl.len()).cast(pl.Float64),
        other_parents=pl.concat_list(pl.col("id").first().over("conversation")),
    )
    corpus = pv.Corpus.from_polars(table)
    whole = encode(corpus, sentences=sentences)
    assert len(whole.other_parents)
    for chosen in ([], [3], [39, 0, 7], np.random.default_rng(1).permutation(40)):
        taken = take_conversations(whole, np.array(chosen, np.int64))
        again = encode(corpus.take(chosen), whole.vocabulary, sentences=sentences)
        for name in ("tokens", "message_offsets", "parents", "conversation_offsets",
                     "other_parents", "sentence_offsets"):  # fmt: skip
            np.testing.assert_array_equal(getattr(taken, name), getattr(again, name), name)
        for name, values in again.numbers.items():
            np.testing.assert_array_equal(taken.numbers[name], values)
        pairs = [(taken.labels[name], own) for name, own in again.labels.items()]
        for one, other in [(taken.speakers, again.speakers), *pairs]:
            np.testing.assert_array_equal(
                np.array(one.names)[one.codes], np.array(other.names)[other.codes]
            )


@pytest.mark.parametrize("name", ["lda", "gaussian-hmm", "markov-m3"])
@pytest.mark.parametrize("heldout", [False, True])
def test_parts_of_the_work_sum_to_one(name, heldout, corpus, tmp_path):
    model, heard = fitted(name, corpus), []
    with progress_listener(heard.append):
        pv.report(model, corpus, tmp_path / "page.html", predict_heldout=heldout)
    assert sum(heard) == pytest.approx(1)
    assert min(heard) >= 0
    if name == "lda":  # every sweep of the fold-in is told: reading is most of the work
        assert max(heard) < 0.3
        assert len(heard) > 50


def test_a_page_that_fails_is_not_told_to_be_done(corpus, tmp_path):
    heard = []
    with progress_listener(heard.append), pytest.raises(StoreError):
        pv.report(fitted("lda", corpus), corpus, tmp_path)
    assert sum(heard) < 0.9
