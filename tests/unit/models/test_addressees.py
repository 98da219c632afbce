"""Where units begin behind the name of whom they are for."""

import polars as pl
import pytest

import palaver as pv
from palaver.encoding import encode
from palaver.models.acts.units import units_of

TEXTS = {
    "ann: try this": "try",
    "Bob_99, no": "no",
    "@ann hello there": "hello",
    "@ann: hello there": "hello",
    "joe-two: yes": "yes",
    "well, I see": "well",
    "ann is here": "ann",
    "ann:": "ann",
    "so ann: no": "so",
    "@ann": "@",
    "": None,
}


@pytest.mark.parametrize("unit", ["message", "sentence"])
def test_units_begin_behind_names_of_people(unit):
    speakers = ["Ann", "bob_99", "joe-two", "x"]
    rows = pl.DataFrame({"text": list(TEXTS), "speaker": (speakers * 3)[: len(TEXTS)]})
    data = encode(pv.Corpus.from_polars(rows.with_columns(conversation=pl.lit("c"))),
                  sentences=True)  # fmt: skip
    units = units_of(data, unit)
    words = [*data.vocabulary.words, ""]
    found = [
        words[units.tokens[begin]] if start < stop else None
        for begin, start, stop in zip(
            units.begins, units.offsets[:-1], units.offsets[1:], strict=True
        )
    ]
    assert found == list(TEXTS.values())


def test_unknown_names_of_new_texts_are_addressees():
    old = encode(pv.Corpus.from_polars(pl.DataFrame({"text": ["try : that", "no , try"]})))
    rows = pl.DataFrame({"text": ["zoe: try that", "try that: zoe"]})
    new = encode(pv.Corpus.from_polars(rows), old.vocabulary, keep_unknown=True)
    assert units_of(new, "message").begins.tolist() == [2, 4]  # behind "zoe :"
