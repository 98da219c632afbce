"""Every door to a kernel: arrays that refer to what is not there are refused, with their place."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import palaver as pv
from palaver.encoding import Vocabulary
from palaver.encoding.documents import Documents, documents_of
from palaver.encoding.shards import Shard, cut
from palaver.errors import CorpusError, DamagedStoreError, InputError

MUTATIONS = Path(__file__).parents[2] / "fuzz" / "mutations.py"


@pytest.fixture(scope="module")
def encoded():
    return pv.encode(pv.sample(6), sentences=True)


def changed(array, place, value):
    array = np.array(array)
    array[place] = value
    return array


def last_of(encoded):
    return encoded.n_messages - 1


WRONG = {
    "a token beyond the words": lambda e: {"tokens": changed(e.tokens, 5, len(e.vocabulary))},
    "a token below -1": lambda e: {"tokens": changed(e.tokens, 5, -2)},
    "tokens with a fraction": lambda e: {"tokens": e.tokens + 0.5},
    "complex tokens": lambda e: {"tokens": e.tokens + 0j},
    "masked tokens": lambda e: {"tokens": np.ma.masked_equal(e.tokens, 3)},
    "a token too few": lambda e: {"tokens": e.tokens[:-1]},
    "tokens in two dimensions": lambda e: {"tokens": e.tokens[None]},
    "offsets that fall": lambda e: {"message_offsets": changed(e.message_offsets, 3, 0)},
    "offsets reversed": lambda e: {"message_offsets": e.message_offsets[::-1]},
    "an offset too few": lambda e: {"message_offsets": e.message_offsets[:-1]},
    "no offsets": lambda e: {"conversation_offsets": e.conversation_offsets[:0]},
    "a parent that comes later": lambda e: {"parents": changed(e.parents, 1, 2)},
    "a message that replies to itself": lambda e: {"parents": changed(e.parents, 1, 1)},
    "a parent elsewhere": lambda e: {"parents": changed(e.parents, last_of(e), 0)},
    "a parent below -1": lambda e: {"parents": changed(e.parents, 1, -5)},
    "another parent that comes later": lambda e: {"other_parents": np.array([[1, 2]])},
    "another parent beyond the end": lambda e: {"other_parents": np.array([[9**6, 2]])},
    "sentences that cross messages": lambda e: {"sentence_offsets": np.array([0, e.n_tokens])},
    "a speaker without a name": lambda e: {
        "speakers": replace(e.speakers, codes=changed(e.speakers.codes, 0, 10**6))
    },
    "numbers of another length": lambda e: {"numbers": {"x": np.zeros(3)}},
    "words without counts": lambda e: {"vocabulary": Vocabulary(["a"], np.zeros(2, np.int64))},
}


@pytest.mark.parametrize("what", WRONG)
def test_an_encoded_corpus_that_refers_to_nowhere_is_refused(encoded, what):
    with pytest.raises(CorpusError, match="Encoded"):
        replace(encoded, **WRONG[what](encoded))


def test_an_encoded_corpus_is_brought_into_the_form_that_kernels_read(encoded):
    wide = replace(encoded, tokens=encoded.tokens.astype(">i8"), parents=encoded.parents.tolist())
    assert wide.tokens.dtype == np.int32
    assert wide.parents.dtype == np.int32
    np.testing.assert_array_equal(wide.tokens, encoded.tokens)
    strided = replace(encoded, tokens=np.repeat(encoded.tokens, 2)[::2])
    assert strided.tokens.flags.c_contiguous


def test_mapped_arrays_stay_mapped(encoded, tmp_path):
    encoded.write(tmp_path)
    assert isinstance(pv.Encoded.open(tmp_path).tokens, np.memmap)


def test_arrays_that_are_written_to_later_are_checked_where_a_model_reads_them(encoded):
    data = pv.encode(pv.sample(6))
    model = pv.LDA(n_classes=2, n_sweeps=2).fit(data, show_progress=False)
    data.tokens[3] = 10**6
    with pytest.raises(CorpusError, match=r"Encoded\.tokens: number 3 is 1,000,000"):
        model.transform(data)
    with pytest.raises(CorpusError, match=r"Encoded\.tokens"):
        pv.M4(n_classes=2, n_sweeps=2).fit(data, show_progress=False)
    with pytest.raises(CorpusError, match=r"Encoded\.tokens"):
        documents_of(data)


def test_words_without_a_number_do_not_reach_a_model_that_has_none_for_them():
    corpus = pv.sample(6)
    few = pv.encode(corpus, max_size=10).vocabulary
    data = pv.encode(corpus, few, keep_unknown=True)
    assert (data.tokens < 0).any()
    for kind in (pv.M4, pv.LDA, pv.BlockHMM, pv.OnlineLDA, pv.GaussianMixture):
        with pytest.raises(CorpusError, match="without a number"):
            kind().fit(data, show_progress=False)


def test_a_shard_that_refers_to_nowhere_is_refused(encoded):
    shard = cut(encoded)[0]
    for name, value in (
        ("tokens", changed(shard.tokens, 0, shard.n_words)),
        ("message_offsets", shard.message_offsets + 1),
        ("parents", changed(shard.parents, 0, shard.n_messages - 1)),
        ("parents", changed(shard.parents, shard.n_messages - 1, 0)),
        ("conversation_offsets", shard.conversation_offsets[:-1]),
    ):
        with pytest.raises(CorpusError, match=rf"Shard\.{name}"):
            Shard(**{**vars(shard), name: value})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("words", np.array([0, 3], np.int32)),
        ("words", np.array([0, -1], np.int32)),
        ("offsets", np.array([0, 3])),
        ("offsets", np.array([0, 2, 1, 2])),
        ("counts", np.array([1.0, np.nan])),
        ("counts", np.array([1.0, np.inf])),
        ("counts", np.array([1.0, 0.0])),
        ("counts", np.array([1.0, 1j])),
        ("counts", np.array([1.0])),
    ],
)
def test_documents_that_refer_to_nowhere_are_refused(field, value):
    good = {"offsets": np.array([0, 1, 2]), "words": np.array([0, 2]), "counts": np.ones(2)}
    words = Vocabulary(["a", "b", "c"], np.ones(3, np.int64))
    Documents(**good, vocabulary=words)
    with pytest.raises(CorpusError, match=rf"Documents\.{field}"):
        Documents(**{**good, field: value}, vocabulary=words)


@pytest.mark.parametrize(
    "lengths",
    [
        np.array([2**64 - 40, 100], np.uint64),  # sums to 60 if it wraps around
        np.array([2**63 - 1, 2**63 - 1, 62]),
        np.array([70, -10]),
        np.array([30.0, 30.0]),
        np.array([[30, 30]]),
        np.ma.masked_array([30, 30, 5], [0, 0, 1]),
        [59],
    ],
    ids=str,
)
def test_lengths_that_do_not_add_up_are_refused(lengths):
    vectors = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(InputError, match="lengths"):
        pv.GaussianHMM(n_states=2).fit(vectors, lengths, show_progress=False)
    with pytest.raises(InputError, match="lengths"):
        pv.InfiniteHMM().fit(np.arange(60) % 7, lengths, show_progress=False)


@pytest.mark.parametrize(
    "vectors", [np.ones((60, 3)) + 1j, np.ma.masked_less(np.ones((60, 3)), 2), np.ones((60, 3, 1))]
)
def test_vectors_that_would_lose_something_are_refused(vectors):
    with pytest.raises(InputError, match="vectors"):
        pv.GaussianHMM(n_states=2).fit(vectors, show_progress=False)


@pytest.mark.parametrize("kind", [pv.MarkovM3, pv.NestedHDP, pv.OnlineLDA])
@pytest.mark.parametrize(
    ("part", "value"),
    [("indptr", [0, 9, 2, 3]), ("indptr", [0, 1, 2, 10**9]), ("indices", [0, 1, 10**6]),
     ("indices", [0, -3, 1]), ("data", [1.0, 1j, 1.0])],
)  # fmt: skip
def test_sparse_matrices_that_refer_to_nowhere_are_refused(kind, part, value):
    matrix = sparse.csr_matrix(np.eye(3))
    setattr(matrix, part, np.array(value))
    with pytest.raises(InputError, match="counts"):
        kind(n_topics=2, n_sweeps=2).fit(matrix, show_progress=False)


def test_one_altered_byte_of_a_stored_corpus_is_noticed_on_opening(encoded, tmp_path):
    encoded.write(tmp_path)
    for path in sorted(tmp_path.glob("arrays-*/*.npy")):
        plain = path.read_bytes()
        if path.stem in ("other_parents",):  # empty
            continue
        path.write_bytes(plain[:-1] + bytes([plain[-1] ^ 1]))
        with pytest.raises(DamagedStoreError, match="altered"):
            pv.Encoded.open(tmp_path)
        path.write_bytes(plain)
    pv.Encoded.open(tmp_path)


def test_a_stored_corpus_without_one_of_its_arrays_is_damaged(encoded, tmp_path):
    encoded.write(tmp_path)
    manifest = tmp_path / "manifest.json"
    content = json.loads(manifest.read_text())
    del content["arrays"]["parents"]
    manifest.write_text(json.dumps(content))
    with pytest.raises(DamagedStoreError, match="complete corpus"):
        pv.Encoded.open(tmp_path)


@pytest.mark.parametrize("only", ["by hand", "stored corpus", "stored documents"])
def test_mutated_arrays_crash_nothing(only):
    """Hundreds of them are tried by `python fuzz/mutations.py`."""
    done = subprocess.run(
        [sys.executable, str(MUTATIONS), "--cases", "60", "--only", only],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
