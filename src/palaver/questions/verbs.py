"""What messages of an act do, as verbs: "ask" says more to most people than "question"."""

from __future__ import annotations

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


def verb_of(talk: Talk, number: int) -> str | None:
    """Return what messages of a class do; None unless its name is a known proposal.

    A proposal may end in how the class begins, ``greeting “hi …”``, which is kept.
    """
    name = talk.names.get(number)
    if name is None or number not in talk.proposed:
        return None
    plain, quote, rest = name.partition(" “")
    verb = VERBS.get(plain)
    return None if verb is None else f"{verb} (“{rest.rstrip('”')}”)" if quote else verb
