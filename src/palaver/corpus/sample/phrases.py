"""What people say in the synthetic help forum written for Palaver, as data.

``PHRASES`` holds the templates of each act. Besides the pool named after the act there may be
one for each mood ("thanks grumpy"), one for further sentences of the same act in the same message
("instruction more") and one for a situation ("closing stale"). ``GENERAL`` holds the slots that
fit every topic. See :func:`palaver.corpus.sample.text.fill` for the notation.
"""

from __future__ import annotations

from palaver.corpus.sample.phrases_answers import ANSWERS
from palaver.corpus.sample.phrases_questions import QUESTIONS
from palaver.corpus.sample.phrases_reactions import REACTIONS
from palaver.corpus.sample.text import lines

PHRASES: dict[str, tuple[str, ...]] = {**QUESTIONS, **ANSWERS, **REACTIONS}

GENERAL: dict[str, tuple[str, ...]] = {
    "nl": ("\n",),
    "since_other": lines("""
        since [yesterday|last night|this morning|last week|the weekend|the holidays|{day}|{month}]
        since [I moved house|the last update|the thunderstorm|{someone} visited]
    """),
    "ages": ("since [last year|{month}|the move|we moved in]",),
    "when": lines("""
        [yesterday|last night|this morning|last week|two days ago|on {day}|last {day}|after lunch]
        [an hour|three hours|four days|ten days] ago
    """),
    "bought": ("[last year|last month|two years ago|in {month}|a while ago|before Christmas]",),
    "long": ("[two|three|four|five|six|ten] [days|weeks|hours]", "[a week|a month|two nights]"),
    "minutes": ("[five|ten|fifteen|twenty|thirty|forty] minutes", "[half an|an] hour"),
    "often": lines("""
        [two|three|four|five] times [a day|an hour|a week]
        every [day|morning|evening|single time|ten minutes|hour or so|other day]
        [now and then|about once an hour|at least once a day]
    """),
    "well": ("[works|runs|behaves] [again|as it should|like before|like new]",),
    "soon": ("[tonight|tomorrow|after work|at the weekend|on {day}|later today]",),
    "day": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "month": ("January", "March", "April", "May", "June", "September", "October", "November"),
    "town": ("Lower Wick", "Tarnby", "Osterholm", "Fenwick", "Port Amble", "Saltmere", "Harrowby"),
    "someone": lines("""
        my [wife|husband|sister|brother|flatmate|neighbour|boss|daughter|son|colleague|aunt|uncle]
    """),
    "always": ("always", "pretty much always", "so far", "usually"),
    "whim": ("", "", ", in case that matters", ", if that helps", ", I just checked", ", why?"),
    "detail": lines("""
        it happened {began} for the first time, [as far as I remember|I think]
        {someone} [has the same {thing}|uses one too] and [no trouble|never had a {summary}]
        the {part} was [changed|checked] {bought}
        I noticed that it's worse [in the evening|in the morning|when I {use}]
        I {attempted} [once|{when}], [without effect|which changed nothing]
    """),
    "next_idea": lines("""
        [in that case|okay, next idea|right, next idea|plan B|too bad|alright]
    """),
    "busy": lines("""
        [I'm in a hurry|I need it most|{someone} is watching|nobody else is around|it matters]
    """),
    "purpose": ("[finish my taxes|write a letter|call it a day|prepare a lesson|relax a little]",),
    "n": ("2", "3", "4", "5", "6", "7"),
    "food": ("biscuit", "sandwich", "pancake", "pickle", "cheesecake", "waffle", "dumpling"),
    "drink": ("coffee", "pint", "cup of tea", "hot chocolate", "lemonade"),
    "animal": ("hamster", "cat", "parrot", "goldfish", "tortoise", "hen", "donkey", "dachshund"),
    "tool": ("hammer", "crowbar", "spoon", "garden hose", "feather duster", "wooden mallet"),
    "url": lines("""
        https://help.example.com/{slug}/{topic}-{page}
        https://wiki.example.org/{topic}/{slug}-{n}
        https://forum.example.com/t/{page}
        https://www.example.org/support/{topic}?id={page}
        https://kb.example.com/{page}/{slug}
    """),
}

# When the trouble started: what follows "since" and "until", and what follows "it started".
ONSETS = (
    ("Monday", "on Monday"),
    ("Thursday", "on Thursday"),
    ("Sunday", "on Sunday"),
    ("the weekend", "at the weekend"),
    ("last week", "last week"),
    ("last month", "last month"),
    ("the holidays", "during the holidays"),
    ("the last update", "right after the last update"),
    ("the thunderstorm", "after the thunderstorm"),
    ("the power cut", "after the power cut"),
    ("I moved house", "after I had moved house"),
    ("the new year", "at the start of the year"),
)
