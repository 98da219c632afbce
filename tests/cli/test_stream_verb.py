"""``fit --stream``, ``perplexity``, ``paths`` and the graph of topics as a file."""

import json

import numpy as np
import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli import fit_stream
from palaver.encoding.document_stream import document_source, set_aside
from palaver.fit.loop import Interrupted
from palaver.models.documents import stream_run

N_DOCUMENTS, N_WORDS = 120, 30


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """A bag of words about two subjects; document 7 is empty."""
    folder = tmp_path_factory.mktemp("bags")
    draws = np.random.default_rng(0)
    lines = []
    for document in range(1, N_DOCUMENTS + 1):
        if document == 7:
            continue
        words = draws.integers(0, 15, 40) + 15 * (document % 2)
        numbers, counts = np.unique(words, return_counts=True)
        lines += [f"{document} {w + 1} {c}" for w, c in zip(numbers, counts, strict=True)]
    path = folder / "docword.tiny.txt"
    path.write_text("\n".join([str(N_DOCUMENTS), str(N_WORDS), str(len(lines)), *lines]) + "\n")
    (folder / "vocab.tiny.txt").write_text("".join(f"word{w}\n" for w in range(N_WORDS)))
    return path


def fit(bag, out, *more):
    return call("fit", "markov-m3", bag, "--stream", "--topics", 3, "--batch-size", 10,
                "--passes", 2, "--out", out, *more)  # fmt: skip


def arrays(folder):
    model = pv.load(folder)
    return {**model.chains_[0], "trace": model.trace_.to_numpy()}


@pytest.fixture(scope="module")
def run(bag, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    fit(bag, folder)
    return folder


def test_stream_judges_as_it_goes(run):
    curve = pl.read_csv(run / "curve.csv")
    assert curve.columns == ["documents", "perplexity", "seconds"]
    assert curve["documents"].is_sorted()
    assert curve.height >= 4
    assert curve["perplexity"][-1] < N_WORDS
    assert not (run / "stream").exists()
    model = pv.load(run)
    assert model.n_seen_ == curve["documents"][-1] == 2 * (N_DOCUMENTS - 1 - 12)


@pytest.mark.parametrize("steps", [1, 9])
def test_a_killed_stream_ends_in_the_same_bytes(bag, run, tmp_path, monkeypatch, steps):
    def die(self, *rest):
        found = looked(self, *rest)
        if self.model.n_sweeps_ >= steps:
            raise KeyboardInterrupt
        return found

    looked = stream_run._Watch.__call__
    out = tmp_path / "run"
    monkeypatch.setattr(stream_run._Watch, "__call__", die)
    with pytest.raises((AssertionError, KeyboardInterrupt)):
        fit(bag, out, "--checkpoint-seconds", 0)
    monkeypatch.undo()
    call("fit", "--resume", out)
    for name, value in arrays(run).items():
        np.testing.assert_array_equal(arrays(out)[name], value, err_msg=name)
    old, new = (pl.read_csv(f / "curve.csv").drop("seconds") for f in (run, out))
    assert old.equals(new)


def test_more_passes_can_be_added(bag, run, tmp_path):
    out = tmp_path / "run"
    call("fit", "markov-m3", bag, "--stream", "--topics", 3, "--batch-size", 10, "--out", out)
    call("fit", "--resume", out, "--passes", 2)
    assert pv.load(out).n_seen_ == pv.load(run).n_seen_
    assert pl.read_csv(out / "curve.csv")["documents"].is_sorted()
    assert "continues as it began" in fails("fit", "--resume", out, "--batch-size", 5)


def test_ctrl_c_saves_the_stream(bag, run, tmp_path):
    """A request to stop ends after the step; the checkpoint continues to the same end."""
    out = tmp_path / "run"
    plan = {"passes": 2, "batch_size": 10}
    model = pv.MarkovM3(3)
    fit_stream.begin(out, model, bag, {"stream": plan})
    steps = []

    def tell(report):
        steps.append(report)
        if len(steps) == 5:
            signal_self()

    with pytest.raises(Interrupted, match="documents"):
        stream_run.learn_stream(
            model, document_source(bag), out, stream_run.StreamPlan(**plan), tell=tell
        )
    call("fit", "--resume", out)
    for name, value in arrays(run).items():
        np.testing.assert_array_equal(arrays(out)[name], value, err_msg=name)


def signal_self():
    import os
    import signal

    os.kill(os.getpid(), signal.SIGINT)


def test_conversations_stream_from_the_run(tmp_path):
    path = tmp_path / "talk.jsonl"
    pv.sample(30).write(path)
    out = tmp_path / "run"
    call("fit", "online-lda", path, "--stream", "--topics", 3, "--judge", 20, "--out", out,
         "--set", "start_sweeps=2")  # fmt: skip
    assert (out / "data").is_dir()
    found = json.loads(call("perplexity", out, path, "--json"))
    assert 1 < found["perplexity"] < len(pv.load(out).vocabulary_)


def test_what_cannot_stream_is_refused(bag, tmp_path):
    out = tmp_path / "run"
    refused = fails("fit", "lda", bag, "--stream", "--out", out)
    assert "markov-m3, nested-hdp and online-lda do" in refused
    assert "are for --stream" in fails("fit", "online-lda", bag, "--passes", 2, "--out", out)
    assert "need all documents at once" in fails(
        "fit", "online-lda", bag, "--stream", "--min-count", 3, "--out", out
    )
    assert not out.exists()


def test_set_aside_is_spread_and_complete(bag):
    source = document_source(bag)
    rest, aside = set_aside(source, 10)
    parts = [aside, *rest.batches(7, 1, 0)]
    assert aside.n_documents == 10 or aside.n_documents == 9
    whole = pv.OnlineLDA(2)._documents(pv.read(bag))
    assert sum(part.n_tokens for part in parts) == whole.n_tokens
    memory, held = set_aside(document_source(whole), 10)
    assert memory.n_documents + held.n_documents == whole.n_documents
    assert sum(b.n_documents for b in memory.batches(50, 1, 0)) == memory.n_documents
    assert set_aside(document_source([whole]), 10)[1] is None


def test_perplexity(bag, run):
    found = json.loads(call("perplexity", run, bag, "--json"))
    assert found["documents"] == N_DOCUMENTS - 1
    assert found["words"] == 4 * (N_DOCUMENTS - 1)
    assert 10 < found["perplexity"] < 20  # fifteen words per subject
    assert "learned from" in call("perplexity", run)


def test_paths_and_graph(bag, run, tmp_path):
    call("paths", run, "--out", tmp_path / "x.csv")
    table = pl.read_csv(tmp_path / "x.csv")
    assert table.columns == ["id", "document", "position", "topic", "weight", "words",
                             "letter"]  # fmt: skip
    letters = pv.load(run).summary().classes(1)["class"].to_list()  # the first is A
    assert set(table.filter(letter="A")["topic"]) <= {letters[0]}
    assert table["letter"].null_count() == 0
    assert table.filter(position=1)["document"].n_unique() == N_DOCUMENTS - 1
    output = call("paths", run, "--n", 2)
    assert "more documents" in output
    for end in ("graphml", "gexf", "json"):
        call("transitions", run, "--out", tmp_path / f"x.{end}")
    assert len(json.loads((tmp_path / "x.json").read_text())["nodes"]) == 3
