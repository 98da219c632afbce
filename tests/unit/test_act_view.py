"""The view "acts": frequent words, first and last words; and what models make of it."""

import json
from itertools import chain, pairwise

import numpy as np
import polars as pl
import pytest
from support.verbs import call

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.act_view import FREQUENT
from palaver.errors import ParameterError


def tokens_of(encoded):
    """The tokens of each message by name."""
    words, offsets = encoded.vocabulary.words, encoded.message_offsets
    return [[words[w] for w in encoded.tokens[a:b]] for a, b in pairwise(offsets)]


def corpus_of(texts):
    return pv.Corpus.from_polars(pl.DataFrame({"text": texts}))


def test_beginnings_and_ends_follow_the_words():
    corpus = corpus_of(["Do you know?", "", "No", "do it"])
    encoded = encode(corpus, view="acts")
    assert tokens_of(encoded) == [
        ["do", "you", "know", "?", "first:do", "last:?"], [], ["no", "first:no", "last:no"],
        ["do", "it", "first:do", "last:it"],
    ]  # fmt: skip
    assert encoded.vocabulary.view == "acts"
    assert encoded.vocabulary.counts[encoded.vocabulary.index["first:do"]] == 2
    # new texts are seen in the same way, without being asked for
    new = encode(corpus_of(["do what ?", "it"]), encoded.vocabulary)
    assert tokens_of(new) == [["do", "?", "first:do", "last:?"], ["it", "last:it"]]
    assert new.n_dropped == 2, "what, first:it"
    assert encode(corpus).vocabulary.view == "words"


def test_only_frequent_words_are_kept_but_ends_of_any():
    generator = np.random.default_rng(0)
    common = [f"c{i}" for i in range(FREQUENT)]
    texts = [" ".join(generator.permutation(common)) for _ in range(3)]
    texts += [f"rare{i} c0 seldom{i}" for i in range(5)]
    encoded = encode(corpus_of(texts), view="acts", min_count=1)
    words = encoded.vocabulary.words
    assert {w for w in words if ":" not in w} == set(common)
    assert {"first:rare3", "last:seldom4"} < set(words)
    assert tokens_of(encoded)[4] == ["c0", "first:rare1", "last:seldom1"]


def test_chunks_of_text_do_not_matter(monkeypatch):
    corpus = pv.sample(20)
    whole = encode(corpus, view="acts")
    monkeypatch.setattr("palaver.encoding.numbering._CHUNK_BYTES", 200)
    parts = encode(corpus, view="acts")
    assert parts.vocabulary.words == whole.vocabulary.words
    np.testing.assert_array_equal(parts.tokens, whole.tokens)
    np.testing.assert_array_equal(parts.message_offsets, whole.message_offsets)


@pytest.mark.parametrize("kind", [pv.BlockHMM, pv.M4])
def test_models_see_it(kind, tmp_path):
    corpus = pv.sample(60)
    model = kind(8, view="acts", n_sweeps=60, random_state=1).fit(corpus)
    assert model.background_ is False
    assert model.vocabulary_.view == "acts"
    model.save(tmp_path / "model")
    loaded = pv.load(tmp_path / "model")
    shares = loaded.transform(corpus)
    assert shares.tobytes() == model.transform(corpus).tobytes()
    encoded = encode(corpus, view="acts")
    again = kind(8, view="acts", n_sweeps=60, random_state=1).fit(encoded)
    assert again.class_words_.tobytes() == model.class_words_.tobytes()
    page = pv.report(loaded, corpus, tmp_path / "page.html").read_text("utf-8")
    assert "first:" in page
    with pytest.raises(ParameterError, match="encode\\(corpus, view='acts'\\)"):
        kind(8, view="acts").fit(encode(corpus))
    with pytest.raises(ParameterError, match="no message can be drawn"):
        model.simulate(corpus)


def test_words_on_the_page_have_the_classes_of_their_own_tokens():
    from palaver.models.views.reading import read
    from palaver.page.findings import token_ranks

    corpus = pv.sample(12)
    model = pv.M4(3, view="acts", n_sweeps=20).fit(corpus)
    reading = read(model, corpus)
    rows = np.array([5, 2])
    ranks, lengths = token_ranks(reading, np.arange(3), reading.shares, None, rows)
    classes = model.token_classes(corpus).filter(~pl.col("word").str.contains("^(first|last):"))
    expected = [classes.filter(message=int(row))["class"].to_list() for row in rows]
    assert ranks.tolist() == list(chain.from_iterable(expected))
    assert lengths.tolist() == [len(own) for own in expected]


def test_what_does_not_go_together():
    corpus = pv.sample(8)
    with pytest.raises(ParameterError, match="marks messages"):
        encode(corpus, view="acts", sentences=True)
    with pytest.raises(ParameterError, match="not of sentences"):
        pv.M4(view="acts", unit="sentence").fit(corpus)
    with pytest.raises(ParameterError, match="view must be"):
        encode(corpus, view="letters")


def test_trials_and_verbs_see_it(tmp_path):
    corpus = pv.sample(40)
    found = pv.compare(corpus, ["block-hmm", "lda"], [4], gold="act", view="acts", n_sweeps=10,
                       n_chains=1, replies=False, show_progress=False).table  # fmt: skip
    assert found["v_measure"][0] > 0
    path = corpus.write(tmp_path / "sample.jsonl")
    call("fit", "block-hmm", path, "--classes", 6, "--sweeps", 40, "--set", "view=acts",
         "--out", tmp_path / "run")  # fmt: skip
    report = json.loads(call("evaluate", tmp_path / "run", "--json"))
    model = pv.load(tmp_path / "run")
    v = pv.evaluate.v_measure(model.message_classes(corpus), corpus.table["act"])
    messages = {row["measure"]: row["value"] for row in report["scores"] if row["level"] != "words"}
    assert messages["v_measure"] == pytest.approx(v)
