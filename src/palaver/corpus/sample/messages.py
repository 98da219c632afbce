"""Write the messages of the synthetic help forum written for Palaver, sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property

from palaver.corpus.sample import material
from palaver.corpus.sample.cast import Person
from palaver.corpus.sample.plot import ACTS, TALKATIVE, Move
from palaver.corpus.sample.text import Dice, Slots, Writer, roughen
from palaver.corpus.sample.topics import Question, Remedy, Topic

_GUIDE = Remedy("follow/followed/following [the guide|that page|the steps on that page]")

_MOOD_SHARE = 0.3  # of the sentences come from the pool of the speaker's mood, if there is one
_FALLBACK_SHARE = 0.3  # of the instructions may name a second remedy
_SLIPS = {"newcomer": 0.2, "regular": 0.05, "expert": 0.02, "moderator": 0.0}
_EMOJI_SHARE = {"chatty": 0.1, "polite": 0.05, "grumpy": 0.02, "terse": 0.01}
_SAD_ACTS = frozenset({"problem_report", "failed", "me_too", "help_request"})
_SAD_EMOJI = ("😕", "🙈", "😩", "😬", ":(", ":/")
_GLAD_EMOJI = ("🙂", "😀", "👍", "😅", "😉", ":)")

# What bystanders call by the name of the asker's product is their own.
_BYSTANDER_SLOTS = {
    "product": "other",
    "mine": "mine_other",
    "a_product": "a_other",
    "version": "version_other",
    "since": "since_other",
}
_PRIVATE_FACTS = ("product", "a_product", "error")  # known to others only once the asker told
# Facts told once at most in an opening message, and the slots that tell them.
_DRY_FACTS = {"version": ("version",), "error": ("error",), "onset": ("onset", "began", "since")}


@dataclass(frozen=True, eq=False)
class Post:
    """A synthetic message: sentences with their acts, and what later messages can refer to.

    Attributes
    ----------
    remedy : Remedy or None
        The advice under discussion, given here or in the message this one answers.
    questions : tuple of Question
        The questions asked here.
    """

    speaker: Person
    time: datetime
    parent: Post | None
    sentences: tuple[str, ...]
    sentence_acts: tuple[str, ...]
    remedy: Remedy | None
    questions: tuple[Question, ...]

    @cached_property
    def text(self) -> str:
        """The whole message."""
        return " ".join(self.sentences)

    @cached_property
    def acts(self) -> tuple[str, ...]:
        """The distinct acts in order of appearance."""
        return tuple(dict.fromkeys(self.sentence_acts))

    @cached_property
    def act(self) -> str:
        """The main act."""
        return min(self.acts, key=ACTS.index)


@dataclass(eq=False)
class Thread:
    """A synthetic thread while it is being written.

    Attributes
    ----------
    slots : dict
        What the phrases can say in this thread.
    remedies, questions, asker_questions : list
        What has not been suggested or asked yet, in the order in which it will be.
    length : int
        The number of messages to aim for.
    hopeful : bool
        Whether the asker's problem can be solved.
    judged : list of Remedy
        What the asker has tried and reported on.
    used : set of str
        The phrases used so far.
    """

    asker: Person
    topic: Topic
    slots: dict[str, Sequence[str]]
    remedies: list[Remedy]
    questions: list[Question]
    asker_questions: list[Question]
    length: int
    hopeful: bool
    solved: bool = False
    posts: list[Post] = field(default_factory=list)
    judged: list[Remedy] = field(default_factory=list)
    used: set[str] = field(default_factory=set)

    @property
    def left(self) -> int:
        """How many messages are still to come."""
        return self.length - len(self.posts)

    def add(self, post: Post) -> None:
        """Append a message and take note of what it settles."""
        self.posts.append(post)
        if post.speaker is self.asker and post.remedy:
            self.solved = self.solved or "worked" in post.acts
            if {"worked", "failed"} & set(post.acts):
                self.judged.append(post.remedy)
        if post.speaker.role == "moderator" and "closing" in post.acts:
            self.length = len(self.posts)

    def replies_to(self, post: Post) -> list[Post]:
        """List the messages that answer a message."""
        return [other for other in self.posts if other.parent is post]

    def open_questions(self, by_asker: bool, remedy: Remedy | None) -> list[Question]:
        """List the questions whose answer has not been given yet but could be."""
        known = {**self.slots, **(remedy.slots if remedy else {})}
        pending = self.asker_questions if by_asker else self.questions
        return [
            question
            for question in pending
            if not question.fact or (question.fact in known and not self.told(known[question.fact]))
        ]

    def told(self, phrases: Sequence[str]) -> bool:
        """Say whether a fact has been mentioned in the thread."""
        return any(phrases[0] in post.text for post in self.posts)


@dataclass(eq=False)
class Draft:
    """A synthetic message while it is being written."""

    thread: Thread
    speaker: Person
    move: Move
    parent: Post | None
    sentences: list[str] = field(default_factory=list)
    acts: list[str] = field(default_factory=list)
    questions: list[Question] = field(default_factory=list)
    remedy: Remedy | None = None

    @property
    def asking(self) -> bool:
        """Whether the speaker is the one who needs help."""
        return self.speaker is self.thread.asker

    @property
    def old_remedy(self) -> Remedy | None:
        """The advice that the answered message gives or discusses."""
        return self.parent.remedy if self.parent else None


class Author:
    """Writes synthetic messages from one source of chance."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._writer = Writer(dice)

    def write(
        self, thread: Thread, speaker: Person, move: Move, parent: Post | None, time: datetime
    ) -> Post:
        """Write the message that a move calls for."""
        draft = Draft(thread, speaker, move, parent)
        for act in self._acts(draft):
            matter = self._matter(act, draft)
            if matter is None:
                continue
            pool = self._pool(act, draft)
            slots = {**_view(draft), **matter, **_other_parts(draft)}
            sentence = self._writer.sentence(pool, slots, thread.used)
            draft.sentences.append(self._mannered(sentence, act, speaker))
            draft.acts.append(act)
        return Post(
            speaker=speaker,
            time=time,
            parent=parent,
            sentences=tuple(draft.sentences),
            sentence_acts=tuple(draft.acts),
            remedy=draft.remedy or draft.old_remedy,
            questions=tuple(draft.questions),
        )

    def _acts(self, draft: Draft) -> list[str]:
        """Decide on the optional acts of the plan; nobody says hello twice."""
        acts: list[str] = []
        for step in draft.move.plan.split():
            optional, act = step.endswith("?"), step.rstrip("?")
            unanswered = draft.parent is not None and acts.count(act) < len(draft.parent.questions)
            if act == "clarification" and unanswered:
                optional = False
            if optional and not self._dice.chance(TALKATIVE[draft.speaker.mood]):
                continue
            known = any(post.speaker is draft.speaker for post in draft.thread.posts)
            if act == "greeting" and known:
                continue
            acts.append(act)
        return acts

    def _matter(self, act: str, draft: Draft) -> Slots | None:
        """Decide what the next sentence is about, or None where there is nothing left to say."""
        if act == "clarifying_question":
            return self._question(draft)
        if act == "clarification":
            return self._reply(draft)
        if act == "instruction":
            return self._advice(draft)
        if act == "link_answer":
            draft.remedy = draft.remedy or _GUIDE
            return {"page": (str(1000 + self._dice.below(9000)),)}
        if act == "worked" and draft.move.who == "self":
            draft.remedy = draft.thread.remedies.pop(0)
            return draft.remedy.slots
        if act == "correction":
            return self._other_cause(draft)
        return draft.old_remedy.slots if draft.old_remedy else {}

    def _other_cause(self, draft: Draft) -> Slots:
        """Choose what speaks against the advice: another cause, the next advice's if possible."""
        old = draft.old_remedy or _GUIDE
        causes = [remedy.cause for remedy in draft.thread.remedies if remedy.cause]
        return {**old.slots, "other_cause": causes[:1]} if causes else old.slots

    def _question(self, draft: Draft) -> Slots | None:
        """Choose what to ask."""
        options = draft.thread.open_questions(draft.asking, draft.old_remedy)
        if not options:
            return None
        question = options[0]
        pending = draft.thread.asker_questions if draft.asking else draft.thread.questions
        pending.remove(question)
        draft.questions.append(question)
        return {"ask": (question.direct,), "indirect": (question.indirect,)}

    def _reply(self, draft: Draft) -> Slots:
        """Answer the next question that was asked, if there is one."""
        asked = draft.parent.questions if draft.parent else ()
        answered = draft.acts.count("clarification")
        remedy = draft.old_remedy.slots if draft.old_remedy else {}
        return {**remedy, "reply": asked[answered].replies} if answered < len(asked) else remedy

    def _advice(self, draft: Draft) -> Slots:
        """Choose what to suggest."""
        thread = draft.thread
        if draft.remedy is None:
            draft.remedy = thread.remedies.pop(0)
        slots = dict(draft.remedy.slots)
        if draft.parent and "failed" in draft.parent.acts:
            slots["then"] = tuple(thread.slots["next_idea"])
        if "instruction" in draft.acts and thread.remedies and self._dice.chance(_FALLBACK_SHARE):
            slots["fallback"] = thread.remedies.pop(0).slots["remedy"]
        return slots

    def _pool(self, act: str, draft: Draft) -> tuple[str, ...]:
        """Choose the phrases for a sentence: by situation, else by mood, else the usual ones."""
        pools = material.phrases()[act]
        situation = _situation(act, draft)
        if situation:
            return pools[situation]
        moody = pools.get(draft.speaker.mood)
        return moody if moody and self._dice.chance(_MOOD_SHARE) else pools["usual"]

    def _mannered(self, sentence: str, act: str, speaker: Person) -> str:
        """Write a sentence the way this person types."""
        if self._dice.chance(_SLIPS[speaker.role]):
            sentence = roughen(sentence, self._dice)
        if self._dice.chance(_EMOJI_SHARE[speaker.mood]) and not sentence.endswith((")", "D")):
            emoji = self._dice.pick(_SAD_EMOJI if act in _SAD_ACTS else _GLAD_EMOJI)
            sentence = f"{sentence} {emoji}"
        return sentence


def _view(draft: Draft) -> dict[str, Sequence[str]]:
    """Collect what the speaker can talk about: bystanders have a product of their own."""
    slots = dict(draft.thread.slots)
    if draft.thread.told(slots["error"]):
        slots["known_error"] = slots["error"]
    if draft.move.who == "bystander":
        slots |= {own: slots[theirs] for own, theirs in _BYSTANDER_SLOTS.items()}
    elif not draft.asking:
        for fact in _PRIVATE_FACTS:
            if not draft.thread.told(slots[fact]):
                del slots[fact]
    if draft.parent is None:
        for fact, tellers in _DRY_FACTS.items():
            if any(slots[fact][0] in sentence for sentence in draft.sentences):
                slots = {name: slots[name] for name in slots if name not in tellers}
    else:
        slots["who"] = (draft.parent.speaker.handle,)
        if not draft.sentences:  # nobody turns to the addressee in mid-message
            slots["to"] = slots["who"]
    return slots


def _other_parts(draft: Draft) -> Slots:
    """Name the parts that the advice is not about, for asides on the part that is not to blame."""
    advice = (draft.remedy or draft.old_remedy or _GUIDE).text
    parts = [part for part in draft.thread.slots["part"] if part not in advice]
    return {"part": parts, "hardware": parts} if draft.thread.topic.device else {"part": parts}


def _situation(act: str, draft: Draft) -> str:
    """Name the special pool that a sentence comes from, if its situation has one."""
    if act in ("clarifying_question", "joke"):
        return "asker" if draft.asking else ""
    if act == "clarification" and not draft.asking:
        return "helper"
    asked = draft.parent.questions if draft.parent else ()
    if act == "clarification" and draft.acts.count(act) < len(asked):
        return ""
    if act in draft.acts and "more" in material.phrases()[act]:
        return "more"
    if act == "greeting" and draft.parent is None:
        return "newcomer" if draft.speaker.role == "newcomer" else "ask"
    if act == "thanks":
        if draft.parent is None:
            return "ahead"
        if not draft.asking and draft.move.who != "bystander":
            return "back"
        solved = draft.thread.solved or "worked" in (*draft.move.plan.split(), *draft.parent.acts)
        return "glad" if solved else ""
    if act == "closing" and not draft.thread.solved:
        return "stale"
    if draft.move.who == "self":
        return {"worked": "alone", "help_request": "bump"}.get(act, "")
    return ""
