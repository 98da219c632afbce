"""Fits on a real Ray cluster on this machine: the same bytes, whichever workers die."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import pytest
from sklearn.base import clone

import palaver as pv
from palaver.encoding import Encoded, encode
from palaver.encoding.document_stream import BagOfWordsFile
from palaver.encoding.documents import Documents, documents_of
from palaver.errors import FormatError, ParameterError, StoreError, WorkersError
from palaver.models import MODELS, model_class
from palaver.models.documents.model import DocumentModel
from palaver.models.registry import TAGGERS, tagger_class
from palaver.parallel import ray as executors
from palaver.parallel.cluster import connect
from palaver.parallel.ray import RayExecutor
from palaver.parallel.wire import FilePart, in_files, packed, portable, received, unpacked

ray = pytest.importorskip("ray", reason="the extra ray is not installed")
pytestmark = pytest.mark.filterwarnings("default")

N_SHARDS = 3


@pytest.fixture(scope="module")
def executor():
    with RayExecutor(workers=2) as executor:
        yield executor


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    encode(pv.sample(60)).write(folder)
    return Encoded.open(folder)


@pytest.fixture(autouse=True)
def small_shards(monkeypatch):
    import palaver.encoding.documents as documents
    import palaver.encoding.shards as shards
    import palaver.models.taggers.hidden_backoff as hidden_backoff
    import palaver.models.taggers.linear as linear

    monkeypatch.setattr(linear, "SHARD_MESSAGES", 100)
    monkeypatch.setattr(shards, "SMALLEST", 2000)
    monkeypatch.setattr(shards, "SMALLEST_UTTERANCES", 100)
    monkeypatch.setattr(shards, "SMALLEST_SENTENCES", 2000)
    monkeypatch.setattr(documents, "SMALLEST", 2000)
    monkeypatch.setattr(hidden_backoff, "SHARD_TOKENS", 2000)


def make(name, **params):
    """A model whose sweeps go over several shards."""
    kind = model_class(name)
    known = {"tolerance": 0.0, "start_sweeps": 2, "whiten": 8}
    params |= {name: value for name, value in known.items() if name in kind.limits}
    if "sampler" in kind.limits:
        spread = {"parallel", "blocked", "beam"}.intersection(kind.limits["sampler"].options)
        params["sampler"] = spread.pop()
    return kind(**{"n_sweeps": 8, "random_state": 3, **kind.sized(3), **params})


def make_tagger(name):
    """A tagger with work for several workers."""
    params = {"hidden-backoff": {"n_states": 2}, "maxent": {"context": True}, "crf": {}}
    return tagger_class(name)(**params[name])


def estimates(model):
    """All learned numbers and the trace, to the bit."""
    arrays = [array for chain in model.chains_ for array in chain.values()]
    arrays.append(model.trace_.to_numpy())
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.mark.parametrize("name", MODELS)
def test_the_same_bytes_as_on_threads(name, data, executor):
    here = make(name, n_jobs=2, n_chains=2).fit(data)
    there = make(name, n_chains=2).fit(data, executor=executor)
    assert estimates(here) == estimates(there)


@pytest.mark.parametrize("name", [n for n in MODELS if issubclass(model_class(n), DocumentModel)])
def test_streams_give_the_same_bytes(name, data, executor):
    here = make(name).fit_stream(data, batch_size=100)
    there = make(name).fit_stream(data, batch_size=100, executor=executor)
    assert estimates(here) == estimates(there)


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    """The sample as a docword file with its words, and as a folder of documents."""
    folder = tmp_path_factory.mktemp("bag")
    documents = documents_of(pv.sample(60))
    documents.write(folder / "documents")
    counts = documents.matrix().tocoo()
    rows = [f"{d + 1} {w + 1} {c:.0f}" for d, w, c in zip(*counts.coords, counts.data, strict=True)]
    header = map(str, (*counts.shape, len(rows)))
    (folder / "docword.x.txt").write_text("\n".join([*header, *rows]))
    (folder / "vocab.x.txt").write_text("\n".join(documents.vocabulary.words) + "\n")
    return folder


@pytest.mark.parametrize("kind", ["docword.x.txt", "documents"])
def test_workers_read_a_stream(kind, bag, executor, monkeypatch):
    """The driver reads no batch; a worker that dies is followed by one that reads again."""
    model = make("online-lda").set_params(start_sweeps=0)  # these read the first documents
    here = model.fit_stream(bag / kind, batch_size=20)

    def read(*arguments):
        raise AssertionError("the driver reads the stream")

    def strike(step, info, shared):
        if step == 3:
            kill_process(executor, 0)

    monkeypatch.setattr(BagOfWordsFile, "_rows", read)
    monkeypatch.setattr(Documents, "take", read)
    monkeypatch.setattr("palaver.encoding.planned.BLOCK", 3000)
    there = clone(model).fit_stream(
        bag / kind, batch_size=20, executor=executor, callbacks=[strike]
    )
    assert here.n_sweeps_ > 4
    assert estimates(here) == estimates(there)


def test_what_a_worker_cannot_read_is_said(bag, executor, tmp_path):
    for name in ("docword.x.txt", "vocab.x.txt"):
        shutil.copy(bag / name, tmp_path)

    def lose(step, info, shared):
        (tmp_path / "docword.x.txt").unlink(missing_ok=True)

    with pytest.raises(FormatError, match="all machines of a cluster") as caught:
        make("online-lda").set_params(start_sweeps=0).fit_stream(
            tmp_path / "docword.x.txt", batch_size=20, executor=executor, callbacks=[lose]
        )
    assert "Traceback" not in str(caught.value)


@pytest.mark.parametrize("name", TAGGERS)
def test_a_tagger_gives_the_same_bytes(name, executor):
    corpus = pv.sample(60)
    here = make_tagger(name).fit(corpus)
    there = make_tagger(name).fit(corpus, executor=executor)
    assert estimates(here) == estimates(there)


def kill_actor(executor, number):
    ray.kill(executor._actors[number])


def kill_process(executor, number):
    os.kill(ray.get(executor._actors[number].ready.remote()), signal.SIGKILL)


@pytest.mark.parametrize("kill", [kill_actor, kill_process])
@pytest.mark.parametrize("name", ["m4", "gaussian-hmm"])
def test_a_lost_worker_changes_nothing(name, kill, data, executor):
    here = make(name, n_chains=2).fit(data)
    lost = []

    def strike(sweep, chains):
        if sweep in (1, 4):
            kill(executor, sweep % 2)
            lost.append(sweep)

    there = make(name, n_chains=2).fit(data, executor=executor, callbacks=[strike])
    assert lost == [1, 4]
    assert estimates(here) == estimates(there)


def test_workers_are_lost_in_the_middle_of_a_round(data, executor, monkeypatch):
    """Some of the round's statistics arrived before the loss and must not count twice."""
    here = make("m4", n_chains=2).fit(data)
    answers = []

    def unpack(parts):
        answers.append(1)
        if len(answers) in (3, 17):
            kill_actor(executor, len(answers) % 2)
        return unpacked(parts)

    monkeypatch.setattr(executors, "unpacked", unpack)
    there = make("m4", n_chains=2).fit(data, executor=executor)
    assert len(answers) == 8 * 2 * (N_SHARDS + 1)  # and the counts, once a chain
    assert estimates(here) == estimates(there)


@pytest.mark.parametrize("kill", [kill_actor, kill_process])
@pytest.mark.parametrize("name", ["m4", "infinite-hmm"])
def test_workers_are_lost_while_they_add_up_counts(name, kill, data, executor, monkeypatch):
    """The worker takes its counts of the round with it; all others keep theirs."""
    here = make(name, n_chains=2).fit(data)
    plain, totals = executor._total, []

    def total(*args, **options):
        totals.append(1)
        if len(totals) in (2, 5):
            kill(executor, len(totals) % 2)
        return plain(*args, **options)

    monkeypatch.setattr(executor, "_total", total)
    there = make(name, n_chains=2).fit(data, executor=executor)
    assert len(totals) == 8
    assert estimates(here) == estimates(there)


@pytest.mark.parametrize("name", ["lda", "m4", "block-hmm", "infinite-hmm"])
def test_workers_add_up_counts_in_a_tree(name, data, executor, monkeypatch):
    """Counts come back once a round, whatever else comes back for each shard."""
    back = []

    def unpack(parts):
        back.append({"word_class_counts", "word_counts"}.intersection(parts))
        return unpacked(parts)

    monkeypatch.setattr(executors, "unpacked", unpack)
    make(name, n_sweeps=2).fit(data, executor=executor)
    assert executor.traffic.passed > 0
    assert len(back) == 2 * (N_SHARDS + 1)
    assert sum(map(bool, back)) == 2


def test_the_ledger_is_renewed_and_recovers_from_states(data, executor, monkeypatch):
    monkeypatch.setattr(executors, "LONGEST_LEDGER", 3)
    here = make("m4").fit(data)
    rounds = []

    def strike(sweep, chains):
        rounds.append(len(executor._ledger.rounds))
        if sweep == 5:
            assert executor._ledger.states is not None
            kill_actor(executor, 0)

    there = make("m4").fit(data, executor=executor, callbacks=[strike])
    assert max(rounds) < 3
    assert estimates(here) == estimates(there)


def test_a_run_goes_on_from_threads_to_a_cluster(data, executor, tmp_path):
    """Checkpoints do not know where they were made."""
    whole = make("m4").fit(data)
    make("m4", n_sweeps=4).fit(data, folder=tmp_path / "run")
    half = make("m4").fit(data, folder=tmp_path / "run", executor=executor)
    assert half.n_sweeps_ == 8
    np.testing.assert_array_equal(whole.trace_.to_numpy(), half.trace_.to_numpy())


def test_without_room_for_another_worker_the_others_take_over(data, executor, monkeypatch):
    here = make("m4", n_chains=2).fit(data)
    monkeypatch.setattr(executors, "PATIENCE", 1.0)

    def strike(sweep, chains):
        if sweep == 2:
            kill_actor(executor, 0)
            monkeypatch.setattr(executor, "_start", larger_than_the_machine)

    def larger_than_the_machine(engine):
        return ray.remote(executors.Worker).options(num_cpus=10_000).remote()

    there = make("m4", n_chains=2).fit(data, executor=executor, callbacks=[strike])
    assert list(executor._actors) == [1]
    assert estimates(here) == estimates(there)


def test_a_cluster_that_always_fails_is_given_up(data, executor, monkeypatch):
    monkeypatch.setattr(executors, "MOST_TROUBLES", 2)

    class Doomed(executors.Worker):
        def sweep(self, *arguments):
            os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(executors, "Worker", Doomed)
    with (
        RayExecutor(workers=1) as doomed,
        pytest.raises(WorkersError, match=r"lost 2 times.*--resume"),
    ):
        make("m4").fit(data, executor=doomed)


def test_the_last_worker_is_lost_and_so_is_its_successor(data, executor, monkeypatch):
    class Stillborn(executors.Worker):
        def ready(self):
            os.kill(os.getpid(), signal.SIGKILL)

    def strike(sweep, chains):
        if sweep == 2:
            monkeypatch.setattr(executors, "Worker", Stillborn)
            kill_actor(alone, 0)

    with (
        RayExecutor(workers=1) as alone,
        pytest.raises(WorkersError, match=r"the last worker.*--resume"),
    ):
        make("lda").fit(data, executor=alone, callbacks=[strike])


def test_the_driver_is_killed_and_resumes(tmp_path):
    pv.sample(60).write(tmp_path / "threads.jsonl")
    run = [sys.executable, "-m", "palaver", "fit"]
    new = ["lda", tmp_path / "threads.jsonl", "--classes", "3", "--sweeps", "300",
           "--sampler", "parallel", "--checkpoint-seconds", "0.1", "--out"]  # fmt: skip
    cluster = ["--executor", "ray", "--workers", "1"]
    subprocess.run([*run, *new, tmp_path / "here"], check=True, capture_output=True)
    driver = subprocess.Popen([*run, *new, tmp_path / "there", *cluster])
    checkpoint = tmp_path / "there" / "checkpoint" / "manifest.json"
    while not checkpoint.exists() and driver.poll() is None:
        time.sleep(0.02)
    driver.kill()
    assert driver.wait() == -signal.SIGKILL, "the run ended before it could be killed"
    resume = ["--resume", tmp_path / "there", *cluster]
    subprocess.run([*run, *resume], check=True, capture_output=True)
    here, there = pv.load(tmp_path / "here"), pv.load(tmp_path / "there")
    assert estimates(here) == estimates(there)


def test_what_is_mapped_from_files_is_not_sent(data):
    from palaver.encoding import cut

    shard = cut(data)[1]
    sent = portable(shard)
    assert isinstance(sent.tokens, FilePart)
    back = received(sent)
    np.testing.assert_array_equal(back.tokens, shard.tokens)
    assert back.first_token == shard.first_token
    assert back.tokens.flags.writeable


def test_what_was_fetched_is_found_where_the_cache_is_elsewhere(data, tmp_path, monkeypatch):
    encode(pv.sample(60)).write(tmp_path / "shared")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "driver"))
    sent = portable(Encoded.open((tmp_path / "shared").as_uri()).tokens)
    shutil.rmtree(tmp_path / "driver")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "worker"))
    np.testing.assert_array_equal(received(sent), data.tokens)


def test_a_folder_that_takes_no_files_is_said(tmp_path):
    (tmp_path / "file").write_text("here")
    with pytest.raises(StoreError, match="part of the path is a file"):
        in_files({"tokens": np.arange(2000)}, tmp_path / "file" / "0")
    few = {"tokens": np.arange(9)}
    assert in_files(few, tmp_path / "file" / "0")["tokens"] is few["tokens"]  # which are sent


def leaves(value):
    """All that a record holds, whatever it is nested in."""
    if isinstance(value, FilePart) or not (isinstance(value, dict) or hasattr(value, "__dict__")):
        yield value
        return
    for part in (value if isinstance(value, dict) else vars(value)).values():
        yield from leaves(part)


@pytest.mark.parametrize("name", ["gaussian-hmm", "markov-m3", *TAGGERS])
def test_data_in_memory_are_read_from_a_shared_folder(name, data, executor, tmp_path, monkeypatch):
    """Of vectors, documents and labelled sentences the driver sends only where they are."""
    sent = []

    def send(shard):
        sent.append(portable(shard))
        return sent[-1]

    monkeypatch.setattr(executors, "portable", send)
    monkeypatch.setattr(executor, "folder", tmp_path / "shared")
    given, here = data, make(name) if name in MODELS else make_tagger(name)
    if name not in MODELS:
        given = pv.sample(60)
    there = clone(here).fit(given, executor=executor)
    assert estimates(here.fit(given)) == estimates(there)
    assert len(sent) > 1
    parts = [part for shard in sent for part in leaves(shard)]
    assert sum(isinstance(part, FilePart) for part in parts) > 1
    assert not [p for p in parts if isinstance(p, np.ndarray) and p.size > 1000]
    assert list((tmp_path / "shared").rglob("*.npy"))
    executor._remove_files()
    assert not (tmp_path / "shared").exists()


def test_a_corpus_behind_a_url_is_fetched_by_each_machine(data, tmp_path, monkeypatch):
    import shutil
    import tempfile

    from palaver.encoding import cut

    pytest.importorskip("fsspec")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "cache"))
    data.write(tmp_path / "data")
    url = (tmp_path / "data").as_uri()
    sent = portable(cut(Encoded.open(url))[1])
    assert sent.tokens.url == url
    shutil.rmtree(tmp_path / "cache")  # as on a machine that has not seen it
    np.testing.assert_array_equal(received(sent).tokens, cut(data)[1].tokens)
    with pytest.raises(StoreError, match="cannot be read"):
        Encoded.open((tmp_path / "nothing").as_uri())


def test_counts_travel_as_the_cells_in_use():
    dense = np.arange(4000, dtype=np.int32).reshape(2, 2000)
    sparse = np.zeros((50, 100), np.int32)
    sparse[7, 3] = 5
    sparse[49, 99] = -2_000_000_000
    floats = np.zeros(5000)
    empty = np.zeros(2000, np.uint64)
    given = {"dense": dense, "sparse": sparse, "floats": floats, "empty": empty}
    parts = packed(given)
    assert parts["dense"].gaps is None
    assert parts["sparse"].nbytes < 100
    assert parts["dense"].nbytes < dense.nbytes
    assert parts["floats"] is floats
    for name, array in unpacked(parts).items():
        np.testing.assert_array_equal(array, given[name])
        assert array.dtype == given[name].dtype
        assert array.flags.writeable


def test_parameters_of_the_executor():
    with pytest.raises(ParameterError, match="at least 1"):
        RayExecutor(workers=0)


def test_without_an_address_a_cluster_of_its_own_is_started():
    """It does not join a cluster that somebody else runs here, or that RAY_ADDRESS names."""
    calls = []

    class Library:
        @staticmethod
        def init(*arguments, **options):
            calls.append((arguments, options))

    connect(Library, 3, None)
    connect(Library, 3, "auto")
    assert calls[0][0] == ("local",)
    assert calls[0][1]["num_cpus"] >= 3
    assert calls[1][1]["address"] == "auto"
