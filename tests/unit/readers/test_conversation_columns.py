"""A file without a known column of conversations: which one is asked about."""

from __future__ import annotations

from pathlib import Path

import pytest

import palaver as pv
from palaver.corpus.names import names_conversations


@pytest.mark.parametrize(
    "name",
    ["dialog_no", "ChatID", "ticket", "对话编号", "conversación_id", "رقم_محادثة", "fil",
     "no_conversa", "диалог", "Gespräch", "बातचीत", "কথোপকথন_id", "session"],
)  # fmt: skip
def test_words_for_a_conversation(name: str) -> None:
    assert names_conversations(name)


@pytest.mark.parametrize("name", ["file", "profile", "filter", "theme", "turn", "score", "who"])
def test_other_words(name: str) -> None:
    assert not names_conversations(name)


@pytest.mark.parametrize("name", ["dialog_no", "nr", "会话"])
def test_the_column_is_asked_about(name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    rows = [f"{row // 4},{row % 4},{'AB'[row % 2]},hello {row}" for row in range(40)]
    path.write_text(f"{name},turn,who,utterance\n" + "\n".join(rows))
    corpus = pv.read(path)
    assert corpus.n_conversations == 1
    (advice,) = corpus.notes.advice
    assert f"all messages were put into one conversation; is it {name!r}?" in advice
    assert pv.read(path, columns={"conversation": name}).n_conversations == 10
