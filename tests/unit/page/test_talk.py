"""The page of talk: what follows without replies, labels of any number, speakers called A and B."""

import re

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.draw.lines import band_chart
from palaver.evaluate import v_measure
from palaver.models.summary import messages_before, replies_to
from palaver.page.findings import gather
from palaver.page.flow import is_talk
from palaver.page.groups import choose_columns
from palaver.page.names import automatic_name
from palaver.page.quality import make_quality
from palaver.page.sections import make_acts, positions_of
from palaver.page.text import speaker_name


def talk(n=12):
    """Conversations between A and B without replies, with many acts and missing values."""
    table = pl.concat([pv.sample(n).table, pv.sample(2 * n, random_state=1).table.select(
        pl.exclude("conversation", "id"), conversation="c" + pl.col("conversation"),
        id="c" + pl.col("id"))], how="diagonal")  # fmt: skip
    row = pl.int_range(pl.len())
    table = table.select(
        "conversation", "id",
        speaker=pl.when(row % 2 == 0).then(pl.lit("A")).otherwise(pl.lit("B")),
        text=pl.when(row % 9 == 0).then(pl.lit("")).otherwise("text"),
        act=pl.concat_str(pl.lit("act "), (row % 50).cast(pl.String)),
        split=pl.when(row % 3 == 0).then(pl.lit("train")).otherwise(pl.lit("test")),
        raw_act=pl.concat_str(pl.lit("raw "), (row % 60).cast(pl.String)),
        turn=row,
    )  # fmt: skip
    return pv.Corpus.from_polars(table)


@pytest.fixture(scope="module")
def corpus():
    return talk()


@pytest.fixture(scope="module")
def model(corpus):
    return pv.GaussianHMM(3, n_sweeps=10, random_state=0).fit(corpus, show_progress=False)


@pytest.fixture(scope="module")
def found(corpus, model):
    return gather(model, corpus, 1000, 10**6, predict_heldout=False)


def test_the_message_before_is_the_last_that_speaks(corpus):
    speaking = (corpus.table["text"] != "").to_numpy()
    expected, last = [], {}
    for row, name in enumerate(corpus.table["conversation"]):
        expected.append(last.get(name, -1) if speaking[row] else -1)
        if speaking[row]:
            last[name] = row
    assert messages_before(corpus, speaking).tolist() == expected


def test_what_follows_needs_no_replies(corpus, model, found, tmp_path):
    assert found.flow.steps == "messages"
    before = messages_before(corpus, found.speaking)
    np.testing.assert_allclose(found.flow.answered, replies_to(found.shares, before))
    assert found.flow.answered.sum() > 0
    order = found.order.tolist()
    np.testing.assert_array_equal(
        found.flow.following[:-1], model.transitions_[:-1][:, order][order]
    )
    page = pv.report(model, corpus, tmp_path / "talk.html").read_text().split("<script")[0]
    text = re.sub(r"<style.*?</style>", "", page, flags=re.S)
    assert not re.findall(r"\b(?:threads?|repl(?:y|ies))\b", re.sub(r"<[^>]*>", " ", text), re.I)
    assert "Read the conversations" in text
    assert "Each message is tinted by its main act" in text
    assert "common to all" not in text


def test_talk_is_where_every_message_answers_the_one_before():
    corpus = talk()
    assert not is_talk(corpus), "nobody answers"
    rows = [
        {"conversation": c, "id": f"{c}{i}", "text": "so it goes"} for c in "ab" for i in range(9)
    ]
    line = pv.Corpus.from_polars(pl.DataFrame(rows)).chained()
    assert is_talk(line)
    assert not is_talk(pv.sample(20))
    assert not is_talk(pv.sample(20).chained()), "threads of a few messages"


def test_labels_of_any_number_are_judged_and_divisions_are_not(corpus, found):
    chosen, left_out = choose_columns(corpus)
    assert chosen == ["act"]
    assert left_out == {
        "split": "a division of the data",
        "raw_act": "60 different values",
        "turn": "numbers",
    }
    table = make_quality(found)["gold"][0]
    gold = corpus.table["act"].to_numpy()[found.speaking]
    classes = found.shares[found.speaking].argmax(axis=1)
    assert table["v_measure"] == pytest.approx(v_measure(classes, gold)), "rare ones not folded"
    assert len(table["rows"]) == 30
    assert table["rows"][-1]["label"] == "(21 others)"
    assert sum(row["count"] for row in table["rows"]) == found.speaking.sum()


@pytest.mark.parametrize(
    ("other", "why"),
    [([["b", "a"], [], None, ["c", "c"]], "same as act"), ([["a"], ["b"], None, ["c"]], None)],
)
def test_lists_of_the_same_labels_are_listed_once(other, why):
    lists = {"act": [["a", "b"], [], None, ["c"]], "other": other}
    corpus = pv.Corpus.from_polars(pl.DataFrame({"text": list("wxyz"), **lists}))
    assert choose_columns(corpus)[1].get("other") == why


def test_labels_and_reasons_are_on_the_page(corpus, model, tmp_path):
    page = pv.report(model, corpus, tmp_path / "talk.html").read_text()
    assert "Compared with the column “<bdi>act</bdi>”" in page
    assert "“<bdi>split</bdi>” (a division of the data)" in page
    assert '"speakers":["speaker A","speaker B"]' in page
    assert '"gold":{"column":"act","labels":["act ' in page


def test_shares_over_a_conversation_have_their_own_scale(found):
    positions = positions_of(found)
    assert positions.axis.endswith("conversation")
    for act in make_acts(found, {}, positions):
        heights = [float(y) for y in re.findall(r'cy="([\d.]+)"', act.curve)]
        assert 8.0 <= min(heights) < 41, "the highest point is in the upper half of 8 to 73"


def test_roles_are_not_counted_as_people(model, corpus, tmp_path):
    half = pl.when(pl.col("speaker") == "A").then(0).otherwise(1)
    pair = pl.col("conversation").rank("dense").cast(pl.Int64) % 7
    table = corpus.table.with_columns(caller=2 * pair + half)
    page = pv.report(model, pv.Corpus.from_polars(table), tmp_path / "r.html").read_text()
    assert "by 14 people" in page


@pytest.mark.parametrize(
    ("top", "said"),
    [(0.68, "68%"), (0.03, "3%"), (0.025, "2.5%"), (0.002, "0.2%"), (1e-5, "&lt;0.1%"), (0, "0%")],
)
def test_small_shares_are_not_called_nothing(top, said):
    shares = np.array([0, top])
    chart = band_chart(shares, None, None, ["a", "b"], 0, top, label="x")
    assert f"<title>b: {said}</title>" in chart


@pytest.mark.parametrize(("top", "axis"), [(0.68, "80%"), (0.03, "3%"), (0.55, "60%"), (0, "0.1%")])
def test_axes_end_at_round_numbers(top, axis):
    chart = band_chart(np.array([0, top]), None, None, ["a", "b"], 0, top, label="x")
    assert f">{axis}</text>" in chart
    assert ">0%</text>" in chart


def test_names():
    assert automatic_name(["okay", "oh", "alright"], []) == "okay, oh, alright"
    assert automatic_name(["okay"], ["That's all right."]) == "“That's all right.”"
    assert [speaker_name(name) for name in ("A", "BB", "Al", "Ann", "7")] == [
        "speaker A", "speaker BB", "Al", "Ann", "7"]  # fmt: skip
