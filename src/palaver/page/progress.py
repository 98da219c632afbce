"""How far a page is: parts of the work, told to whoever listens."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from palaver.corpus.table import Corpus
from palaver.fit.fold import progress_listener, report_progress
from palaver.models.words.model import ThreadModel

if TYPE_CHECKING:
    from palaver.models.base.model import Model

#: Time per character of text relative to showing it, as measured on mails: reading by models that
#: fold in, on one core, and by others; a predicted character, of which there are so many at most.
_FOLDED, _READ, _PREDICTED, _MOST_PREDICTED = 4.0, 0.4, 2.0, 200_000


@dataclass(frozen=True)
class Work:
    """Expected shares of the time that a page takes; they sum to one.

    Attributes
    ----------
    reading, prediction, showing, writing : float
    """

    reading: float
    prediction: float
    showing: float
    writing: float

    @classmethod
    def expected(cls, model: Model, corpus: Corpus, max_characters: int, *, predict: bool) -> Work:
        """Estimate the shares from what is to be read, predicted and shown."""
        n_characters = max(int(corpus.table["text"].str.len_chars().sum()), 1)
        n_shown = min(n_characters, max_characters)
        reading = n_characters * _READ
        if isinstance(model, ThreadModel):
            reading += n_characters * _FOLDED / model.get_params()["n_jobs"]
        prediction = predict * _PREDICTED * min(n_characters, _MOST_PREDICTED)
        total = reading + prediction + 2 * n_shown
        return cls(reading / total, prediction / total, n_shown / total, n_shown / total)


@contextmanager
def part_of_work(share: float) -> Iterator[None]:
    """Count what is told inside, shares that sum to one, as a part of the whole work.

    At the end the part is done, however much of it was told: a model need not say how far it is.
    """
    outside, lock, told = copy_context(), Lock(), 0.0

    def pass_on(done: float) -> None:
        nonlocal told
        with lock:  # models tell from several threads
            step = min(done, 1 - told)
            told += step
            outside.run(report_progress, share * step)

    with progress_listener(pass_on):
        yield
    pass_on(1.0)
