"""The view "topics": words that say what a text is about."""

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.topic_view import is_subject


@pytest.mark.parametrize("word", ["printer", "e-mail", "straße", "принтер", "印", "rock'n'roll"])
def test_words_about_something_stay(word):
    assert is_subject(word)


@pytest.mark.parametrize("word", ["the", "don't", "we’ve", "?!", "42", "x", "<url>", "r2", "ok"])
def test_words_about_nothing_go(word):
    assert not is_subject(word)


@pytest.fixture(scope="module")
def corpus():
    texts = ["The printer jams, again and again!", "Is the printer on 42?", "My router: dead :("]
    return pv.Corpus.from_polars(pl.DataFrame({"text": texts * 10}))


def test_words_in_too_many_messages_go_and_the_vocabulary_holds_for_new_texts(corpus):
    texts = [*corpus.table["text"].to_list(), "the toner is empty", "a toner for the router"]
    more = pv.Corpus.from_polars(pl.DataFrame({"text": texts}))
    found = encode(more, view="topics", min_count=1)
    assert sorted(found.vocabulary.words) == ["toner"], "others are in more than a tenth"
    again = encode(corpus, found.vocabulary)
    assert again.n_tokens == 0


def test_fit_takes_such_words_and_remembers_it(tmp_path):
    threads = pv.sample(40).write(tmp_path / "threads.jsonl")
    call("fit", "lda", threads, "--topics", 3, "--sweeps", 5, "--words", "topics",
         "--out", tmp_path / "run")  # fmt: skip
    model = pv.load(tmp_path / "run")
    assert all(is_subject(word) for word in model.vocabulary_.words)
    call("report", tmp_path / "run")
    assert "--words topics" in (tmp_path / "run" / "report.html").read_text()
    assert "all or topics" in fails("fit", "lda", threads, "--words", "x", "--out", tmp_path / "no")
    assert "is for topics" in fails(
        "fit", "m4", threads, "--words", "topics", "--set", "view=acts", "--out", tmp_path / "no"
    )
