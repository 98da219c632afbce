"""Characteristic and different messages of each class, for every model of the registry."""

import time

import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import palaver as pv
from palaver.errors import InputError, ParameterError
from palaver.models import MODELS, model_class
from palaver.ranking.exemplars import N_CANDIDATES, readability
from palaver.ranking.similarity import cosine_graph, tfidf, without_near_duplicates

COLUMNS = ["class", "rank", "message", "id", "conversation", "share", "text"]


class Fixed:
    """A fake model with given shares."""

    def __init__(self, shares):
        self.shares = np.array(shares, float)

    def message_shares(self, corpus):
        return self.shares

    def top_words(self, n, by):
        """Return that no word is characteristic of any class."""
        return pl.DataFrame({"class": [], "word": []}, {"class": pl.Int64, "word": pl.String})


def corpus_of(*texts):
    return pv.Corpus.from_polars(pl.DataFrame({"conversation": ["c"] * len(texts), "text": texts}))


@pytest.mark.parametrize("name", MODELS)
def test_every_model_of_the_registry(name):
    corpus = pv.sample(40)
    kind = model_class(name)
    model = kind(**kind.sized(3), n_sweeps=12, random_state=1).fit(corpus)
    table = pv.exemplars(model, corpus, k=4)
    assert table.columns == COLUMNS
    assert table["rank"].to_list() == [1, 2, 3, 4] * 3
    shares = model.transform(corpus)
    for row in table.to_dicts():
        message = corpus.table.row(row["message"], named=True)
        assert (row["id"], row["text"]) == (message["id"], message["text"])
        assert row["share"] == shares[row["message"], row["class"]]
    assert table.filter(pl.col("class") == 0)["message"].n_unique() == 4
    assert table.equals(pv.exemplars(model, corpus, k=4, shares=shares))


def test_messages_of_a_model_whose_documents_are_conversations():
    corpus = pv.sample(20)
    model = pv.OnlineLDA(3, unit="conversation", n_sweeps=2, start_sweeps=2).fit(corpus)
    table = pv.exemplars(model, corpus, k=1)
    shares = model.message_shares(corpus)
    for row in table.to_dicts():
        assert row["share"] == shares[row["message"], row["class"]]


def test_characteristic_different_readable():
    printer = "the printer prints nothing but blank pages since the update of the driver"
    corpus = corpus_of(
        printer, printer + " today", printer.upper(), "no",
        "my phone battery is empty after two hours of listening to music",
        "where do I find the settings of the wireless network on this laptop",
        "thanks a lot for your help, everything works again now as it should", "",
    )  # fmt: skip
    shares = [1, 1, 1, 1, 0.8, 0.7, 0.0, 1]
    table = pv.exemplars(Fixed(np.column_stack((shares, np.zeros(8)))), corpus, k=3)
    assert set(table["message"].to_list()) == {0, 4, 5}
    assert table["class"].to_list() == [0, 0, 0]
    more = pv.exemplars(Fixed(np.column_stack((shares, np.zeros(8)))), corpus, k=8)
    assert more["message"].to_list()[-1] == 3  # too short to come before the others
    assert set(more["message"]) == {0, 3, 4, 5}


class Worded(Fixed):
    def top_words(self, n, by):
        return pl.DataFrame({"class": [0, 0, 1], "rank": [1, 2, 1],
                             "word": ["error", "syntax", "thanks"]})  # fmt: skip


def test_examples_have_words_of_their_class():
    corpus = corpus_of("many thanks to all of you out there, it does work now",
                       "I get a syntax error here, what is this error about?",
                       "and what would you say about the weather of today then")  # fmt: skip
    model = Worded([[1.0, 0.5], [0.8, 0.5], [0.9, 0.5]])
    first = pv.exemplars(model, corpus, k=1)
    assert first["message"].to_list() == [1, 0]
    assert first["share"].to_list() == [0.8, 0.5]
    assert pv.exemplars(Fixed(model.shares), corpus, k=1)["message"][0] == 0


def test_words_are_looked_at_before_the_candidates_are_chosen():
    talk = [f"and what would you say about the weather of day {i}" for i in range(N_CANDIDATES)]
    corpus = corpus_of(*talk, "I get a syntax error here, what is this error about?")
    model = Worded(np.array([[0.9, 0.1]] * N_CANDIDATES + [[0.8, 0.2]]))
    assert pv.exemplars(model, corpus, k=1)["message"][0] == N_CANDIDATES


def test_a_class_without_messages_and_a_corpus_without_any():
    assert pv.exemplars(Fixed(np.zeros((2, 3))), corpus_of("a b", "c d")).columns == COLUMNS
    assert pv.exemplars(Fixed(np.zeros((0, 3))), pv.sample(2).take([])).height == 0


def test_mistakes():
    corpus = corpus_of("a b c", "d e f")
    with pytest.raises(ParameterError, match="exemplars: k must be a whole number >= 1"):
        pv.exemplars(Fixed(np.ones((2, 1))), corpus, k=0)
    with pytest.raises(InputError, match="a row for each of the 2 messages"):
        pv.exemplars(Fixed(np.ones((3, 1))), corpus)
    with pytest.raises(ParameterError, match="pass a Corpus"):
        pv.exemplars(Fixed(np.ones((3, 1))), {"a": 1})


def test_a_hundred_thousand_messages_take_seconds():
    draw = np.random.default_rng(2)
    words = np.array([f"word{i}" for i in range(3000)])
    numbers = (3000 * draw.random((100_000, 12)) ** 3).astype(int)
    corpus = corpus_of(*(" ".join(row) for row in words[numbers]))
    shares = draw.dirichlet(np.full(20, 0.3), 100_000)
    start = time.process_time()
    table = pv.exemplars(Fixed(shares), corpus)
    assert table.height == 100
    lowest = np.sort(shares, axis=0)[-300]  # of the candidates of each class
    assert (table["share"].to_numpy() >= lowest[table["class"].to_numpy()]).all()
    assert time.process_time() - start < 60  # a matrix of all pairs would take hours


def test_a_class_of_short_messages_is_shown_by_short_ones():
    texts = pl.Series([*["yep"] * 5, *["one two three four five six seven eight"] * 5])
    shares = np.repeat([[0.9, 0.1], [0.1, 0.9]], 5, axis=0)
    found = readability(texts, shares)
    np.testing.assert_allclose(found[:5, 0], 1)
    assert (found[:5, 1] < 0.1).all()


def test_readability():
    lengths = [0, 1, 3, 6, 20, 60, 200, 2000]
    values = readability(pl.Series(["word " * n for n in lengths]), np.ones((len(lengths), 1)))[
        :, 0
    ]
    assert values[0] == 0
    np.testing.assert_allclose(values[3:6], 1)
    assert np.all(np.diff(values[:4]) > 0)
    assert np.all(np.diff(values[5:]) < 0)
    texts = pl.Series(["ok", "yes", "no", "fine then", "word " * 100])
    short = readability(texts, np.ones((5, 1)))[:, 0]
    np.testing.assert_allclose(short[:3], 1)  # if all are short, none is too short


def test_tfidf_and_cosines_by_hand():
    vectors = tfidf(["Cats, cats and dogs!", "dogs and birds", "and", "", "?!"])
    log = {"cats": np.log(5), "dogs": np.log(5 / 2), "and": np.log(5 / 3), "birds": np.log(5)}
    first = np.array([2 * log["cats"], log["and"], log["dogs"]])
    second = np.array([log["dogs"], log["and"], log["birds"]])
    cosine = (log["and"] ** 2 + log["dogs"] ** 2) / np.linalg.norm(first) / np.linalg.norm(second)
    graph = cosine_graph(vectors, 0).toarray()
    np.testing.assert_allclose(graph[0, 1], cosine)
    np.testing.assert_allclose(np.diag(graph), [1, 1, 1, 0, 0])
    assert cosine_graph(vectors, cosine + 1e-9).toarray()[0, 1] == 0
    halves = csr_matrix([[1.0, 0.0], [0.6, 0.8]])
    assert cosine_graph(halves, 0.6).toarray()[0, 1] == 0  # links exceed the threshold
    stemmed = tfidf(["the cat runs", "cats running", "birds"], stemmed=True)
    assert cosine_graph(stemmed, 0).toarray()[0, 1] > 0
    assert cosine_graph(tfidf(["the cat runs", "cats running", "birds"]), 0).toarray()[0, 1] == 0
    links = cosine_graph(tfidf([f"a{i} b{i // 2} c" for i in range(3000)]))
    assert links.shape == (3000, 3000)
    assert links.nnz == 6000


def test_of_near_duplicates_the_preferred_stays():
    vectors = tfidf(["a b c d", "a b c d", "e f", "", "", "a b c d"])
    left = without_near_duplicates(vectors, np.array([1, 3, 1, 1, 1, 3.0]))
    assert left.tolist() == [1, 2, 3, 4]
