"""What every model of the registry must do, whoever wrote it."""

import functools
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import polars as pl
import pytest
from sklearn.base import clone

import palaver as pv
from palaver import store
from palaver.encoding import encode
from palaver.errors import CorpusError, NotFittedError, ParameterError, StoppedError, StoreError
from palaver.fit import Interrupted
from palaver.models import model_class, registry
from palaver.models.documents.model import DocumentModel
from palaver.models.words.model import ThreadModel

#: Models to copy are tested like the others.
MODELS = registry.MODELS | registry.EXAMPLES
SMALL = {"n_sweeps": 12, "random_state": 1}
WORDED = [name for name in MODELS if issubclass(model_class(name), ThreadModel)]
OF_DOCUMENTS = [name for name in MODELS if issubclass(model_class(name), DocumentModel)]


def extras(name):
    """Parameters that make a fit short, yet take it through all of its phases."""
    extra = {"tolerance": 0.0, "start_sweeps": 2, "whiten": 8}
    return {k: v for k, v in extra.items() if k in model_class(name).limits}


def ways(name):
    """How a model can be fitted, as parameters."""
    if "sampler" not in model_class(name).limits:
        return [{}]
    if name == "m4":  # of the paper, and the default
        return [
            {"sampler": sampler, "transition": transition}
            for transition in ("softmax", "dirichlet")
            for sampler in ("collapsed", "parallel")
        ]
    return [{"sampler": sampler} for sampler in model_class(name).limits["sampler"].options[1:]]


def kinds(name):
    """The ways in which a model's data or priors differ most: each is tried everywhere."""
    if name in OF_DOCUMENTS:
        return [{"unit": unit} for unit in ("message", "conversation")]
    if name in WORDED:
        return [{"background": background} for background in (False, True, "message", "auto")]
    if name == "acts":
        return [{}, {"vectors": "corpus"}]
    if "covariance" not in model_class(name).limits:
        return [{}]
    covariances = ("full", "diag", "tied") if name == "gaussian-hmm" else ("full",)
    return [{"covariance": covariance} for covariance in covariances]


CASES = [
    pytest.param(
        name, {**way, **kind}, id="-".join(map(str, (name, *way.values(), *kind.values())))
    )
    for name in MODELS
    for way in ways(name)
    for kind in kinds(name)
]


@pytest.fixture(scope="module")
def corpus():
    return pv.sample(60)


@pytest.fixture(scope="module")
def encoded(corpus):
    return encode(corpus)


def make(name, n_classes=3, **params):
    kind = model_class(name)
    return kind(**{**SMALL, **extras(name), **kind.sized(n_classes), **params})


@pytest.fixture(scope="module")
def fitted(encoded):
    """Return a short fit of a model, made once, for tests that do not change it."""
    return functools.cache(lambda name: make(name).fit(encoded))


def estimates(model):
    arrays = [model.class_words_, model.class_shares_]
    arrays += [model.trace_.to_numpy(), *model.chains_[-1].values(), *model.draws_.values()]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)


@pytest.mark.parametrize(("name", "params"), CASES)
def test_fit_gives_distributions(name, params, corpus, encoded):
    model = make(name, **params).fit(encoded)
    np.testing.assert_allclose(model.class_words_.sum(axis=1), 1)
    np.testing.assert_allclose(model.class_shares_.sum(), 1)
    assert model.class_words_.shape == (3, len(encoded.vocabulary))
    assert model.trace_.height == 12 * getattr(model, "n_chains", 1)
    assert model.trace_["log_joint"].is_finite().all()
    shares = model.transform(corpus)
    by_conversation = params.get("unit") == "conversation"
    n_rows = corpus.n_conversations if by_conversation else corpus.n_messages
    assert shares.shape == (n_rows, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if params.get("background") is False:
        assert model.class_probability_ == 1
        assert model.token_classes(corpus, 4)["class"].null_count() == 0


@pytest.mark.parametrize(("name", "params"), CASES)
def test_same_bytes_for_any_number_of_workers(name, params, encoded):
    short = {**params, "n_sweeps": 6, "n_chains": 2}
    many = [estimates(make(name, **short, n_jobs=n_jobs).fit(encoded)) for n_jobs in (1, 2, 3)]
    assert many[0] == many[1] == many[2]


@pytest.fixture
def small_shards(monkeypatch):
    import palaver.encoding.documents as documents
    import palaver.encoding.shards as module

    monkeypatch.setattr(module, "SMALLEST", 500)
    monkeypatch.setattr(module, "SMALLEST_UTTERANCES", 40)
    monkeypatch.setattr(documents, "SMALLEST", 500)


@pytest.mark.parametrize("name", MODELS)
def test_same_bytes_for_any_number_of_workers_on_many_shards(name, encoded, small_shards):
    many = [
        estimates(make(name, **ways(name)[-1], n_jobs=n_jobs).fit(encoded)) for n_jobs in (1, 3)
    ]
    assert many[0] == many[1]


@pytest.mark.parametrize("name", MODELS)
def test_seeds_matter_and_repeat(name, encoded, fitted):
    first = estimates(fitted(name))
    assert estimates(make(name).fit(encoded)) == first
    assert estimates(make(name, random_state=2).fit(encoded)) != first


@pytest.mark.parametrize("name", MODELS)
def test_saved_and_loaded(name, corpus, encoded, tmp_path):
    model = make(name, n_chains=2).fit(encoded)
    model.save(tmp_path / "run")
    again = pv.load(tmp_path / "run")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    assert estimates(again) == estimates(model)
    np.testing.assert_array_equal(again.transform(corpus), model.transform(corpus))


@pytest.mark.parametrize(("name", "params"), CASES)
def test_interrupted_and_resumed_equals_uninterrupted(name, params, encoded, tmp_path):
    params = {**params, "n_chains": 2}
    whole = estimates(make(name, **params).fit(encoded))

    def interrupt(sweep, chains):
        if sweep == 7:
            os.kill(os.getpid(), signal.SIGINT)

    folder = tmp_path / "run"
    with pytest.raises(Interrupted, match=r"after sweep 7 of 1\d"):
        make(name, **params).fit(encoded, folder=folder, callbacks=[interrupt])
    resumed = make(name, n_jobs=2, **params).fit(encoded, folder=folder)
    assert estimates(resumed) == whole
    assert estimates(pv.load(folder)) == whole


@pytest.mark.parametrize("name", MODELS)
def test_a_finished_run_goes_on(name, encoded, tmp_path):
    make(name).fit(encoded, folder=tmp_path)
    longer = make(name, n_sweeps=20).fit(encoded, folder=tmp_path)
    kept = {} if name in OF_DOCUMENTS else {"burn_in": 6, "n_samples": 14}
    straight = make(name, n_sweeps=20, **kept).fit(encoded)
    assert longer.n_sweeps_ == 20
    assert estimates(longer) == estimates(straight)


@pytest.mark.parametrize("name", MODELS)
def test_a_run_is_not_continued_with_other_parameters_or_data(name, corpus, encoded, tmp_path):
    make(name).fit(encoded, folder=tmp_path)
    with pytest.raises(StoreError, match=f"{model_class(name).size_parameter} = 3, not 4"):
        make(name, n_classes=4).fit(encoded, folder=tmp_path)
    with pytest.raises(StoreError, match="data"):
        make(name).fit(encode(pv.sample(30)), folder=tmp_path)
    with pytest.raises(StoreError, match="data"):  # the same texts, other words of them
        make(name).fit(encode(corpus, min_count=3), folder=tmp_path)


@pytest.mark.parametrize("name", ["lda", "gaussian-hmm", "online-lda"])
def test_numbers_of_numpy_are_kept_as_pythons(name, encoded, tmp_path):
    make(name, n_sweeps=np.int64(12), n_classes=np.int64(3)).fit(encoded, folder=tmp_path)
    assert estimates(pv.load(tmp_path)) == estimates(make(name).fit(encoded, folder=tmp_path))


@pytest.mark.parametrize("name", ["lda", "online-lda"])
def test_a_fit_that_is_stopped_before_it_has_learned_anything(name, encoded):
    with pytest.raises(StoppedError, match=r"stopped after 1 .*allow more time"):
        make(name).fit(encoded, callbacks=[lambda *_: True])


@pytest.mark.parametrize("name", [name for name in MODELS if name not in OF_DOCUMENTS])
def test_little_time_gives_a_result_and_a_longer_fit_goes_on(name, encoded, tmp_path):
    """A time limit within the burn-in ends in a model; resuming does not see its last sweep."""
    model = make(name, max_seconds=1e-9).fit(encoded, folder=tmp_path)
    assert model.n_sweeps_ < 12
    assert np.isfinite(model.class_words_).all()
    whole = estimates(make(name).fit(encoded))
    assert estimates(make(name).fit(encoded, folder=tmp_path)) == whole


def test_what_a_folder_cannot_keep_shows_before_the_work(encoded, tmp_path):
    swept = []
    model = make("lda", max_seconds=float("inf"))
    with pytest.raises(StoreError, match="max_seconds cannot be saved"):
        model.fit(encoded, folder=tmp_path, callbacks=[lambda *_: swept.append(1)])
    assert not swept


CHILD = """
import json, sys, time, palaver as pv
from palaver.encoding import encode
from palaver.models import model_class
kind = model_class(sys.argv[1])
extra = json.loads(sys.argv[3])
model = kind(**kind.sized(3), n_sweeps=40, n_chains=2, n_jobs=2, random_state=1, **extra)
model.fit(encode(pv.sample(30)), folder=sys.argv[2], checkpoint_seconds=0.0,
          callbacks=[lambda s, c: print(s, flush=True) or time.sleep(0.05)])
"""


@pytest.mark.parametrize("name", MODELS)
def test_killed_at_a_random_moment_and_resumed_equals_uninterrupted(name, tmp_path):
    """That it does so from any moment is what the kills in test_loop.py show."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, name, str(tmp_path), json.dumps(extras(name))],
        stdout=subprocess.PIPE,
    )
    for _ in range(2):  # after its second sweep, the first one is in the checkpoint
        assert child.stdout.readline()
    time.sleep(np.random.default_rng(len(name)).uniform(0.0, 0.5))
    child.kill()
    child.communicate()
    assert child.returncode == -signal.SIGKILL, "the fit ended before it could be killed"
    assert store.is_stored(tmp_path / "checkpoint")
    encoded = encode(pv.sample(30))
    resumed = make(name, n_sweeps=40, n_chains=2).fit(encoded, folder=tmp_path)
    assert estimates(resumed) == estimates(make(name, n_sweeps=40, n_chains=2).fit(encoded))


@pytest.mark.parametrize("name", MODELS)
def test_scikit_learns_manners(name, encoded):
    model = make(name)
    assert clone(model).get_params() == model.get_params()
    assert "n_sweeps=12" in repr(model)
    assert model.set_params(**model.sized(2)).fit(encoded).class_shares_.shape == (2,)
    with pytest.raises(ParameterError, match="there is no parameter 'classes'"):
        model.set_params(classes=2)


@pytest.mark.parametrize("name", MODELS)
def test_limits_are_declared_for_every_parameter_and_checked(name, encoded):
    kind = model_class(name)
    assert set(kind.limits) == set(kind().get_params()) - {"random_state"}
    wrong = {kind.size_parameter: 0, "n_sweeps": 0}
    bad_values = {"sampler": "best", "unit": "page", "word_prior": -1, "share_prior": 0,
                  "transition_prior": 0, "row_concentration": 0, "scale": -1}  # fmt: skip
    wrong |= {name: bad for name, bad in bad_values.items() if name in kind.limits}
    for parameter, bad in wrong.items():
        with pytest.raises(ParameterError, match=f"{kind.__name__}: {parameter} must be"):
            make(name, **{parameter: bad}).fit(encoded)
    with pytest.raises(ParameterError, match="random_state"):
        make(name, random_state=-1).fit(encoded)


@pytest.mark.parametrize("name", MODELS)
def test_not_fitted(name, corpus):
    calls = [lambda m: m.top_words(), lambda m: m.transform(corpus), lambda m: m.summary(),
             lambda m: m.save("x")]  # fmt: skip
    if name in WORDED:
        calls.append(lambda m: m.simulate((1, 1, 1)))
    for call in calls:
        with pytest.raises(NotFittedError, match=r"call fit\(corpus\)"):
            call(make(name))


def tiny(*messages):
    rows = [{"conversation": c, "id": i, "reply_to": r, "text": t} for c, i, r, t in messages]
    return pv.Corpus.from_polars(
        pl.DataFrame(
            rows, schema=dict.fromkeys(("conversation", "id", "reply_to", "text"), pl.String)
        )
    )


EDGES = {
    "one message": tiny(("a", "1", None, "hello world")),
    "one word": tiny(("a", "1", None, "yes"), ("a", "2", "1", "yes yes"), ("b", "3", None, "yes")),
    "empty messages": tiny(("a", "1", None, ""), ("a", "2", "1", "so what"), ("a", "3", "2", "")),
    "single words": tiny(("a", "1", None, "x"), ("a", "2", "1", "y"), ("a", "3", "1", "x")),
}


@pytest.mark.filterwarnings("ignore:Acts. there are .* acts for")
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize(("name", "params"), CASES)
def test_edges(name, params, edge):
    for n_classes in (1, 2):
        model = make(name, n_classes, **params).set_params(n_sweeps=5).fit(EDGES[edge])
        assert model.trace_["log_joint"].is_finite().all()
        shares = model.transform(EDGES[edge], 4)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert np.isfinite(model.class_words_).all()


@pytest.mark.parametrize("name", MODELS)
def test_no_messages(name):
    with pytest.raises(CorpusError, match="no messages"):
        make(name).fit(tiny())
    with pytest.raises(CorpusError, match="no words"):
        make(name).fit(tiny(("a", "1", None, ""), ("a", "2", "1", " ")))


@pytest.mark.parametrize("name", MODELS)
def test_new_conversations_with_unknown_words(name, fitted):
    model = fitted(name)
    new = tiny(("n", "1", None, "xyzzy plugh"), ("n", "2", "1", "thanks, that worked!"))
    shares = model.transform(new)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    if name in ("lda", "m4", *OF_DOCUMENTS):  # others know a class from the messages around alone
        np.testing.assert_allclose(shares[0], model.class_shares_)
    if name in WORDED:
        assert model.token_classes(new)["word"].to_list() == ["thanks", ",", "that", "worked", "!"]


@pytest.mark.parametrize("name", MODELS)
def test_a_conversations_classes_do_not_depend_on_the_others(name, corpus, fitted):
    model = fitted(name)
    whole = model.transform(corpus)
    first = corpus.take(np.arange(10))
    np.testing.assert_array_equal(model.transform(first), whole[: first.n_messages])


@pytest.mark.parametrize("name", MODELS)
def test_tables(name, corpus, fitted, tmp_path):
    model = fitted(name)
    top = model.top_words(5)
    assert top.columns == ["class", "rank", "word", "probability", "distinctiveness"]
    assert top.height == 15
    for _, part in top.group_by("class"):
        assert part["probability"].is_sorted(descending=True)
    telling = model.top_words(5, by="distinctiveness")
    assert telling["distinctiveness"].min() >= top["distinctiveness"].min()
    tagged = model.annotate(corpus)
    shares = tagged.table.select("share_0", "share_1", "share_2").to_numpy()
    np.testing.assert_array_equal(tagged.table["class"], shares.argmax(axis=1))
    np.testing.assert_allclose(tagged.table["class_probability"], shares.max(axis=1))
    again = pv.read(tagged.write(tmp_path / "tagged.jsonl"))
    np.testing.assert_allclose(again.table["share_1"], shares[:, 1])
    classes = model.summary().classes(4)
    assert classes["share"].is_sorted(descending=True)


@pytest.mark.parametrize("name", WORDED)
def test_tokens_with_their_classes(name, corpus, encoded, fitted):
    tokens = fitted(name).token_classes(corpus)
    assert tokens.height == encoded.n_tokens
    assert tokens.columns == ["message", "token", "word", "class", "probability"]


@pytest.mark.parametrize("name", WORDED)
def test_simulated_threads_have_the_shape_asked_for(name, encoded, fitted):
    model = fitted(name)
    like = model.simulate(encoded, random_state=4)
    np.testing.assert_array_equal(like.parents, encoded.parents)
    lengths = like.table["tokens"].list.len().to_numpy()
    np.testing.assert_array_equal(lengths, np.diff(encoded.message_offsets))
    assert model.simulate(encoded, random_state=4).fingerprint == like.fingerprint
    assert model.simulate(encoded, random_state=5).fingerprint != like.fingerprint
    assert model.simulate((3, 4, 5)).n_messages == 12


@pytest.mark.parametrize("name", MODELS)
def test_shares_and_coherence(name, corpus, fitted):
    model = fitted(name)
    table = model.shares(corpus, by="speaker", top=4)
    assert table["group"].n_unique() == 5
    sums = table.group_by("group").agg(pl.col("share").sum())["share"]
    np.testing.assert_allclose(sums, 1)
    assert model.coherence(corpus)["coherence"].is_between(-1, 1).all()


@pytest.mark.parametrize("name", MODELS)
def test_input_is_left_alone(name, encoded):
    before = (encoded.tokens.copy(), encoded.parents.copy(), encoded.message_offsets.copy())
    model = make(name).fit(encoded)
    model.transform(encoded)
    for old, new in zip(
        before, (encoded.tokens, encoded.parents, encoded.message_offsets), strict=True
    ):
        np.testing.assert_array_equal(old, new)


@pytest.mark.parametrize("name", MODELS)
def test_mapped_data_gives_the_same_bytes(name, encoded, tmp_path):
    encoded.write(tmp_path / "data")
    mapped = pv.Encoded.open(tmp_path / "data")
    for way in ways(name):
        straight = estimates(make(name, **way).fit(encoded))
        assert estimates(make(name, **way).fit(mapped)) == straight
