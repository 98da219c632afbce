"""Porter's stemmer (1980), with the repairs that ROUGE's users are used to.

A word is cut in five steps. A rule replaces a suffix where the stem before it is long enough:
its *measure* is the number of times a consonant follows a vowel in it. The repairs (irregular
words, ``dies`` to ``die``, ``spy`` and ``spied`` to ``spi``) are those of NLTK, on whose stems
published ROUGE figures rest. NLTK itself takes seconds to import, and ``snowballstemmer`` has no
repairs: it cuts ``use`` to ``us``, ``us`` to ``u`` and ``s`` to nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache

_IRREGULAR = {
    "skies": "sky", "sky": "sky", "dying": "die", "lying": "lie", "tying": "tie", "news": "news",
    "innings": "inning", "inning": "inning", "outings": "outing", "outing": "outing",
    "cannings": "canning", "canning": "canning", "howe": "howe", "proceed": "proceed",
    "exceed": "exceed", "succeed": "succeed",
}  # fmt: skip
_STEP_2 = (
    ("ational", "ate"), ("tional", "tion"), ("enci", "ence"), ("anci", "ance"), ("izer", "ize"),
    ("bli", "ble"), ("alli", "al"), ("entli", "ent"), ("eli", "e"), ("ousli", "ous"),
    ("ization", "ize"), ("ation", "ate"), ("ator", "ate"), ("alism", "al"), ("iveness", "ive"),
    ("fulness", "ful"), ("ousness", "ous"), ("aliti", "al"), ("iviti", "ive"), ("biliti", "ble"),
    ("fulli", "ful"),
)  # fmt: skip
_STEP_3 = (
    ("icate", "ic"), ("ative", ""), ("alize", "al"), ("iciti", "ic"), ("ical", "ic"),
    ("ful", ""), ("ness", ""),
)  # fmt: skip
_STEP_4 = [
    (suffix, "") for suffix in
    ("al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou",
     "ism", "ate", "iti", "ous", "ive", "ize")
]  # fmt: skip


def _kinds(text: str) -> str:
    """Return a text with c for consonants and v for vowels; y is one after a consonant."""
    kinds = ""
    for letter in text:
        is_vowel = letter in "aeiou" or (letter == "y" and kinds.endswith("c"))
        kinds += "v" if is_vowel else "c"
    return kinds


def _measure(stem: str) -> int:
    return _kinds(stem).count("vc")


def _is_long(stem: str) -> bool:
    return _measure(stem) > 0


def _ends_short(stem: str) -> bool:
    """Whether a stem ends consonant, vowel, consonant other than w, x and y; or is so short."""
    kinds = _kinds(stem)
    return kinds == "vc" or (kinds.endswith("cvc") and stem[-1] not in "wxy")


def _replaced(word: str, rules: Iterable[tuple[str, str]], allows: Callable[[str], bool]) -> str:
    """Apply the first rule whose suffix fits, if the stem before it allows."""
    for suffix, replacement in rules:
        if word.endswith(suffix):
            stem = word[: len(word) - len(suffix)]
            return stem + replacement if allows(stem) else word
    return word


def _plural(word: str) -> str:
    """Step 1a."""
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("sses"):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _past_and_participle(word: str) -> str:
    """Step 1b."""
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _is_long(word[:-3]) else word
    stem = word[:-2] if word.endswith("ed") else word[:-3] if word.endswith("ing") else ""
    if "v" not in _kinds(stem):
        return word
    if stem.endswith(("at", "bl", "iz")):
        return stem + "e"
    if stem[-1:] == stem[-2:-1] and _kinds(stem).endswith("c"):
        return stem if stem[-1] in "lsz" else stem[:-1]
    return stem + "e" if _measure(stem) == 1 and _ends_short(stem) else stem


def _y_to_i(word: str) -> str:
    """Step 1c."""
    return word[:-1] + "i" if word.endswith("y") and _kinds(word[:-1])[1:].endswith("c") else word


def _double_suffix(word: str) -> str:
    """Step 2."""
    if word.endswith("alli") and _is_long(word[:-4]):
        return _double_suffix(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _is_long(word[:-3]) else word
    return _replaced(word, _STEP_2, _is_long)


def _may_lose_suffix(word: str) -> Callable[[str], bool]:
    """Return the condition of step 4: a stem of measure above one, before -ion in s or t."""
    if word.endswith("ion"):
        return lambda stem: _measure(stem) > 1 and stem[-1] in "st"
    return lambda stem: _measure(stem) > 1


def _tidied(word: str) -> str:
    """Step 5."""
    if word.endswith("e"):
        measure = _measure(word[:-1])
        if measure > 1 or (measure == 1 and not _ends_short(word[:-1])):
            word = word[:-1]
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return the stem of an English word in lower case.

    Examples
    --------
    >>> [stem(word) for word in ("relational", "hopping", "skies", "agreed", "controlled")]
    ['relat', 'hop', 'sky', 'agre', 'control']
    """
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if len(word) <= 2:
        return word
    word = _double_suffix(_y_to_i(_past_and_participle(_plural(word))))
    word = _replaced(word, _STEP_3, _is_long)
    return _tidied(_replaced(word, _STEP_4, _may_lose_suffix(word)))
