"""Choosing the number of classes."""

from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
from support.planted import plant

import palaver as pv
from palaver import evaluate
from palaver.errors import ParameterError
from palaver.trials.choose import choose, weigh
from palaver.trials.noise import against_best
from palaver.trials.trial import hold_out, stability


@pytest.fixture(scope="module")
def threads():
    model = plant("lda", np.random.default_rng(2), background=0.2)
    return model.simulate((120, 4, 15), random_state=3)


def test_the_planted_number_is_suggested(threads):
    choice = choose(threads, "lda", [1, 4, 9], n_sweeps=60, show_progress=False)
    table = choice.table
    assert table.columns == ["classes", "perplexity", "low", "high", "p_value", "coherence",
                             "stability", "weighed", "seconds"]  # fmt: skip
    assert table["classes"].to_list() == [1, 4, 9]
    assert choice.suggested == 4
    assert table["perplexity"][0] > table["perplexity"][1]
    assert table["p_value"][0] < 0.05
    assert table["p_value"].null_count() == 1  # the best itself
    assert table["coherence"].is_between(-1, 1).all()
    assert table["stability"].is_between(0, 1).all()
    assert "4 classes suggested" in repr(choice)
    assert table["weighed"].is_between(0, 1).all()
    assert "4 is best on balance" in choice.why
    assert choice.why in choice._repr_html_()
    assert choice.picture in choice._repr_html_()
    drawn = ElementTree.fromstring(choice.picture)
    assert len(drawn.findall(".//{*}polyline")) == 3
    marked = [c for c in drawn.findall(".//{*}circle") if c.get("r") == "6"]
    assert [c[0].text[:9] for c in marked] == ["4 classes"] * 3
    parts = hold_out(threads, 0.25, 0)
    model = pv.LDA(n_classes=4, n_sweeps=60, n_chains=2).fit(parts.train)
    assert table["perplexity"][1] == pytest.approx(model.perplexity(parts.test, n_particles=200))


def test_prediction_coherence_and_stability_are_weighed():
    table = pl.DataFrame(
        {"classes": [5, 10, 20], "perplexity": [500.0, 400.0, 398.0],
         "p_value": [0.001, 0.4, None], "coherence": [0.2, 0.15, 0.05],
         "stability": [0.8, 0.8, 0.4]}
    )  # fmt: skip
    five, ten, twenty = weigh(table).tolist()
    assert ten == pytest.approx((1 + 2 / 3 + 1) / 3)
    assert five == pytest.approx(2 / 3)
    assert twenty == pytest.approx(1 / 3)
    alike = table.with_columns(coherence=pl.lit(0.2), stability=pl.lit(None, pl.Float64))
    assert weigh(alike).tolist() == pytest.approx([0.5, 1, 1])


def test_parts_are_whole_conversations_with_one_vocabulary(threads):
    parts = hold_out(threads, 0.25, 0)
    assert parts.train.n_conversations + parts.test.n_conversations == 120
    assert parts.test.n_conversations == parts.test_corpus.n_conversations == 30
    assert parts.both.n_tokens == parts.train.n_tokens + parts.test.n_tokens
    assert parts.test.vocabulary is parts.train.vocabulary


def test_stability_is_one_for_the_same_classes_in_any_order():
    model = plant("m4", np.random.default_rng(2))
    first = model.chains_[0]
    order = [2, 0, 3, 1]
    again = {
        **first,
        "class_words": first["class_words"][:, [*order, 4]],
        "class_shares": first["class_shares"][order],
    }
    assert np.isnan(stability(model))
    model.chains_ = [first, again]
    assert stability(model) == pytest.approx(1)
    other = plant("m4", np.random.default_rng(5)).chains_[0]
    model.chains_ = [first, again, other]
    assert stability(model) < 0.8


def test_differences_to_the_best_run():
    generator = np.random.default_rng(4)
    base = generator.normal(-4, 1, (80, 1)) * 10
    words = np.full((80, 1), 10.0)
    runs = [np.hstack([base + shift, words]) for shift in (0.0, -2.0, 0.0)]
    runs[2][:, 0] += generator.normal(0, 5, 80)
    result = against_best(runs, [evaluate.perplexity] * 3, 0, lower=True)
    best = int(result["value"].arg_min())
    assert result["p_value"][best] is None
    assert result["p_value"][1] < 0.01
    assert result["p_value"][2 - best] > 0.05  # noise alone
    np.testing.assert_allclose(evaluate.holm([0.01, 0.04, 0.03]), [0.03, 0.06, 0.06])
    np.testing.assert_allclose(evaluate.holm([0.6, 0.5]), [1, 1])
    assert len(evaluate.holm([])) == 0


def test_mistakes_come_before_the_work(threads):
    for arguments, params, message in (
        (("m5",), {}, "there is no model 'm5'"),
        (("gaussian-hmm",), {}, "no likelihood of unseen words"),
        (("m4", []), {}, "at least one number"),
        (("m4", [0]), {}, "n_classes must be"),
        (("m4", [3]), {"speed": 1}, "there is no parameter 'speed'"),
        (("m4", [3]), {"test": 0}, "test must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            choose(threads, *arguments, **params)
    one = pv.Corpus.from_polars(pl.DataFrame({"text": ["a", "b"]}))
    with pytest.raises(ParameterError, match="at least 4 conversations"):
        choose(one)
