"""Who answers what with which acts in the synthetic help forum written for Palaver.

A plan is a list of acts, one for each sentence; ``thanks?`` is said only sometimes, depending on
the speaker's mood. An act that is repeated elaborates on its first sentence.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

# The order decides the main act of a message with several acts: the first of this list.
ACTS = (
    "problem_report",
    "worked",
    "failed",
    "correction",
    "instruction",
    "link_answer",
    "clarifying_question",
    "clarification",
    "me_too",
    "closing",
    "joke",
    "help_request",
    "thanks",
    "greeting",
)

# How likely a person of each mood is to say what a plan marks as optional.
TALKATIVE = {"polite": 0.65, "grumpy": 0.5, "terse": 0.25, "chatty": 0.8}

# How strongly a message invites an answer, by its main act.
PULL = {
    "problem_report": 6.0,
    "worked": 5.0,
    "failed": 6.0,
    "correction": 3.0,
    "instruction": 5.0,
    "link_answer": 4.0,
    "clarifying_question": 8.0,
    "clarification": 5.0,
    "me_too": 1.5,
    "closing": 0.7,
    "joke": 0.7,
    "help_request": 4.0,
    "thanks": 1.0,
    "greeting": 0.0,
}

# What may still be said once the asker has reported success.
AFTERMATH = frozenset({"thanks", "closing", "joke", "me_too", "worked", "greeting"})


@dataclass(frozen=True)
class Move:
    """A possible next message of a synthetic thread.

    Attributes
    ----------
    weight : float
        How often it happens compared with the other moves.
    who : str
        ``asker`` began the thread; ``self`` wrote the message that is answered; ``adviser`` wrote
        the one before it and is not the asker; ``helper``, ``bystander`` and ``moderator`` are
        people with that part.
    plan : str
        The acts, one for each sentence.
    """

    weight: float
    who: str
    plan: str

    @cached_property
    def acts(self) -> frozenset[str]:
        """All acts of the plan, including the optional ones."""
        return frozenset(self.plan.replace("?", "").split())


OPENINGS = (
    Move(28, "asker", "greeting? problem_report problem_report? help_request? thanks?"),
    Move(20, "asker", "problem_report problem_report? help_request?"),
    Move(
        16, "asker", "greeting problem_report problem_report problem_report? help_request thanks?"
    ),
    Move(8, "asker", "help_request problem_report problem_report? thanks?"),
    Move(5, "asker", "greeting? problem_report joke help_request?"),
)

_ON_ADVICE = (
    Move(16, "asker", "worked worked? thanks?"),
    Move(6, "asker", "worked worked? thanks"),
    Move(12, "asker", "thanks worked worked?"),
    Move(5, "asker", "worked joke"),
    Move(15, "asker", "failed failed?"),
    Move(10, "asker", "thanks failed failed?"),
    Move(7, "asker", "failed failed? help_request"),
    Move(6, "asker", "clarifying_question"),
    Move(6, "asker", "thanks clarifying_question"),
    Move(4, "asker", "thanks thanks"),
    Move(5, "bystander", "me_too worked thanks?"),
    Move(4, "bystander", "me_too failed"),
    Move(3, "bystander", "worked thanks"),
    Move(4, "bystander", "joke"),
)

MOVES: dict[str, tuple[Move, ...]] = {
    "problem_report": (
        Move(22, "helper", "greeting? clarifying_question clarifying_question?"),
        Move(16, "helper", "greeting? instruction instruction?"),
        Move(6, "helper", "greeting instruction instruction?"),
        Move(9, "helper", "instruction link_answer link_answer?"),
        Move(8, "helper", "greeting? link_answer"),
        Move(8, "helper", "instruction clarifying_question"),
        Move(4, "helper", "joke instruction"),
        Move(5, "bystander", "me_too me_too?"),
        Move(7, "bystander", "me_too me_too? help_request"),
        Move(4, "bystander", "me_too joke"),
        Move(5, "bystander", "joke"),
        Move(3, "self", "help_request"),
        Move(3, "self", "worked"),
    ),
    "clarifying_question": (
        Move(32, "asker", "clarification clarification?"),
        Move(15, "asker", "clarification clarification? thanks"),
        Move(12, "asker", "thanks clarification clarification?"),
        Move(8, "asker", "clarification clarification? failed"),
        Move(8, "asker", "clarification clarification? help_request"),
        Move(3, "asker", "clarification clarification? joke"),
        Move(40, "adviser", "clarification"),
        Move(5, "adviser", "clarification joke"),
        Move(3, "bystander", "joke"),
    ),
    "clarification": (
        Move(24, "adviser", "instruction instruction?"),
        Move(16, "adviser", "thanks instruction instruction?"),
        Move(12, "adviser", "instruction link_answer"),
        Move(10, "adviser", "clarifying_question"),
        Move(12, "helper", "instruction instruction?"),
        Move(8, "helper", "link_answer link_answer?"),
        Move(4, "bystander", "me_too"),
        Move(3, "bystander", "joke"),
        *(move for move in _ON_ADVICE if move.who == "asker"),
    ),
    "instruction": (
        *_ON_ADVICE,
        Move(18, "helper", "correction instruction instruction?"),
        Move(6, "helper", "correction"),
        Move(6, "helper", "correction link_answer"),
        Move(4, "helper", "link_answer"),
    ),
    "link_answer": (
        *_ON_ADVICE,
        Move(4, "helper", "instruction instruction?"),
        Move(6, "helper", "correction instruction"),
    ),
    "failed": (
        Move(20, "adviser", "instruction instruction?"),
        Move(8, "adviser", "clarifying_question clarifying_question?"),
        Move(10, "adviser", "instruction clarifying_question"),
        Move(12, "helper", "instruction instruction?"),
        Move(7, "helper", "clarifying_question"),
        Move(10, "helper", "instruction link_answer"),
        Move(8, "helper", "correction instruction"),
        Move(5, "helper", "link_answer"),
        Move(4, "helper", "joke instruction"),
        Move(5, "bystander", "me_too failed"),
        Move(4, "bystander", "me_too me_too?"),
        Move(5, "bystander", "joke"),
    ),
    "worked": (
        Move(22, "adviser", "closing closing?"),
        Move(8, "adviser", "closing joke"),
        Move(10, "moderator", "closing closing?"),
        Move(10, "moderator", "thanks closing"),
        Move(6, "adviser", "thanks"),
        Move(7, "bystander", "me_too thanks"),
        Move(7, "bystander", "me_too worked"),
        Move(5, "bystander", "joke"),
    ),
    "correction": (
        Move(4, "asker", "thanks thanks"),
        Move(2, "bystander", "joke"),
    ),
    "me_too": (
        Move(9, "helper", "instruction instruction?"),
        Move(5, "helper", "instruction link_answer"),
        Move(3, "bystander", "me_too joke"),
        Move(3, "bystander", "me_too me_too?"),
        Move(3, "bystander", "joke"),
    ),
    "joke": (
        Move(6, "bystander", "joke"),
        Move(5, "asker", "joke help_request"),
        Move(3, "helper", "joke instruction"),
    ),
    "help_request": (
        Move(10, "helper", "instruction instruction?"),
        Move(6, "helper", "link_answer"),
        Move(6, "helper", "clarifying_question"),
    ),
    "thanks": (Move(6, "adviser", "closing"), Move(2, "bystander", "joke")),
    "closing": (Move(5, "asker", "thanks"), Move(2, "bystander", "joke")),
    "greeting": (),
}

# A moderator's last word on a thread that came to nothing.
STALE = (
    Move(6, "moderator", "closing closing?"),
    Move(4, "moderator", "link_answer closing"),
    Move(3, "moderator", "greeting closing"),
)
