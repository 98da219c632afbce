"""The hidden backoff tagger: states, embedded EM, factors, search."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.models.taggers.hidden_backoff.engine import Progress, Stage
from palaver.models.taggers.hidden_backoff.layout import make_layout, states_by_length
from palaver.models.taggers.hidden_backoff.search import SPACE, graphs, search
from palaver.parallel import Globals


@pytest.fixture(scope="module")
def parts():
    return pv.sample(100).split(test=0.3, random_state=1)


VARIANTS = [
    {"n_states": 1},
    {"n_states": 3},
    {"n_states": "auto"},
    {"n_states": {"thanks": 1, "joke": 3}},
    {"n_states": 2, "backoff": "word>state+tag"},
    {"n_states": 2, "backoff": "state+tag+word", "combine": "count-weighted"},
    {
        "n_states": 2,
        "backoff": "word>state+tag",
        "combine": "weighted",
        "path_weights": {"state": 3.0},
    },
    {"n_states": 2, "backoff": "state>word>tag", "interpolate": False, "cutoffs": [0, 0, 1]},
    {"n_states": 2, "smoothing": "witten-bell", "continuation": "words"},
    {"n_states": 2, "topology": "fork"},
    {"n_states": 4, "topology": "fork"},
    {"n_states": 2, "tied": True},
    {"n_states": 2, "tied": [["thanks.1", "worked.1"]]},
    {"n_states": 2, "alignment": "sampled"},
    {"n_states": 2, "alignment": "averaged", "n_alignments": 3},
    {"n_states": 2, "decode": "sum", "tag_order": 3},
    {"n_states": 1, "tag_order": 1, "end": False, "order": 1},
    {"n_states": 2, "order": 3, "speaker_change": True, "tag_order": 3},
]


@pytest.mark.parametrize("params", VARIANTS, ids=str)
def test_likelihood_never_falls_within_the_epochs_of_a_round(params, parts):
    train, test = parts
    tagger = pv.HiddenBackoffTagger(**params, max_rounds=3, tolerance=0.0).fit(train)
    for _, part in tagger.rounds_.filter(pl.col("phase") == "epoch").group_by("round"):
        logs = part["log_likelihood"].to_numpy()
        assert (np.diff(logs) >= -1e-9 * np.abs(logs[1:])).all()
    assert tagger.score(test) > 0.45  # a fifth by always giving the most frequent tag
    if params["n_states"] != 1:
        epochs = tagger.rounds_.filter(pl.col("phase") == "epoch")["round"].value_counts(sort=True)
        assert sorted(epochs["count"].to_list()) == [3, 3, 3, 5]
        start, moves = tagger._words.layout.allowed()
        assert not tagger.chains_[0]["moves"][~moves].any()
        assert not tagger.chains_[0]["start"][~start].any()


def test_rounds_stop_when_the_likelihood_does(parts):
    train, _ = parts
    loose = pv.HiddenBackoffTagger(n_states=2, tolerance=0.5).fit(train)
    assert loose.rounds_["round"].max() == 3  # one to compare, one that changes little, the last


def talk(generator, n, states):
    """Sentences whose tag shows in the order of words only: aab or baa."""
    rows = []
    for i in range(n):
        tag = "ab"[generator.integers(2)]
        first, last = ("xy", "zw") if tag == "a" else ("zw", "xy")
        size = generator.integers(3, 7)
        words = [first[generator.integers(2)] for _ in range(size)]
        words += [last[generator.integers(2)] for _ in range(size)]
        rows.append({"conversation": str(i // 20), "id": str(i), "text": " ".join(words),
                     "act": tag})  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows))


def test_states_find_parts_of_sentences_that_a_baseline_cannot_tell_apart():
    """Without the words before, only a hidden state knows how far a sentence has come."""
    generator = np.random.default_rng(3)
    train, test = talk(generator, 400, 2), talk(generator, 200, 2)
    plain = {"order": 1, "end": False, "tag_order": 1}
    baseline = pv.HiddenBackoffTagger(n_states=1, **plain).fit(train)
    hidden = pv.HiddenBackoffTagger(n_states=2, backoff="state>tag", **plain).fit(train)
    assert baseline.score(test) < 0.65
    assert hidden.score(test) == 1.0
    words = hidden.state_words_.filter((pl.col("tag") == "a") & (pl.col("rank") <= 2))
    assert set(words.filter(pl.col("state") == 0)["word"]) == {"x", "y"}
    assert set(words.filter(pl.col("state") == 1)["word"]) == {"z", "w"}


def test_a_factor_that_carries_information_helps_and_noise_does_not():
    """Words say nothing by themselves; in questions they follow the pitch, in statements not."""
    generator = np.random.default_rng(4)
    rows = []
    for i in range(500):
        question = bool(generator.integers(2))
        up = generator.random(5) < 0.5
        agrees = generator.random(5) < (0.9 if question else 0.1)
        rows.append(
            {
                "conversation": str(i // 20),
                "id": str(i),
                "text": "",
                "tokens": ["oh" if a == b else "so" for a, b in zip(up, agrees, strict=True)],
                "pitch": up.astype(int).tolist(),
                "noise": generator.integers(0, 2, 5).tolist(),
                "act": "q" if question else "s",
            }
        )
    train, test = pv.Corpus.from_polars(pl.DataFrame(rows)).split(test=0.3, random_state=0)

    def score(factors, graph, n_states=1):
        tagger = pv.HiddenBackoffTagger(n_states, graph, tag_order=1, factors=factors)
        return tagger.fit(train).score(test)

    assert score(None, "word>tag") < 0.65
    assert score(["noise"], "word>tag>noise") < 0.65
    assert score(["pitch"], "word>tag>pitch") > 0.9
    assert score(["noise", "pitch"], "noise>state>word>tag>pitch", 2) > 0.9


def test_factors_must_be_there_and_fit(parts):
    train, _ = parts
    with pytest.raises(ParameterError, match="no column 'pitch'"):
        pv.HiddenBackoffTagger(factors=["pitch"]).fit(train)
    lists = train.with_columns(pitch=pl.Series([["up"]] * train.n_messages))
    with pytest.raises(ParameterError, match="has 1 values in message 0"):
        pv.HiddenBackoffTagger(factors=["pitch"]).fit(lists)


def test_mistakes_are_explained(parts):
    train, _ = parts
    for params, message in (
        ({"n_states": 0}, "n_states must be a whole number from 1 to 100"),
        ({"n_states": {"zebra": 2}}, "there is no tag 'zebra'"),
        ({"backoff": "tag>wrod"}, "graph must name each of word, tag once"),
        ({"tied": [["thanks.9", "worked.1"]]}, "there is no state 'thanks.9'"),
        ({"path_weights": {"zebra": 1.0}}, "got 'zebra'"),
        ({"path_weights": {"word": -0.5}}, r"got 'word': -0\.5"),
        ({"path_weights": {"tag": "a"}}, "got 'tag': 'a'"),
        ({"cutoffs": [-1]}, "cutoffs must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            pv.HiddenBackoffTagger(**params).fit(train)


def test_topologies():
    forward = make_layout(3, ["a"], [], "forward", False)
    start, moves = forward.allowed()
    assert start.all()
    np.testing.assert_array_equal(moves, np.triu(np.ones((3, 3), bool)))
    start, moves = make_layout(4, ["a"], [], "fork", False).allowed()
    assert start.tolist() == [True, True, False, False]
    assert moves.astype(int).tolist() == [[1, 0, 0, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]]
    start, moves = make_layout(2, ["a"], [], "fork", False).allowed()
    assert start.all()
    np.testing.assert_array_equal(moves, np.eye(2, dtype=bool))


def test_states_are_spread_evenly_at_first():
    layout = make_layout({"a": 2, "b": 1}, ["a", "b"], [], "forward", False)
    offsets, tags = np.array([0, 4, 4, 5, 8]), np.array([0, 0, 0, 1], np.int32)
    assert layout.spread(offsets, tags, np.zeros(2)).tolist() == [0, 0, 1, 1, 0, 0, 0, 0]
    fork = make_layout({"a": 3, "b": 1}, ["a", "b"], [], "fork", False)
    assert fork.spread(offsets, tags, np.full(2, 2.0)).tolist() == [1, 1, 2, 2, 0, 0, 0, 0]


def test_tied_states_share_their_words():
    layout = make_layout(2, ["a", "b", "c"], [], "forward", [["a.1", "c.0"]])
    assert layout.n_word_tags == 4
    assert layout.word_tags.tolist() == [0, 3, 1, 1, 3, 2]
    assert layout.word_states.tolist() == [0, 0, 0, 1, 0, 1]


def test_states_by_length():
    assert states_by_length(np.array([1.0, 1, 1, 2])) == 1
    assert states_by_length(np.array([3.0, 4, 5])) == 2
    assert states_by_length(np.array([7.0, 9, 12])) == 3
    assert states_by_length(np.zeros(0)) == 1


def test_search_finds_the_best_of_a_toy_space():
    """Coordinate by coordinate, from the first settings, within the budget."""
    seen = []

    def evaluate(settings):
        seen.append(settings)
        return (
            (settings["min_count"] == 20)
            + (settings["backoff"] == "word+tag>state")
            + (settings["word_weight"] == 0.8)
            + 0.05 * (settings["n_states"] == 2)
            + 0.1 * (settings["n_states"] == {"a": 3, "b": 2})
        )

    first = {name: values[0] for name, values in SPACE.items()}
    first |= {"backoff": "auto", "n_states": 1}
    best, table = search(evaluate, first, ["word", "state", "tag"], ["a", "b"], 500)
    assert best["min_count"] == 20
    assert best["backoff"] == "word+tag>state"
    assert best["word_weight"] == 0.8
    assert best["n_states"] == {"a": 3, "b": 2}
    assert table.height == len(seen) < 200
    assert table.filter(pl.col("kept"))["accuracy"].is_sorted()
    assert search(evaluate, first, ["word", "state", "tag"], ["a", "b"], 5)[1].height == 5
    tried = {name: {repr(settings[name]) for settings in seen} for name in first}
    assert {"1", "2", "3", "'auto'"} <= tried["n_states"]
    assert {"'forward'", "'fork'"} == tried["topology"]
    assert {"2", "3"} == tried["order"]
    assert {"True", "False"} == tried["end"]


def test_graphs_to_search():
    assert set(graphs(["word", "tag"])) == {"word>tag", "tag>word", "word+tag"}
    assert len(graphs(["word", "state", "tag"])) == 6 + 6 + 1
    assert "word+state+tag" in graphs(["word", "state", "tag"])


def test_search_of_a_tagger(parts):
    train, dev = parts
    before = pv.HiddenBackoffTagger(n_states=1, min_count=60).fit(train).score(dev)
    tagger = pv.HiddenBackoffTagger(n_states=1, min_count=60).search(train, dev, budget=25)
    assert tagger.search_["accuracy"][0] == before
    assert tagger.score(dev) > before
    assert tagger.search_["accuracy"].max() == pytest.approx(tagger.score(dev))
    assert tagger.search_.height == 25


def test_progress_travels_as_whole_numbers():
    for stage in Stage:
        progress = Progress(stage, 7, 2)
        assert progress.array.dtype == np.int64
        assert Progress.of(Globals("epoch", {"progress": progress.array})) == progress
