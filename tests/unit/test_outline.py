"""Outlines: who asks, what was tried, what helped, and the thanks."""

import polars as pl
import pytest

import palaver as pv
from palaver.errors import InputError, ParameterError

THREAD = [
    ("a1", None, "Ann", "Hi all, My printer prints empty pages since the update. I have tried "
     "a new cartridge, but no luck. How can I make the printer print text again? "
     "Thanks in advance!"),
    ("b1", "a1", "Bob", "Hello Ann. Which printer is it?"),
    ("a2", "b1", "Ann", "The printer is an old Inkwell 300."),
    ("c1", "a1", "Cem", "You should buy another printer, they are cheap."),
    ("b2", "a2", "Bob", "Clean the head of the printer: run the cleaning program twice. Cheers"),
    ("a3", "b2", "Ann", "Thank you Bob, that worked!"),
    ("d1", "a1", "Dan", "Nice weather today, is it not?"),
]  # fmt: skip


def corpus(rows, name="t"):
    return pv.Corpus.from_polars(
        pl.DataFrame(
            [
                {"conversation": name, "id": i, "reply_to": r, "speaker": s, "text": t}
                for i, r, s, t in rows
            ],
            schema_overrides={"reply_to": pl.String},
        )
    )


def test_the_story_of_a_thread_in_order():
    told = pv.outline(corpus(THREAD))
    said = dict(zip(told["part"], told["text"], strict=True))
    assert said["problem"] == "Hi all, My printer prints empty pages since the update."
    assert said["tried"] == "I have tried a new cartridge, but no luck."
    assert said["question"] == "How can I make the printer print text again?"
    assert said["solution"].startswith("Clean the head")
    assert said["answer"].startswith("You should buy another")
    assert said["thanks"] == "Thank you Bob, that worked!"
    assert told["message"].is_sorted()
    assert dict(zip(told["part"], told["speaker"], strict=True))["solution"] == "Bob"


def test_without_replies_the_latest_before_the_thanks_is_the_solution():
    told = pv.outline(corpus([(i, None if k == 0 else THREAD[k - 1][0], s, t)
                              for k, (i, _, s, t) in enumerate(THREAD)]))  # fmt: skip
    assert told.filter(part="solution")["speaker"].to_list() == ["Bob"]


def test_thanks_in_advance_and_a_fault_that_is_back_are_no_thanks():
    told = pv.outline(corpus([*THREAD[:5], ("a3", "b2", "Ann", "It worked for an hour, then the "
                                            "fault was back.")]))  # fmt: skip
    assert "thanks" not in told["part"].to_list()
    assert "solution" not in told["part"].to_list()


def test_length_and_number_of_answers():
    told = pv.outline(corpus(THREAD), answers=1, words=5)
    assert told["part"].to_list().count("answer") == 0  # the solution is the one
    assert told["text"].str.split(" ").list.len().max() <= 6
    with pytest.raises(ParameterError, match="answers"):
        pv.outline(corpus(THREAD), answers=0)
    with pytest.raises(InputError):
        pv.outline(corpus([("x", None, "A", "...")]))
    with pytest.raises(ParameterError, match="takes a Corpus"):
        pv.outline("text")


def test_each_conversation_by_itself():
    sample = pv.sample(12)
    told = pv.outline(sample)
    for row in (0, 5, 11):
        one = pv.outline(sample.take([row]))
        same = told.filter(conversation=one["conversation"][0])
        assert same["part"].to_list().count("thanks") == one["part"].to_list().count("thanks")
        assert set(one["speaker"]) <= set(sample.take([row]).table["speaker"])


def test_acts_of_a_model_help_to_choose():
    sample = pv.sample(30)
    model = pv.Acts(random_state=0).fit(sample, show_progress=False)
    told = pv.outline(sample, model)
    assert {"question", "answer", "thanks"} <= set(told["part"])
    with pytest.raises(ParameterError, match="a model of acts"):
        pv.outline(sample, pv.LDA(n_classes=2, n_sweeps=2).fit(sample, show_progress=False))


def test_code_signatures_and_quotations_are_no_sentences():
    rows = [
        ("a1", None, "Ann", "Is there a way to plot the table with lines? Ann Bell Biostatistics "
         "Institute Uppsala. ## my.data has the columns. -I/usr/include -fPIC -c plot.c -o plot.o"),
        ("b1", "a1", "Bob", "Ann> Is there a way to plot the table with lines? You can plot the "
         "table with the function lines."),
        ("a2", "b1", "Ann", "It works with points, but not with lines."),
    ]  # fmt: skip
    told = pv.outline(corpus(rows))
    assert told["part"].to_list() == ["question", "answer"]
    assert told["text"][1].startswith("You can plot")


def test_an_opening_comes_first_whatever_the_clocks_say():
    rows = pl.DataFrame(
        [
            {"conversation": "t", "id": i, "reply_to": r, "speaker": s, "text": t, "time": time}
            for (i, r, s, t), time in zip(THREAD, (500, 100, 200, 300, 400, 410, 420), strict=True)
        ],
        schema_overrides={"reply_to": pl.String},
    )
    told = pv.outline(pv.Corpus.from_polars(rows))
    assert told["part"][0] == "problem"
    assert told["part"].to_list() == pv.outline(corpus(THREAD))["part"].to_list()


def test_the_story_ends_with_the_thanks():
    more = [*THREAD, ("c2", "a3", "Cem", "You can also try another printer, or use the printer of "
                      "a friend.")]  # fmt: skip
    assert pv.outline(corpus(more))["part"].to_list()[-1] == "thanks"
