"""Messages to label are uncertain and different; what is filled in comes back, and is counted."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.errors import CorpusError, InputError, ParameterError


def blank(corpus):
    none = pl.Series([None] * corpus.n_messages, dtype=pl.String)
    return corpus.with_columns(act=none)


def answered(rows, corpus):
    answers = corpus.table.select("conversation", "id", pl.col("act").alias("answer"))
    found = rows.join(answers, on=["conversation", "id"], how="left", maintain_order="left")
    return found.with_columns(label="answer")


def test_uncertain_and_different_messages_are_chosen():
    corpus = pv.sample(60)
    act = corpus.table["act"]
    some = corpus.with_columns(act=act.set(pl.Series(np.arange(len(act)) >= 150), None))
    tagger = pv.CRFTagger().fit(some)
    rows = pv.to_label(some, 15, tagger)
    assert rows.columns == ["conversation", "id", "before", "text", "suggested", "probability",
                            "label"]  # fmt: skip
    assert rows.height == rows["text"].n_unique() == 15
    assert rows["label"].null_count() == 15
    known = some.table.drop_nulls("act").select("conversation", "id")
    assert rows.join(known, on=["conversation", "id"], how="semi").height == 0
    shares = tagger.predict_proba(some)[150:]
    assert rows["probability"].mean() < shares.max(axis=1).mean()
    first = some.table.filter(
        pl.col("conversation") == rows["conversation"][0]
    )["text"].to_list()  # fmt: skip
    place = first.index(rows["text"][0])
    assert rows["before"][0] == (first[place - 1] if place else None)


def test_without_labels_messages_are_spread():
    corpus = blank(pv.sample(60))
    rows = pv.to_label(corpus, 10)
    assert rows.height == rows["text"].n_unique() == 10
    assert rows["suggested"].null_count() == 10
    no_column = pv.Corpus.from_polars(corpus.table.drop("act"))
    assert pv.to_label(no_column, 10)["id"].equals(rows["id"])
    with pytest.raises(CorpusError, match="every message with words has a label"):
        pv.to_label(pv.sample(5))
    with pytest.raises(ParameterError, match="n must be"):
        pv.to_label(corpus, 0)


def test_chosen_labels_teach_more_than_the_first_ones():
    """Fifty chosen messages, in two rounds, against the fifty that come first."""
    train, test = pv.sample(150).split(test=0.3, random_state=0)
    corpus = blank(train)
    for _ in range(2):
        known = corpus.table["act"].n_unique() > 2
        tagger = pv.CRFTagger().fit(corpus) if known else None
        rows = answered(pv.to_label(corpus, 25, tagger), train)
        corpus, counts = pv.with_labels(corpus, rows)
        assert counts.used == 25
    assert corpus.table["act"].count() == 50
    act = train.table["act"]
    first = train.with_columns(act=act.set(pl.Series(np.arange(len(act)) >= 50), None))
    assert pv.CRFTagger().fit(corpus).score(test) > pv.CRFTagger().fit(first).score(test)


def test_everything_that_was_filled_in_is_counted(tmp_path):
    corpus = pv.sample(20)
    ids = corpus.table.select("conversation", "id").rows()
    acts = corpus.table["act"].to_list()
    other = next(act for act in acts if act != acts[0])
    rows = [
        (*ids[0], other), (*ids[1], " "), (*ids[2], None), (*ids[3], "quetsion"),
        ("nowhere", "x", acts[0]), (*ids[4], "a"), (*ids[4], acts[4]),
    ]  # fmt: skip
    table = pl.DataFrame(rows, ["conversation", "id", "label"], orient="row")
    path = tmp_path / "filled.csv"
    table.write_csv(path)
    for filled in (table, path):
        found, counts = pv.with_labels(corpus, filled)
        assert (counts.used, counts.blank, counts.unknown, counts.duplicates) == (3, 2, 1, 1)
        assert counts.changed == 2
        assert counts.new_labels == ["quetsion"]
        assert found.table["act"].to_list()[:5] == [other, *acts[1:3], "quetsion", acts[4]]
        assert "3 labels read; 2 rows are blank; 1 row has an unknown id; 1 row is a" in str(counts)
    with pytest.raises(InputError, match="has no column 'label'"):
        pv.with_labels(corpus, table.drop("label"))
    with pytest.raises(InputError, match=r"nothing\.csv: cannot be read"):
        pv.with_labels(corpus, tmp_path / "nothing.csv")


def test_formulas_survive_the_round_trip(tmp_path):
    from palaver.cli.output import write_table

    table = pl.DataFrame({"conversation": ["=a", "=a"], "id": ["-1", "+2"],
                          "text": ["@x", "=1"], "act": [None, None]},
                         schema_overrides={"act": pl.String})  # fmt: skip
    corpus = pv.Corpus.from_polars(table)
    rows = pv.to_label(corpus).with_columns(label=pl.lit("yes"))
    path = tmp_path / "x.csv"
    write_table(rows, path)
    assert "'=a" in path.read_text()
    assert pv.with_labels(corpus, path)[1].used == 2
