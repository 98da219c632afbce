"""What `palaver run` does about replies that a file does not record."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.cli.inferred import is_channel, with_replies
from palaver.threads import ThreadRebuilder


def channel(n=240, people=20, words=5, answered=0.0, tick="1s"):
    """Return one channel: short messages, most of which call somebody by name."""
    dice = np.random.default_rng(0)
    rows = []
    for i in range(n):
        speaker, other = dice.choice(people, 2, replace=False)
        text = [f"person{other}:", *(f"w{k}" for k in dice.integers(200, size=words - 1))]
        parent = f"m{i - 1}" if i and dice.random() < answered else None
        rows.append({"conversation": "general", "id": f"m{i}", "speaker": f"person{speaker}",
                     "reply_to": parent, "text": " ".join(text), "time": 7 * i})  # fmt: skip
    table = pl.DataFrame(rows, schema_overrides={"reply_to": pl.String})
    times = pl.from_epoch("time", time_unit="s").dt.replace_time_zone("UTC").dt.truncate(tick)
    return pv.Corpus.from_polars(table.with_columns(times))


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ({}, True),
        ({"people": 6}, False),  # a meeting
        ({"words": 60}, False),  # a thread of a forum
        ({"n": 60}, False),
        ({"answered": 0.9}, False),  # the file says who answers whom
        ({"answered": 0.2}, True),
    ],
)
def test_channels_are_long_crowded_and_brief(made, expected):
    assert is_channel(channel(**made)) is expected


def test_a_channel_is_split_and_keeps_its_replies():
    corpus = channel(answered=0.2)
    found = with_replies(corpus, {"chain": False})
    assert found.is_rebuilt
    assert found.corpus.n_conversations > 1
    assert f"{found.corpus.n_conversations} conversations" in found.said[0]
    given = corpus.table.drop_nulls("reply_to").select("id", "reply_to")
    after = given.join(found.corpus.table.select("id", found="reply_to"), on="id")
    assert given.height > 20
    assert (after["reply_to"] == after["found"]).all()


def test_days_of_slack_outside_threads_are_split_and_threads_stay():
    days = channel(n=60)
    table = days.table.with_columns(
        conversation=pl.when(pl.int_range(60) < 30).then(pl.lit("day")).otherwise(pl.lit("thread")),
        reply_to=pl.when(pl.int_range(60) > 30).then(pl.lit("m30")),
    )
    slack = replace(pv.Corpus.from_polars(table), format="slack")
    found = with_replies(slack, {"chain": False})
    assert found.is_rebuilt
    assert found.said[0].startswith("50% of the messages are outside threads")
    after = dict(found.corpus.table.select("id", "reply_to").rows())
    assert all(after[f"m{i}"] == "m30" for i in range(31, 60))
    assert sum(after[f"m{i}"] is not None for i in range(30)) > 10
    for left in (replace(slack, format="reddit"), slack.filter("conversation=thread")):
        assert with_replies(left, {"chain": False}).corpus is left
    assert not with_replies(slack, {"chain": True}).is_rebuilt


def test_what_is_asked_for_or_recorded_is_left_alone():
    assert not with_replies(channel(), {"chain": True}).is_rebuilt
    forum = pv.sample(10)
    assert with_replies(forum, {"chain": False}).corpus is forum


def test_seconds_are_read_as_the_minutes_that_were_learned_from():
    rebuilder = ThreadRebuilder.default(channel=True)
    assert rebuilder.tick_ == 60
    fine, coarse = (rebuilder.links(channel(tick=tick)) for tick in ("1s", "1m"))
    np.testing.assert_array_equal(fine.parents, coarse.parents)
    rebuilder.tick_ = 0.0
    assert (rebuilder.links(channel()).parents != fine.parents).any()
