"""The choice of a tagger: the best in held-out conversations, and what it says if there is none."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import ParameterError
from palaver.trials import taggers as trials


def test_the_best_in_held_out_conversations_is_chosen():
    corpus = pv.sample(50)
    chosen = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"], params={"n_jobs": 2})
    table = chosen.table
    assert set(table["tagger"]) == {"hidden-backoff", "crf"}
    assert table["accuracy"].is_sorted(descending=True)
    assert chosen.tagger.name == table["tagger"][0]
    assert chosen.tagger.n_jobs == 2
    assert not hasattr(chosen.tagger, "tags_")
    assert table["p_value"][0] is None
    assert 0 < table["p_value"][1] <= 1
    assert f"{100 * table['accuracy'][0]:.1f} %" in chosen.why
    again = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"])
    assert again.table.drop("seconds").equals(table.drop("seconds"))


def test_accuracy_is_of_conversations_that_were_not_learned_from():
    """Every conversation has words of its own, which a tagger can only know by heart."""
    rows = [(str(c), f"w{c}a w{c}b", "xy"[(c * 7919) % 11 < 5]) for c in range(40) for _ in "12"]
    table = pl.DataFrame(rows, ["conversation", "text", "act"], orient="row")
    corpus = pv.Corpus.from_polars(table)
    crf = pv.CRFTagger(features=["words"], previous=0, min_count=1)
    assert crf.fit(corpus).score(corpus) > 0.95
    chosen = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"], params={"min_count": 1})
    assert chosen.table["accuracy"].max() < 0.8


def test_what_cannot_be_compared():
    few = pv.sample(4)
    chosen = pv.choose_tagger(few)
    assert chosen.tagger.name == "crf"
    assert chosen.table.height == 0
    assert "too few labelled conversations" in chosen.why
    only = pv.choose_tagger(pv.sample(20), params={"n_states": 2})
    assert only.tagger.name == "hidden-backoff"
    assert "the only one" in only.why
    with pytest.raises(ParameterError, match="no tagger 'best'"):
        pv.choose_tagger(few, taggers=["best"])
    with pytest.raises(ParameterError, match="no tagger has the parameters shoes"):
        pv.choose_tagger(few, params={"shoes": 1})
    with pytest.raises(ParameterError, match="no column 'mood'"):
        pv.choose_tagger(few, "mood")


def test_with_few_labels_every_word_counts(monkeypatch):
    corpus = pv.sample(30)
    few = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"])
    assert few.tagger.min_count == 1
    assert few.why.endswith("labels are few, so it sees every word (min_count=1)")
    given = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"], params={"min_count": 3})
    assert given.tagger.min_count == 3
    assert "few" not in given.why
    monkeypatch.setattr(trials, "_FEW", corpus.table["act"].count() - 1)
    many = pv.choose_tagger(corpus, taggers=["crf", "hidden-backoff"])
    assert many.tagger.min_count == 2
    assert "few" not in many.why


def test_large_corpora_are_sampled():
    corpus = pv.sample(200)
    taggers = ["hidden-backoff", "crf"]
    small = pv.choose_tagger(corpus, taggers=taggers, max_messages=60)
    assert small.table["seconds"].sum() < 20
    assert (
        small.table["accuracy"][0] < pv.choose_tagger(corpus, taggers=taggers).table["accuracy"][0]
    )


def test_the_first_tagger_is_taken_unless_another_is_better_by_more_than_chance(monkeypatch):
    """An even number of wins is chance; a tagger that is always right is not."""
    from palaver.trials import taggers

    shares = {"crf": [5.0, 5.0] * 20, "maxent": [5.0, 6.0] * 20, "hidden-backoff": [9.0] * 40}

    def judged(wins):
        def cross_validate(tagger, parts, labels, options):
            right = np.array(shares[tagger.name])
            if tagger.name in wins:
                right = right + wins[tagger.name]
            return np.column_stack([right, np.full(40, 10.0)]), 0.0

        monkeypatch.setattr(taggers, "_cross_validate", cross_validate)
        return pv.choose_tagger(pv.sample(60), taggers=["crf", "maxent"])

    better = judged({"maxent": 2.0})
    assert better.tagger.name == "maxent"
    chance = judged({"maxent": np.where(np.arange(40) % 2, -1.0, 0.0) + 3 * (np.arange(40) == 0)})
    assert chance.table["tagger"][0] == "maxent"
    assert chance.tagger.name == "crf"
    assert "which may be chance" in chance.why
