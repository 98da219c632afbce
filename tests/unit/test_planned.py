"""Streams that workers read: the same documents and shards as when the driver reads them."""

import gzip

import numpy as np
import pytest

import palaver.encoding.planned as plans
from palaver.encoding.document_stream import document_source, joined, planned, set_aside
from palaver.encoding.documents import Documents, cut_documents, documents_of
from palaver.errors import FormatError
from palaver.parallel.wire import portable, received


class Workers:
    """Workers of which each is this process."""

    @staticmethod
    def spread(work, tasks):
        for task in tasks:
            yield work(*map(received, map(portable, task)))


def counts(n_documents=70, n_words=40):
    random = np.random.default_rng(3)
    return random.poisson(0.3, (n_documents, n_words)) * random.integers(1, 200, n_words)


def write_bag(folder, matrix, end="\n", extra=""):
    """Write a docword file and its words; return its path."""
    rows, columns = np.nonzero(matrix)
    lines = [*matrix.shape, len(rows)]
    lines += [f"{r + 1} {c + 1} {matrix[r, c]}" for r, c in zip(rows, columns, strict=True)]
    path = folder / "docword.x.txt"
    path.write_text("\n".join(map(str, lines)) + extra + end)
    (folder / "vocab.x.txt").write_text("".join(f"w{i}\n" for i in range(matrix.shape[1])))
    return path


def assert_same_shards(batch, plain):
    shards = cut_documents(plain, 20)
    parts = batch.shards(20)
    assert len(parts) == len(shards) > 1
    for part, shard in zip(parts, shards, strict=True):
        found = received(portable(part))
        assert found.first_document == shard.first_document
        for name in ("offsets", "words", "counts", "word_ids"):
            here, there = getattr(shard, name), getattr(found, name)
            np.testing.assert_array_equal(here, there)
            assert here.dtype == there.dtype


def assert_same_batches(source):
    plan = planned(source, Workers)
    assert plan.plan is not None
    for here, there in ((source, plan), (set_aside(source, 6)[0], set_aside(plan, 6)[0])):
        assert here.n_documents == there.n_documents
        pairs = list(zip(here.batches(16, 2, 5), there.batches(16, 2, 5), strict=True))
        assert len(pairs) == 2 * -(-len(list(here.batches(1, 1, 5))) // 16)
        for plain, batch in pairs:
            assert isinstance(batch, plans.PlannedBatch)
            assert (plain.n_documents, plain.n_tokens) == (batch.n_documents, batch.n_tokens)
            assert_same_shards(batch, plain)
    one, other = set_aside(source, 6)[1], set_aside(plan, 6)[1]
    np.testing.assert_array_equal(one.matrix().toarray(), other.matrix().toarray())


@pytest.mark.parametrize("block", [1, 7, 100, 1 << 20])
@pytest.mark.parametrize("end", ["\n", ""])
def test_a_file_is_cut_anywhere(block, end, tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "BLOCK", block)
    assert_same_batches(document_source(write_bag(tmp_path, counts(), end)))


@pytest.mark.parametrize("many", [1, 16, 1000])
def test_a_folder_is_read_by_its_numbers(many, tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "MANY", many)
    documents_of(counts()).write(tmp_path / "documents")
    assert_same_batches(document_source(tmp_path / "documents"))


def test_what_cannot_be_cut_is_read_by_the_driver(tmp_path):
    path = write_bag(tmp_path, counts())
    packed = tmp_path / "docword.y.txt.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    (tmp_path / "vocab.y.txt").write_bytes((tmp_path / "vocab.x.txt").read_bytes())
    assert planned(document_source(packed), Workers).plan is None
    assert planned(document_source(write_bag(tmp_path, counts() / 3)), Workers).plan is None
    documents_of(counts() / 3).write(tmp_path / "documents")
    assert planned(document_source(tmp_path / "documents"), Workers).plan is None
    assert planned(document_source(counts()), Workers).plan is None
    threads = object()
    source = document_source(path)
    assert planned(source, threads) is source


def test_a_file_with_wrong_lines_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(plans, "BLOCK", 50)
    for extra, problem in (
        ("\n1 2 1", "sorted"),
        ("\n70 41 1", "in 1..40"),
        ("\n70 4 0", "positive"),
        ("\n70 4", "positive"),
        ("\n70 x 4", "three"),
    ):
        source = document_source(write_bag(tmp_path, counts(), extra=extra))
        with pytest.raises(FormatError, match=problem):
            planned(source, Workers)


def test_a_file_that_changes_or_leaves_is_said(tmp_path):
    path = write_bag(tmp_path, counts())
    batch = next(planned(document_source(path), Workers).batches(9, 1, 0))
    part = batch.shards(1000)[0]
    text = path.read_text()
    path.write_text(text + "70 40 1\n")
    with pytest.raises(FormatError, match="has changed"):
        part.read()
    path.unlink()
    with pytest.raises(FormatError, match="all machines"):
        part.read()


def test_batches_join(tmp_path):
    source = document_source(write_bag(tmp_path, counts()))
    plan = planned(source, Workers)
    found = joined(list(plan.batches(9, 1, 0)))
    assert isinstance(found, Documents)
    plain = joined(list(source.batches(9, 1, 0)))
    np.testing.assert_array_equal(found.matrix().toarray(), plain.matrix().toarray())
