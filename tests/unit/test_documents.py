"""Documents, their mini-batches, and what models of documents do with them."""

import gzip
import tempfile
from itertools import chain

import networkx as nx
import numpy as np
import polars as pl
import pytest
from scipy.sparse import csr_matrix

import palaver as pv
from palaver.encoding import encode
from palaver.encoding.document_stream import document_source
from palaver.encoding.documents import Documents, cut_documents, documents_of
from palaver.errors import CorpusError, FormatError, ParameterError
from palaver.fit import Schedule
from palaver.models.documents import stream
from palaver.models.documents.engine import MOST_TOKENS, TOKEN_SHARE, _tokens_of
from palaver.models.documents.heldout import hold_out_words
from palaver.models.documents.markov_m3.graph import topic_graph
from palaver.models.documents.online_lda import OnlineLDAEngine

QUICK = {"n_topics": 4, "truncation": 3, "start_sweeps": 2, "n_sweeps": 6, "tolerance": 0.0}


def planted(n_documents=60, seed=0, n_words=24, length=30):
    """Counts from four topics that have six words each; the first two and last two go together."""
    generator = np.random.default_rng(seed)
    topics = np.kron(np.eye(4), np.full(6, 1 / 6))
    pair = np.repeat(generator.integers(2, size=n_documents), 2).reshape(-1, 2) * 2 + [0, 1]
    shares = np.zeros((n_documents, 4))
    np.put_along_axis(shares, pair, generator.dirichlet([1.0, 1.0], n_documents), axis=1)
    return np.array([generator.multinomial(length, s @ topics) for s in shares], float)


@pytest.fixture(scope="module")
def counts():
    return planted()


@pytest.fixture(scope="module")
def model(counts):
    return pv.MarkovM3(**{**QUICK, "n_sweeps": 25}).fit(counts)


def test_documents_of_all_kinds_of_data(counts):
    matrix = csr_matrix(counts)
    for data in (counts, matrix, matrix.tocoo(), documents_of(counts)):
        found = documents_of(data)
        np.testing.assert_array_equal(found.matrix().toarray(), counts)
    assert documents_of(counts).fingerprint == documents_of(matrix).fingerprint
    assert documents_of(counts + 1).fingerprint != documents_of(counts).fingerprint
    np.testing.assert_array_equal(documents_of(counts).lengths, counts.sum(axis=1))


def test_documents_of_a_corpus_are_messages_or_conversations():
    corpus = pv.sample(20)
    encoded = encode(corpus)
    messages, whole = documents_of(corpus), documents_of(corpus, unit="conversation")
    assert (messages.n_documents, whole.n_documents) == (corpus.n_messages, 20)
    assert messages.n_tokens == whole.n_tokens == encoded.n_tokens
    first = encoded.tokens[: encoded.message_offsets[1]]
    expected = np.bincount(first, minlength=len(encoded.vocabulary))
    np.testing.assert_array_equal(messages.matrix()[0].toarray()[0], expected)


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        (np.array([[1.0, -2.0]]), CorpusError, "document 0, word 1 has -2"),
        (np.array([[1.0, np.nan]]), CorpusError, "document 0, word 1 has nan"),
        (np.array([["a"]]), ParameterError, "must be numbers"),
        ("text", ParameterError, "got str"),
    ],
)
def test_what_cannot_be_counts(data, error, words):
    with pytest.raises(error, match=words):
        documents_of(data)


def test_vocabularies(counts):
    words = [f"w{i}" for i in range(24)]
    model = pv.MarkovM3(**QUICK).fit(counts, vocabulary=words)
    assert set(model.top_words(2)["word"]) <= set(words)
    with pytest.raises(ParameterError, match="3 words, but the matrix 24 columns"):
        documents_of(counts, ["a", "b", "c"])
    with pytest.raises(ParameterError, match="24 words, but the matrix 23 columns"):
        model.transform(counts[:, 1:])


def test_written_and_mapped(counts, tmp_path):
    documents = documents_of(counts)
    documents.write(tmp_path / "d")
    again = Documents.open(tmp_path / "d")
    np.testing.assert_array_equal(again.matrix().toarray(), counts)
    part = again.take(np.array([5, 0, 5]))
    np.testing.assert_array_equal(part.matrix().toarray(), counts[[5, 0, 5]])


def test_shards_hold_every_document_once(counts):
    counts = counts.copy()
    counts[7:9] = 0
    shards = cut_documents(documents_of(counts), 50)
    assert len(shards) > 5
    assert sum(shard.n_documents for shard in shards) == 60
    rows = np.vstack([
        csr_matrix((s.counts, s.word_ids[s.words], s.offsets), (s.n_documents, 24)).toarray()
        for s in shards
    ])  # fmt: skip
    np.testing.assert_array_equal(rows, counts)


def write_bag(folder, counts, header=None, lines=None):
    rows, words = np.nonzero(counts)
    texts = [f"{d + 1} {w + 1} {int(counts[d, w])}" for d, w in zip(rows, words, strict=True)]
    header = header or [str(len(counts)), str(counts.shape[1]), str(len(texts))]
    path = folder / "docword.t.txt.gz"
    path.write_bytes(gzip.compress("\n".join([*header, *(lines or texts), ""]).encode()))
    (folder / "vocab.t.txt").write_text("\n".join(f"w{i}" for i in range(counts.shape[1])))
    return path


def test_a_bag_of_words_streams_as_it_is_read(counts, tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.encoding.document_stream._BLOCK", 200)
    path = write_bag(tmp_path, counts)
    source = document_source(path)
    assert source.n_documents == 60
    batches = list(source.batches(16, 2, 0))
    some = counts[counts.sum(axis=1) > 0]
    assert [b.n_documents for b in batches[: len(batches) // 2]] == [16, 16, 16, len(some) - 48]
    rows = np.vstack([batch.matrix().toarray() for batch in batches])
    np.testing.assert_array_equal(rows, np.vstack((some, some)))
    by_file = pv.MarkovM3(**QUICK).fit_stream(path, batch_size=16)
    by_hand = pv.MarkovM3(**QUICK).fit_stream(
        [some[i : i + 16] for i in range(0, len(some), 16)], total_documents=60,
        vocabulary=[f"w{i}" for i in range(24)],
    )  # fmt: skip
    np.testing.assert_array_equal(by_file.class_words_, by_hand.class_words_)


def test_folders_and_files_of_conversations_stream_too(counts, tmp_path, monkeypatch):
    documents_of(counts).write(tmp_path / "documents")
    straight = pv.MarkovM3(**QUICK).fit_stream(counts, batch_size=20)
    mapped = pv.MarkovM3(**QUICK).fit_stream(tmp_path / "documents", batch_size=20)
    np.testing.assert_array_equal(mapped.class_words_, straight.class_words_)
    corpus = pv.sample(15)
    encode(corpus).write(tmp_path / "encoded")
    file = corpus.write(tmp_path / "threads.jsonl")
    of_corpus, of_folder, of_file = (
        pv.OnlineLDA(3, unit="conversation").fit_stream(source, batch_size=5)
        for source in (corpus, tmp_path / "encoded", file)
    )
    assert of_corpus.n_sweeps_ == 3
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    url = (tmp_path / "documents").as_uri()
    fetched = pv.MarkovM3(**QUICK).fit_stream(url, batch_size=20)
    np.testing.assert_array_equal(fetched.class_words_, straight.class_words_)
    np.testing.assert_array_equal(of_folder.class_words_, of_corpus.class_words_)
    np.testing.assert_array_equal(of_file.class_words_, of_corpus.class_words_)


@pytest.mark.parametrize("lines", [["2 1 1", "1 1 1"], ["1 99 1"], ["1 1 0"], ["1 x 1"]])
def test_a_broken_bag_of_words(lines, tmp_path):
    path = write_bag(tmp_path, planted(2), ["2", "24", str(len(lines))], lines)
    with pytest.raises(FormatError, match="palaver check"):
        pv.MarkovM3(**QUICK).fit_stream(path)


def test_passes_shuffle_what_is_in_memory(counts):
    source = document_source(counts)
    first, second = (next(source.batches(60, 2, seed)).counts for seed in (0, 1))
    assert not np.array_equal(first, second)
    assert sum(b.n_documents for b in source.batches(25, 3, 0)) == 180


def test_streams_that_cannot_be(counts):
    model = pv.MarkovM3(**QUICK)
    with pytest.raises(ParameterError, match="passes=1"):
        model.fit_stream(iter([counts]), passes=2)
    with pytest.raises(ParameterError, match="yields nothing"):
        model.fit_stream([])
    with pytest.raises(ParameterError, match=r"learning_decay must be a number > 0\.5"):
        model.fit_stream(counts, learning_decay=0.4)
    with pytest.raises(CorpusError, match="no words"):
        model.fit_stream(np.zeros((3, 4)))
    with pytest.raises(ParameterError, match="topics must be positive, of shape"):
        model.fit_stream(counts, topics=np.ones((2, 2)))


def test_a_stream_learns_and_gives_the_same_bytes_for_any_number_of_threads(counts):
    streamed = [
        pv.MarkovM3(**QUICK, n_jobs=n_jobs).fit_stream(counts, batch_size=20, passes=12)
        for n_jobs in (1, 2)
    ]
    np.testing.assert_array_equal(streamed[0].class_words_, streamed[1].class_words_)
    test = planted(40, seed=9)
    unigram = counts.sum(axis=0) / counts.sum()
    assert streamed[0].perplexity(test) < 0.8 * np.exp(-(unigram * np.log(unigram)).sum())
    assert streamed[0].n_sweeps_ == 36
    assert streamed[0].n_seen_ == 720


def test_partial_fit_goes_on_also_after_saving(counts, tmp_path):
    straight = pv.MarkovM3(**QUICK)
    for start in range(0, 60, 20):
        straight.partial_fit(counts[start : start + 20], total_documents=60)
    stopped = pv.MarkovM3(**QUICK).partial_fit(counts[:20], total_documents=60)
    stopped.save(tmp_path / "m")
    again = pv.load(tmp_path / "m")
    again.partial_fit(counts[20:40], total_documents=60)
    again.partial_fit(counts[40:], total_documents=60)
    np.testing.assert_array_equal(again.class_words_, straight.class_words_)
    assert again.trace_.equals(straight.trace_)


def test_partial_fit_goes_on_from_the_best_chain(counts, tmp_path):
    model = pv.OnlineLDA(4, start_sweeps=0, n_sweeps=2, n_chains=4, random_state=4).fit(counts)
    assert model.best_chain_ != 0
    before = model.class_words_
    model.partial_fit(counts, rate=1e-9)  # next to nothing
    np.testing.assert_allclose(model.class_words_, before, atol=1e-6)
    assert (model.sampler_, model.fingerprint_, model.n_sweeps_) == ("stochastic", "", 1)
    model.save(tmp_path)
    again = pv.load(tmp_path).partial_fit(counts)
    assert again.trace_.equals(model.partial_fit(counts).trace_)
    assert again.n_sweeps_ == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_offset", -5.0),
        ("learning_decay", -2.0),
        ("total_documents", -5),
        ("rate", 0.0),
        ("rate", 2.0),
    ],
)
def test_partial_fit_checks_its_numbers(name, value, counts):
    model = pv.OnlineLDA(4)
    with pytest.raises(ParameterError, match=f"OnlineLDA: {name} must be"):
        model.partial_fit(counts, **{name: value})
    assert not hasattr(model, "chains_")


def test_a_batch_without_words_begins_nothing(counts):
    model = pv.OnlineLDA(4)
    with pytest.raises(CorpusError, match="no words"):
        model.partial_fit(np.zeros((3, 4)))
    assert not hasattr(model, "chains_")


def test_topics_and_their_graph_are_found(model):
    groups = [set(g["word"]) for _, g in model.top_words(6).group_by("class", maintain_order=True)]
    expected = [{str(w) for w in range(6 * k, 6 * k + 6)} for k in range(4)]
    assert sorted(map(sorted, groups)) == sorted(map(sorted, expected))
    order = [next(k for k in range(4) if groups[k] == e) for e in expected]
    steps = model.transitions_[:4][np.ix_(order, order)]
    assert steps[:2, 2:].sum() < 0.2  # topics that go together lead to each other


def test_bound_and_trace(model, counts):
    bound = model.trace_["log_joint"].to_numpy()
    assert (np.diff(bound) > -1e-10 * np.abs(bound[1:])).all()
    terms = ["words", "walk", "allocation", "sticks", "topics", "transitions"]
    np.testing.assert_allclose(model.trace_.select(pl.sum_horizontal(terms)).to_series(), bound)
    assert model.elbo_ == bound[-1]
    assert model.score(counts) > bound[-1]  # without the topics' own term


def test_transitions_have_intervals(model):
    table = model.transitions_table()
    assert table.height == 5 * 4
    assert set(table["source"]) == {"0", "1", "2", "3", "start"}
    between = (table["low"] < table["probability"]) & (table["probability"] < table["high"])
    assert between.mean() > 0.5  # the mean of a Beta may lie outside where it is close to 0 or 1
    assert (table["low"] <= table["high"]).all()


def test_a_fit_stops_when_the_bound_no_longer_rises(counts):
    model = pv.MarkovM3(**{**QUICK, "n_sweeps": 500, "tolerance": 1e-4}).fit(counts)
    assert 4 <= model.n_sweeps_ < 100


def test_settled():
    schedule = Schedule(100, 1, tolerance=0.01)
    assert not schedule.settled([[-50.0, -10.0, -10.0, -10.0]])
    assert schedule.settled([[-50.0, -10.0, -10.0, -10.0, -10.0]])
    assert schedule.settled([[-50.0, -10.25, -10.2, -10.1, -10.0]])  # 0.3 in three sweeps
    assert not schedule.settled([[-50.0, -10.35, -10.2, -10.1, -10.0]])
    assert not schedule.settled([[-50.0, -10.0, -10.0, -10.0, -10.0], [0, -10.0, -9.0, -8.0, -7.0]])
    assert not Schedule(100, 1).settled([[-10.0] * 9])


def test_words_are_split_exactly(counts):
    observed, heldout = hold_out_words(documents_of(counts), 0.9, random_state=3)
    total = observed.matrix().toarray() + heldout.matrix().toarray()
    np.testing.assert_array_equal(total, counts)
    lengths = counts.sum(axis=1)
    np.testing.assert_array_equal(observed.lengths, np.ceil(0.9 * lengths))
    other, _ = hold_out_words(documents_of(counts), 0.9, random_state=4)
    assert not np.array_equal(other.matrix().toarray(), observed.matrix().toarray())
    with pytest.raises(CorpusError, match="whole counts"):
        hold_out_words(documents_of(counts * 0.5))


def test_perplexity_is_that_of_the_mixture(model, counts):
    observed, heldout = hold_out_words(documents_of(counts), 0.5, random_state=1)
    shares, hidden = model.transform(observed), heldout.matrix().toarray()
    by_hand = np.exp(-np.sum(hidden * np.log(shares @ model.class_words_)) / hidden.sum())
    assert model.perplexity(counts, observed=0.5, random_state=1) == pytest.approx(by_hand)
    assert model.perplexity(observed, heldout) == pytest.approx(by_hand)
    assert by_hand < 14
    with pytest.raises(ParameterError, match="60 observed documents, but 59"):
        model.perplexity(counts, counts[1:])
    with pytest.raises(CorpusError, match="no words are held out"):
        model.perplexity(counts, observed=1.0)


def test_hidden_words_are_predicted(model, counts):
    subset = ["0", "6", "12", "18"]
    found = model.predict_words(counts, subset)
    np.testing.assert_allclose(found.sum(axis=1), 1)
    seen = counts.reshape(60, 4, 6)[:, :, 1:].sum(axis=2)
    some = seen.max(axis=1) > 20
    np.testing.assert_array_equal(found.argmax(axis=1)[some], seen.argmax(axis=1)[some])
    without = counts.copy()
    without[:, [0, 6, 12, 18]] = 0
    np.testing.assert_array_equal(model.predict_words(without, [0, 6, 12, 18]), found)
    with pytest.raises(ParameterError, match="'x' is not in the vocabulary"):
        model.predict_words(counts, ["x"])


def test_paths(model, counts):
    path = model.path(counts)
    assert path.columns == ["document", "position", "topic", "weight", "words"]
    assert path["document"].n_unique() == np.count_nonzero(counts.sum(axis=1))
    weights = path.group_by("document", maintain_order=True).agg(pl.col("weight").sum())
    assert weights["weight"].max() < 1  # some weight is left for positions without words
    assert weights["weight"].min() > 0.9
    assert 1 < path["position"].max() <= model.truncation
    first = path.filter(pl.col("position") == 1)
    shares = model.transform(counts)[first["document"].to_numpy()]
    heaviest = first["weight"].to_numpy() > 0.6
    np.testing.assert_array_equal(
        first["topic"].to_numpy()[heaviest], shares.argmax(axis=1)[heaviest]
    )


def test_graphs_are_read_by_others(tmp_path):
    names = ["a <b> & 'c'", 'quo"te', "\x01 ünder"]
    steps = np.array([[0.5, 0.5, 0.0], [0.05, 0.9, 0.05], [1 / 3, 1 / 3, 1 / 3]])
    graph = topic_graph(names, np.array([0.2, 0.3, 0.5]), steps, np.array([1.0, 0, 0]), 0.1)
    assert graph.edges.height == 6
    assert graph.edges["probability"].is_sorted(descending=True)
    read = nx.read_graphml(graph.write(tmp_path / "g.graphml"))
    assert read.is_directed()
    assert read.nodes["0"]["name"] == names[0]
    assert read.edges["2", "0"]["weight"] == pytest.approx(1 / 3)
    text = (
        graph.to_gexf().replace("gexf.net/1.3", "www.gexf.net/1.2draft").replace('"1.3"', '"1.2"')
    )
    (tmp_path / "g.gexf").write_text(text)
    read = nx.read_gexf(tmp_path / "g.gexf")  # knows 1.2 only
    assert read.nodes["1"]["label"] == names[1]
    assert read.edges["1", "1"]["weight"] == 0.9
    import json

    read = nx.node_link_graph(json.loads(graph.to_json()), edges="links")
    assert read.nodes[1]["share"] == 0.3
    assert read.number_of_edges() == 6
    with pytest.raises(ParameterError, match=r"\.graphml, \.gexf, \.json"):
        graph.write(tmp_path / "g.png")


@pytest.mark.parametrize(
    "edge",
    [
        np.array([[0.0, 3, 0], [0, 0, 0], [1, 0, 0]]),  # an empty document, an unused word
        np.array([[1.0, 0, 0]]),  # one document of one word
        np.array([[0.5, 0.25, 0], [0, 1.5, 2.5]]),  # fractional counts
        np.array([[1e6, 1.0, 0], [0, 1e6, 1e5]]),  # large ones
    ],
)
@pytest.mark.parametrize("n_topics", [1, 9])
def test_edges(edge, n_topics):
    model = pv.MarkovM3(n_topics=n_topics, n_sweeps=8, start_sweeps=2, truncation=4).fit(edge)
    assert np.isfinite(model.elbo_)
    assert np.isfinite(model.class_words_).all()
    shares = model.transform(edge)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    path = model.path(edge)
    np.testing.assert_array_equal(
        path["document"].unique().sort(), np.flatnonzero(edge.sum(axis=1))
    )
    assert path["position"].max() <= 4
    assert pv.MarkovM3(n_topics=n_topics).fit_stream(edge).n_sweeps_ == 1


def test_alpha_too_small_for_floating_point(counts):
    with pytest.raises(
        ParameterError, match=r"step_concentration must be at least 0\.005 for each of the 4"
    ):
        pv.MarkovM3(**QUICK, step_concentration=0.001).fit(counts)


def test_a_model_of_one_position_is_a_mixture(counts):
    model = pv.MarkovM3(**{**QUICK, "truncation": 1}).fit(counts)
    assert np.median(model.transform(counts).max(axis=1)) > 0.99


@pytest.mark.parametrize("model", [pv.OnlineLDA, pv.MarkovM3, pv.NestedHDP])
def test_a_start_by_gibbs_sampling_finds_the_planted_topics(model, counts):
    fits = {n: model(4, start_sweeps=n, n_sweeps=30).fit(counts) for n in (0, 60)}
    assert fits[60].elbo_ > fits[0].elbo_
    top = np.sort(fits[60].class_words_, axis=1)[:, -6:].sum(axis=1)
    assert (top > 0.95).all(), "each planted topic has six words of its own"
    assert fits[60].trace_.height == fits[60].n_sweeps_ <= 30, "the start is not in the trace"


def test_tokens_of_documents_are_rounded_and_not_endless():
    documents = documents_of(np.array([[0.2, 3.0, 0.0], [1e9, 2.6, 0.0], [0.0, 0.0, 0.0]]))
    (shard,) = cut_documents(documents)
    tokens, offsets = _tokens_of(shard)
    assert offsets.tolist() == [0, 4, 4 + MOST_TOKENS + 3, 4 + MOST_TOKENS + 3]
    assert np.bincount(shard.word_ids[tokens], minlength=3).tolist() == [1 + MOST_TOKENS, 6, 0]


@pytest.mark.parametrize("model", [pv.OnlineLDA, pv.MarkovM3, pv.NestedHDP])
def test_float_and_empty_documents_start_by_gibbs_sampling(model):
    data = np.array([[0.0, 0.0, 0.0], [0.5, 2.5, 0.0], [1.0, 0.0, 7.0]])
    fitted = model(3, start_sweeps=3, n_sweeps=3).fit(data)
    assert np.isfinite(fitted.elbo_)
    np.testing.assert_allclose(fitted.transform(data).sum(axis=1), 1)


def test_walks_grow_with_the_number_of_topics():
    for n_topics, positions, visits in ((10, 15, 10), (50, 15, 16), (100, 30, 31), (150, 45, 46)):
        engine = pv.MarkovM3(n_topics)._make_engine(5)
        assert (engine.n_positions, engine.n_visits) == (positions, visits)
    engine = pv.MarkovM3(100, truncation=7, max_visits=None)._make_engine(5)
    assert (engine.n_positions, engine.n_visits) == (7, 100)


def test_positions_without_words_stay_if_asked(counts):
    def longest(least_words):
        model = pv.MarkovM3(**{**QUICK, "truncation": 4, "least_words": least_words}).fit(counts)
        path = model.path(counts)
        return path["position"].max(), path.height

    assert longest(0.0)[1] > longest(0.5)[1] > longest(1e9)[1]
    assert longest(1e9)[0] == 1


def test_a_stream_begins_with_topics_of_its_first_documents(counts, monkeypatch):
    test = planted(40, seed=9)
    params = {**QUICK, "start_sweeps": 30}

    def perplexity(**changes):
        model = pv.MarkovM3(**{**params, **changes}).fit_stream(counts, batch_size=20)
        return model.perplexity(test)

    informed, random = perplexity(), perplexity(start_sweeps=0)
    assert informed < 0.95 * random
    assert informed == perplexity(n_jobs=2)
    # no more than is asked for is read ahead
    monkeypatch.setattr("palaver.models.documents.stream.START_DOCUMENTS", 20)
    read = []

    def batches():
        for first in range(0, 60, 20):
            read.append(first)
            yield counts[first : first + 20]

    seen = []
    pv.MarkovM3(**params).fit_stream(
        batches(), total_documents=60, callbacks=[lambda *_: seen.append(list(read))]
    )
    assert seen[0] == [0]
    assert len(seen) == 3


def test_long_documents_begin_a_stream_by_their_words(counts, monkeypatch):
    """A Gibbs sampler looks at every token: no more of them than it has time for."""
    documents = documents_of(counts)
    assert stream.n_start_documents(documents) == 60
    monkeypatch.setattr(stream, "START_TOKENS", float(documents.lengths[:7].sum()))
    assert stream.n_start_documents(documents) == 7
    monkeypatch.setattr(stream, "START_DOCUMENTS", 5)
    assert stream.n_start_documents(documents) == 5
    monkeypatch.setattr(stream, "START_DOCUMENTS", 4000)
    model, read = pv.MarkovM3(**{**QUICK, "start_sweeps": 5}), []

    def batches():
        for first in range(0, 60, 5):
            read.append(first)
            yield documents.part(first, first + 5)

    topics, again = stream.first_topics(model, batches(), None)
    assert read == [0, 5]
    found = topics.sum() - stream.START_SMOOTHING * topics.size  # words, and the prior
    assert 1 <= found / stream.START_TOKENS < 1 + TOKEN_SHARE + 1e-9
    assert sum(batch.n_documents for batch in again) == 60
    # nor the same ones again in a second pass
    monkeypatch.setattr(stream, "START_TOKENS", 1e9)
    read.clear()
    stream.first_topics(model, chain(batches(), batches()), None, total=60)
    assert read[-1] == 55
    assert len(read) == 12


def test_the_first_step_is_compiled_while_topics_are_found(counts, monkeypatch):
    swept = []
    real = OnlineLDAEngine.sweep

    def sweep(engine, shared, shard, state, key):
        swept.append((shared.phase, shard.n_documents))
        return real(engine, shared, shard, state, key)

    monkeypatch.setattr(OnlineLDAEngine, "sweep", sweep)
    stream.first_topics(pv.OnlineLDA(3, start_sweeps=4), iter([documents_of(counts)]), None)
    assert swept.count(("fresh", 1)) == 1
    assert swept.count(("tokens", 60)) == 4
    # what goes wrong ahead of time is left to the step itself
    monkeypatch.setattr(OnlineLDAEngine, "sweep", None)
    engine = pv.OnlineLDA(3)._make_engine(24)
    stream._compile_sweep(engine, engine.start(np.random.default_rng(0)), documents_of(counts))


@pytest.mark.parametrize("model", [pv.OnlineLDA, pv.MarkovM3, pv.NestedHDP])
@pytest.mark.parametrize(("given", "topics", "sweeps"), [("auto", 20, 100), ("auto", 150, 300),
                                                         (0, 150, 0), (7, 20, 7)])  # fmt: skip
def test_many_topics_begin_with_more_sweeps(model, given, topics, sweeps):
    made = model(topics, start_sweeps=given, n_sweeps=5)
    made.check_params()
    schedule = made._schedule()
    assert (schedule.burn_in, schedule.n_sweeps) == (sweeps, sweeps + 5)
    assert made._make_engine(3).start_sweeps == sweeps
