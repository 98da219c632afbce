"""The field learns what only the chain, the neighbours, the roles or the columns tell."""

import itertools

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.encoding import encode
from palaver.errors import DamagedStoreError, ParameterError, StoreError
from palaver.models.taggers.features import FeatureSettings, grams, learn_features, rows
from palaver.models.taggers.features import words as feature_words
from palaver.models.taggers.features.words import Numbered


def corpus_of(rows, schema=("conversation", "speaker", "text", "act")):
    table = pl.DataFrame(rows, schema=list(schema), orient="row")
    return pv.Corpus.from_polars(table.with_columns(pl.col("conversation").cast(pl.String)))


def talk(n=80, seed=0):
    """A yes is an answer after a question and a backchannel after a statement."""
    rng = np.random.default_rng(seed)
    rows = []
    for conversation in range(n):
        for _ in range(4):
            asked = rng.random() < 0.5
            rows.append((conversation, "A", "did you go" if asked else "we went home",
                         "question" if asked else "statement"))  # fmt: skip
            rows.append((conversation, "B", "yes", "answer" if asked else "backchannel"))
    return corpus_of(rows)


@pytest.mark.parametrize("previous", [0, 1])
def test_the_chain_tells_what_words_do_not(previous):
    tagger = pv.CRFTagger(previous=previous).fit(talk())
    assert tagger.score(talk(30, seed=2)) == 1
    assert tagger.tags_ == ["answer", "backchannel", "question", "statement"]


def test_roles_columns_and_numbers():
    """The word is always the same; only a column tells the acts apart."""
    rng = np.random.default_rng(1)
    rows = []
    for conversation in range(60):
        for _ in range(5):
            a, b = rng.integers(0, 2, 2)
            rows.append((conversation, f"s{rng.integers(1000)}", "so", ["x", "y"][a],
                         ["guest", "host"][b], float(a + 10 * b), f"{a}{b}"))  # fmt: skip
    schema = ("conversation", "speaker", "text", "mood", "role", "pitch", "act")
    corpus = corpus_of(rows, schema)
    train, test = corpus.split(test=0.3, random_state=0)
    alone = pv.CRFTagger(features=["words"], previous=0).fit(train).score(test)
    roles = pv.CRFTagger(previous=0).fit(train).score(test)
    every = pv.CRFTagger(previous=0, columns=["mood"]).fit(train).score(test)
    numbers = pv.CRFTagger(features=["words"], columns=["mood", "pitch"]).fit(train).score(test)
    assert alone < 0.4 < roles < 0.65 < every
    assert every == 1
    assert numbers > 0.7
    with pytest.raises(ParameterError, match="no column 'shoe'"):
        pv.CRFTagger(columns=["shoe"]).fit(train)
    with pytest.raises(ParameterError, match="the labels that are to be learned"):
        pv.CRFTagger(columns=["act"]).fit(train)
    with pytest.raises(ParameterError, match="features must be a list of some of words"):
        pv.CRFTagger(features=["letters"]).fit(train)


def test_messages_without_a_label_are_part_of_the_chain():
    corpus = talk(60)
    act = corpus.table["act"]
    hidden = corpus.with_columns(kind=act.set(pl.Series(np.arange(len(act)) % 3 == 0), None))
    tagger = pv.CRFTagger().fit(hidden, labels="kind")
    assert tagger.label_ == "kind"
    assert tagger.score(corpus, "act") == 1
    only = corpus.with_columns(kind=act.set(pl.Series(np.arange(len(act)) >= 320), None))
    assert pv.CRFTagger().fit(only, labels="kind").score(corpus, "act") == 1


def test_features_written_out():
    corpus = corpus_of([(0, "A", "Where is it?", "q"), (0, "B", "it is here", "s"),
                        (0, "B", "", "s"), (1, "A", "it is", "q")])  # fmt: skip
    encoded = encode(corpus, min_count=1)
    settings = FeatureSettings(("words", "pairs", "turn"), previous=1, min_count=1)
    features = learn_features(encoded, encoded.vocabulary, settings, "act")
    table, names = features(encoded).toarray(), features.feature_names()
    assert table.shape == (4, features.size)
    assert len(names) == features.size
    found = [{name for name, value in zip(names, row, strict=True) if value} for row in table]
    assert found[1] == {
        "it", "is", "here", "(start) it", "it is", "is here", "here (end)",
        "1 before: where", "1 before: is", "1 before: it", "1 before: ?", "1 before: (start) where",
        "1 before: where is", "1 before: is it", "1 before: it ?", "1 before: ? (end)",
        "always", "other speaker", "did not open the conversation",
    }  # fmt: skip
    assert found[3] == {"it", "is", "(start) it", "it is", "is (end)", "always", "first message",
                        "opened the conversation"}  # fmt: skip
    assert "1 before: here" in found[2]
    assert "same speaker" in found[2]
    own = [names.index(name) for name in ("it", "is", "here", "it is", "is here")]
    assert len(set(table[1, own])) == 1  # all of one size,
    n_own = [name.startswith("1 before") for name in names].index(True)
    assert np.sum(table[1, :n_own] ** 2) == pytest.approx(16)  # and scaled


def test_edges_and_characters():
    corpus = corpus_of([(0, "A", "a b c d", "q"), (0, "B", "a", "s"), (0, "B", "", "s")])
    encoded = encode(corpus, min_count=1)
    settings = FeatureSettings(("edges",), previous=0, min_count=1)
    features = learn_features(encoded, encoded.vocabulary, settings, "act")
    names = np.array(features.feature_names())
    rows = features(encoded).toarray() > 0
    assert set(names[rows[0]]) == {"a b c ...", "... c d", "a ... d", "always"}
    assert set(names[rows[1]]) == {"a (end) (end) ...", "... (start) a", "a ... a", "always"}
    assert set(names[rows[2]]) == {"always"}
    assert grams.grams_of("ab") == {
        "\x02a", "ab", "b\x03", "\x02ab", "ab\x03", "\x02ab\x03"
    }  # fmt: skip


@pytest.mark.parametrize("alphabet", ["ab", "aé\ud800𝄞漢字\x02"])
def test_known_grams_are_found_in_words(alphabet):
    rng = np.random.default_rng(0)
    words = ["".join(rng.choice(list(alphabet), rng.integers(0, 7))) for _ in range(60)]
    known = grams.learn_grams(words[:20], [1] * 20, 2)
    assert known == sorted(known)
    offsets, columns = grams.GramTree(known)(words)
    for word, first, last in zip(words, offsets, offsets[1:], strict=False):
        found = {known[column] for column in columns[first:last]}
        assert found == grams.grams_of(word) & set(known)
    assert grams.GramTree(["abc"])(["xabc", "ab"])[0].tolist() == [0, 1, 1]  # "ab" is not known
    assert grams.GramTree([])(["a"])[0].tolist() == [0, 0]


def test_rows_are_distinct_and_side_by_side():
    rng = np.random.default_rng(1)
    offsets = np.array([0, 40, 40, 43, 300])
    items = rng.integers(-1, 200, 300)
    lists = (np.arange(0, 402, 2), rng.permutation(np.repeat(np.arange(100), 4))[:400])
    block = rows.distinct(offsets, items, lists, 100)
    for row, (first, last) in enumerate(itertools.pairwise(offsets)):
        exact = {int(c) for i in items[first:last] if i >= 0 for c in lists[1][2 * i : 2 * i + 2]}
        found = block.columns[block.offsets[row] : block.offsets[row + 1]]
        assert found.tolist() == sorted(exact)
    table = rows.joined([block, block.taken(np.array([-1, 0, 0, 2]))], 4).toarray()
    assert table.shape == (4, 200)
    assert np.array_equal(table[1:3, 100:], table[[0, 0], :100])
    assert not table[0, 100:].any()
    (scaled,) = rows.scaled([block], 3.0)
    assert np.sum(scaled.values[scaled.offsets[3] :] ** 2) == pytest.approx(9)


def test_pairs_have_ends():
    corpus = corpus_of([(0, "A", "x y x", "q"), (0, "A", "", "q"), (0, "A", "y", "q")])
    encoded = encode(corpus, min_count=1)
    numbered = Numbered.of(encoded, encoded.vocabulary)
    x, y, end, start = *(encoded.vocabulary.index[w] for w in "xy"), 3, 4
    offsets, codes = feature_words.pairs(numbered)
    assert offsets.tolist() == [0, 4, 4, 6]
    exact = [(start, x), (x, y), (y, x), (x, end), (start, y), (y, end)]
    assert list(zip((codes // 5).tolist(), (codes % 5).tolist(), strict=True)) == exact


def test_unknown_words_and_blocks_of_a_new_corpus():
    tagger = pv.CRFTagger(min_count=1).fit(talk(20))
    new = corpus_of([(0, None, "zzz qqq", None), (0, None, "", None)])
    assert tagger.predict_proba(new).shape == (2, 4)
    assert len(tagger.feature_weights(3)) == 12


def test_a_run_is_not_continued_with_other_speakers(tmp_path):
    corpus = talk(20)
    pv.CRFTagger().fit(corpus, folder=tmp_path)
    same = pv.Corpus.from_polars(corpus.table.with_columns(speaker=pl.lit("A")))
    with pytest.raises(StoreError, match="of the data"):
        pv.CRFTagger().fit(same, folder=tmp_path)


@pytest.mark.parametrize("array", ["weights", "moves", "known_pairs"])
def test_a_damaged_folder_is_refused(array, tmp_path):
    tagger = pv.CRFTagger().fit(talk(20))
    tagger.chains_[0][array] = tagger.chains_[0][array][:-1]
    tagger.save(tmp_path)
    with pytest.raises(DamagedStoreError, match="complete model"):
        pv.load(tmp_path)


def test_vectors():
    corpus = talk(20)
    words = encode(corpus, min_count=1).vocabulary.words
    vectors = pv.WordVectors(words, np.eye(len(words), dtype=np.float32))
    tagger = pv.CRFTagger(features=["turn"], previous=0).fit(corpus, vectors=vectors)
    assert tagger.chains_[0]["word_vectors"].shape[1] == len(words)
    assert tagger.score(corpus) == 1


def test_search_keeps_what_is_better_on_dev():
    train, dev = talk(30), talk(15, seed=3)
    tagger = pv.CRFTagger(features=["words"], previous=0, max_iter=5).search(train, dev, budget=8)
    table = tagger.search_
    assert table.height == 8
    kept = table.filter(pl.col("kept"))
    assert kept["accuracy"].is_sorted()
    assert tagger.score(dev) == kept["accuracy"][-1] == table["accuracy"].max()


def test_any_encoder(tmp_path):
    def encoder(texts):
        return [[len(text), float("did" in text)] for text in texts]

    corpus = talk(20)
    tagger = pv.CRFTagger(features=["turn"], previous=0).fit(corpus, vectors=encoder)
    assert tagger.score(corpus) == 1
    assert "encoder 1" in tagger.feature_weights(100)["feature"].to_list()
    plain = pv.CRFTagger(features=["turn"], previous=0).fit(corpus)
    assert plain.score(corpus) < 0.8
    tagger.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    with pytest.raises(ParameterError, match=r"set tagger\.encoder_"):
        again.predict(corpus)
    again.encoder_ = encoder
    np.testing.assert_array_equal(again.predict_proba(corpus), tagger.predict_proba(corpus))
    with pytest.raises(ParameterError, match="an encoder reads texts"):
        tagger.predict(encode(corpus, min_count=1))
    with pytest.raises(ParameterError, match="made 1 vectors of 160 texts"):
        pv.CRFTagger().fit(corpus, vectors=lambda texts: [[1.0]])
    assert pv.CRFTagger().fit(corpus).encoder_ is None
