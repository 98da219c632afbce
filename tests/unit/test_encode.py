"""Words and flat arrays."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.words import tokenize

import palaver as pv
from palaver.encoding import encode, shards
from palaver.encoding.numbering import split_all
from palaver.encoding.tokenizer import split_words
from palaver.encoding.vocabulary import select_words
from palaver.errors import CorpusError, ParameterError


def corpus_of(*texts: str) -> pv.Corpus:
    return pv.Corpus.from_polars(pl.DataFrame({"text": list(texts)}))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Don't PANIC!!!", ["don't", "panic", "!!!"]),
        ("see http://a.example/b?c=1 now", ["see", "<url>", "now"]),
        ("www.example.org, me@mail.example", ["<url>", "<email>"]),
        ("write to <email> or <url>", ["write", "to", "<email>", "or", "<url>"]),
        ("great 👍🏽 !", ["great", "👍🏽", "!"]),
        ("I❤️U", ["i", "❤️", "u"]),
        ("so... what?! :-)", ["so", "...", "what", "?!", ":-)"]),
        ("日本語", ["日", "本", "語"]),
        ("Привет, мир", ["привет", ",", "мир"]),
        ("été naïve Straße", ["été", "naïve", "straße"]),
        ("@nick hi", ["@", "nick", "hi"]),
        ("3.14", ["3", ".", "14"]),
        (" \t\n", []),
        ("", []),
    ],
)
def test_tokenizer(text, words):
    assert tokenize(text) == words


def test_flat_arrays():
    table = pl.DataFrame(
        {
            "conversation": ["a", "a", "b"],
            "id": ["1", "2", "3"],
            "reply_to": [None, "1", None],
            "speaker": ["x", None, "x"],
            "text": ["b a b", "", "c b"],
            "act": ["ask", "ask", None],
        }
    )
    encoded = encode(pv.Corpus.from_polars(table))
    assert encoded.vocabulary.words == ["b", "a", "c"]
    np.testing.assert_array_equal(encoded.tokens, [0, 1, 0, 2, 0])
    np.testing.assert_array_equal(encoded.message_offsets, [0, 3, 3, 5])
    np.testing.assert_array_equal(encoded.parents, [-1, 0, -1])
    np.testing.assert_array_equal(encoded.conversation_offsets, [0, 2, 3])
    np.testing.assert_array_equal(encoded.speakers.codes, [0, -1, 0])
    assert encoded.speakers.names == ["x"]
    np.testing.assert_array_equal(encoded.labels["act"].codes, [0, 0, -1])
    assert (encoded.tokens.dtype, encoded.message_offsets.dtype) == (np.int32, np.int64)


def test_trained_vocabulary_drops_and_counts_unknown_words():
    vocabulary = encode(corpus_of("yes no")).vocabulary
    encoded = encode(corpus_of("no maybe", "perhaps"), vocabulary)
    assert [vocabulary.words[token] for token in encoded.tokens] == ["no"]
    np.testing.assert_array_equal(encoded.message_offsets, [0, 1, 1])
    assert encoded.n_dropped == 2


def test_word_selection():
    texts = ("a a a b", "a b", "a c")
    assert encode(corpus_of(*texts), min_count=2).vocabulary.words == ["a", "b"]
    assert encode(corpus_of(*texts), max_share=2 / 3).vocabulary.words == ["b", "c"]
    assert encode(corpus_of(*texts), max_size=1).vocabulary.words == ["a"]
    assert encode(corpus_of(*texts), stop_words={"a"}).vocabulary.words == ["b", "c"]
    with pytest.raises(CorpusError, match="words is left"):
        encode(corpus_of(*texts), min_count=100)
    with pytest.raises(ParameterError, match="min_count must be"):
        encode(corpus_of(*texts), min_count=0)


@pytest.mark.parametrize(("n_tokens", "least"), [(1_000, 1), (50_000, 2), (500_000, 5)])
def test_auto_min_count_grows_with_the_corpus(n_tokens, least):
    counts = np.array([n_tokens, 5, 4, 2, 1])
    kept = select_words(list("abcde"), counts, counts * 0, 10)
    assert kept.counts.tolist() == [count for count in counts if count >= least]


@pytest.mark.parametrize(
    ("n_tokens", "n_shards"),
    [(99, 1), (300, 3), (499, 4), (799, 4), (1_100, 8), (5_000, 32), (20_000, 40)],
)
def test_shards_are_multiples_of_four_neither_too_small_nor_too_large(
    n_tokens, n_shards, monkeypatch
):
    monkeypatch.setattr(shards, "SMALLEST", 100)
    monkeypatch.setattr(shards, "LARGEST", 500)
    texts = pl.DataFrame(
        {"conversation": [f"{i}" for i in range(n_tokens)], "text": ["a"] * n_tokens}
    )
    parts = shards.cut(encode(pv.Corpus.from_polars(texts)))
    sizes = [part.n_tokens for part in parts]
    assert (len(parts), sum(sizes)) == (n_shards, n_tokens)
    assert max(sizes) - min(sizes) <= 1
    assert [part.first_token for part in parts] == np.cumsum([0, *sizes])[:-1].tolist()


def test_callable_tokenizer_and_given_tokens():
    encoded = encode(corpus_of("Ab-c", "x"), tokenizer=lambda text: text.split("-"))
    assert sorted(encoded.vocabulary.words) == ["Ab", "c", "x"]
    table = pl.DataFrame({"text": ["a b", "c"], "tokens": [["A b", "www.x.example"], None]})
    encoded = encode(pv.Corpus.from_polars(table))
    assert encoded.vocabulary.words == ["<url>", "A b"]
    np.testing.assert_array_equal(encoded.message_offsets, [0, 2, 2])


def test_written_and_mapped(tmp_path):
    encoded = encode(corpus_of("a b", "b c?"))
    encoded.write(tmp_path / "encoded")
    mapped = pv.Encoded.open(tmp_path / "encoded")
    assert isinstance(mapped.tokens, np.memmap)
    np.testing.assert_array_equal(mapped.tokens, encoded.tokens)
    np.testing.assert_array_equal(mapped.message_offsets, encoded.message_offsets)
    assert mapped.vocabulary.words == encoded.vocabulary.words
    assert mapped.fingerprint == encoded.fingerprint


def test_no_messages():
    encoded = encode(corpus_of())
    assert (encoded.n_tokens, encoded.n_messages, encoded.n_conversations) == (0, 0, 0)


@settings(deadline=None, max_examples=60)
@given(st.lists(st.text(max_size=40), max_size=12), st.integers(1, 40))
def test_arrays_spell_the_texts_whatever_the_chunks(texts, chunk_bytes):
    import palaver.encoding.numbering as module

    before = module._CHUNK_BYTES
    module._CHUNK_BYTES = chunk_bytes
    try:
        corpus = corpus_of(*texts)
        encoded = encode(corpus)
    finally:
        module._CHUNK_BYTES = before
    words = encoded.vocabulary.words
    for b, text in enumerate(corpus.table["text"]):
        span = encoded.tokens[encoded.message_offsets[b] : encoded.message_offsets[b + 1]]
        assert [words[token] for token in span] == tokenize(text)
    assert encoded.vocabulary.counts.sum() == encoded.n_tokens


def test_any_number_of_threads_gives_the_same_numbers(monkeypatch):
    corpus = pv.sample(40)
    monkeypatch.setattr("palaver.encoding.numbering._CHUNK_BYTES", 500)
    found = []
    for n_threads in (1, 3):
        monkeypatch.setattr("polars.thread_pool_size", lambda n=n_threads: n)
        found.append((encode(corpus, min_count=1), split_all(corpus.table["text"])))
    (one, words), (three, same_words) = found
    np.testing.assert_array_equal(one.tokens, three.tokens)
    assert one.vocabulary.words == three.vocabulary.words
    assert words.equals(same_words)
    assert words.equals(split_words(corpus.table["text"]))
