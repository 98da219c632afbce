"""Comparing models: every number equals what the model itself reports."""

import numpy as np
import polars as pl
import pytest
from support.planted import plant

import palaver as pv
from palaver import evaluate
from palaver.errors import ParameterError
from palaver.trials import rivals
from palaver.trials.choose import DEFAULTS
from palaver.trials.compare import Comparison, _defaults, compare, unigram_perplexity
from palaver.trials.trial import hold_out


@pytest.fixture(scope="module")
def threads():
    model = plant("m4", np.random.default_rng(2), background=0.2)
    threads = model.simulate((100, 4, 15), random_state=3)
    classes = threads.table["token_classes"].list.eval(pl.element().filter(pl.element() >= 0))
    main = classes.list.eval(pl.element().mode().first()).list.first()
    return threads.with_columns(act=main.cast(pl.String))


@pytest.fixture(scope="module")
def comparison(threads):
    said = []
    result = compare(threads, ["m4", "lda", "gaussian-hmm"], [1, 4], gold="act", n_sweeps=40,
                     whiten=None, log=said.append, show_progress=False)  # fmt: skip
    assert said[1] == "m4, 4 classes (2 of 6)"
    return result


def test_every_model_and_what_needs_none_has_a_row(comparison):
    rows = comparison.table.select("model", "classes").rows()
    models = [(name, k) for name in ("m4", "lda", "gaussian-hmm") for k in (1, 4)]
    rivals = [("k-means of tf-idf", 1), ("k-means of tf-idf", 4), ("has a ?", 2), ("one class", 1),
              ("random", 1), ("random", 4)]  # fmt: skip
    assert rows == [*models, *rivals, ("unigram", None), ("random message", None),
                    ("previous message", None), ("first message", None)]  # fmt: skip
    assert comparison.n_models == len(models)
    assert comparison.n_conversations == 25
    assert "25 held-out" in repr(comparison)


def test_numbers_are_those_of_the_models(comparison, threads):
    parts = hold_out(threads, 0.25, 0)
    model = pv.M4(n_classes=4, n_sweeps=40, n_chains=2, random_state=0).fit(parts.train)
    row = comparison.table.row(1, named=True)
    assert row["perplexity"] == pytest.approx(model.perplexity(parts.test, n_particles=200))
    paper = model.perplexity(parts.test, "paper", n_sweeps=100)
    assert row["perplexity_paper"] == pytest.approx(paper)
    found = model.reconstruct(parts.test_corpus, n_sweeps=200, n_restarts=2)["parent"]
    right = (found.eq_missing(parts.test_corpus.table["reply_to"])).mean()
    assert row["replies"] == pytest.approx(right)
    classes = model.message_classes(parts.test)
    labels = parts.test_corpus.table["act"]
    scores = evaluate.clustering_scores(classes, labels)
    for measure in ("vi", "v_measure", "f1", "one_to_one"):
        assert row[measure] == pytest.approx(scores[measure])
    assert row["coherence"] == pytest.approx(model.coherence(parts.both)["coherence"].mean())
    assert row["seconds"] > 0
    assert row["words_per_second"] > 1000


def test_the_best_row_and_what_is_beyond_noise(comparison):
    models = comparison.table.head(6)
    for measure, pick in (("perplexity", "arg_min"), ("replies", "arg_max"), ("f1", "arg_max")):
        best = getattr(models[measure], pick)()
        assert models[f"{measure}_p"][best] is None
        others = models.filter(pl.int_range(6) != best)
        judged = others.filter(pl.col(measure).is_not_null())
        assert judged[f"{measure}_p"].null_count() == 0
    one, four = models["perplexity"][0], models["perplexity"][1]
    assert four < one
    assert models["perplexity_p"][0] < 0.05  # planted classes are not noise
    assert models["vi"][1] < comparison.table.filter(model="random", classes=4)["vi"][0]


def test_a_stopped_comparison_goes_on(threads, tmp_path, monkeypatch):
    from palaver.trials import trial

    plan = {"gold": "act", "n_sweeps": 6, "show_progress": False}
    whole = compare(threads, ["m4", "block-hmm"], [2], **plan)
    # stopped in the second fit, after its third sweep
    fit = pv.BlockHMM.fit

    def stopped(model, *data, callbacks, **options):
        def stop(sweep, chains):
            if sweep == 3:
                raise KeyboardInterrupt

        return fit(model, *data, callbacks=[*callbacks, stop], checkpoint_seconds=0, **options)

    monkeypatch.setattr(pv.BlockHMM, "fit", stopped)
    with pytest.raises(KeyboardInterrupt):
        compare(threads, ["m4", "block-hmm"], [2], folder=tmp_path, **plan)
    monkeypatch.setattr(pv.BlockHMM, "fit", fit)
    monkeypatch.setattr(pv.M4, "fit", None)  # it is not fitted again
    done = []
    timed = trial._timed_fit
    monkeypatch.setattr(trial, "_timed_fit", lambda *a: done.append(timed(*a)) or done[-1])
    resumed = compare(threads, ["m4", "block-hmm"], [2], folder=tmp_path, n_jobs=2, **plan)
    measured = ["seconds", "words_per_second"]
    assert resumed.table.drop(measured).equals(whole.table.drop(measured))
    assert resumed.table["seconds"][:2].is_not_null().all()
    assert len(done) == 1
    assert not list(tmp_path.rglob("checkpoint")), "nothing is left that nobody needs"
    again = compare(threads, ["m4", "block-hmm"], [2], folder=tmp_path, **plan)
    assert again.table.equals(resumed.table)
    # other data, other results
    monkeypatch.undo()
    other = threads.with_columns(act=threads.table["act"].reverse())
    assert (
        compare(other, ["block-hmm"], [2], folder=tmp_path, **plan).table["vi"][0]
        != (resumed.table["vi"][1])
    )


def test_sentences_and_conversations_are_compared_too(threads):
    plan = {"gold": "act", "n_sweeps": 3, "n_chains": 1, "show_progress": False}
    found = compare(threads, ["m4"], [2], unit="sentence", **plan).table
    assert found["perplexity"][0] > 1
    found = compare(threads, ["online-lda"], [2], unit="conversation", **plan).table
    assert found["vi"][0] > 0


def test_models_without_words_are_judged_by_labels_alone(comparison):
    row = comparison.table.filter(model="gaussian-hmm", classes=4).row(0, named=True)
    assert row["perplexity"] is row["replies"] is row["stability"] is None
    assert 0 <= row["vi"] < 4


def test_baselines(comparison, threads):
    parts = hold_out(threads, 0.25, 0)
    table = comparison.table
    expected = evaluate.thread_baselines(parts.test.parents, parts.test.conversation_offsets)
    random = table.filter(model="random message")["replies"][0]
    assert random == pytest.approx(expected["random"])
    assert table.filter(model="first message")["replies"][0] == pytest.approx(expected["first"])
    unigram = table.filter(model="unigram")["perplexity"][0]
    counts = np.bincount(parts.train.tokens)
    logs = [np.log(counts[word] / counts.sum()) for word in parts.test.tokens]
    assert unigram == unigram_perplexity(parts) == pytest.approx(np.exp(-np.mean(logs)))


def test_rivals_are_judged_like_models(comparison, threads):
    parts = hold_out(threads, 0.25, 0)
    table, labels = comparison.table, parts.test_corpus.table["act"]
    texts = [part.table["text"] for part in (parts.train_corpus, parts.test_corpus)]
    expected = {
        ("k-means of tf-idf", 4): rivals.kmeans_tfidf(texts[0], 4, 0, new=texts[1]),
        ("one class", 1): rivals.one_class(len(labels)),
        ("random", 4): evaluate.random_classes(len(labels), 4, 0),
    }
    for (name, classes), found in expected.items():
        row = table.filter(model=name, classes=classes).row(0, named=True)
        scores = evaluate.clustering_scores(found, labels)
        for measure in ("vi", "v_measure", "f1", "one_to_one"):
            assert row[measure] == pytest.approx(scores[measure])
        assert row["v_measure_low"] <= row["v_measure"] <= row["v_measure_high"]


def test_what_a_rival_beats_is_known():
    rows = [("m4", 5, 3.0, 0.3, 0.4, 0.4), ("lda", 5, 2.9, 0.2, 0.5, 0.3),
            ("k-means of tf-idf", 5, 2.8, 0.25, 0.45, 0.5), ("one class", 1, 1.5, 0.0, 0.4, 0.2),
            ("unigram", None, None, None, None, None)]  # fmt: skip
    names = ["model", "classes", "vi", "v_measure", "f1", "one_to_one"]
    table = pl.DataFrame(rows, names, orient="row")
    # V and F1 are the models' own
    assert Comparison(table, 2, 9, "act").beaten() == {
        "vi": "one class", "one_to_one": "k-means of tf-idf"
    }  # fmt: skip
    # a draw is not enough
    drawn = table.with_columns(v_measure=pl.lit(0.3))
    assert Comparison(drawn, 2, 9, "act").beaten()["v_measure"] == "k-means of tf-idf"


def test_without_labels_and_mistakes(threads):
    result = compare(threads, ["lda"], [2], n_sweeps=6, n_chains=1, show_progress=False)
    assert result.table["vi"].null_count() == result.table.height
    assert result.table.filter(model="random").height == 0
    assert result.beaten() == {}
    for arguments, params, message in (
        (([], [2]), {}, "at least one model"),
        ((["m5"], [2]), {}, "there is no model 'm5'"),
        ((["lda"], [0]), {}, "n_classes must be"),
        ((["lda"], [2]), {"speed": 1}, "none of the models has a parameter 'speed'"),
        ((["lda"], [2]), {"gold": "mood"}, "no column of labels 'mood'"),
    ):
        with pytest.raises(ParameterError, match=message):
            compare(threads, *arguments, **params)


def test_the_model_of_acts_is_compared_with_its_own_settings(threads):
    """Its searches are joined, so that their number is part of the model."""
    assert _defaults("acts") == {}
    assert _defaults("m4") == DEFAULTS
    result = compare(threads, ["acts", "lda"], [3], gold="act", n_sweeps=6, n_chains=2,
                     show_progress=False)  # fmt: skip
    row = result.table.row(0, named=True)
    assert (row["model"], row["classes"], row["perplexity"]) == ("acts", 3, None)
    assert 0 <= row["v_measure"] <= 1
