"""Doors for hostile or odd texts: time that grows with the input, or a limit that says so."""

import io
import json
import subprocess
import sys
import zipfile

import polars as pl
import pytest
from support.growth import assert_linear

import palaver as pv
from palaver.corpus.notes import Notes
from palaver.corpus.readers.base import MOST_COLUMNS
from palaver.corpus.readers.chat import clean_text
from palaver.corpus.readers.mail_text import cut_quotes, decode_words
from palaver.encoding.sentences import split_sentences
from palaver.encoding.tokenizer import split_words
from palaver.errors import FormatError

WORDS = {
    "dotted": "a.",
    "hyphens": "a-",
    "Han": "你",
    "dotted, then an address": "a.",
    "addresses": "a@b.",
}
SENTENCES = {
    "dots": (".", "a"),
    "abbreviations": ("Mr. ", ""),
    "initials": ("A.", " b"),
    "quotes after a stop": ('."', "x"),
    "blank lines": ("\n", ""),
}
MAILS = {
    "quotes and blank lines": "> a\n\n",
    "blank lines": "\n",
    "forwarded": "-- Original Message" + " " * 50 + "x\n",
}
TIERS = {"spaces": " ", "pauses": "(.) ", "codes": "[x] ", "an ending": "."}


@pytest.mark.parametrize("kind", WORDS)
def test_words(kind):
    end = " ann@x.org" if "then" in kind else ""
    assert_linear(lambda n: split_words(pl.Series([WORDS[kind] * n + end])), 10_000)


def test_words_are_the_same_in_long_runs():
    run = "a.b-c_d'e " * 3 + "see ann.b+c@mail.example.org now!? 你好 www.x.org/a.b"
    long = run + " " + "x" * 300
    assert split_words(pl.Series([long])).to_list()[0] == [
        *split_words(pl.Series([run])).to_list()[0],
        "x" * 300,
    ]
    without = run.replace("@", " ") + " " + "x" * 300
    short = without[:-301]
    found = split_words(pl.Series([short, without, "", None], dtype=pl.String)).to_list()
    assert found[1] == [*found[0], "x" * 300]
    assert found[2] == []


@pytest.mark.parametrize("kind", SENTENCES)
def test_sentences(kind):
    part, end = SENTENCES[kind]
    assert_linear(lambda n: split_sentences(part * n + end), 10_000)


@pytest.mark.parametrize("kind", MAILS)
def test_quotes_in_mails(kind):
    assert_linear(lambda n: cut_quotes(MAILS[kind] * n), 2_000)


def test_a_forwarded_mail_with_spaces():
    assert_linear(lambda n: cut_quotes("-- Original Message" + " " * n + "x"), 2_000)


def test_encoded_words():
    assert_linear(lambda n: decode_words("=?utf-8?q?abc?= " * n, Notes(), "x"), 10_000)


@pytest.mark.parametrize("kind", TIERS)
def test_utterances_of_chat(kind):
    assert_linear(lambda n: clean_text("+" + TIERS[kind] * n + "x"), 4_000)


def test_dependent_tiers_of_chat(tmp_path):
    def read(n):
        path = tmp_path / "x.cha"
        lines = ["@UTF8", "@Begin", "*ANN:\thello .", *["%com:\t" + "x" * 50] * n, "@End"]
        path.write_text("\n".join(lines))
        return pv.read(path)

    assert len(read(3).table["com"][0].split()) == 3
    assert_linear(read, 20_000)


def test_subjects_of_mails(tmp_path):
    def read(n):
        path = tmp_path / "x.mbox"
        head = "From a@b.org Mon Jan  1 00:00:00 2024\nFrom: a@b.org\nSubject: "
        path.write_text(head + "a" + " " * n + "b\n\nhello\n")
        return pv.read(path)

    assert_linear(read, 20_000)


def test_marks_in_whatsapp(tmp_path):
    def read(n):
        path = tmp_path / "x.txt"
        path.write_text("01.02.24, 10:00 - Ann: hello\n" + "\u200e" * n + "x\n", "utf-8")
        return pv.read(path, format="whatsapp")

    assert_linear(read, 8_000)


def test_anonymizing_many_speakers():
    def work(n):
        table = pl.DataFrame({"speaker": [f"user{i:07}" for i in range(n)], "text": ["hi"] * n})
        return pv.Corpus.from_polars(table).anonymized()

    assert_linear(work, 15_000)


def test_a_slack_day_without_an_array(tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("general/2024-01-01.json", bytes(40 << 20))
        day = [{"ts": "1.0", "user": "U1", "text": "hello"}]
        archive.writestr("general/2024-01-02.json", json.dumps(day))
    corpus = pv.read(path)
    assert corpus.n_messages == 1
    assert corpus.notes.counts["truncated"] == 1


def write_keys(path, n, nested):
    with path.open("w") as stream:
        for i in range(n):
            own = {f"key{i}": 1}
            record = {"text": "hi", **({"meta": own} if nested else own)}
            stream.write(json.dumps(record) + "\n")


def test_json_lines_that_each_have_a_key_of_their_own(tmp_path):
    path = tmp_path / "x.jsonl"
    write_keys(path, MOST_COLUMNS + 1, nested=False)
    with pytest.raises(FormatError, match=r"more than 1,000 columns.*keep those that you need"):
        pv.read(path)
    write_keys(path, MOST_COLUMNS - 10, nested=False)
    assert pv.read(path).n_messages == MOST_COLUMNS - 10


def test_json_lines_with_nested_keys_of_their_own(tmp_path):
    path = tmp_path / "x.jsonl"
    write_keys(path, MOST_COLUMNS + 1, nested=True)
    table = pv.read(path).table
    assert table["meta"][7] == '{"key7": 1}'


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_with_too_many_columns(tmp_path, suffix):
    table = pl.DataFrame({"text": ["hi"], **{f"c{i}": [1] for i in range(MOST_COLUMNS)}})
    data = io.BytesIO()
    table.write_csv(data) if suffix == ".csv" else table.write_parquet(data)
    path = tmp_path / f"x{suffix}"
    path.write_bytes(data.getvalue())
    with pytest.raises(FormatError, match="more than 1,000 columns"):
        pv.read(path)


_READER = """
import resource, sys
import palaver as pv
from palaver.corpus.describe import describe
def peak():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1024 if sys.platform == "darwin" else 1)
describe(pv.read(sys.argv[1]))
before = peak()
describe(pv.read(sys.argv[2]))
print(1024 * (peak() - before))
"""


def test_memory_of_many_messages(tmp_path):
    """So that a million short messages fit into 1.2 GB."""
    n, paths = 200_000, [tmp_path / "few.jsonl", tmp_path / "many.jsonl"]
    for path, size in zip(paths, (20, n), strict=True):
        lines = (
            f'{{"id": "m{i}", "conversation": "c{i // 5}", "speaker": "p{i % 997}", '
            f'"time": {10**9 + i}, "text": "what do you think of {i}, is it like {i // 7}?"}}\n'
            for i in range(size)
        )
        path.write_text("".join(lines))
    done = subprocess.run(
        [sys.executable, "-c", _READER, *paths], capture_output=True, text=True, check=True
    )
    assert float(done.stdout) < 1_200 * n
