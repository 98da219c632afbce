"""The pages of the Gaussian HMM and the hidden backoff models say what their numbers say."""

import gzip
import json
from datetime import UTC, datetime

import polars as pl
import pytest

from benchmarks.papers import Options, gaussian_hmm_page, hidden_backoff_page, taggers_page
from benchmarks.papers.cells import Cells
from benchmarks.papers.gaussian_hmm import cells
from benchmarks.papers.hidden_backoff_data import _pause, meetings_by_main_tags


def measured(f1, v1):
    return {"AC": 0.5, "PU": 0.5, "CO": 0.5, "F1": f1, "HO": 0.5, "CM": 0.5, "V1": v1, "states": 12}


@pytest.mark.parametrize(
    ("v1", "said"),
    [(0.43, "conversations, reaches the paper's"), (0.41, "does not reach the paper's")],
)
def test_the_page_of_vectors_follows_its_numbers(v1, said, tmp_path):
    options, kept = Options(tmp_path, "full", 1), Cells(tmp_path)
    found = {"test": measured(0.66, v1), "all": measured(0.66, v1)}
    times = {"seconds": 100.0, "busy": 50.0, "sweeps": 200}
    seeds = [{name: measured(0.7, 0.4) for name in ("fitted", "10", "12")}] * 2
    results = {
        "facts": {"n_train": 10, "n_dev": 2, "n_test": 3, "coverage": 0.99},
        "trivial": {"random, 42": found},
        f"row/{gaussian_hmm_page.HEADLINE}": {"fitted": found, "12": found, "times": times},
        f"row/{gaussian_hmm_page.MIXTURE}": {"fitted": found, "12": found, "times": times},
        "context": [{"fitted": 0.9, "12": 0.998}],
        "ablation/as above": seeds,
    }
    text = gaussian_hmm_page.page(options, kept, results)
    assert said in text
    assert "50 s of processor time" in text
    assert "| acts | 10 | 12 |" in text
    assert f"with the previous utterance 66.0 / {100 * v1:.1f}, without it 66.0" in text
    assert "99.8 % of the utterances the same act" in text
    missing = [cell.name for cell in cells(options, kept) if cell.name not in results]
    assert all(name in text for name in missing)


@pytest.mark.parametrize("error", [0.22, 0.19])
def test_words_alone_are_said_to_be_behind_only_if_they_are(error):
    where = {
        "one word": {"sentences": 0.5, "wrong": 0.1},
        "others": {"sentences": 0.5, "wrong": 0.3},
    }
    results = {"words/baseline": {"dev": error, "test": error, "where": where},
               "words/MaxEnt": {"dev": error, "test": error}}  # fmt: skip
    text = hidden_backoff_page._words_alone(results)
    assert ("no configuration" in text) == (error > 0.197)
    assert "| one word | 50.0 | 20.0 | 25.0 |" in text


def test_pauses_are_those_of_one_speaker():
    times = [datetime.fromtimestamp(second, UTC) for second in (0, 2, 3, 9)]
    table = pl.DataFrame({"conversation": ["c"] * 4, "speaker": ["a", "b", "a", "b"],
                          "time": times, "end": [1.0, 2.5, 4.0, 10.0]})  # fmt: skip
    words = table.select(_pause().alias("word"))["word"].to_list()
    # a continues after 2 s, b after 6.5 s; then nobody does
    assert words == ["<pause 4>", "<pause 5>", "<pause, the last>", "<pause, the last>"]


def test_main_tags_and_sentences_with_two_labels(tmp_path):
    rows = [
        ("fh|s.%--", "so | we have this um =="), ("%-", "i =="), ("qy^rt", "Is it ?"),
        ("s^bk|s", "yeah | right ."), ("z", "hm"), ("b.%", "uhhuh"), ("s", "."),
    ]  # fmt: skip
    (tmp_path / "mrda").mkdir()
    with gzip.open(tmp_path / "mrda" / "mrda.jsonl.gz", "wt") as file:
        for number, (label, text) in enumerate(rows):
            row = {"conversation": "m", "id": str(number), "speaker": "a", "text": text,
                   "raw_act": label, "act": "S", "transcript": text, "split": "train"}  # fmt: skip
            file.write(json.dumps(row) + "\n")
    words = meetings_by_main_tags(tmp_path, "words", "train").table
    assert words["act"].to_list() == ["h", "s", "x", "q", "s", "s", "b"]
    assert words["tokens"].to_list() == [
        ["so"], ["we", "have", "this", "um"], ["i"], ["is", "it"], ["yeah"], ["right"], ["uhhuh"]
    ]  # fmt: skip
    marks = meetings_by_main_tags(tmp_path, "marks", "train").table["tokens"].to_list()
    assert marks[1:4] == [["we", "have", "this", "um", "=="], ["i", "=="], ["is", "it"]]


def test_the_page_of_the_taggers_says_what_was_measured():
    rows = {"majority": [[4, 10]], "hidden backoff": [[6, 10]],
            "conditional random field": [[8, 10]]}  # fmt: skip
    results = {
        f"dailydialog/{name}": {"right": right * 3, "train": 1.0, "tag": 0.001, "messages": 70}
        for name, right in rows.items()
    }
    found = [{"tagger": "crf", "accuracy": 0.75}, {"tagger": "maxent", "accuracy": 0.7}]
    results["dailydialog/choice"] = {"chosen": "crf", "table": found}
    results["swda/50 labels/conditional random field"] = {"accuracy": 0.5}
    text = taggers_page.text(results)
    assert "| conditional random field | **80.0** |" in text
    assert "| majority | 40.0 |" in text
    assert "crf (crf 75.0, maxent 70.0); on the test part it has 80.0." in text
    assert "hidden backoff +20.0 (+20.0 to +20.0)" in text
    assert "| conditional random field | 1.0 / 30 |" in text
    assert "| swda | 50 |  | 50.0 |" in text
