"""Plan the threads of the synthetic help forum written for Palaver, one message after another."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import cache

from palaver.corpus.sample import material
from palaver.corpus.sample.cast import BY_ROLE, Person
from palaver.corpus.sample.messages import Author, Post, Thread
from palaver.corpus.sample.plot import AFTERMATH, MOVES, OPENINGS, PULL, STALE, Move
from palaver.corpus.sample.text import Dice, Item
from palaver.corpus.sample.topics import Problem, Remedy, Topic

# How often each topic comes up; the order decides which experts are keen on which topics.
TOPICS = {
    "printer": 14,
    "router": 13,
    "phone": 13,
    "laptop": 13,
    "headset": 8,
    "browser": 12,
    "e-mail": 11,
    "backup": 8,
    "spreadsheet": 8,
}

# From unanswered questions to threads that go on for pages.
_LENGTHS = ((1, 1), (2, 4), (4, 7), (6, 10), (11, 15), (16, 24))
_LENGTH_WEIGHTS = (8, 42, 32, 12, 4, 2)

# Pauses in seconds, from a quick exchange to the day after tomorrow.
_PAUSES = ((70, 600), (600, 3600), (3600, 30000), (30000, 170000))
_PAUSE_WEIGHTS = (30, 34, 24, 12)
_DAY = 86400

_HOPEFUL_SHARE = 0.75  # of the problems can be solved
_STALE_SHARE = 0.2  # of the unsolved threads are closed by a moderator in the end
_STICKY_SHARE = 0.5  # of the helpers have helped in the thread before
_FADING = 0.75  # by this factor a message invites fewer replies with every later message

_SPACING = {"joke": 6, "me_too": 4, "correction": 5}  # one at most in about so many messages

_ERRORS = ("not ready", "timed out", "access denied", "unknown state", "try again later")


class Forum:
    """Writes synthetic threads from one source of chance."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._author = Author(dice)

    def thread(self, start: datetime) -> tuple[str, list[Post]]:
        """Write one thread: its topic, and its messages in order of time."""
        thread = self._plan()
        opening = self._draw(OPENINGS)
        thread.add(self._author.write(thread, thread.asker, opening, None, start))
        while thread.left > 0:
            found = self._next(thread)
            if found is None:
                break
            parent, move, speaker = found
            time = thread.posts[-1].time + self._pause(_least_pause(move))
            thread.add(self._author.write(thread, speaker, move, parent, time))
        if len(thread.posts) > 1 and not thread.solved and self._dice.chance(_STALE_SHARE):
            self._close(thread)
        return thread.topic.name, thread.posts

    def _plan(self) -> Thread:
        """Draw who asks about what, and what could be suggested."""
        dice = self._dice
        topic = material.topic(dice.weighted(list(TOPICS), list(TOPICS.values())))
        problem = dice.pick(topic.problems)
        own, general = _shuffled(problem.remedies, dice), _shuffled(topic.remedies, dice)
        attempt = general.pop()
        fitting = [
            question
            for question in topic.questions
            if not question.about or problem.name in question.about
        ]
        role = dice.weighted(("newcomer", "regular", "expert"), (64, 33, 3))
        low, high = dice.weighted(_LENGTHS, _LENGTH_WEIGHTS)
        return Thread(
            asker=dice.pick(BY_ROLE[role]),
            topic=topic,
            slots=_thread_slots(topic, problem, attempt, dice),
            remedies=[*own, *general],
            questions=_shuffled((*fitting, *material.questions("helper")), dice),
            asker_questions=_shuffled(material.questions("asker"), dice),
            length=low + dice.below(high - low + 1),
            hopeful=dice.chance(_HOPEFUL_SHARE),
        )

    def _draw(self, moves: Sequence[Move]) -> Move:
        return self._dice.weighted(moves, [move.weight for move in moves])

    def _pause(self, least: int) -> timedelta:
        low, high = self._dice.weighted(_PAUSES, _PAUSE_WEIGHTS)
        return timedelta(seconds=least + low + self._dice.below(high - low))

    def _next(self, thread: Thread) -> tuple[Post, Move, Person] | None:
        """Draw which message is answered next, how and by whom."""
        parents = list(thread.posts)
        while parents:
            pulls = [_pull(thread, post) for post in parents]
            parent = self._dice.weighted(parents, pulls)
            answer = self._answer(thread, parent)
            if answer is not None:
                return parent, *answer
            parents.remove(parent)
        return None

    def _answer(self, thread: Thread, parent: Post) -> tuple[Move, Person] | None:
        """Draw how and by whom a message is answered, if it can be."""
        moves = [move for move in _moves(parent.acts) if _possible(move, thread, parent)]
        while moves:
            move = self._draw(moves)
            speaker = self._speaker(move, thread, parent)
            if speaker is not None:
                return move, speaker
            moves.remove(move)
        return None

    def _speaker(self, move: Move, thread: Thread, parent: Post) -> Person | None:
        """Draw somebody who has not answered the message yet, nor written it."""
        if move.who == "self":
            return parent.speaker
        heard = [parent.speaker, *(reply.speaker for reply in thread.replies_to(parent))]
        if "correction" in move.acts:  # nobody contradicts their own advice
            heard += [post.speaker for post in thread.posts if post.remedy is parent.remedy]
        cast = self._casting(move.who, thread, parent)
        options = [person for person in cast if person not in heard]
        return self._dice.pick(options) if options else None

    def _casting(self, who: str, thread: Thread, parent: Post) -> Sequence[Person]:
        """List the people who could play a part."""
        if who == "asker":
            return [thread.asker]
        if who == "moderator":
            return [person for person in BY_ROLE["moderator"] if person is not thread.asker]
        if who == "adviser":
            before = parent.parent.speaker if parent.parent else thread.asker
            return [] if before is thread.asker else [before]
        if who == "helper" and self._dice.chance(_STICKY_SHARE):
            return [post.speaker for post in thread.posts if _helpful(post, thread)]
        return [self._fresh_face(who, thread)]

    def _fresh_face(self, who: str, thread: Thread) -> Person:
        """Draw somebody who is new to the thread."""
        present = [post.speaker for post in thread.posts]
        while True:
            person = self._bystander() if who == "bystander" else self._helper(thread.topic)
            if person not in present:
                return person

    def _bystander(self) -> Person:
        return self._dice.pick(BY_ROLE[self._dice.weighted(("newcomer", "regular"), (5, 4))])

    def _helper(self, topic: Topic) -> Person:
        """Draw a helper; every topic has its own order of keen experts."""
        role = self._dice.weighted(("expert", "regular", "moderator"), (60, 36, 4))
        crowd = BY_ROLE[role]
        if role != "expert":
            return self._dice.pick(crowd)
        rank = min(self._dice.below(len(crowd)), self._dice.below(len(crowd)))
        return crowd[(list(TOPICS).index(topic.name) + rank) % len(crowd)]

    def _close(self, thread: Thread) -> None:
        """Let a moderator close a thread that came to nothing."""
        root, move = thread.posts[0], self._draw(STALE)
        speaker = self._speaker(move, thread, root)
        if speaker is not None:
            time = thread.posts[-1].time + self._pause(14 * _DAY)
            thread.add(self._author.write(thread, speaker, move, root, time))


@cache
def _moves(acts: tuple[str, ...]) -> tuple[Move, ...]:
    """List the moves that may follow a message with these acts, each once."""
    return tuple(dict.fromkeys(move for act in acts for move in MOVES[act]))


def _least_pause(move: Move) -> int:
    """Say how many seconds a move takes at least: trying something out takes a while."""
    if move.who == "self":
        return _DAY
    return 2000 if move.acts & {"worked", "failed"} else 0


def _helpful(post: Post, thread: Thread) -> bool:
    """Say whether a message tries to help the asker."""
    by_other = post.speaker is not thread.asker
    return by_other and bool({"instruction", "link_answer", "clarifying_question"} & set(post.acts))


def _pull(thread: Thread, post: Post) -> float:
    """Say how strongly a message invites an answer: fresh and unanswered ones do most."""
    age = len(thread.posts) - 1 - thread.posts.index(post)
    return PULL[post.act] * _FADING**age / (1 + len(thread.replies_to(post))) ** 2


def _possible(move: Move, thread: Thread, parent: Post) -> bool:
    """Say whether a move makes sense at this point of a thread."""
    acts = move.acts
    by_asker = move.who in ("asker", "self")
    if (thread.solved or "worked" in parent.acts) and not acts <= AFTERMATH:
        return False
    if move.who == "self" and (thread.replies_to(parent) or parent is not thread.posts[0]):
        return False
    return (
        _verdict_fits(move, thread, parent)
        and ("closing" not in acts or thread.solved)
        and not any(_too_many(act, thread) for act in acts & _SPACING.keys())
        and ("instruction" not in acts or bool(thread.remedies))
        and ("correction" not in acts or parent.remedy is not None)
        and ("clarification" not in acts or _can_explain(by_asker, thread, parent))
        and ("clarifying_question" not in acts or _can_ask(by_asker, thread, parent))
    )


def _verdict_fits(move: Move, thread: Thread, parent: Post) -> bool:
    """Say whether success or failure can be reported here, if the move does so.

    Success comes near the end of threads that are meant to succeed, and nobody reports twice on
    the same advice.
    """
    if not move.acts & {"worked", "failed"}:
        return True
    if move.who == "self":
        return thread.hopeful and thread.left <= 3
    if parent.remedy is None:
        return False
    if move.who != "asker":
        return True
    if thread.solved or parent.remedy in thread.judged:
        return False
    if "worked" in move.acts:
        return thread.hopeful and thread.left <= 4
    return not thread.hopeful or thread.left > 2


def _too_many(act: str, thread: Thread) -> bool:
    """Say whether a thread has had its share of an act that soon wears thin."""
    return _SPACING[act] * sum(act in post.acts for post in thread.posts) > len(thread.posts)


def _can_explain(by_asker: bool, thread: Thread, parent: Post) -> bool:
    """Say whether there is a question, put to the right person."""
    asked_by_asker = parent.speaker is thread.asker
    return bool(parent.questions) and by_asker != asked_by_asker


def _can_ask(by_asker: bool, thread: Thread, parent: Post) -> bool:
    """Say whether a question is left, and whether it would reach the right person."""
    to_asker = parent.speaker is thread.asker
    return by_asker != to_asker and bool(thread.open_questions(by_asker, parent.remedy))


def _shuffled(items: Sequence[Item], dice: Dice) -> list[Item]:
    """Return the items in a random order."""
    left, order = list(items), []
    while left:
        order.append(left.pop(dice.below(len(left))))
    return order


def _thread_slots(
    topic: Topic, problem: Problem, attempt: Remedy, dice: Dice
) -> dict[str, Sequence[str]]:
    """Collect what the phrases of one thread can say."""
    symptoms = _shuffled(problem.symptoms, dice)
    product, other = _shuffled(topic.products, dice)[:2]
    mine, a = ("my ", "a ") if topic.device else ("", "")
    onset, began = dice.pick(material.onsets())
    code = 100 + dice.below(900)
    error = (f"E-{code}", f"error {code}", f"0x8{code:04d}", f"code {code}: {dice.pick(_ERRORS)}")
    general = material.general_slots()
    return {
        **general,
        **topic.words,
        "topic": (topic.name,),
        "thing": (topic.thing,),
        "product": (product,),
        "other": (other,),
        "mine": (f"{mine}{product}", f"{mine}{product}", f"the {topic.thing}", f"my {topic.thing}"),
        "mine_other": (f"{mine}{other}",),
        "a_product": (f"{a}{product}",),
        "a_other": (f"{a}{other}",),
        "got": ("bought",) if topic.device else ("installed",),
        "version": (_version(dice),),
        "version_other": (_version(dice),),
        "error": (dice.pick(error),),
        "slug": (problem.name.lower().replace(" ", "-"),),
        "summary": (problem.name,),
        "symptom": symptoms[1:],
        "further": symptoms[:1],
        "well": (problem.well, problem.well, *general["well"]),
        "onset": (onset,),
        "began": (began,),
        "since": (f"since {onset}",),
        "attempt": attempt.slots["remedying"],
        "attempted": attempt.slots["remedied"],
    }


def _version(dice: Dice) -> str:
    """Make up a version number."""
    number = f"{1 + dice.below(9)}.{dice.below(10)}"
    return f"{number}.{dice.below(30)}" if dice.chance(0.5) else number
