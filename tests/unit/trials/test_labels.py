"""A model against labels: levels, several labels per message, what is left out."""

import numpy as np
import polars as pl
import pytest
from support.planted import N_CLASSES, plant

import palaver as pv
from palaver.encoding import encode
from palaver.errors import ParameterError
from palaver.trials import judge
from palaver.trials.rivals import kmeans_tfidf


@pytest.fixture(scope="module")
def simulated():
    model = plant("m4", np.random.default_rng(2), background=0.2)
    model.seed_ = 1
    threads = model.simulate((40, 4, 30), random_state=3)
    classes = threads.table["token_classes"].to_list()
    counts = [np.bincount([k for k in row if k >= 0], minlength=N_CLASSES) for row in classes]
    main = [f"act {int(count.argmax())}" for count in counts]
    several = [[f"act {k}" for k in np.flatnonzero(count > 3)] for count in counts]
    return model, threads.with_columns(
        act=pl.Series(main),
        acts=pl.Series(several),
        few=pl.Series([act if i % 3 else None for i, act in enumerate(main)]),
        number=pl.Series(np.arange(threads.n_messages) / 7),
        nothing=pl.Series([None] * threads.n_messages, dtype=pl.String),
        other=pl.Series(np.arange(threads.n_messages)),
    )


def test_planted_labels_are_found(simulated):
    model, threads = simulated
    result = judge(model, threads, "act", n_sweeps=20, n_resamples=50)
    assert (result.n_labels, result.n_messages) == (4, 160)
    scores = result.scores.filter(level="messages")
    found = dict(scores.select("measure", "value").iter_rows())
    assert found["one_to_one"] > 0.8
    assert found["v_measure"] > 0.5
    better = scores["value"] - scores["random"]
    lower = scores["measure"].str.starts_with("vi")
    assert (better.filter(~lower) > 0).all()
    assert (better.filter(lower) < 0).all()
    rivals = {row["rival"]: row for row in result.rivals.to_dicts()}
    assert list(rivals) == ["k-means of tf-idf", "has a ?", "one class", "random"]
    texts = threads.table["text"]
    means = pv.evaluate.v_measure(kmeans_tfidf(texts, N_CLASSES, 0), threads.table["act"])
    assert rivals["k-means of tf-idf"]["v_measure"] == pytest.approx(means)
    assert rivals["one class"]["vi"] == pytest.approx(
        pv.evaluate.entropies(np.zeros(160), threads.table["act"]).gold
    )
    words = result.scores.filter(level="words")
    assert (words["low"] < words["high"]).all()
    assert set(result.classes["label"]) == {f"act {k}" for k in range(4)}


def test_levels_are_what_the_plain_functions_give(simulated):
    model, threads = simulated
    result = judge(model, threads, "acts", n_sweeps=20, n_resamples=20)
    encoded = encode(threads, model.vocabulary_)
    classes = model.token_classes(encoded, 20)["class"].fill_null(-1).to_numpy()
    tokens = pv.evaluate.labelled_tokens(classes, encoded.message_offsets, threads.table["acts"])
    expected = pv.evaluate.variation_of_information(tokens.found, tokens.gold)
    vi = result.scores.filter(measure="vi")["value"]
    assert vi[0] == pytest.approx(expected)
    largest = model.transform(encoded, 20).argmax(axis=1)
    pairs = pv.evaluate.message_labels(threads.table["acts"])
    expected = pv.evaluate.variation_of_information(largest[pairs.message], pairs.label)
    assert vi[1] == pytest.approx(expected)


def test_messages_without_labels_are_left_out(simulated):
    model, threads = simulated
    result = judge(model, threads, "few", n_sweeps=10, n_resamples=5)
    assert result.n_messages == 160 - 54


def test_columns_that_are_no_labels(simulated):
    model, threads = simulated
    for gold, message in (
        ("mood", "no column of labels 'mood'; there are .*act, acts, few"),
        ("text", "no column of labels 'text'"),
        ("number", "holds Float64"),
        ("nothing", "no message has a label"),
    ):
        with pytest.raises(ParameterError, match=message):
            judge(model, threads, gold)


@pytest.fixture(scope="module")
def tagged():
    """Sentences whose words have tags: the first letter of each word, upper case."""
    generator = np.random.default_rng(0)
    rows = []
    for _ in range(120):
        kinds = ("d", "n", "v", "d", "n")[: generator.integers(2, 6)]
        rows.append([f"{kind}{generator.integers(4)}" for kind in kinds])
    table = pl.DataFrame(
        {
            "text": [" ".join(words) for words in rows],
            "tokens": rows,
            "pos": [[word[0].upper() for word in words] for words in rows],
        }
    )
    return pv.Corpus.from_polars(table)


def test_tags_of_words_are_compared_word_by_word(tagged):
    model = pv.InfiniteHMM(n_states=3, n_sweeps=10).fit(tagged)
    result = judge(model, tagged, "pos", n_resamples=20)
    assert result.scores["level"].unique().to_list() == ["words"]
    tags = [tag for row in tagged.table["pos"] for tag in row]
    plain = pv.evaluate.v_measure(model.predict(tagged), tags)
    found = result.scores.filter(measure="v_measure")["value"][0]
    assert found == pytest.approx(plain)
    assert found > 0.9
    one = result.rivals.filter(rival="one class")["v_measure"][0]
    assert one == pytest.approx(0)


def test_tags_of_unknown_words_and_untagged_messages_are_left_out(tagged):
    known = tagged.table.with_columns(
        pos=pl.when(pl.int_range(pl.len()) % 5 == 0).then(None).otherwise("pos")
    )
    model = pv.InfiniteHMM(n_states=3, n_sweeps=10).fit(tagged)
    new = pl.DataFrame(
        {
            "text": ["zzz n1", "qqq"],
            "tokens": [["zzz", "n1"], ["qqq"]],
            "pos": [["D", "N"], ["V"]],
        }
    )
    mixed = pv.Corpus.from_polars(pl.concat([known.select(new.columns), new]))
    result = judge(model, mixed, "pos", n_resamples=20)
    assert result.scores.filter(measure="v_measure")["value"][0] > 0.9


def test_models_are_compared_by_the_tags_of_words(tagged):
    from palaver.trials import compare

    result = compare(
        tagged, ["infinite-hmm"], [3], gold="pos", replies=False, n_sweeps=10, n_chains=1
    )
    scores = dict(result.table.select("model", "v_measure").iter_rows())
    assert scores["infinite-hmm"] > 0.9
    assert scores["one class"] == pytest.approx(0)
