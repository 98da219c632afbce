"""The sparse table of features: learned once from the training corpus, applied to any.

Features come in groups. The rows of a group are scaled to a fixed length, so that a long message
has no more weight than a short one, and the many character n-grams no more than the words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from palaver.encoding import Encoded, Vocabulary
from palaver.encoding.utterances import WordPooling
from palaver.errors import ParameterError
from palaver.models.taggers.features import around, words
from palaver.models.taggers.features.grams import GramTree, learn_grams, shown
from palaver.models.taggers.features.rows import dense, distinct, joined, one_hot, scaled
from palaver.models.taggers.features.settings import FeatureSettings
from palaver.models.taggers.features.words import Numbered, Numbers, Occurrences
from palaver.models.taggers.sentences import with_vocabulary

#: Lengths of the rows of a group: a message's own words, its characters, words of neighbours,
#: vectors, shares of classes. Chosen by cross-validation on the training parts of DailyDialog and
#: NPS chat.
_OWN, _CHARACTERS, _AROUND, _VECTORS, _CLASSES = 4.0, 2.0, 1.5, 4.0, 2.0
#: Character n-grams must be more frequent than words by this factor.
_RARER = 2
_EDGES = ("beginnings", "ends", "frames")


@dataclass(frozen=True, eq=False)
class FeatureMap:
    """How messages become rows of a sparse table.

    Attributes
    ----------
    settings : FeatureSettings
    vocabulary : Vocabulary
        Words that are told apart.
    codes : dict of str to array of int64
        Known words, pairs, beginnings, ends and frames, each in order.
    grams : list of str
        Known character n-grams, in order.
    names : dict of str to list of str
        Known names in the columns of names.
    scales : dict of str to (float, float)
        Mean and standard deviation of the columns of numbers.
    role : str
        Where the role of a speaker is: the column "role", the "speaker", or nowhere ("").
    pooling : WordPooling or None
        How words become a vector.
    centre : array of float64, shape (M,), or None
        Mean of an encoder's vectors of messages.
    classes : list of str
        Names of the classes of another model, whose shares in messages are features.
    """

    settings: FeatureSettings
    vocabulary: Vocabulary
    codes: dict[str, Numbers]
    grams: list[str]
    names: dict[str, list[str]]
    scales: dict[str, tuple[float, float]]
    role: str = ""
    pooling: WordPooling | None = None
    centre: NDArray[np.float64] | None = None
    classes: list[str] = field(default_factory=list)

    @property
    def size(self) -> int:
        """Number of columns."""
        lent = len(self.codes["words"]) + len(self.codes["pairs"])
        n_around = self.settings.previous + self.settings.following
        found = len(self.grams) + n_around * lent + sum(len(p) for p in self._own().values())
        vectors = 0 if self.pooling is None else len(self.pooling.centre)
        vectors += 0 if self.centre is None else len(self.centre)
        vectors += len(self.classes)
        return found + sum(len(names) for names in self._flag_names()) + len(self.scales) + vectors

    def _own(self) -> dict[str, Numbers]:
        """Return the codes of a message's own words that count."""
        blocks = set(self.settings.blocks)
        kept = [*(name for name in ("words", "pairs") if name in blocks)]
        return {name: self.codes[name] for name in [*kept, *(_EDGES if "edges" in blocks else ())]}

    def __call__(
        self,
        encoded: Encoded,
        vectors: NDArray[np.float64] | None = None,
        shares: NDArray[np.float64] | None = None,
    ) -> sparse.csr_array:
        """Return the features of each message, (n_messages, size), as float32.

        ``vectors`` (n_messages, M) are an encoder's, ``shares`` (n_messages, K) those of another
        model's classes, if the tagger has one.
        """
        numbered = Numbered.of(encoded, self.vocabulary)
        found = occurrences(numbered)
        tables = {name: words.present(found[name], codes) for name, codes in self.codes.items()}
        blocks = scaled([tables[name] for name in self._own()], _OWN)
        if self.grams:
            lists = self._tree(encoded.vocabulary.words)
            offsets, tokens = np.asarray(encoded.message_offsets), np.asarray(encoded.tokens)
            blocks += scaled([distinct(offsets, tokens, lists, len(self.grams))], _CHARACTERS)
        offsets = np.asarray(encoded.conversation_offsets)
        steps = [*range(-1, -self.settings.previous - 1, -1),
                 *range(1, self.settings.following + 1)]  # fmt: skip
        lent = scaled([tables["words"], tables["pairs"]], _AROUND) if steps else []
        for step in steps:
            rows = around.neighbours(offsets, step)
            blocks += [block.taken(rows) for block in lent]
        flags = zip(self._flags(encoded, numbered), self._flag_names(), strict=True)
        blocks += [one_hot(codes, len(names)) for codes, names in flags]
        blocks += [dense(self._numbers(encoded, name)) for name in self.scales]
        if self.pooling is not None:
            known = with_vocabulary(encoded, self.vocabulary)
            blocks.append(dense(self.pooling(known), _VECTORS))
        if self.centre is not None and vectors is not None:
            blocks.append(dense(vectors - self.centre, _VECTORS))
        if shares is not None:
            blocks.append(dense(shares, _CLASSES))
        return joined(blocks, encoded.n_messages)

    @cached_property
    def _tree(self) -> GramTree:
        return GramTree(self.grams)

    def _numbers(self, encoded: Encoded, name: str) -> NDArray[np.float64]:
        """Return a column of numbers, of mean zero and variance one; zero where missing."""
        if name not in encoded.numbers:
            raise ParameterError(f"columns: the corpus has no column {name!r} of numbers")
        mean, deviation = self.scales[name]
        return np.nan_to_num((encoded.numbers[name] - mean) / deviation)[:, None]

    def _flag_names(self) -> list[list[str]]:
        """Return the names of features of which a message has one, in groups."""
        blocks, found = self.settings.blocks, [["always"]]
        if "length" in blocks:
            found.append(_classes("words", around.LENGTHS))
            found.append(_classes("words before", around.LENGTHS))
        if "turn" in blocks:
            found.append(list(around.TURNS))
            found.append(["did not open the conversation", "opened the conversation"])
        if "position" in blocks:
            found.append(_classes("messages before", around.POSITIONS))
            found.append(_classes("messages after", around.POSITIONS))
        if "gap" in blocks:
            found.append(_classes("seconds since", around.GAPS))
        for name, known in self.names.items():
            found.append([f"{name}={value}" for value in known])
            found.append([f"{name} before={value}" for value in known])
        return found

    def _flags(self, encoded: Encoded, numbered: Numbered) -> list[Numbers]:
        """Return which feature of each group each message has, -1 for none; (n_messages,) each."""
        blocks, found = self.settings.blocks, [np.zeros(encoded.n_messages, np.int64)]
        before = around.neighbours(np.asarray(encoded.conversation_offsets), -1)
        if "length" in blocks:
            lengths = np.digitize(numbered.lengths, around.LENGTHS)
            found += [lengths, _before(lengths, before)]
        if "turn" in blocks:
            found += [around.turns(encoded), around.opens(encoded)]
        if "position" in blocks:
            found += around.positions(encoded)
        if "gap" in blocks:
            found.append(around.gaps(encoded))
        for name in self.names:
            codes = self._coded(encoded, name)
            found += [codes, _before(codes, before)]
        return found

    def _coded(self, encoded: Encoded, name: str) -> Numbers:
        """Return the numbers of the names in a column, -1 for unknown ones."""
        column = encoded.speakers if name == "speaker" else encoded.labels.get(name)
        if column is None:
            if name == self.role:
                return np.full(encoded.n_messages, -1, np.int64)
            raise ParameterError(f"columns: the corpus has no column {name!r} of names")
        index = {value: number for number, value in enumerate(self.names[name])}
        numbers = np.array([*(index.get(value, -1) for value in column.names), -1], np.int64)
        return numbers[column.codes]

    def feature_names(self) -> list[str]:
        """Return the name of each column: words as they are, others in words."""
        texts = [*self.vocabulary.words, "(rare)", "(end)", "(start)"]
        base = len(texts)
        named = {name: [_decoded(int(code), base, texts, name) for code in codes]
                 for name, codes in self.codes.items()}  # fmt: skip
        found = [text for name in self._own() for text in named[name]]
        found += [f"*{shown(gram)}*" for gram in self.grams]
        lent = [*named["words"], *named["pairs"]]
        for step in range(1, self.settings.previous + 1):
            found += [f"{step} before: {text}" for text in lent]
        for step in range(1, self.settings.following + 1):
            found += [f"{step} after: {text}" for text in lent]
        found += [name for names in self._flag_names() for name in names]
        found += list(self.scales)
        if self.pooling is not None:
            found += [f"vector {number}" for number in range(len(self.pooling.centre))]
        if self.centre is not None:
            found += [f"encoder {number}" for number in range(len(self.centre))]
        return found + [f"class: {name}" for name in self.classes]

    # keeping

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return what was learned as arrays, without what :meth:`content` has."""
        found: dict[str, NDArray[Any]] = {f"known_{name}": c for name, c in self.codes.items()}
        if self.pooling is not None:
            found["word_vectors"] = self.pooling.word_vectors
            found["word_weights"] = self.pooling.word_weights
            found["centre"] = self.pooling.centre
        if self.centre is not None:
            found["encoder_centre"] = self.centre
        return found

    def content(self) -> dict[str, Any]:
        """Return what was learned and is no array."""
        scales = {name: list(pair) for name, pair in self.scales.items()}
        return {"grams": self.grams, "names": self.names, "scales": scales, "role": self.role,
                "classes": self.classes}  # fmt: skip

    @classmethod
    def of(
        cls,
        settings: FeatureSettings,
        vocabulary: Vocabulary,
        arrays: Mapping[str, NDArray[Any]],
        content: Mapping[str, Any],
    ) -> FeatureMap:
        """Make a map of what :meth:`arrays` and :meth:`content` returned.

        Raises
        ------
        ValueError
            A code stands for no words, as in a folder that was altered.
        """
        codes = {name: arrays[f"known_{name}"] for name in ("words", "pairs", *_EDGES)}
        for name, own in codes.items():
            _check_codes(name, own, len(vocabulary) + _BESIDES)
        pooling = None
        if "word_vectors" in arrays:
            pooling = WordPooling(
                arrays["word_vectors"], arrays["word_weights"], arrays["centre"], "mean"
            )
        scales = {name: (float(a), float(b)) for name, (a, b) in content["scales"].items()}
        return cls(settings, vocabulary, codes, list(content["grams"]), dict(content["names"]),
                   scales, str(content["role"]), pooling,
                   arrays.get("encoder_centre"), list(content["classes"]))  # fmt: skip


def occurrences(numbered: Numbered) -> dict[str, Occurrences]:
    """Return where words, pairs, beginnings, ends and frames occur."""
    found = {"words": words.words(numbered), "pairs": words.pairs(numbered)}
    return {**found, **words.edges(numbered)}


def learn_features(
    encoded: Encoded,
    vocabulary: Vocabulary,
    settings: FeatureSettings,
    labels: str,
    pooling: WordPooling | None = None,
    vectors: NDArray[np.float64] | None = None,
    classes: Sequence[str] = (),
) -> FeatureMap:
    """Learn from a corpus which features there are.

    Parameters
    ----------
    encoded : Encoded
        With all its words.
    vocabulary : Vocabulary
        The words to tell apart.
    settings : FeatureSettings
    labels : str
        Column of the labels, which must not be a feature.
    pooling : WordPooling, optional
        How words become a vector.
    vectors : array of float64, shape (n_messages, M), optional
        An encoder's.
    classes : sequence of str
        Names of another model's classes.

    Raises
    ------
    ParameterError
        A column does not exist, or is the one to be learned.
    """
    numbered = Numbered.of(encoded, vocabulary)
    codes = {
        name: words.frequent(found, settings.min_count)
        for name, found in occurrences(numbered).items()
    }
    grams = []
    if "characters" in settings.blocks:
        tokens = np.asarray(encoded.tokens)
        counts = np.bincount(tokens[tokens >= 0], minlength=len(encoded.vocabulary))
        grams = learn_grams(encoded.vocabulary.words, counts.tolist(), _RARER * settings.min_count)
    names: dict[str, list[str]] = {}
    scales: dict[str, tuple[float, float]] = {}
    role = _role(encoded, labels) if "role" in settings.blocks else ""
    if role:
        column = encoded.speakers if role == "speaker" else encoded.labels[role]
        names[role] = list(column.names)
    for name in settings.columns:
        if name == labels:
            raise ParameterError(f"columns: {name!r} has the labels that are to be learned")
        if name in encoded.labels:
            names[name] = list(encoded.labels[name].names)
        elif name in encoded.numbers:
            values = encoded.numbers[name][~np.isnan(encoded.numbers[name])]
            scales[name] = (float(values.mean()), float(values.std()) or 1.0)
        else:
            known = ", ".join([*encoded.labels, *encoded.numbers]) or "none"
            raise ParameterError(f"columns: there is no column {name!r}; the corpus has: {known}")
    centre = None if vectors is None else vectors.mean(axis=0)
    return FeatureMap(settings, vocabulary, codes, grams, names, scales, role, pooling, centre,
                      list(classes))  # fmt: skip


def _role(encoded: Encoded, labels: str) -> str:
    """Return where the roles of speakers are: a column, their names, or nowhere."""
    if "role" in encoded.labels and labels != "role":
        return "role"
    return "speaker" if around.recurring_speakers(encoded) else ""


def _before(codes: Numbers, before: Numbers) -> Numbers:
    """Return the number of the message before, -1 where there is none."""
    return np.where(before >= 0, codes[before], -1) if len(codes) else codes


def _classes(what: str, limits: NDArray[Any]) -> list[str]:
    """Name the classes that limits make."""
    return [f"{what} < {limits[0]:g}", *(f"{what} >= {limit:g}" for limit in limits)]


#: What a place may hold beside a word of the vocabulary: a rare word, the end, the start.
_BESIDES = 3
#: Words in a code.
_LENGTHS = {"words": 1, "pairs": 2, "beginnings": 3, "ends": 2, "frames": 2}


def _check_codes(name: str, codes: Numbers, base: int) -> None:
    """Raise ValueError unless codes are whole, in ascending order and within a vocabulary."""
    if codes.dtype.kind not in "iu" or codes.ndim != 1 or (codes[1:] <= codes[:-1]).any():
        raise ValueError(f"known_{name}: the codes are not in order")
    if len(codes) and not (codes[0] >= 0 and int(codes[-1]) < base ** _LENGTHS[name]):
        raise ValueError(f"known_{name}: a code stands for no words")


def _decoded(code: int, base: int, texts: list[str], name: str) -> str:
    """Return the words of a code."""
    numbers = [code]
    for _ in range(_LENGTHS[name] - 1):
        numbers = [*divmod(numbers[0], base), *numbers[1:]]
    shown = [texts[number] for number in numbers]
    forms = {"beginnings": "{} ...", "ends": "... {}"}
    if name == "frames":
        return " ... ".join(shown)
    return forms.get(name, "{}").format(" ".join(shown))
