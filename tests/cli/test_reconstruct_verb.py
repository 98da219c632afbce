"""``reconstruct``."""

import json

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train, test = pv.sample(30).split(test=0.5, random_state=0)  # few: learning takes its time
    return train.write(folder / "train.jsonl"), test.write(folder / "test.jsonl")


def test_without_training(files, tmp_path):
    out = tmp_path / "rebuilt.jsonl"
    shown = call("reconstruct", files[1], "--out", out)
    rebuilt, given = pv.read(out), pv.read(files[1])
    assert rebuilt.n_messages == given.n_messages
    assert rebuilt.labels[-3:] == ["reply_probability", "runner_up", "runner_up_probability"]
    assert "% of the messages have the same parent as in the file" in " ".join(shown.split())
    assert "Least certain replies" in shown
    assert str(out) in shown.replace("\n", "")


def test_trained_kept_and_used_again(files, tmp_path):
    train, test = files
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    facts = json.loads(
        call("reconstruct", test, "--train", train, "--save", tmp_path / "kept", "--out", first,
             "--json")
    )  # fmt: skip
    assert facts["messages"] == pv.read(test).n_messages
    assert facts["as_in_file"] > 0.5
    call("reconstruct", test, "--use", tmp_path / "kept", "--out", second)
    assert first.read_bytes() == second.read_bytes()


def test_columns_of_the_file_are_not_those_of_another_kind_of_file(files, tmp_path):
    flat = tmp_path / "flat.csv"
    flat.write_text("thread,from,body\n1,ann,who has a drill?\n1,bob,I have a drill\n")
    columns = [f"--column={pair}" for pair in ("conversation=thread", "speaker=from", "text=body")]
    out = tmp_path / "x.jsonl"
    few = pv.read(files[0]).take([0, 1, 2]).write(tmp_path / "few.jsonl")
    call("reconstruct", flat, *columns, "--train", few, "--out", out)
    assert pv.read(out).parents.tolist() == [-1, 0]


def test_a_channel_becomes_conversations(tmp_path):
    lines = ["anna: where is the spade?", "bob: anna: in the shed", "cleo: who has seen my cat?",
             "anna: bob: thanks", "dirk: cleo: on the roof"]  # fmt: skip
    rows = [dict(zip(("speaker", "text"), line.split(": ", 1), strict=True)) for line in lines]
    chat = tmp_path / "chat.jsonl"
    chat.write_text("\n".join(json.dumps(row) for row in rows))
    facts = json.loads(
        call("reconstruct", chat, "--channel", "--out", tmp_path / "out.jsonl", "--json")
    )
    rebuilt = pv.read(tmp_path / "out.jsonl")
    assert facts["conversations"] == rebuilt.n_conversations
    parents = dict(rebuilt.table.select("id", "reply_to").iter_rows())
    assert parents["#2"] == "#1"
    assert parents["#4"] == "#2"
    assert parents["#5"] == "#3"


def test_replies_of_the_file_are_kept_if_asked(files, tmp_path):
    corpus = pv.read(files[1])
    output = call("reconstruct", files[1], "--keep", "--out", tmp_path / "x.jsonl")
    rebuilt = pv.read(tmp_path / "x.jsonl")
    given = corpus.table.filter(pl.col("reply_to").is_not_null()).select("id", "reply_to")
    assert f"Kept from the file: {given.height:,} replies" in output
    kept = given.join(rebuilt.table.select("id", found="reply_to"), on="id")
    assert (kept["reply_to"] == kept["found"]).all()


def test_bare_is_the_method_of_the_paper(files, tmp_path):
    train = files[0]
    test = pv.read(files[1]).take(range(4)).write(tmp_path / "few.jsonl")
    model = pv.BlockHMM(n_classes=3, n_sweeps=5).fit(pv.read(train), show_progress=False)
    model.save(tmp_path / "run")
    call("reconstruct", test, "--model", tmp_path / "run", "--bare", "--out", tmp_path / "x.jsonl")
    rebuilt, corpus = pv.read(tmp_path / "x.jsonl"), pv.read(test)
    links = model.reconstruct(corpus, order="time")
    found = dict(rebuilt.table.select("id", "reply_to").iter_rows())
    assert found == dict(links.select("id", "parent").iter_rows())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "--out"),
        (["--out", "x.jsonl", "--bare"], "--model RUN"),
        (["--out", "x.jsonl", "--model", "run"], "--train FILE"),
        (["--out", "x.jsonl", "--use", "a", "--train", "b"], "--use cannot be combined"),
        (["--out", "x.jsonl", "--train", "b", "--save", __file__], "is a file"),
    ],
)
def test_wrong_options_say_what_to_give(files, arguments, said):
    output = call("reconstruct", files[1], *arguments, code=2)
    assert said in " ".join(output.replace("│", " ").split())


@pytest.mark.parametrize(
    ("out", "said"),
    [("x.unknown", "must end in .jsonl"), ("test.jsonl", "is also the input"),
     ("train.jsonl/x.jsonl", "is a file"), ("", "contains other files")],
)  # fmt: skip
def test_an_output_that_cannot_be_written_is_refused_before_the_work(files, out, said, monkeypatch):
    def never(*_, **__):
        raise AssertionError("the file was read")

    monkeypatch.setattr("palaver.cli.options.read_corpus", never)
    test = files[1]
    assert said in fails("reconstruct", test, "--out", test.parent / out)
