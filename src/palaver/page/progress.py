"""Progress of a page: parts of the work, reported to the listener."""

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

#: Time per character relative to showing it, measured on mails: folding in on one core, reading
#: without that, predicting.
_FOLDED, _READ, _PREDICTED = 4.0, 0.4, 2.0
#: About as many characters are predicted at most: 40,000 words.
_MOST_PREDICTED = 200_000


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
        if isinstance(model.origin, ThreadModel):
            reading += n_characters * _FOLDED / model.get_params()["n_jobs"]
        prediction = predict * _PREDICTED * min(n_characters, _MOST_PREDICTED)
        total = reading + prediction + 2 * n_shown
        return cls(reading / total, prediction / total, n_shown / total, n_shown / total)


@contextmanager
def part_of_work(share: float) -> Iterator[None]:
    """Pass on progress reported inside, shares that sum to one, as a part of the whole work.

    At the end the part counts as done, however much was reported: not every model reports.
    """
    outside, lock, told = copy_context(), Lock(), 0.0

    def pass_on(done: float) -> None:
        nonlocal told
        with lock:  # models report from several threads
            step = min(done, 1 - told)
            told += step
            outside.run(report_progress, share * step)

    with progress_listener(pass_on):
        yield
    pass_on(1.0)
