"""``shares``, ``evaluate`` and ``compare``."""

import json
import re
from types import SimpleNamespace

import polars as pl
import pytest
from support.verbs import call, fails

import palaver as pv
from palaver.cli.compare import show
from palaver.cli.evaluate import in_words
from palaver.cli.output import console
from palaver.trials.compare import Comparison


@pytest.fixture(scope="module")
def threads(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "threads.csv"
    pv.sample(40).table.select(
        "conversation", "id", "reply_to", "speaker", "time", "act", body="text"
    ).write_csv(path)
    return path


@pytest.fixture(scope="module")
def run(threads, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    call("fit", "m4", threads, "--classes", 4, "--sweeps", 20, "--seed", 3, "--out", folder,
         "--column", "text=body")  # fmt: skip
    return folder


def test_shares(threads, run, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    output = call("shares", run, "--by", "act", "--top", 3, "--out", tmp_path / "x.csv")
    assert "Classes in % of messages, by act" in output
    assert re.search(rf"\(all\) +│ +{pv.sample(40).n_messages} │", output)
    assert "(others)" in output
    written = pl.read_csv(tmp_path / "x.csv")
    assert written["group"].n_unique() == 4
    corpus = pv.read(threads, columns={"text": "body"})
    straight = pv.load(run).shares(corpus, "act", top=3)
    assert written["share"].to_list() == pytest.approx(straight["share"].to_list())
    rows = json.loads(call("shares", run, threads, "--column", "text=body", "--json"))
    assert set(rows[0]) == set(straight.columns)
    assert "by month" in call("shares", run, "--by", "month")


def test_shares_of_narrow_terminals_and_mistakes(threads, run, tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", 40)
    output = call("shares", run, "--by", "weekday")
    assert all(len(line) <= 40 for line in output.splitlines())
    assert "do not fit" in output
    assert "no column 'mood'" in fails("shares", run, "--by", "mood")
    assert "x.csv, x.parquet" in fails("shares", run, "--out", tmp_path / "x.xls")
    pv.load(run).save(tmp_path / "bare")
    assert "give a FILE" in fails("shares", tmp_path / "bare")
    moved = tmp_path / "moved.csv"
    moved.write_bytes(threads.read_bytes())
    call("fit", "lda", moved, "--classes", 2, "--sweeps", 4, "--out", tmp_path / "other",
         "--column", "text=body")  # fmt: skip
    moved.unlink()
    assert "moved.csv, which no longer exists; give a FILE" in fails("shares", tmp_path / "other")


def test_evaluate(threads, run, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", 80)
    output = call("evaluate", run, "--gold", "act")
    lines = output.splitlines()
    assert "m4 against 13 labels (act)" in output
    measures = [line for line in lines if line.startswith("│")][:11]
    assert all("–" in line and not line.startswith("│ ") for line in measures), "a row a line"
    assert "vi ↓" in measures[0]
    assert "homogeneity " in output
    assert "↓ lower is better" in output
    assert "many to one" in output or "purity" in output
    assert "than random classes do" in " ".join(output.split()[-30:])
    table = [line.split("│")[1].strip() for line in lines if line.count("│") == 7]
    assert table == ["m4", "k-means of tf-idf", "has a ?", "one class", "random"]
    report = json.loads(call("evaluate", run, threads, "--column", "text=body", "--json"))
    assert report["messages"] == pv.sample(40).n_messages
    assert {row["level"] for row in report["scores"]} == {"words", "messages"}
    assert report["scores"][0]["value"] < report["scores"][0]["random"]
    assert report["rivals"][1]["rival"] == "has a ?"
    assert "no column of labels 'mood'; there are act" in fails("evaluate", run, "--gold", "mood")


def test_evaluate_says_what_is_left_out(threads, run, tmp_path):
    table = pv.read(threads, columns={"text": "body"}).table.with_row_index("row")
    silent, nameless = pl.col("row").is_in([3, 10, 20]), pl.col("row").is_in([4, 5])
    table = table.with_columns(
        text=pl.when(silent).then(pl.lit("")).otherwise("text"),
        act=pl.when(~nameless).then("act"),
    ).drop("row")
    path = pv.Corpus.from_polars(table).write(tmp_path / "holes.jsonl")
    report = json.loads(call("evaluate", run, path, "--json"))
    assert (report["without_words"], report["without_label"]) == (3, 2)
    assert report["messages"] == table.height - 5
    assert sum(row["messages"] for row in report["classes"]) == table.height - 5
    said = " ".join(call("evaluate", run, path).split())
    assert f"on {table.height - 5} messages; left out: 3 messages without a word" in said
    assert "and 2 messages without a label" in said


def test_compare(threads, tmp_path, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", 110)
    settings = ("--column", "text=body", "--sweeps", 8, "--chains", 1, "--classes", "2,3")
    output = call("compare", threads, "--models", "m4,lda", *settings, "--out", tmp_path / "x.csv")
    assert "10 held-out conversations" in output
    assert "column act" in output
    told = " ".join(output.split())
    assert "No model beats “" in told
    assert "“previous message” by replies" in told
    written = pl.read_csv(tmp_path / "x.csv")
    assert written["model"].to_list()[:4] == ["m4", "m4", "lda", "lda"]
    report = json.loads(call("compare", threads, "--models", "lda", *settings, "--json"))
    assert report["gold"] == "act"
    assert report["rows"][0]["perplexity"] == pytest.approx(written["perplexity"][2])
    chained = call("compare", threads, "--models", "m4,lda", *settings, "--chain")
    assert "replies %" in output
    assert "replies %" not in chained, "these are not the file's"
    assert "previous" not in chained
    assert "--classes takes numbers" in fails("compare", threads, "--classes", "many")
    assert "there is no model 'm5'" in fails("compare", threads, "--models", "m5", *settings)
    assert "x.csv or x.parquet" in fails("compare", threads, "--out", tmp_path / "x.xls")


def judged(**values):
    row = {"model": "m4", "classes": 5, "coherence": 0.1, "stability": None, "seconds": 9.0,
           "words_per_second": 2e6}  # fmt: skip
    for name, value in values.items():
        row |= {name: value, f"{name}_low": value * 0.9, f"{name}_high": value * 1.1,
                f"{name}_p": None}  # fmt: skip
    return row


@pytest.mark.parametrize("width", [60, 80, 200])
def test_compare_shows_every_measure_at_any_width(width, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", width)
    labelled = {"v_measure": 0.5, "f1": 0.6, "one_to_one": 0.4}
    rows = [judged(perplexity=812.3, perplexity_paper=640.0, replies=0.31, vi=4.2, **labelled),
            judged(perplexity=999.9, perplexity_paper=880.0, replies=0.22, vi=4.9,
                   **dict.fromkeys(labelled, 0.1))]  # fmt: skip
    rows[1]["model"] = "previous message"
    rows[1] |= {"coherence": None, "seconds": None, "words_per_second": None}
    with console.capture() as capture:
        show(Comparison(pl.DataFrame(rows, infer_schema_length=None), 1, 25, "act"))
    output = capture.get()
    assert all(len(line) <= width for line in output.splitlines())
    for title in ("perplexity", "paper's", "replies %", "VI", "F1", "coherence", "seconds"):
        assert output.count(title) >= 1, title
    if width == 200:
        assert "words/s" in output
    for interval in ("(731.1–893.5)", "(27.9–34.1)", "(3.780–4.620)"):
        assert interval in output
    assert "stability" not in output  # of one chain nothing is known
    assert output.count("previous") <= 1 + output.count("m4")


def test_unknown_parameters_are_answered_with_those_there_are(threads, tmp_path):
    message = fails("fit", "lda", threads, "--column", "text=body", "--set", "foo=1",
                    "--out", tmp_path / "run")  # fmt: skip
    assert "there is no parameter 'foo'; the parameters are background, burn_in" in message


@pytest.mark.parametrize("rival", [0.2, 0.6])
def test_nothing_is_starred_that_a_rival_beats(rival, monkeypatch):
    monkeypatch.setattr("palaver.cli.output.console.width", 120)
    others = {"perplexity": 9.0, "perplexity_paper": 9.0, "replies": 0.1}
    worse = {"perplexity": 10.0, "perplexity_paper": 10.0, "replies": 0.0}
    rows = [judged(v_measure=0.5, f1=0.6, one_to_one=0.4, vi=2.0, **others),
            judged(v_measure=rival, f1=0.3, one_to_one=0.1, vi=3.0, **worse)]  # fmt: skip
    rows[1]["model"] = "has a ?"
    for row in rows:
        row["v_measure_p"] = None if row["v_measure"] == max(0.5, rival) else 0.01
    with console.capture() as capture:
        show(Comparison(pl.DataFrame(rows, infer_schema_length=None), 1, 25, "act"))
    output = " ".join(capture.get().split())
    assert ("0.500 (0.450–0.550) *" in output) == (rival < 0.5)
    assert "0.600 (0.540–0.660) *" in output, "F1 is the model's own"
    assert ("No model beats “has a ?” by V, so" in output) == (rival > 0.5)


@pytest.mark.parametrize(
    ("values", "lows", "rival", "said"),
    [
        ((0.4, 0.4), (0.3, 0.2), 0.1, "better than random classes do."),
        ((0.4, 0.4), (0.3, 0.0), 0.1, "only at the level of words."),
        ((0.4, 0.4), (0.0, 0.0), 0.1, "no better than random classes do."),
        ((0.04, 0.03), (0.03, 0.02), 0.1, "yet V is 0.04 where 1 is perfect, which is next to"),
        ((0.4, 0.4), (0.3, 0.3), 0.5, "“has a ?”, which needs no model, does at least as well."),
    ],
)
def test_evaluate_ends_with_a_sentence_about_chance_and_rivals(values, lows, rival, said):
    rows = [
        (level, measure, value, low, 0.5, 0.01)
        for level, value, low in zip(("words", "messages"), values, lows, strict=True)
        for measure in ("vi", "v_measure")
    ]
    names = ["level", "measure", "value", "low", "high", "random"]
    rivals = pl.DataFrame({"rival": ["one class", "has a ?"], "v_measure": [0.0, rival]})
    scores = pl.DataFrame(rows, names, orient="row")
    assert said in in_words(SimpleNamespace(scores=scores, rivals=rivals))


def test_a_stopped_comparison_says_how_to_go_on(threads, tmp_path, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("palaver.trials.compare", stop)
    settings = ("--column", "text=body", "--keep", tmp_path / "tried")
    output = call("compare", threads, *settings, code=130)
    assert "run the same command again" in " ".join(output.split())


def test_effects(run, tmp_path):
    output = call("effects", run, "--formula", "~ weekday", "--groups", "speaker", "--draws", 2,
                  "--sweeps", 3, "--out", tmp_path / "x.svg")  # fmt: skip
    assert "percentage points" in output
    assert "(usual)" in output
    assert re.search(r"│\s*A \S", output)
    assert (tmp_path / "x.svg").read_text().startswith("<svg")
    rows = json.loads(call("effects", run, "--formula", "~ act", "--draws", 2, "--json"))
    assert {"class", "term", "effect", "low", "high"} <= set(rows[0])
    assert "--formula '~ role'" in fails("effects", run)
    assert "starts with ~" in fails("effects", run, "--formula", "act")
    assert "x.csv or x.parquet" in fails("effects", run, "--formula", "~ act", "--out", "x.xls")
