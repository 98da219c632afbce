"""Talk on the command line: roles that are not people, folders of files, states, acts, shares."""

import numpy as np
import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.corpus.describe import roles


def calls(n_calls=12):
    """Telephone calls between A and B, who are different people in each call."""
    rows = [
        {"conversation": f"c{call}", "id": f"{call}.{turn}", "speaker": "AB"[turn % 2],
         "text": "uh huh" if turn % 2 else "so I went to the game", "topic": call % 3,
         "caller": 100 + (3 * call + turn % 2) % 17}
        for call in range(n_calls) for turn in range(4)
    ]  # fmt: skip
    return pv.Corpus.from_polars(pl.DataFrame(rows))


def test_roles_are_told_with_the_column_of_the_people(tmp_path):
    corpus = calls()
    assert roles(corpus) == {"column": "caller", "people": 17}
    said = " ".join(call("check", corpus.write(tmp_path / "calls.jsonl")).split())
    assert "2 speakers in 12 conversations are probably roles" in said
    assert "--column speaker=caller (17 people)?" in said


def test_people_are_not_taken_for_roles():
    assert roles(calls(3)) is None, "too few to tell"
    without = calls().table.drop("caller")
    assert roles(pv.Corpus.from_polars(without)) is None, "a topic is of both"
    assert roles(pv.sample(40)) is None


def test_a_folder_of_files_names_those_that_can_be_read(tmp_path):
    calls().write(tmp_path / "calls.jsonl.gz")
    (tmp_path / "notes.bin").write_bytes(b"\x00\x01" * 40)
    said = fails("check", tmp_path)
    assert "one of: calls.jsonl.gz." in said
    assert "notes.bin" not in said
    assert "--format" not in said


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    return pv.sample(20).write(tmp_path_factory.mktemp("talk") / "talk.jsonl")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--set", "n_states=5", "--set", "n_acts=3"], ", 5 states merged into 3 acts,"),
        (["--classes", "3"], ", 3 states, each its own act,"),
    ],
)
def test_states_and_acts_are_told_apart(talk, tmp_path, options, said):
    shown = call("fit", "gaussian-hmm", talk, "--sweeps", 4, *options, "--out", tmp_path / "run")
    assert said in " ".join(shown.split())


def test_found_states_are_counted_with_the_large_ones(talk, tmp_path):
    run = tmp_path / "run"
    shown = call("fit", "infinite-hmm", talk, "--sweeps", 4, "--out", run)
    shares = pv.load(run).class_shares_
    large = int((shares > 0.01).sum())
    assert f"{len(shares)} states found, {large} with more than 1%" in " ".join(shown.split())


def test_shares_are_written_with_six_decimals(talk, tmp_path):
    run, out = tmp_path / "run", tmp_path / "out.csv"
    call("fit", "gaussian-hmm", talk, "--classes", 3, "--sweeps", 4, "--out", run)
    call("annotate", run, talk, out)
    cells = pl.read_csv(out, infer_schema=False).select("^share_.*$", "class_probability")
    assert max(len(cell) for column in cells for cell in column) <= 8
    exact = pv.load(run).annotate(pv.read(talk)).table["share_1"]
    np.testing.assert_allclose(cells["share_1"].cast(pl.Float64), exact, atol=5.01e-7)
