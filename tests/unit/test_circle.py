"""People: who asks, who helps, how soon, and whom nobody answers."""

import polars as pl
import pytest

import palaver as pv
from palaver.page.people import lasting, make_people
from palaver.questions.circle import circle_of

ROWS = [  # conversation, id, reply_to, speaker, seconds
    ("x", "1", None, "ann", 0), ("x", "2", "1", "bob", 60), ("x", "3", "2", "ann", 90),
    ("y", "4", None, "ann", 100), ("y", "5", "4", "bob", 300), ("y", "6", "4", "cyd", 400),
    ("z", "7", None, "dan", 500), ("w", "8", None, "cyd", 600), ("w", "9", "8", "robo", 601),
]  # fmt: skip


def corpus(**more):
    names = ["conversation", "id", "reply_to", "speaker", "time"]
    table = pl.DataFrame(ROWS, schema=names, orient="row").with_columns(
        text=pl.lit("words"), bot=pl.col("speaker") == "robo", **more
    )
    return pv.Corpus.from_polars(table)


def test_the_numbers_of_each_person():
    found = circle_of(corpus())
    assert found.recorded
    people = {row["speaker"]: row for row in found.people.iter_rows(named=True)}
    assert set(people) == {"ann", "bob", "cyd", "dan"}  # no bots
    ann, bob, cyd, dan = (people[name] for name in ("ann", "bob", "cyd", "dan"))
    assert (ann["opened"], ann["unanswered"], ann["waited"], ann["given"]) == (2, 0, 130.0, 1)
    assert (bob["given"], bob["people_helped"], bob["received"]) == (2, 1, 1)
    assert (bob["responds"], ann["responds"]) == (130.0, 30.0)  # medians of 60, 200 and of 30
    assert (cyd["opened"], cyd["unanswered"], cyd["responds"]) == (1, 1, None)  # a bot answered
    assert (dan["opened"], dan["unanswered"]) == (1, 1)
    assert [people[name]["role"] for name in ("ann", "bob", "cyd", "dan")] == [
        "asks", "helps", "both", "asks"
    ]  # fmt: skip
    assert found.links.rows() == [("bob", "ann", 2), ("ann", "bob", 1), ("cyd", "ann", 1)]
    assert found.forgotten()["speaker"].to_list() == ["cyd", "dan"]


def test_roles_of_the_file_come_first():
    role = pl.when(pl.col("speaker") == "bob").then(pl.lit("agent")).alias("role")
    people = circle_of(corpus(role=role)).people
    assert dict(people.select("speaker", "role").iter_rows())["bob"] == "agent"


def test_central_people_and_the_picture():
    found = circle_of(corpus())
    central = found.central(2)
    assert central["speaker"].to_list() == pv.people(corpus(), top=2)["speaker"].to_list()
    assert {"nearby", "role", "responds"} <= set(central.columns)
    assert str(found.picture()).count("<circle") == 3  # dan has no answers


def test_without_replies_whoever_speaks_next_answers():
    table = corpus().table.with_columns(reply_to=pl.lit(None, pl.String), conversation=pl.lit("x"))
    found = circle_of(pv.Corpus.from_polars(table))
    assert not found.recorded
    assert ("bob", "ann", 2) in found.links.rows()


def test_the_section_is_for_several_people_who_answer():
    made = make_people(corpus())
    assert made["n_people"] == 4
    assert made["n_forgotten"] == 2
    assert made["people"][0]["responds"] in ("30 seconds", "2 minutes")
    alone = corpus().take([2])
    assert make_people(alone) is None


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(None, ""), (0.2, "0 seconds"), (59.6, "60 seconds"), (90, "2 minutes"), (3600, "1 hour"),
     (2 * 86_400, "2 days")],
)  # fmt: skip
def test_times_in_words(seconds, said):
    assert lasting(seconds) == said
