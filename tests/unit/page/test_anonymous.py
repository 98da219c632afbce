"""Nothing of what is anonymized is in any part of an anonymized page, or of what is written."""

import base64
import re
import zlib

import polars as pl
import pytest
from support.verbs import call

import palaver as pv

NAME, FULL, NICK = "Wanderer42", "Ann Miller-Quux", "zebrafish"
PHONE, MAIL = "+49 30 9182736", "quux@private.example"
SECRETS = ("wanderer42", "quux", "zebrafish", "9182736", "private.example")


def planted(folder):
    """A file in which people are named in every field, and a run with topics about it."""
    table = pv.sample(40).table
    n = table.height
    speakers = [(NAME, FULL, NICK, "bob")[i % 4] for i in range(n)]
    starts = (f"@{NICK} look: ", f"{NICK}: ", f"hi @{NAME}, ", f"as {NAME} said, ",
              f"ask {FULL} or {MAIL}. ", f"call {PHONE} now. ", "")  # fmt: skip
    texts = [starts[i % len(starts)] + text for i, text in enumerate(table["text"])]
    texts[3] += f"\nBest regards,\n{FULL}"
    table = table.drop("act", strict=False).with_columns(
        pl.Series("speaker", speakers),
        pl.Series("text", texts),
        pl.Series("subject", [f"{FULL} is away"] * n),
        pl.Series("tone", [(NAME, "calm", NICK)[i % 3] for i in range(n)]),
        pl.Series(f"rated by {NAME}", ["yes", "no"] * (n // 2) + ["yes"] * (n % 2)),
        conversation=pl.format("chat with {} {}", pl.lit(FULL), pl.col("conversation")),
    )
    path = folder / f"chat with {FULL}.jsonl"
    pv.Corpus.from_polars(table).write(path)
    run = folder / f"run of {NAME}"
    call("fit", "m4", path, "--classes", 3, "--topics", 3, "--sweeps", 20, "--min-count", 1,
         "--out", run)  # fmt: skip
    return path, run


def found_in(text):
    """Which secrets a text holds, those in packed data included."""
    parts = [text]
    for word in re.findall(r"[A-Za-z0-9+/=]{60,}", text):
        try:
            data = base64.b64decode(word)
            parts.append(data.decode("utf-8", "replace"))
            parts.append(zlib.decompress(data, -15).decode("utf-8", "replace"))
        except (ValueError, zlib.error):
            continue
    everything = "\n".join(parts).casefold()
    return [secret for secret in SECRETS if secret in everything]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    return folder, *planted(folder)


def test_what_is_planted_is_on_a_plain_page(place):
    """Or else the other tests would show nothing."""
    folder, _, run = place
    call("report", run, "--out", folder / "plain.html")
    assert found_in((folder / "plain.html").read_text()) == list(SECRETS)


def test_a_page_names_nobody(place):
    folder, _, run = place
    call("report", run, "--out", folder / "page.html", "--anonymize")
    assert found_in((folder / "page.html").read_text()) == []


def test_a_page_about_other_texts_than_the_runs_names_nobody(place):
    folder, _, run = place
    other = pv.sample(10, random_state=3).write(folder / "other.jsonl")
    call("report", run, other, "--out", folder / "other.html", "--anonymize")
    assert found_in((folder / "other.html").read_text()) == []


def test_what_is_made_of_an_anonymized_file_names_nobody(place):
    folder, path, run = place
    call("convert", path, folder / "safe.jsonl", "--anonymize")
    assert found_in((folder / "safe.jsonl").read_text()) == []
    corpus = pv.read(path).anonymized()
    assert found_in(corpus._repr_html_() + repr(corpus)) == []
    shown = call("shares", run, folder / "safe.jsonl", "--by", "tone", "--json")
    shown += call("people", folder / "safe.jsonl", "--all", "--json")
    assert found_in(shown) == []
    call("annotate", run, folder / "safe.jsonl", folder / "tagged.jsonl")
    assert found_in((folder / "tagged.jsonl").read_text()) == []


def test_names_are_found_in_sentences_only_if_they_can_be_nothing_else():
    rows = pl.DataFrame({
        "speaker": ["Wanderer42", "Ann Miller", "will", "user 1"],
        "text": ["will Ann Miller come? I will. see ANN MILLERs", "wanderer42 and xwanderer42",
                 "user 1, user 12 and (user 1)", "Ann will."],
    })  # fmt: skip
    texts = pv.Corpus.from_polars(rows).anonymized().table["text"].to_list()
    assert texts == ["will p2 come? I will. see ANN MILLERs", "p1 and xwanderer42",
                     "p4, user 12 and (p4)", "Ann will."]  # fmt: skip
