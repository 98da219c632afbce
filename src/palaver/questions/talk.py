"""Messages and their classes: what all questions are asked about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.describe import by_bots
from palaver.corpus.table import Corpus, as_corpus
from palaver.draw.palette import letters
from palaver.encoding import Encoded
from palaver.encoding.hidden import hidden_words, tells
from palaver.encoding.tokenizer import split_words
from palaver.errors import ParameterError
from palaver.models.views.marks import with_marks
from palaver.models.views.reading import ReadsTokens, contained

if TYPE_CHECKING:
    from palaver.models.base.model import Model
    from palaver.questions.answers import Answers


@dataclass(frozen=True, eq=False)
class Talk:
    """A corpus with the classes of its messages; :func:`palaver.ask` makes one from a model.

    Attributes
    ----------
    corpus : Corpus
    shares : array of float64, shape (n_messages, n_classes)
        How much of each class a message has, by class number.
    known : array of bool, shape (n_messages,)
        Messages about which the model can say something.
    names : dict of int to str
        Names of classes; some or all may be missing.
    proposed : frozenset of int
        Classes whose names are proposals.
    named : frozenset of int
        Classes that a person named after the fit.
    sizes : array of float64, shape (n_classes,)
        Shares of the classes in what the model learned from: they decide the letters.
    words : polars.DataFrame
        Characteristic words of each class, columns class and word, for choosing examples.
    contains : array of bool, shape (n_messages, n_classes), or None
        Which classes the sentences of each message have, where sentences have classes.
    """

    corpus: Corpus
    shares: NDArray[np.float64]
    known: NDArray[np.bool_]
    names: Mapping[int, str] = field(default_factory=dict)
    proposed: frozenset[int] = frozenset()
    named: frozenset[int] = frozenset()
    sizes: NDArray[np.float64] | None = None
    words: pl.DataFrame = field(
        default_factory=lambda: pl.DataFrame(schema={"class": pl.Int64, "word": pl.String})
    )
    contains: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        n_messages = self.corpus.n_messages
        if self.shares.ndim != 2 or len(self.shares) != n_messages or len(self.known) != n_messages:
            raise ParameterError(
                f"Talk: shares and known must have one row for each of the {n_messages} messages; "
                f"their shapes are {self.shares.shape} and {self.known.shape}"
            )

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.shares.shape[1])

    @cached_property
    def main(self) -> NDArray[np.int64]:
        """The class with the largest share of each message; -1 where nothing is known."""
        if not self.n_classes:
            return np.full(len(self.known), -1)
        return np.where(self.known, self.shares.argmax(axis=1), -1)

    @cached_property
    def doing(self) -> NDArray[np.float64]:
        """How far each message does what a class does, (n_messages, n_classes).

        Where sentences have classes, 1 for each class that one of them has: somebody who greets,
        explains and asks does ask. Otherwise shares.
        """
        return self.shares if self.contains is None else self.contains.astype(np.float64)

    @cached_property
    def letters(self) -> list[str]:
        """The letter of each class, A for the largest, as on the page."""
        sizes = self.shares[self.known].sum(axis=0) if self.sizes is None else self.sizes
        spelled = [""] * self.n_classes
        for rank, number in enumerate(np.argsort(-sizes, kind="stable").tolist()):
            spelled[number] = letters(rank)
        return spelled

    @cached_property
    def conversations(self) -> NDArray[np.int64]:
        """The number of each message's conversation."""
        lengths = np.diff(self.corpus.conversation_offsets)
        return np.repeat(np.arange(self.corpus.n_conversations), lengths)

    @cached_property
    def is_bot(self) -> NDArray[np.bool_]:
        """Which messages bots wrote."""
        return by_bots(self.corpus)

    @cached_property
    def answers(self) -> Answers:
        """The first answer to each message; see :mod:`palaver.questions.answers`."""
        from palaver.questions.answers import first_answers

        return first_answers(self.corpus, self.is_bot)

    def called(self, number: int) -> str:
        """Return the letter and name of a class."""
        return f"{self.letters[number]} {self.names.get(number, '')}".strip()

    def anonymized(self) -> Talk:
        """Return the same talk without the names of people; see :meth:`Corpus.anonymized`.

        Characteristic words, and names that no person gave after the fit (proposals, labels), are
        left out if they hold a word of what is replaced.
        """
        shown, hidden = self._anonymized
        names = {k: name for k, name in self.names.items()
                 if k in self.named or not tells(name, hidden)}  # fmt: skip
        words = self.words.filter(~pl.col("word").is_in(list(hidden)))
        return replace(self, corpus=shown, names=names, words=words)

    @property
    def private_words(self) -> frozenset[str]:
        """Words of what :meth:`anonymized` replaces."""
        return self._anonymized[1]

    @cached_property
    def _anonymized(self) -> tuple[Corpus, frozenset[str]]:
        shown = self.corpus.anonymized()
        before, after = (split_words(each.table["text"]) for each in (self.corpus, shown))
        own = self.words["word"].to_list()
        return shown, hidden_words(self.corpus.table["speaker"], before, after, own)

    def find_class(self, given: str | int) -> int:
        """Return the number of a class that is given by letter, name or number.

        A name may be cut short, and its case does not matter; a letter comes before a name.
        """
        if isinstance(given, int) or given.strip().isdigit():
            number = int(given)
            if 0 <= number < self.n_classes:
                return number
            raise ParameterError(f"there is no class {number}; {self._choices()}")
        wanted = given.strip()
        if wanted in self.letters:
            return self.letters.index(wanted)
        plain = wanted.casefold()
        called = {number: self.names.get(number, "").casefold() for number in range(self.n_classes)}
        for fits in (str.__eq__, str.startswith, str.__contains__):
            found = [number for number, name in called.items() if plain and fits(name, plain)]
            if len(found) == 1:
                return found[0]
            if found:
                raise ParameterError(
                    f"several classes are called {given!r}: "
                    f"{', '.join(map(self.called, found))}; give the letter"
                )
        raise ParameterError(f"there is no class {given!r}; {self._choices()}")

    def _choices(self) -> str:
        order = sorted(range(self.n_classes), key=lambda k: (len(self.letters[k]), self.letters[k]))
        return f"there are {', '.join(map(self.called, order))}"

    # the questions; each is a function of a module of this package

    def compare_groups(self, by: str | None = None, **options: Any) -> pl.DataFrame:
        """Return what changed between groups; see :func:`palaver.questions.changes.changes`."""
        from palaver.questions.changes import changes

        return changes(self, by, **options)

    def helpers(self) -> pl.DataFrame:
        """Return who answers whom; see :func:`palaver.questions.answers.pairs`."""
        from palaver.questions.answers import pairs

        return pairs(self)

    def waits(self, by: str = "class", **options: Any) -> pl.DataFrame:
        """Return what is answered, and how soon; see :func:`palaver.questions.answers.waits`."""
        from palaver.questions.answers import waits

        return waits(self, by, **options)

    def unanswered(self, of: str | int | None = None) -> pl.DataFrame:
        """Return messages without answer; see :func:`palaver.questions.answers.unanswered`."""
        from palaver.questions.answers import unanswered

        return unanswered(self, of)

    def examples(self, of: str | int, n: int = 20) -> pl.DataFrame:
        """Return messages of a class; see :func:`palaver.questions.examples.examples`."""
        from palaver.questions.examples import examples

        return examples(self, of, n)

    def profile(self, who: str, by: str = "speaker") -> dict[str, Any]:
        """Return what a person or role does; see :func:`palaver.questions.people.profile`."""
        from palaver.questions.people import profile

        return profile(self, who, by)

    def balance(self, by: str = "speaker") -> pl.DataFrame:
        """Return who talks how much; see :func:`palaver.questions.people.balance`."""
        from palaver.questions.people import balance

        return balance(self, by)


def ask(model: Model, corpus: Corpus, names: Mapping[int, str] | None = None) -> Talk:
    """Let a fitted model read a corpus, to ask what analysts ask.

    Parameters
    ----------
    model : Model
    corpus : Corpus
        What it was fitted on, or other conversations.
    names : mapping, optional
        Names of classes by number; by default those of the model.

    Returns
    -------
    Talk
        With the methods ``compare_groups``, ``helpers``, ``waits``, ``unanswered``, ``examples``,
        ``profile`` and ``balance``, which give tables.

    Examples
    --------
    >>> talk = pv.ask(model, corpus)                 # doctest: +SKIP
    >>> talk.compare_groups("quarter")               # doctest: +SKIP
    >>> talk.examples("thanks", n=5)                 # doctest: +SKIP
    """
    corpus = as_corpus(corpus)
    if not isinstance(corpus, Corpus):
        raise ParameterError(f"ask: takes a Corpus, got {type(corpus).__name__}")
    summary = model.summary()
    read = corpus if model.needs_texts else model._encode(corpus)
    known = model.known_messages(read)
    tokens = None
    if summary.units == "sentences" and isinstance(read, Encoded):
        tokens = cast(ReadsTokens, model).read_tokens(read)
    found = model.message_shares(read) if tokens is None else tokens.shares
    shares = with_marks(model, corpus, found) * known[:, None]
    return Talk(
        corpus=corpus,
        shares=shares,
        known=known,
        names=summary.class_names | dict(names or {}),
        proposed=summary.proposed - set(names or {}),
        named=summary.named | set(names or {}),
        sizes=summary.class_shares,
        words=summary.words.select("class", "word"),
        contains=None
        if tokens is None
        else as_marked(contained(tokens, cast(Encoded, read)), shares),
    )


def as_marked(contains: NDArray[np.bool_], shares: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return what messages contain, with what people said about them, which is in the shares."""
    return np.asarray((contains & (shares > 0)) | (shares == 1))
