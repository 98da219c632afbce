"""The infinite HMM as users meet it: inputs, growth, labels, the limit of states, resuming."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.encoding import cut_sentences, encode, encode_sentences, shards
from palaver.errors import CorpusError, ParameterError
from palaver.evaluate import homogeneity, v_measure
from palaver.kernels.chains import chain_posteriors
from palaver.models.states.emissions.messages import MessageEmissions
from palaver.models.states.emissions.words import WordEmissions
from palaver.models.states.engine import FIRST_STATES

SENTENCES = [
    ["the", "cat", "sat"], ["a", "dog", "ran"], ["the", "dog", "sat"], ["a", "cat", "ran"],
    ["the", "cat", "slept"], ["a", "dog", "slept"], ["cats", "ran"], ["dogs", "sat"],
] * 4  # fmt: skip
KINDS = {"the": 0, "a": 0, "cat": 1, "dog": 1, "sat": 2, "ran": 2, "slept": 2, "cats": 3, "dogs": 3}


def planted(n_sentences=400, n_states=6, n_words=60, seed=0, parameters=False):
    """Word numbers, lengths and states of an HMM in which each state has its own words."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(n_states, 0.3), n_states + 1)
    phi = np.zeros((n_states, n_words))
    size = n_words // n_states
    for k in range(n_states):
        phi[k, k * size : (k + 1) * size] = generator.dirichlet(np.ones(size))
    if parameters:
        return rows, phi
    lengths = generator.integers(3, 12, n_sentences)
    states, words = [], []
    for length in lengths:
        source = n_states
        for _ in range(length):
            source = generator.choice(n_states, p=rows[source])
            states.append(source)
            words.append(generator.choice(n_words, p=phi[source]))
    return np.array(words), lengths, np.array(states)


def planted_perplexity():
    """Of the planted words under the very parameters they were drawn from."""
    words, lengths, _ = planted()
    rows, phi = planted(parameters=True)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    densities = np.log(np.maximum(phi, 1e-290)).T[words]
    logs = chain_posteriors(densities, offsets, rows, np.empty_like(densities))
    return np.exp(-logs.sum() / len(words))


def estimates(model):
    return b"".join(
        np.ascontiguousarray(a).tobytes()
        for a in (model.states_, model.transitions_, model.class_words_, model.trace_.to_numpy())
    )


@pytest.fixture(scope="module")
def data():
    return planted()


@pytest.fixture(scope="module")
def fitted(data):
    words, lengths, _ = data
    model = pv.InfiniteHMM(
        one_state_per_word=False, n_sweeps=150, start_temperature=2.5, n_chains=4, random_state=1
    )
    return model.fit(words, lengths)


def test_finds_the_number_of_states_and_the_states(fitted, data):
    words, lengths, states = data
    assert 5 <= fitted.n_states_ <= 12  # some are split: merging takes a chain long
    assert homogeneity(fitted.states_, states) > 0.75
    assert fitted.states_.shape == states.shape
    trace = fitted.trace_.filter(pl.col("chain") == fitted.best_chain_)
    assert trace["states"][-1] == fitted.n_states_ == fitted.states_.max() + 1
    assert trace["new_states"].sum() > 0
    assert (np.diff(trace["states"]) < 0).any()  # states were dropped as well
    assert fitted.log_likelihoods(words, lengths).shape == lengths.shape
    np.testing.assert_allclose(fitted.transitions_.sum(axis=1), 1)
    assert (fitted.predict(words, lengths) == fitted.states_).mean() > 0.9
    assert fitted.perplexity(words, lengths) < 1.05 * planted_perplexity()


@pytest.fixture
def small_shards(monkeypatch):
    import palaver.encoding.shards as module

    monkeypatch.setattr(module, "SMALLEST_SENTENCES", 300)


@pytest.mark.parametrize("discount", [0.0, "learn"])
def test_same_bytes_for_any_number_of_workers_while_states_come_and_go(
    discount, data, small_shards
):
    words, lengths, _ = data
    params = {"n_sweeps": 25, "first_states": 2, "discount": discount, "n_chains": 2,
              "start": "random"}  # fmt: skip
    many = [
        estimates(pv.InfiniteHMM(**params, n_jobs=n_jobs).fit(words, lengths)) for n_jobs in (1, 3)
    ]
    assert many[0] == many[1]


def test_stopped_and_resumed_equals_uninterrupted(data, small_shards, tmp_path):
    words, lengths, _ = data
    params = {"n_sweeps": 30, "first_states": 2, "start": "random", "start_temperature": 2.0}
    whole = pv.InfiniteHMM(**params).fit(words, lengths)
    assert np.diff(whole.trace_["states"]).any()

    def stop(sweep, chains):
        return sweep == 17

    pv.InfiniteHMM(**params).fit(words, lengths, folder=tmp_path / "run", callbacks=[stop])
    resumed = pv.InfiniteHMM(**params, n_jobs=2).fit(words, lengths, folder=tmp_path / "run")
    assert estimates(resumed) == estimates(whole)
    again = pv.load(tmp_path / "run")
    np.testing.assert_array_equal(again.states_, whole.states_)
    np.testing.assert_array_equal(again.predict(words, lengths), whole.predict(words, lengths))


def test_all_inputs_are_the_same_sentences(tmp_path):
    path = tmp_path / "words.conll"
    path.write_text("".join("\n".join(f"{w} X" for w in s) + "\n\n" for s in SENTENCES))
    corpus = pv.read(path)
    params = {"one_state_per_word": False, "n_sweeps": 20, "first_states": 3}
    models = [pv.InfiniteHMM(**params).fit(given) for given in (SENTENCES, corpus)]
    models.append(pv.InfiniteHMM(**params).fit(encode(corpus, min_count=1)))
    index = models[0].vocabulary_.index
    ids = np.array([index[word] for words in SENTENCES for word in words])
    models.append(pv.InfiniteHMM(**params).fit(ids, [len(words) for words in SENTENCES]))
    for model in models[1:]:
        assert estimates(model) == estimates(models[0])
    new = [["the", "zebra", "sat"], [], ["dogs"]]
    assert models[0].predict(new).shape == (4,)
    assert models[0].predict_proba(new).shape == (4, models[0].n_states_)


def test_bad_inputs_say_what_is_wrong():
    model = pv.InfiniteHMM(n_sweeps=3)
    with pytest.raises(ParameterError, match="lists of words"):
        model.fit("the cat sat")
    with pytest.raises(ParameterError, match="sentence 1 must be a list of words"):
        model.fit([["a"], "b"])
    with pytest.raises(ParameterError, match="lengths: number 0 is 3"):
        model.fit(np.array([0, 1]), [3])
    with pytest.raises(ParameterError, match="whole numbers"):
        model.fit(np.array([0.5, 1]), [2])
    with pytest.raises(CorpusError, match="no words"):
        model.fit([[], []])
    with pytest.raises(CorpusError, match="known to the model"):
        model.fit(SENTENCES).perplexity([["zebra"]])
    with pytest.raises(ParameterError, match="sampler='dense' needs a fixed number of states"):
        pv.InfiniteHMM(sampler="dense").fit(SENTENCES)


def test_too_many_states_are_refused_with_advice():
    words, lengths, _ = planted(60)
    with pytest.raises(ParameterError, match=r"more than 30 states are needed .* raise max_states"):
        pv.InfiniteHMM(
            row_concentration=50.0,
            state_concentration=200.0,
            max_states=30,
            n_sweeps=20,
            one_state_per_word=False,
        ).fit(words, lengths)


@pytest.mark.parametrize("discount", ["learn", 0.5])
def test_a_discount_calls_for_no_more_states_than_are_used(discount):
    """Of the thousands of states above the smallest slice, those that matter are represented."""
    words, lengths, _ = planted(150)
    model = pv.InfiniteHMM(
        discount=discount, one_state_per_word=False, max_states=100, n_sweeps=15, first_states=10
    ).fit(words, lengths)
    assert model.n_states_ < 100


def test_from_one_to_hundreds_of_states():
    words, lengths, _ = planted(300, n_words=1200)
    params = {"max_states": 2000, "n_sweeps": 6, "start": "random"}
    few, many = (
        pv.InfiniteHMM(first_states=first, **params).fit(words, lengths) for first in (1, 500)
    )
    assert few.trace_["states"].max() < 10
    assert 200 < many.trace_["states"].min() <= many.trace_["states"].max() <= 500
    assert few.row_concentration_ < many.row_concentration_  # they follow the number of states
    assert few.state_concentration_ < many.state_concentration_ < 300
    for model in (few, many):
        assert model.n_states_ == model.trace_["states"][-1] == len(set(model.states_))
        assert model.trace_["log_joint"][-1] > model.trace_["log_joint"][0]


def test_partial_tags_bind_states():
    tags = [[None if i % 2 else f"T{KINDS[word]}" for i, word in enumerate(s)] for s in SENTENCES]
    model = pv.InfiniteHMM(n_sweeps=40).fit(SENTENCES, labels=tags)
    found = np.array(model.state_tags_)[model.states_]
    given = [tag for row in tags for tag in row]
    assert all(mine == tag for mine, tag in zip(found, given, strict=True) if tag is not None)
    assert set(model.state_tags_) <= {"T0", "T1", "T2", "T3"}


def test_a_dictionary_binds_words():
    dictionary = {"the": "D", "cat": ["N"], "dog": {"N", "V"}, "sat": "V", "zebra": "Z"}
    model = pv.InfiniteHMM(n_sweeps=40).fit(SENTENCES, labels=dictionary)
    found = np.array(model.state_tags_)[model.states_]
    flat = [word for words in SENTENCES for word in words]
    for word, tag in zip(flat, found, strict=True):
        if word in dictionary:
            assert tag in dictionary[word]
    assert set(model.state_tags_) <= {"D", "N", "V"}


def test_a_column_of_the_corpus_labels_words_or_messages(tmp_path):
    corpus = pv.sample(20)
    model = pv.InfiniteHMM(unit="message", n_sweeps=10).fit(corpus, labels="act")
    found = np.array(model.state_tags_)[model.states_]
    acts = corpus.table["act"].to_list()
    assert all(mine == act for mine, act in zip(found, acts, strict=True) if act is not None)
    model.save(tmp_path / "run")
    assert pv.load(tmp_path / "run").state_tags_ == model.state_tags_
    with pytest.raises(ParameterError, match="no column 'pos'"):
        pv.InfiniteHMM().fit(corpus, labels="pos")
    with pytest.raises(ParameterError, match="2 tags need at least as many states"):
        pv.InfiniteHMM(1, unit="message").fit(corpus, labels=["a", "b"] * (corpus.n_messages // 2)
                                              + ["a"] * (corpus.n_messages % 2))  # fmt: skip


def test_wrong_labels_are_refused():
    with pytest.raises(ParameterError, match="sentence 0 has 3 words but 1 labels"):
        pv.InfiniteHMM().fit(SENTENCES, labels=[["D"]] * len(SENTENCES))
    with pytest.raises(ParameterError, match="1 lists of labels for"):
        pv.InfiniteHMM().fit(SENTENCES, labels=[["D", "N", "V"]])
    with pytest.raises(CorpusError, match="no word of the dictionary"):
        pv.InfiniteHMM().fit(SENTENCES, labels={"zebra": "N"})
    with pytest.raises(CorpusError, match="at least one tag"):
        pv.InfiniteHMM().fit(SENTENCES, labels=[None] * len(SENTENCES))


def test_messages_have_states_of_their_own():
    corpus = pv.sample(60)
    model = pv.InfiniteHMM(unit="message", n_sweeps=40, start_temperature=2.0).fit(corpus)
    assert model.states_.shape == (corpus.n_messages,)
    assert 2 <= model.n_states_ < 60
    assert v_measure(corpus.table["act"].to_list(), model.states_.tolist()) > 0.15
    tokens = model.token_classes(corpus)
    assert tokens.columns == ["message", "token", "word", "class", "probability"]
    assert tokens.group_by("message").agg(pl.col("class").n_unique())["class"].max() == 1


def test_finite_and_infinite_say_what_they_are(fitted):
    facts = fitted.summary().facts
    assert facts["states"] == fitted.n_states_
    assert facts["levels"] >= 1
    trace = fitted.trace_.filter(pl.col("chain") == fitted.best_chain_)
    found = trace.select("row_concentration", "state_concentration")
    assert found.row(-1) == (fitted.row_concentration_, fitted.state_concentration_)
    assert found.n_unique() == trace.height  # drawn in every sweep
    for name in found.columns:  # six states, each followed by three or so
        assert 0.2 < found[name].median() < 10
    assert fitted.discount_ == 0
    assert fitted.sampler_ == "beam"
    words, lengths, _ = planted(50)
    finite = pv.InfiniteHMM(4, one_state_per_word=False, n_sweeps=5).fit(words, lengths)
    assert finite.sampler_ == "dense"
    assert finite.transitions_.shape == (5, 4)


def test_words_have_one_state_each_unless_something_else_is_asked_for(tmp_path):
    model = pv.InfiniteHMM().fit(SENTENCES)
    assert (model.sampler_, model.n_sweeps_) == ("collapsed", 40)
    flat = [word for words in SENTENCES for word in words]
    assert len(set(zip(flat, model.states_, strict=True))) == len(KINDS)
    model.save(tmp_path)
    assert pv.load(tmp_path).n_states_ == model.n_states_
    for params in ({"start": "words"}, {"sampler": "beam"}, {"one_state_per_word": False}):
        assert pv.InfiniteHMM(n_sweeps=2, **params).fit(SENTENCES).sampler_ == "beam"
    assert pv.InfiniteHMM(n_sweeps=2).fit(SENTENCES, labels={"the": "D"}).sampler_ == "beam"


def test_words_have_at_most_as_many_states_as_are_admitted():
    first = np.random.default_rng(0).integers(80, size=(400, 1))
    words = (first + np.arange(10)) % 80  # each word has a follower of its own
    found = [
        pv.InfiniteHMM(max_states=most, n_sweeps=6).fit(words.ravel(), [10] * 400).n_states_
        for most in (7, None, 1000)
    ]
    assert found == [7, 50, 80]


def test_numbers_of_words_have_no_forms(data):
    words, lengths, _ = data
    models = [
        pv.InfiniteHMM(n_sweeps=4, forms=forms).fit(words, lengths) for forms in (True, False)
    ]
    assert estimates(models[0]) == estimates(models[1])


def clusters(n=240, seed=0):
    generator = np.random.default_rng(seed)
    states = generator.integers(0, 4, n)
    means = 8.0 * np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    return means[states] + generator.normal(size=(n, 3)), states


@pytest.mark.parametrize("covariance", ["tied", "full", "diag"])
def test_vectors_find_their_number_of_states(covariance, tmp_path, monkeypatch):
    import palaver.encoding.shards as module

    monkeypatch.setattr(module, "SMALLEST_UTTERANCES", 60)
    X, states = clusters()
    models = [
        pv.GaussianHMM(None, covariance=covariance, n_sweeps=60, n_jobs=n).fit(X, [80] * 3)
        for n in (1, 2)
    ]
    model = models[0]
    assert 4 <= model.n_states_ == len(model.means_) <= FIRST_STATES
    assert homogeneity(model.states_, states) > 0.95  # from k-means, which splits but never mixes
    np.testing.assert_array_equal(models[1].means_, model.means_)
    assert model.transitions_.shape == (len(model.means_) + 1, len(model.means_))
    assert model.trace_["states"][-1] == len(model.means_)
    model.save(tmp_path)
    np.testing.assert_array_equal(pv.load(tmp_path).predict(X, [80] * 3), model.states_)


def test_states_without_a_number_need_a_prior_to_draw_new_ones_from():
    X, _ = clusters(60)
    with pytest.raises(ParameterError, match="n_states=None needs a strength above 0"):
        pv.GaussianHMM(None, strength=0.0).fit(X)


@pytest.mark.parametrize(("name", "value"), [("emission", "gaussian"), ("covariance", "diag")])
def test_a_model_of_words_has_no_parameters_of_vectors(name, value):
    with pytest.raises(TypeError, match=name):
        pv.InfiniteHMM(**{name: value})
    with pytest.raises(ParameterError, match=f"there is no parameter '{name}'"):
        pv.InfiniteHMM().set_params(**{name: value})


def test_states_that_are_found_are_as_pure_as_states_that_are_asked_for():
    X, states = clusters()
    found = pv.GaussianHMM(None, covariance="diag", n_sweeps=40).fit(X)
    given = pv.GaussianHMM(found.n_states_, covariance="diag", n_sweeps=40).fit(X)
    assert found.sampler_ == "beam"
    assert homogeneity(found.states_, states) >= homogeneity(given.states_, states) - 0.01


def test_vectors_of_a_corpus_need_no_number():
    model = pv.GaussianHMM(None, whiten=6, n_sweeps=8).fit(pv.sample(30))
    assert model.class_words_.shape == (len(model.means_), len(model.vocabulary_))
    assert model.summary().facts["states_used"] == len(model.means_)


def test_all_occurrences_of_a_word_start_together(data):
    words, lengths, _ = data
    engine = WordEmissions(60, 0.1, 0.1)
    arrays = engine.start(20, np.random.default_rng(0))
    encoded = encode_sentences(words, lengths)
    (shard,) = cut_sentences(encoded)
    states = engine.first(arrays, shard)
    for word in set(shard.tokens.tolist()):
        assert len(set(states[shard.tokens == word])) == 1
    assert len(set(states)) > 10
    assert MessageEmissions(60, 0.1, 0.1).first(arrays, shard) is None


@pytest.mark.parametrize("unit", ["word", "message"])
def test_a_message_of_unknown_words_has_no_class(unit):
    rows = {"conversation": ["c"] * 3, "text": ["the cat sat", "zzz qqq", "the zzz"]}
    corpus = pv.Corpus.from_polars(pl.DataFrame(rows))
    model = pv.InfiniteHMM(2, unit, n_sweeps=4).fit([["the", "cat", "sat"], ["the", "dog"]])
    table = model.annotate(corpus).table
    assert table["class"].is_null().to_list() == [False, True, False]
    assert model.shares(corpus, "conversation")["messages"][0] == 2


def test_one_state_per_word_takes_any_number_of_words(monkeypatch):
    monkeypatch.setattr(shards, "LARGEST", 500)  # beyond it, other models cut data into more parts
    data = pv.sample(40)
    model = pv.InfiniteHMM(n_sweeps=2, max_states=4).fit(data, show_progress=False)
    assert len(model.states_) > 4 * shards.LARGEST
