"""Chunks by hand, as conlleval counts them, and a CRF that learns them."""

import pytest

from palaver.errors import ParameterError
from palaver.evaluate import Chunker, chunk_scores, find_chunks, word_features


@pytest.mark.parametrize(
    ("tags", "chunks"),
    [
        ("O O", []),
        ("B-NP", [(0, 1, "NP")]),
        ("B-NP I-NP O B-NP", [(0, 2, "NP"), (3, 4, "NP")]),
        ("B-NP B-NP I-NP", [(0, 1, "NP"), (1, 3, "NP")]),
        ("I-NP I-NP O I-NP", [(0, 2, "NP"), (3, 4, "NP")]),  # IOB1: no beginning needed
        ("B-NP I-VP I-VP", [(0, 1, "NP"), (1, 3, "VP")]),  # another type begins a chunk
        ("I-NP B-NP", [(0, 1, "NP"), (1, 2, "NP")]),
        ("", []),
    ],
)
def test_chunks_by_hand(tags, chunks):
    assert find_chunks(tags.split()) == chunks


def test_scores_by_hand():
    """Gold has 4 chunks, 3 were found, 1 of them right; 7 of 9 tags are right."""
    gold = [["B-NP", "I-NP", "B-VP", "B-NP", "O"], ["O", "B-PP", "O", "O"]]
    found = [["B-NP", "I-NP", "B-VP", "I-VP", "O"], ["O", "B-NP", "O", "O"]]
    scores = chunk_scores(gold, found)
    assert scores["accuracy"] == pytest.approx(7 / 9)
    assert scores["precision"] == pytest.approx(1 / 3)  # NP; VP is too long, PP is called NP
    assert scores["recall"] == pytest.approx(1 / 4)
    assert scores["f1"] == pytest.approx(2 / 7)
    assert chunk_scores(gold, gold)["f1"] == 1
    assert chunk_scores([["O"]], [["O"]])["f1"] == 0


def test_wrong_tags_are_refused():
    with pytest.raises(ParameterError, match="got 'NP'"):
        find_chunks(["NP"])
    with pytest.raises(ParameterError, match="same sentences"):
        chunk_scores([["O"]], [["O", "O"]])


def test_features_by_hand():
    features = word_features(["a", "b"], ["X", "Y"])
    assert len(features) == 2
    assert features[0][:5] == ["w-2=<>", "w-1=<>", "w0=a", "w1=b", "w2=<>"]
    assert "w0+=a|b" in features[0]
    assert "w-1+=a|b" in features[1]
    assert {"t0,1=X", "t0,2=X|Y", "t-1,2=<>|X", "t-2,3=<>|<>|X", "t0,3=X|Y|<>"} <= set(features[0])
    assert not any(name.startswith("t") for name in word_features(["a"])[0])


def test_a_chunker_learns_and_states_help_with_new_words():
    pytest.importorskip("pycrfsuite")
    train = [["the", f"noun{i}", "runs"] for i in range(20)]
    chunks = [["B-NP", "I-NP", "B-VP"]] * 20
    states = [["0", "1", "2"]] * 20
    new, new_states = [["my", "thing", "works"]], [["0", "1", "2"]]
    with_states = Chunker(0.1).fit(train, chunks, states)
    assert with_states.predict(new, new_states) == [["B-NP", "I-NP", "B-VP"]]
    plain = Chunker(0.1).fit(train, chunks)
    assert plain.predict([["the", "noun3", "runs"]]) == chunks[:1]
