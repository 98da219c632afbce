"""``fit --labels``: known classes guide a model, and stay with the run."""

import json

import numpy as np
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli.commands import fit_command
from palaver.cli.runs import settings_of
from palaver.models import model_class

SWEEPS = ("--sweeps", 10, "--set", "burn_in=1", "--seed", 2)


@pytest.fixture
def sentences(tmp_path):
    path = tmp_path / "train.conll"
    path.write_text("the D\ncat N\nsat V\n\na D\ndog N\nran V\n\n" * 10)
    return path


def straight(path, labels, n_sweeps, **params):
    model = pv.InfiniteHMM(n_sweeps=n_sweeps, burn_in=1, random_state=2, **params)
    return model.fit(pv.read(path), labels=labels, show_progress=False)


def test_labels_of_words_guide_the_states_and_stay_with_the_run(sentences, tmp_path):
    run = tmp_path / "run"
    call("fit", "infinite-hmm", sentences, "--labels", "pos", *SWEEPS, "--out", run)
    model = pv.load(run)
    assert set(model.state_tags_) == {"D", "N", "V"}
    np.testing.assert_array_equal(model.states_, straight(sentences, "pos", 10).states_)
    assert settings_of(run)["reading"]["labels"] == "pos"
    assert " --labels pos " in fit_command(run, model.get_params())


def test_a_run_is_resumed_with_its_labels_from_its_folder_alone(sentences, tmp_path):
    expected = straight(sentences, "pos", 16)
    run = tmp_path / "run"
    call("fit", "infinite-hmm", sentences, "--labels", "pos", *SWEEPS, "--out", run)
    sentences.unlink()
    call("fit", "--resume", run, "--sweeps", 16)
    model = pv.load(run)
    assert model.n_sweeps_ == 16
    assert model.state_tags_ == expected.state_tags_
    np.testing.assert_array_equal(model.states_, expected.states_)


def test_labels_of_messages_may_be_missing(tmp_path):
    rows = pv.sample(12).table.select("conversation", "id", "reply_to", "text", "act").to_dicts()
    for row in rows[::3]:
        row["act"] = None
    path = tmp_path / "some.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = tmp_path / "run"
    call("fit", "infinite-hmm", path, "--set", "unit=message", "--labels", "act", *SWEEPS,
         "--out", run)  # fmt: skip
    model = pv.load(run)
    np.testing.assert_array_equal(model.states_, straight(path, "act", 10, unit="message").states_)
    named = [(row["act"], model.state_tags_[state])
             for row, state in zip(rows, model.states_, strict=True) if row["act"]]  # fmt: skip
    assert all(given == tag for given, tag in named)


def test_labels_that_cannot_be_used_leave_nothing_behind(sentences, tmp_path):
    run = tmp_path / "run"
    missing = tmp_path / "nothing.jsonl"
    message = fails("fit", "lda", missing, "--labels", "act", "--out", run)
    assert "--labels: lda does not take labels" in message, "before the file is read"
    assert "infinite-hmm" in message
    fit = ("fit", "infinite-hmm", sentences, *SWEEPS, "--out", run)
    assert "--labels: there is no column 'mood'; columns with labels: pos" in " ".join(
        fails(*fit, "--labels", "mood").replace("tokens, ", "").split()
    )
    numbers = tmp_path / "numbers.jsonl"
    numbers.write_text('{"text": "hello there", "grade": 3}\n' * 3)
    message = fails("fit", "infinite-hmm", numbers, "--labels", "grade", "--out", run)
    assert "column 'grade' must hold text" in message
    message = fails(*fit, "--labels", "pos", "--set", "n_states=2")
    assert "3 tags need at least as many states" in message, "only the model knows"
    assert not run.exists()
    call(*fit, "--labels", "pos")
    assert "--labels" in fails("fit", "--resume", run, "--labels", "pos")


def test_damaged_labels_are_explained(sentences, tmp_path):
    run = tmp_path / "run"
    call("fit", "infinite-hmm", sentences, "--labels", "pos", *SWEEPS, "--out", run)
    (run / "labels.parquet").write_bytes(b"PAR1")
    assert "labels.parquet: cannot be read" in fails("fit", "--resume", run, "--sweeps", 12)


@pytest.mark.parametrize(
    ("name", "more"), [("block-hmm", ()), ("m4", ("--set", "unit=message"))], ids=["block", "m4"]
)
def test_labels_name_the_classes_of_thread_models(name, more, tmp_path):
    path = pv.sample(12).write(tmp_path / "threads.jsonl")
    run = tmp_path / "run"
    call("fit", name, path, "--classes", 16, "--labels", "act", *more, *SWEEPS, "--out", run)
    call("fit", "--resume", run, "--sweeps", 12)
    model = pv.load(run)
    assert model.class_names_ == sorted(set(pv.sample(12).table["act"]))
    again = type(model)(**model.get_params()).fit(pv.read(path), labels="act", show_progress=False)
    np.testing.assert_array_equal(model.draws_["class_words"][-1], again.draws_["class_words"][-1])


def test_words_of_m4_cannot_be_labelled(tmp_path):
    path = pv.sample(5).write(tmp_path / "threads.jsonl")
    message = fails("fit", "m4", path, "--labels", "act", "--out", tmp_path / "run")
    assert "unit='sentence'" in " ".join(message.split())
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("name", ["m4", "block-hmm"])
def test_labels_of_messages_name_the_classes_of_thread_models(name, tmp_path):
    data, run = pv.sample(12).write(tmp_path / "threads.jsonl"), tmp_path / "run"
    unit = {"unit": "message"} if name == "m4" else {}
    options = [part for key, value in unit.items() for part in ("--set", f"{key}={value}")]
    call("fit", name, data, "--labels", "act", *options, *SWEEPS, "--out", run)
    data.rename(tmp_path / "gone.jsonl")
    call("fit", "--resume", run, "--sweeps", 12)
    kind = model_class(name)
    model = kind(n_sweeps=12, burn_in=1, random_state=2, **unit)
    model.fit(pv.read(tmp_path / "gone.jsonl"), labels="act", show_progress=False)
    again = pv.load(run)
    assert set(pv.sample(12).table["act"]) == set(again.class_names_) == set(model.class_names_)
    assert again.label_ == "act"
    np.testing.assert_array_equal(again.class_words_, model.class_words_)
