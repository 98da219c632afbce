"""Sentences about talk: true, in verbs, and silent where there is nothing to say."""

import numpy as np
import polars as pl
import pytest

import palaver as pv
from palaver.models.acts.names import inventory
from palaver.questions.story import answered, evenly, five, helping, largest
from palaver.questions.talk import Talk
from palaver.questions.verbs import ASKING, VERBS, statement_of, verb_of

ASK, TELL, THANK = 0, 1, 2
NAMES = {ASK: "open question", TELL: "statement", THANK: "thanks “thank you …”"}


def talk_of(rows, names=NAMES, proposed=frozenset(NAMES)):
    """Make a talk of rows (conversation, speaker, reply to, minute, class)."""
    table = pl.DataFrame(
        [{"id": str(i), "conversation": c, "speaker": s, "text": "some words here",
          "reply_to": None if to is None else str(to),
          "time": None if minute is None else f"2024-05-01T10:{minute:02}:00Z"}
         for i, (c, s, to, minute, _) in enumerate(rows)],
        schema_overrides={"reply_to": pl.String, "time": pl.String},
    )  # fmt: skip
    corpus = pv.Corpus.from_polars(table)
    places = {row: place for place, row in enumerate(corpus.table["id"])}
    shares = np.zeros((len(rows), 3))
    for i, row in enumerate(rows):
        shares[places[str(i)], row[-1]] = 1
    return Talk(corpus, shares, np.ones(len(rows), bool), names, proposed)


def support(n_open=4, n_answered=12):
    """Threads of a question, an answer by Ada 5 minutes later and thanks; some without."""
    rows = []
    for c in range(n_answered):
        first = len(rows)
        rows += [(f"a{c}", f"u{c}", None, 0, ASK), (f"a{c}", "ada", first, 5, TELL),
                 (f"a{c}", f"u{c}", first + 1, 9, THANK)]  # fmt: skip
    rows += [(f"o{c}", f"v{c}", None, 0, ASK) for c in range(n_open)]
    return rows


def test_five_sentences_in_verbs():
    said = five(talk_of(support()), "messages", "replies")
    assert said[0] == (
        "Besides statements (B, 30% of the messages), people mostly ask open questions (A, 40%) "
        "and thank (“thank you …”) (C, 30%)."
    )
    assert said[1] == (
        "Of the messages that open a conversation, 100% ask open questions (A), of the later "
        "ones 0%."
    )
    assert said[2] == "4 of 16 conversations (25%) got no answer from anybody else."
    assert said[3] == (
        "A first answer typically takes 5 minutes; 75% of the conversations were answered within "
        "an hour."
    )
    assert said[4] == "ada answers the most people: 12, in 12 messages."


def test_names_that_people_gave_are_not_turned_into_verbs():
    talk = talk_of(support(), proposed=frozenset())
    assert largest(talk)[0].startswith("The most common acts are open question (A, 40% of the")
    assert verb_of(talk, ASK) is None


def test_a_class_that_goes_by_how_it_begins_is_said():
    talk = talk_of(support(), {**NAMES, TELL: "“for example …”"})
    assert verb_of(talk, TELL) == "say “for example …”"
    assert largest(talk) == [
        "Mostly, people ask open questions (A, 40% of the messages), say “for example …” (B, 30%) "
        "and thank (“thank you …”) (C, 30%)."
    ]


def test_statements_are_what_people_do_where_there_is_nothing_else():
    talk = talk_of(support(), dict.fromkeys(NAMES, "statement “i am …”"))
    assert largest(talk)[0].startswith("Mostly, people state something (“i am …”) (A, 40%")
    assert statement_of(talk, ASK) == "statements such as “i am …”"


def inferred(rows, **given):
    """Make a talk of rows whose replies were inferred."""
    talk = talk_of(rows, **given)
    table = talk.corpus.table.with_columns(reply_probability=pl.lit(0.5))
    return Talk(pv.Corpus.from_polars(table), talk.shares, talk.known, talk.names, talk.proposed)


def test_of_inferred_conversations_only_questions_wait_for_an_answer():
    """Somebody who says "lol" in a channel is not waiting."""
    alone = [(f"l{c}", f"w{c}", None, 1, TELL) for c in range(30)]
    talk = inferred(support() + alone)
    said = (
        "4 of 16 conversations that open with a question (25%) got no answer from anybody else, "
        "going by inferred replies."
    )
    assert answered(talk)[0] == said
    assert said in five(talk, "messages", "replies")
    assert talk.unanswered()["name"].to_list() == ["B open question"] * 4
    assert talk_of(support() + alone).unanswered().height == 34


def test_without_a_class_of_questions_inferred_conversations_are_not_said_to_lack_answers():
    talk = inferred(support(), names={ASK: "greeting"}, proposed=frozenset({ASK}))
    assert not any("got no answer" in sentence for sentence in five(talk, "messages", "replies"))
    assert answered(talk)[0].startswith("4 of 16 conversations (25%)")


def test_every_proposed_name_has_a_verb():
    assert set(VERBS) == set(inventory())
    assert set(VERBS) >= ASKING


def test_conversations_with_two_openings_count_once():
    rows = [*support(0), ("a0", "w", None, 1, ASK)]
    said = answered(talk_of(rows))
    assert said[0] == "Somebody else answered in all 12 conversations."


def test_a_message_does_what_one_of_its_sentences_does():
    """Everybody who opens a conversation explains at length, then asks; nobody else asks."""
    talk = talk_of(support(0))
    asks = talk.main == ASK
    shares = np.where(asks[:, None], [0.2, 0.8, 0.0], talk.shares)
    long = Talk(talk.corpus, shares, talk.known, NAMES, frozenset(NAMES), contains=shares > 0)
    said = five(long, "messages", "replies")
    assert said[0].startswith(
        "Besides statements (A, in 67% of the messages), people mostly ask open questions (C, 33%)"
    )
    assert "Of the messages that open a conversation, 100% ask open questions" in said[1]
    assert "of the later ones 0%" in said[1]
    told = " ".join(five(long, "messages", "replies"))
    assert "20%" not in told


def test_roles_do_not_help_each_other():
    rows = []
    for c in range(40):
        first = len(rows)
        rows += [(f"d{c}", "A", None, None, ASK), (f"d{c}", "B", first, None, TELL)]
    talk = talk_of(rows)
    assert helping(talk) == []
    said = five(talk, "messages", "replies")
    assert not any("answer" in sentence for sentence in said)
    assert evenly(talk) == [
        "In a typical conversation, whoever says most says 50% of the words; 50% would be even."
    ]


@pytest.mark.parametrize("n_people", [3, 30])
def test_rooms_full_of_people_are_not_measured(n_people):
    rows = [("room", f"p{i}", None, None, TELL) for i in range(n_people)]
    assert bool(evenly(talk_of(rows))) == (n_people == 3)


def test_topics_are_named_by_their_words():
    words = pl.DataFrame({"class": [0] * 5, "word": ["disk", "drive", "scsi", "bus", "card"]})
    talk = talk_of(support())
    plain = Talk(talk.corpus, talk.shares, talk.known, words=words)
    assert five(plain, "documents", "document", "topic") == [
        "The most common topics are A “disk drive scsi bus” (40% of the documents), B (30%) and C "
        "(30%)."
    ]
