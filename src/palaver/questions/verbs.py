"""What messages of an act do, as verbs: "ask" says more to most people than "question"."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from palaver.questions.talk import Talk

#: Verbs in the plural for the names that models propose (``models/acts/inventory.toml``).
VERBS = {
    "question": "ask",
    "yes/no question": "ask yes/no questions",
    "open question": "ask open questions",
    "request": "ask for something",
    "instruction or suggestion": "suggest what to do",
    "yes": "say yes",
    "no": "say no",
    "acknowledgement": "acknowledge",
    "agreement": "agree",
    "disagreement": "disagree",
    "thanks": "thank",
    "greeting": "greet",
    "goodbye": "say goodbye",
    "sign-off": "sign off",
    "apology": "apologize",
    "complaint or problem": "report problems",
    "laughter or joke": "laugh or joke",
    "exclamation": "exclaim",
    "opinion": "give opinions",
    "unfinished": "break off",
    "holding the floor": "hold the floor",
    "link or reference": "point to links",
    "code, numbers or quote": "show code, numbers or quotes",
    "statement": "state something",
}


#: Names of classes that wait for an answer.
ASKING = frozenset({"question", "yes/no question", "open question", "request"})


def verb_of(talk: Talk, number: int) -> str | None:
    """Return what messages of a class do; None unless its name is a known proposal.

    A proposal may end in how the class begins, ``greeting “hi …”``, which is kept, or be nothing
    else, ``“for example …”``.
    """
    name = talk.names.get(number)
    if name is None or number not in talk.proposed:
        return None
    if name.startswith("“"):
        return f"say {name}"
    plain, quote, rest = name.partition(" “")
    verb = VERBS.get(plain)
    return None if verb is None else f"{verb} (“{rest.rstrip('”')}”)" if quote else verb


def statement_of(talk: Talk, number: int) -> str | None:
    """Return a class of statements as a noun in the plural; None if it is another class.

    That people state something says little: sentences mention it in passing.
    """
    plain, quote, rest = talk.names.get(number, "").partition(" “")
    if number not in talk.proposed or plain != "statement":
        return None
    return f"statements such as “{rest}" if quote else "statements"


def asking(talk: Talk) -> NDArray[np.int64]:
    """Return the numbers of the classes that ask, by their names."""
    plain = {number: name.partition(" “")[0].lower() for number, name in talk.names.items()}
    return np.array(sorted(k for k, name in plain.items() if name in ASKING), np.int64)
