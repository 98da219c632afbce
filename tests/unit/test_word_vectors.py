"""Word vectors: files, lookups, coverage; vectors from the corpus; utterances as vectors."""

import gzip
import struct

import numpy as np
import polars as pl
import pytest
from support.shared import shared_data

import palaver as pv
from palaver.encoding import Utterances, encode
from palaver.encoding.corpus_vectors import learn_word_vectors, near_counts, positive_information
from palaver.encoding.utterances import word_counts
from palaver.errors import CorpusError, FormatError, ParameterError

WORDS = ["yes", "do", "n't", "it", "is", ". . ."]
TABLE = np.arange(18, dtype=np.float32).reshape(6, 3) / 4


def lines(header=False):
    text = "6 3\n" if header else ""
    for word, row in zip(WORDS, TABLE, strict=True):
        text += word + " " + " ".join(map(str, row)) + "\n"
    return text.encode()


def corpus(*texts):
    table = pl.DataFrame({"conversation": ["a"] * len(texts), "text": texts})
    return pv.Corpus.from_polars(table)


def write_binary(path):
    with path.open("wb") as stream:
        stream.write(b"6 3\n")
        for word, row in zip(WORDS, TABLE, strict=True):
            stream.write(word.replace(" ", "_").encode() + b" " + struct.pack("<3f", *row) + b"\n")


def write_arrays(folder):
    np.savez(folder / "vectors.npz", vectors=TABLE[:4].astype(np.float16))
    (folder / "vocab.txt.gz").write_bytes(gzip.compress("\n".join(WORDS[:4]).encode() + b"\n"))
    np.savez(folder / "extra.npz", vectors=TABLE[4:])
    (folder / "extra-vocab.txt").write_text("\n".join(WORDS[4:]))


def test_every_kind_of_file_gives_the_same_vectors(tmp_path):
    (tmp_path / "glove.txt").write_bytes(lines())
    (tmp_path / "glove.txt.gz").write_bytes(gzip.compress(lines()))
    (tmp_path / "wiki.vec").write_bytes(lines(header=True))
    write_binary(tmp_path / "google.bin")
    write_arrays(tmp_path)
    for path in ("glove.txt", "glove.txt.gz", "wiki.vec", "google.bin", "vectors.npz", "."):
        found = pv.WordVectors.read(tmp_path / path)
        np.testing.assert_array_equal(found.vectors, TABLE)
        assert [word.replace("_", " ") for word in found.words] == WORDS, path
    some = pv.WordVectors.read(tmp_path / "glove.txt", keep=["isn't", "yes"])
    assert list(some.words) == ["yes", "n't", "is"]


def test_broken_files_are_explained(tmp_path):
    path = tmp_path / "x.txt"
    for text, message in (
        ("yes 1 2\nno 1\n", "line 2 does not have a word and 2 numbers"),
        ("yes 1 2\nno 1 two\n", "vector of 'no' is not numbers"),
        ("yes 1 nan\n", "vector of 'yes' is not finite"),
        ("", "no word vectors"),
    ):
        path.write_text(text)
        with pytest.raises(FormatError, match=message):
            pv.WordVectors.read(path)
    path.write_text("yes 1 2\n")
    with pytest.raises(FormatError, match="none of the"):
        pv.WordVectors.read(path, keep=["no"])
    with pytest.raises(FormatError, match="no such file"):
        pv.WordVectors.read(tmp_path / "nowhere.txt")
    path.write_bytes(gzip.compress(lines())[:-12])
    with pytest.raises(FormatError, match="truncated"):
        pv.WordVectors.read(path)
    (tmp_path / "y.bin").write_bytes(b"2 3\nyes \0\0")
    with pytest.raises(FormatError, match="ends within word 1 of 2"):
        pv.WordVectors.read(tmp_path / "y.bin")
    write_arrays(tmp_path)
    (tmp_path / "vocab.txt.gz").write_bytes(gzip.compress(b"one\n"))
    with pytest.raises(FormatError, match="1 words for 4 vectors"):
        pv.WordVectors.read(tmp_path)
    (tmp_path / "vocab.txt.gz").unlink()
    with pytest.raises(FormatError, match=r"needs vectors\.npz"):
        pv.WordVectors.read(tmp_path)


def test_contractions_are_split_and_coverage_is_counted():
    vectors = pv.WordVectors(WORDS, TABLE)
    found, known = vectors.look_up(["Yes", "don't", "it’s", "isn't", "isn", "yes's", "can't"])
    assert known.tolist() == [True, True, True, True, False, True, False]
    np.testing.assert_array_equal(found[0], TABLE[0])
    np.testing.assert_array_equal(found[1], TABLE[[1, 2]].mean(axis=0))
    np.testing.assert_array_equal(found[2], TABLE[[3, 4]].mean(axis=0))
    np.testing.assert_array_equal(found[3], TABLE[[4, 2]].mean(axis=0))
    np.testing.assert_array_equal(found[4], 0)
    np.testing.assert_array_equal(found[5], TABLE[[0, 4]].mean(axis=0))  # as "yes is"
    encoded = encode(corpus("yes don't xyzzy", "plugh xyzzy"))
    assert vectors.coverage(encoded) == pytest.approx(2 / 5)
    assert vectors.missing(encoded, 1).to_dicts() == [{"word": "xyzzy", "count": 2}]
    with pytest.raises(FormatError, match="3 words need a table"):
        pv.WordVectors(["a", "b", "c"], TABLE)


def test_coverage_of_switchboard():
    conversations = pv.read(shared_data("swda/swda-merged.jsonl.gz"))
    vectors = pv.WordVectors.read(shared_data("glove-100d"))
    assert vectors.coverage(encode(conversations, min_count=1)) > 0.95
    assert vectors.n_dimensions == 100


# vectors from the corpus


def test_near_counts_are_counted_by_hand():
    encoded = encode(corpus("a b c a", "b a"), min_count=1)
    words = encoded.vocabulary.index
    counts = near_counts(encoded, 2).toarray()
    a, b, c = words["a"], words["b"], words["c"]
    assert counts[a, b] == 1 + 0.5 + 1  # a b; b _ a; b a
    assert counts[a, c] == 0.5 + 1
    assert counts[b, c] == 1
    np.testing.assert_array_equal(counts, counts.T)
    assert counts[a, a] == 0


def test_positive_information_by_definition():
    encoded = encode(pv.sample(5), min_count=1)
    counts = near_counts(encoded, 5)
    dense = counts.toarray()
    share = dense.sum(axis=1) ** 0.75
    share /= share.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        information = np.log(dense / (dense.sum(axis=1, keepdims=True) * share))
    information = np.where(information > 0, information, 0)
    exact = (information + information.T) / 2
    np.testing.assert_allclose(positive_information(counts).toarray(), exact, atol=1e-12)


def test_learned_vectors_put_like_words_together():
    # two kinds of words that never meet but share their neighbours
    rng = np.random.default_rng(0)
    texts = []
    for _ in range(400):
        fruit, tool = rng.choice(["apple", "pear"]), rng.choice(["saw", "drill"])
        texts += [f"eat the sweet {fruit} now", f"use a loud {tool} here"]
    encoded = encode(corpus(*texts), min_count=1)
    vectors = learn_word_vectors(encoded, 4)
    index = encoded.vocabulary.index

    def cosine(left, right):
        a, b = vectors.vectors[index[left]], vectors.vectors[index[right]]
        return a @ b / np.linalg.norm(a) / np.linalg.norm(b)

    assert cosine("apple", "pear") > 0.95
    assert cosine("saw", "drill") > 0.95
    assert abs(cosine("apple", "saw")) < 0.3
    again = learn_word_vectors(encoded, 4)
    np.testing.assert_array_equal(vectors.vectors, again.vectors)


@pytest.mark.parametrize("text", ["one", "one one one", "one two"])
def test_learned_vectors_of_almost_nothing(text):
    encoded = encode(corpus(text), min_count=1)
    vectors = learn_word_vectors(encoded)
    assert vectors.vectors.shape[0] == len(encoded.vocabulary)
    assert np.isfinite(vectors.vectors).all()


def test_truncated_vectors_span_the_leading_dimensions():
    encoded = encode(pv.sample(15), min_count=1)
    assert len(encoded.vocabulary) > 300  # or the dense decomposition is used
    information = positive_information(near_counts(encoded, 5)).toarray()
    values = np.linalg.svd(information, compute_uv=False)[:20]
    vectors = learn_word_vectors(encoded, 20).vectors.astype(float)
    np.testing.assert_allclose(np.square(vectors).sum(axis=0), values, rtol=1e-5)


# utterances


def test_utterances_are_weighted_means_of_words():
    vectors = pv.WordVectors(["yes", "no"], np.array([[1.0, 0.0], [0.0, 2.0]], np.float32))
    texts = corpus("yes no no", "no", "xyzzy", "yes")
    X, lengths = pv.utterance_vectors(texts, vectors, normalize=False)
    idf = np.log(4 / 2)  # of both
    np.testing.assert_allclose(X, [[1 / 3, 4 / 3], [0, 2], [0, 0], [1, 0]])
    np.testing.assert_array_equal(lengths, [4])
    X, _ = pv.utterance_vectors(texts, vectors, pooling="sum", normalize=False)
    np.testing.assert_allclose(X, np.array([[1, 4], [0, 2], [0, 0], [1, 0]]) * idf)
    X, _ = pv.utterance_vectors(texts, vectors, "even", pooling="sum", normalize=False)
    np.testing.assert_allclose(X, [[1, 4], [0, 2], [0, 0], [1, 0]])
    X, _ = pv.utterance_vectors(texts, vectors, "root-idf", pooling="sum")
    np.testing.assert_allclose(X, np.array([[1, 2], [0, 1], [0, 0], [1, 0]]) * np.sqrt(idf))


def test_whitened_utterances_are_uncorrelated():
    sample = pv.sample(60)
    X, lengths = pv.utterance_vectors(sample, whiten=10)
    assert X.shape == (sample.n_messages, 10)
    assert lengths.sum() == sample.n_messages
    np.testing.assert_allclose(X.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(X.T @ X / len(X), np.eye(10), atol=1e-7)


def test_any_encoder_or_array():
    sample = pv.sample(10)

    def lengths_of(texts):
        return [[len(text), text.count(" ")] for text in texts]

    X, _ = pv.utterance_vectors(sample, lengths_of)
    assert X[0, 0] == len(sample.table["text"][0])
    Y, _ = pv.utterance_vectors(sample, X, whiten=2)
    np.testing.assert_allclose(Y.std(axis=0), 1)
    with pytest.raises(ParameterError, match="3 vectors for"):
        pv.utterance_vectors(sample, X[:3])
    with pytest.raises(ParameterError, match="needs texts"):
        pv.utterance_vectors(encode(sample), lengths_of)
    with pytest.raises(ParameterError, match="weighting must be one of"):
        pv.utterance_vectors(sample, weighting="tf")


def test_wrong_arrays_are_refused_with_the_row():
    X = np.zeros((4, 2))
    for bad in (np.nan, np.inf, -np.inf, 1e200):
        X[2, 1] = bad
        with pytest.raises(CorpusError, match=r"row 2 of the vectors has .* in column 1"):
            Utterances.of_arrays(X)
    with pytest.raises(ParameterError, match=r"table \(n, M\)"):
        Utterances.of_arrays(np.zeros(3))
    with pytest.raises(ParameterError, match="lengths sum to 3, but there are 4"):
        Utterances.of_arrays(np.zeros((4, 2)), [1, 2])
    for lengths in ([2.5, 1.5], [5, -1], [[4]]):
        with pytest.raises(ParameterError, match="lengths must be non-negative whole numbers"):
            Utterances.of_arrays(np.zeros((4, 2)), lengths)


def test_counting_words_leaves_the_corpus_alone():
    encoded = encode(corpus("yes yes yes no", "no no"), min_count=1)
    before = encoded.message_offsets.copy(), encoded.tokens.copy()
    assert word_counts(encoded).toarray().sum() == 6
    np.testing.assert_array_equal(encoded.message_offsets, before[0])
    np.testing.assert_array_equal(encoded.tokens, before[1])
