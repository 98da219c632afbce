"""``train-tagger`` and ``tag``."""

import json
from pathlib import Path

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.models.registry import TAGGERS
from palaver.models.taggers.contract import most_confused, tag_scores


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    train, test = pv.sample(60).split(test=0.3, random_state=0)
    return train.write(folder / "train.jsonl"), test.write(folder / "test.jsonl")


def test_train_and_tag(files, tmp_path):
    train, test = files
    run = tmp_path / "run"
    report = json.loads(
        call("train-tagger", train, "--labels", "act", "--states", 2, "--set", "order=2",
             "--seed", 3, "--test", test, "--out", run, "--json")
    )  # fmt: skip
    tagger = pv.load(run)
    assert report["tags"] == tagger.tags_
    assert report["accuracy"] == pytest.approx(tagger.score(pv.read(test)))
    assert tagger.random_state == 3
    assert tagger.confusion_.to_dicts() == report["confusion"]
    assert set(tagger.summary().tables) == {"state_words", "rounds", "confusion", "errors"}
    out = tmp_path / "tagged.csv"
    shown = call("tag", run, test, "--out", out)
    gold = pv.read(test).table["act"]
    said = f"{report['accuracy']:.1%} of {len(gold)} labelled messages are tagged correctly"
    assert said in " ".join(shown.split())
    usual = gold.value_counts(sort=True)["count"][0] / len(gold)
    assert f"would be correct for {usual:.1%}." in " ".join(shown.split())
    assert not {"</s>", "<unk>"} & set(tagger.top_words(8, by="distinctiveness")["word"])
    assert pv.read(out).table["tag"].to_list() == tagger.predict(pv.read(test)).tolist()
    rows = json.loads(call("tag", run, test, "--json"))
    assert rows["accuracy"] == report["accuracy"]
    assert len(rows["messages"]) == pv.read(test).n_messages
    shown = call("train-tagger", train, "--states", 1, "--out", tmp_path / "two")
    assert "characteristic words" in shown
    assert f"palaver tag {tmp_path / 'two'} {train} --out tagged.jsonl\n" in shown
    listed = call("classes", run, "--words", 5)
    assert "% of messages" in listed
    assert all(f"│ {tag} " in listed for tag in tagger.tags_)
    judged = call("evaluate", run, test)
    assert max(map(len, judged.splitlines())) <= 80
    assert all(line[-1] in "│┃┓┩┘" for line in judged.splitlines() if line[:1] in list("│┃┏┡└"))
    assert said in " ".join(judged.split())
    assert set(tagger.tags_) <= set(judged.replace("│", " ").split())
    purity = json.loads(call("evaluate", run, test, "--json"))["scores"]
    purity = next(row for row in purity if row["measure"] == "purity")
    assert purity["value"] >= report["accuracy"], "the same tags are judged"
    scores = {row["tag"]: row for row in report["scores"]}
    found = tagger.predict(pv.read(test)) == "instruction"
    right = found & (gold == "instruction").to_numpy()
    assert scores["instruction"]["messages"] == (gold == "instruction").sum()
    assert scores["instruction"]["precision"] == pytest.approx(right.sum() / found.sum())
    assert scores["instruction"]["recall"] == pytest.approx(
        right.sum() / (gold == "instruction").sum()
    )


def test_maximum_entropy(files, tmp_path):
    train, test = files
    run, out = tmp_path / "run", tmp_path / "tagged.jsonl"
    report = json.loads(
        call("train-tagger", train, "--tagger", "maxent", "--set", "context=true", "--seed", 3,
             "--jobs", 2, "--test", test, "--out", run, "--json")
    )  # fmt: skip
    tagger = pv.load(run)
    assert isinstance(tagger, pv.MaxEntTagger)
    assert (tagger.context, tagger.random_state) == (True, 3)
    assert report["accuracy"] == pytest.approx(tagger.score(pv.read(test)))
    same = pv.MaxEntTagger(context=True, random_state=3).fit(pv.read(train))
    assert same.predict(pv.read(test)).tolist() == tagger.predict(pv.read(test)).tolist()
    call("tag", run, test, "--out", out)
    assert pv.read(out).table["tag"].to_list() == tagger.predict(pv.read(test)).tolist()
    assert "How well it tags" in Path(json.loads(call("report", run, "--json"))["out"]).read_text()
    help_text = " ".join(call("train-tagger", "--help").split())
    assert all(name in help_text for name in TAGGERS)
    assert "no tagger 'maximum'" in fails(
        "train-tagger", train, "--tagger", "maximum", "--out", tmp_path / "two"
    )


def test_the_best_tagger_is_taken_and_said(files, tmp_path):
    train, test = files
    run = tmp_path / "run"
    shown = " ".join(call("train-tagger", train, "--test", test, "--out", run).split())
    chosen = pv.choose_tagger(pv.read(train), "act")
    assert pv.load(run).name == chosen.tagger.name
    assert f"{chosen.why}." in shown
    assert all(f"│{name} " in shown for name in TAGGERS)
    report = json.loads(call("train-tagger", train, "--set", "penalty=3", "--out",
                             tmp_path / "two", "--json"))  # fmt: skip
    assert {row["tagger"] for row in report["compared"]} == {"crf", "maxent"}
    assert report["why"].startswith(chosen.tagger.name + ": ")
    assert pv.load(tmp_path / "two").penalty == 3
    assert "no tagger has the parameters shoes" in fails(
        "train-tagger", train, "--set", "shoes=2", "--out", tmp_path / "three"
    )


def test_an_interrupted_choice_is_kept(files, tmp_path):
    from palaver.cli import runs

    run = tmp_path / "run"
    begun = pv.MaxEntTagger(context=True, max_iter=7)
    runs.write_settings(run, begun, str(files[0]), {}, label="act")
    call("train-tagger", files[0], "--out", run)
    found = pv.load(run)
    assert (found.name, found.context, found.max_iter) == ("maxent", True, 7)


def test_train_shows_scores_and_mistakes(files, tmp_path):
    train, test = files
    shown = call("train-tagger", train, "--states", 1, "--test", test, "--out", tmp_path / "run")
    tagger = pv.load(tmp_path / "run")
    mistakes = most_confused(tagger.confusion_, 5)
    assert mistakes["messages"].is_sorted(descending=True)
    first = mistakes.row(0, named=True)
    assert f"  {first['label']} tagged as {first['tag']}: {first['messages']} message" in shown
    assert f"The 10 most frequent of {tag_scores(tagger.confusion_).height} tags." in shown
    assert "also in the training" not in shown


def test_test_conversations_that_were_learned_from_are_said(files, tmp_path):
    train, test = map(pv.read, files)
    mixed = pv.Corpus.from_polars(pl.concat([train.take(range(3)).table, test.table]))
    path = mixed.write(tmp_path / "mixed.jsonl")
    shown = call("train-tagger", files[0], "--states", 1, "--test", path, "--out", tmp_path / "r")
    said = f"3 of {mixed.n_conversations} test conversations are also in the training file"
    assert said in " ".join(shown.split())


def test_few_messages_are_shown_in_their_order(files, tmp_path):
    run = tmp_path / "run"
    call("train-tagger", files[0], "--states", 1, "--out", run)
    few = pv.read(files[1]).take(range(3))
    path = few.write(tmp_path / "few.jsonl")
    lines = [line for line in call("tag", run, path).splitlines() if line.startswith("│")]
    tags = pv.load(run).predict(few)
    assert len(lines) == few.n_messages
    for line, tag, text in zip(lines, tags, few.table["text"], strict=True):
        assert line.split("│")[1].strip() == tag
        assert " ".join(text.split())[:20].strip() in line
        assert "% " in line


def test_mistakes(files, tmp_path):
    train, _ = files
    message = fails("train-tagger", train, "--labels", "mood", "--out", tmp_path / "run")
    assert "no column 'mood' of labels" in message
    assert "Missing option '--out'" in fails("train-tagger", train)
    call("train-tagger", train, "--states", 1, "--out", tmp_path / "one")
    assert "already holds a model" in fails("train-tagger", train, "--out", tmp_path / "one")
    call("fit", "lda", train, "--classes", 2, "--sweeps", 4, "--out", tmp_path / "lda")
    assert "palaver annotate" in fails("tag", tmp_path / "lda", train)


def test_words_get_states(tmp_path):
    train = tmp_path / "train.conll"
    train.write_text("the D\ncat N\nsat V\n\na D\ndog N\nran V\n\n" * 10)
    run, out = tmp_path / "run", tmp_path / "states.conll"
    shown = call("fit", "infinite-hmm", train, "--sweeps", 10, "--out", run)
    assert "palaver tag" in shown
    assert f"{pv.load(run).n_states_} states found" in " ".join(shown.split())
    shown = call("tag", run, train, "--out", out)
    assert "60 words with their states" in " ".join(shown.split())
    again = pv.read(out)
    assert again.n_messages == 20
    assert again.table["tokens"][0].to_list() == ["the", "cat", "sat"]
    assert again.table["pos"][0].to_list() == ["D", "N", "V"]
    states = pv.load(run).predict(pv.read(train))
    assert [s for row in again.table["column3"] for s in row] == [str(s) for s in states]
    rows = json.loads(call("tag", run, train, "--json"))["messages"]
    assert len(rows) == 20
    assert len(rows[0]["state"]) == 3
    plain = pv.sample(3).write(tmp_path / "talk.jsonl")
    tagged = json.loads(call("tag", run, plain, "--json"))["messages"]
    assert all(len(row["state"]) == len(row["tokens"]) for row in tagged)


def test_a_test_file_without_labels_is_refused_before_the_training(files, tmp_path):
    path = tmp_path / "bare.csv"
    path.write_text("text,speaker\nhello,ann\n")
    told = fails("train-tagger", files[0], "--test", path, "--out", tmp_path / "run")
    assert "bare.csv: has no column 'act' of labels" in " ".join(told.split())
    assert not (tmp_path / "run").exists()


def test_label_fill_in_and_train(files, tmp_path):
    gold = pv.read(files[0])
    bare = pv.Corpus.from_polars(gold.table.drop("act")).write(tmp_path / "bare.jsonl")
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    shown = " ".join(call("label", bare, "--n", 30, "--out", first).split())
    assert f"30 messages to label -> {first}" in shown
    assert f"palaver train-tagger {bare} --labels act --filled {first} --out run/" in shown

    def fill_in(path):
        rows = pl.read_csv(path, infer_schema=False)
        answers = gold.table.select("conversation", "id", pl.col("act").alias("answer"))
        done = rows.join(answers, on=["conversation", "id"], how="left", maintain_order="left")
        done.with_columns(label="answer").drop("answer").write_csv(path)

    fill_in(first)
    shown = call("label", bare, "--filled", first, "--n", 20, "--out", second)
    assert f"{first}: 30 labels read." in " ".join(shown.split())
    assert pl.read_csv(second)["suggested"].null_count() == 0
    fill_in(second)
    run = tmp_path / "run"
    call("train-tagger", bare, "--filled", first, "--filled", second, "--tagger", "crf",
         "--out", run)  # fmt: skip
    assert pv.load(run).score(pv.read(files[1])) > 0.3
    rows = json.loads(call("label", bare, "--run", run, "--n", 3, "--out", tmp_path / "x.csv",
                           "--json"))  # fmt: skip
    assert len(rows["messages"]) == 3
    assert "is a .csv file" in fails("label", bare, "--out", tmp_path / "x.jsonl")


def test_acts_as_features(files, tmp_path):
    train, test = files
    table = pv.read(train).table
    known = pl.Series(["x" if k % 3 == 0 else None for k in range(table.height)])
    some = tmp_path / "some.jsonl"
    act = pl.when(known.is_not_null()).then(pl.col("act"))
    pv.Corpus.from_polars(table.with_columns(act)).write(some)
    run = tmp_path / "run"
    shown = " ".join(call("train-tagger", some, "--tagger", "crf", "--acts", "--out", run).split())
    assert " acts, found without labels: " in shown
    assert pv.load(run).classes_.label_ is None
    assert "tagged correctly" in call("tag", run, test)
    error = fails("train-tagger", some, "--tagger", "hidden-backoff", "--acts",
                  "--out", tmp_path / "no")  # fmt: skip
    assert "hidden-backoff cannot take acts as features" in error
