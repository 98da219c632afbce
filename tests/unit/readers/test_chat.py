from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from support.fuzz import mutations, read_or_refuse

import palaver as pv
from palaver.corpus.readers.chat import clean_text

KITCHEN = Path(__file__).parents[2] / "fixtures" / "chat" / "kitchen.cha"


def test_table() -> None:
    corpus = pv.read(KITCHEN)
    assert corpus.format == "chat"
    table = corpus.table.with_columns(corpus.table["time"].dt.epoch("ms"))
    assert table.select("conversation", "id", "speaker", "role", "time", "end", "text").rows() == [
        ("kitchen", "1", "MOT", "Mother", 0, 1.525, "what is what are you doing honey?"),
        ("kitchen", "2", "Nia", "Target_Child", 2000, 5.25,
         "um I maked ice cream and and a big woof..."),
        ("kitchen", "3", "Kim Lee", "Investigator", 5300, 6.0, ""),
        ("kitchen", "4", "Nia", "Target_Child", None, None, "no, Mommy!"),
    ]  # fmt: skip
    assert table.select("mor", "gra", "act", "com").rows()[:2] == [
        ("pro:int|what cop|be&PRES pro|you part|do-PRESP ?", "1|2|LINK 2|0|ROOT", None, None),
        (None, None, "points at the bowl", "very proud smiles"),
    ]
    assert table.select("age", "sex", "group", "language").row(1) == (
        "2;06.10",
        "female",
        "TD",
        "eng",
    )
    assert table["raw_text"][1] == (
        "&-um I maked [: made] [* m] ice+cream@c and xxx and a big [!] woof@o +..."
    )
    assert corpus.notes.counts == {"empty_text": 1}


@pytest.mark.parametrize(
    ("tier", "text"),
    [
        ("more cookie . \x151234_5678\x15", "more cookie."),
        ('hello . \x15%snd:"boys85"_12_34\x15', "hello."),
        ("xxx .", ""),
        ("&=laughs yes !", "yes!"),
        ("look at <the the> [/] the dog [x 2] +//.", "look at the the the dog."),
        ('+" I said +"/.', "I said."),
        ("what's that +..?", "what's that..?"),
        ("0is he going ?", "he going?"),
        ("&+ba &~goo ball .", "ball."),
        ("well &*MOT:mhm yes .", "well yes."),
        ("casa@s:spa and Santa_Claus .", "casa and Santa Claus."),
        ("wanna [: want to] go (1.5) home [*] [+ bch] .", "wanna go home."),
        ("I ⌈said so⌉ ↑really .", "I said so really."),
        ("<", ""),
        ("", ""),
    ],
)
def test_cleaning(tier: str, text: str) -> None:
    assert clean_text(tier) == text


def test_folder(tmp_path: Path) -> None:
    for name in ("a/one.cha", "b/two.cha"):
        (tmp_path / name).parent.mkdir()
        shutil.copy(KITCHEN, tmp_path / name)
    (tmp_path / "0metadata.cdc").write_text("Title:\tnothing\n")
    corpus = pv.read(tmp_path)
    assert corpus.format == "chat"
    assert corpus.table["conversation"].unique(maintain_order=True).to_list() == ["a/one", "b/two"]


def test_known_by_its_headers(tmp_path: Path) -> None:
    path = tmp_path / "kitchen.txt"
    shutil.copy(KITCHEN, path)
    assert pv.read(path).format == "chat"


def test_lines_of_no_kind_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.cha"
    path.write_text("@Begin\n%mor:\tof nothing\n*CHI:\thi .\nrubbish\n*MOT hello\n@End\n")
    corpus = pv.read(path)
    assert corpus.table.select("speaker", "text").rows() == [("CHI", "hi.")]
    assert corpus.notes.places["bad_line"] == ["x.cha line 2", "x.cha line 4", "x.cha line 5"]


def test_tiers_never_replace_our_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.cha"
    path.write_text("@Begin\n*CHI:\thi .\n%text:\tother\n%speaker:\tme\n%date:\tlast week\n@End\n")
    corpus = pv.read(path)
    assert corpus.table.select("speaker", "text", "text_tier", "speaker_tier").rows() == [
        ("CHI", "hi.", "other", "me")
    ]
    assert corpus.table["time"].null_count() == 1
    assert corpus.table["date"].to_list() == ["last week"]


def test_a_file_without_an_end_is_truncated(tmp_path: Path) -> None:
    data = KITCHEN.read_bytes()
    path = tmp_path / "cut.cha"
    path.write_bytes(data[: data.index(b"[=! laughs]")])
    corpus = pv.read(path)
    assert corpus.n_messages == 3
    assert corpus.notes.counts["truncated"] == 1


@settings(max_examples=60, deadline=None)
@given(mutations(KITCHEN.read_bytes()))
def test_broken_bytes(data: bytes) -> None:
    read_or_refuse(data, "kitchen.cha")
