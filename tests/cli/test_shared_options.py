"""Options that hold for every verb that reads messages, and that runs remember."""

import inspect

import pytest
from support.verbs import call

import palaver as pv
from palaver.cli import app

#: What each verb runs.
VERBS = {command.name: command.callback for command in app.registered_commands}

#: Verbs that read no messages: nothing, a run's own numbers, or a graph.
WITHOUT_MESSAGES = {"demo", "classes", "name", "transitions", "rank"}
#: A refit reads what its run has read.
AS_THE_RUN = {"refit"}
#: Verbs that print numbers alone, so there is nobody to hide.
NUMBERS_ALONE = {"perplexity"}
#: Verbs that show classes of a run to read.
WITH_CLASSES = {
    "report", "examples", "transitions", "shares", "effects", "compare-groups", "helpers",
    "unanswered", "profile", "evaluate", "annotate", "explore",
}  # fmt: skip


def options_of(verb):
    return set(inspect.signature(VERBS[verb]).parameters)


@pytest.mark.parametrize("verb", sorted(set(VERBS) - WITHOUT_MESSAGES - AS_THE_RUN))
def test_verbs_that_read_messages_take_parts_and_hide_people(verb):
    assert "where" in options_of(verb)
    assert "anonymize" in options_of(verb) or verb in NUMBERS_ALONE


@pytest.mark.parametrize("verb", sorted(WITH_CLASSES))
def test_verbs_that_show_classes_take_names(verb):
    assert "names" in options_of(verb)


def test_a_run_remembers_groups_and_names(tmp_path):
    file, run, names = (tmp_path / name for name in ("forum.jsonl", "run", "names.json"))
    pv.sample(20).write(file)
    few = ("--sweeps", 5, "--chains", 2)
    call("fit", file, *few, "--by", "act", "--out", run)
    assert "by act" in call("shares", run)
    assert "by speaker" in call("shares", run, "--by", "speaker")
    names.write_text('{"names": {"A": "asks for help"}}')
    assert "A asks for help" in call("evaluate", run, "--names", names)
    assert "A asks for help" in call("evaluate", run)
