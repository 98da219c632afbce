"""The index of a run, opened: numbers of messages as arrays mapped from disk, and their texts."""

from __future__ import annotations

import json
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palaver import store
from palaver.errors import DamagedStoreError
from palaver.explore.stored import KIND, NO_TIME
from palaver.explore.texts import Texts

_MOST_PERIODS = 60
_UNITS = ("day", "week", "month", "year")
_MONDAY = 3  # days from a Monday to the first day of 1970


class Index:
    """What is known about the messages of a run, without the model.

    Classes go by their numbers in the model here; :mod:`palaver.explore.acts` says what they are
    called and which of them are one.

    Attributes
    ----------
    content : dict
        See :mod:`palaver.explore.build`.
    texts : Texts
    shares : array of float32, shape (n_messages, n_classes)
    speaking : array of bool, shape (n_messages,)
        Messages about which the model can say something.
    parents : array of int32, shape (n_messages,)
        As given; -1 for a start.
    offsets : array of int64, shape (n_conversations + 1,)
    time : array of int64, shape (n_messages,)
        Seconds; :data:`NO_TIME` where unknown.
    all_codes : array of int32, shape (n_messages, n_fields)
        Group of each message in every field, -1 for none.
    replied, by_bot, answered, waited, waits : arrays
        See :func:`palaver.explore.answered.answered_arrays`.
    """

    def __init__(self, folder: Path) -> None:
        stored = store.load(folder, KIND, mapped=True)
        self.content: dict[str, Any] = stored.content
        arrays = {name: np.asarray(array) for name, array in stored.arrays.items()}
        try:
            self.shares: NDArray[np.float32] = arrays["shares"]
            self.speaking: NDArray[np.bool_] = arrays["speaking"]
            self.parents: NDArray[np.int32] = arrays["parents"]
            self.offsets: NDArray[np.int64] = arrays["conversation_offsets"]
            self.time: NDArray[np.int64] = arrays["time"]
            self.token_classes: NDArray[np.signedinteger[Any]] = arrays["token_classes"]
            self.token_offsets: NDArray[np.int64] = arrays["token_offsets"]
            path = folder / self.content["texts"]
            self.all_codes: NDArray[np.int32] = arrays["codes"]
            self.by_bot: NDArray[np.bool_] = arrays["by_bot"]
            self.replied: NDArray[np.int32] = arrays["replied"]
            self.answered: NDArray[np.bool_] = arrays["answered"]
            self.waited: NDArray[np.int32] = arrays["waited"]
            self.waits: NDArray[np.float64] = arrays["waits"]
            size = self.content["bytes"]
            self._overview = folder / self.content["overview"]
        except KeyError as error:
            raise DamagedStoreError(f"{folder}: lacks {error}") from error
        if not path.is_file() or path.stat().st_size != size:
            raise DamagedStoreError(f"{path}: is missing or damaged")
        if not self._overview.is_file():
            raise DamagedStoreError(f"{self._overview}: is missing")
        self.texts = Texts(path)

    @property
    def n_messages(self) -> int:
        """Number of messages."""
        return len(self.parents)

    @property
    def n_conversations(self) -> int:
        """Number of conversations."""
        return len(self.offsets) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes of the model."""
        return int(self.shares.shape[1])

    @property
    def fields(self) -> list[str]:
        """What messages can be grouped by: speakers and columns of labels."""
        return list(self.content["fields"])

    @cached_property
    def overview(self) -> dict[str, Any]:
        """HTML of the page's sections, and what their script needs."""
        try:
            return dict(json.loads(self._overview.read_text(encoding="utf-8")))
        except (OSError, ValueError) as error:
            raise DamagedStoreError(f"{self._overview}: is damaged ({error})") from error

    @cached_property
    def conversation(self) -> NDArray[np.int32]:
        """Conversation of each message, (n_messages,)."""
        numbers = np.arange(self.n_conversations, dtype=np.int32)
        return np.repeat(numbers, np.diff(self.offsets))

    @cached_property
    def place(self) -> NDArray[np.int32]:
        """Place of each message in its conversation, from 0, (n_messages,)."""
        starts = self.offsets[:-1][self.conversation]
        return (np.arange(self.n_messages) - starts).astype(np.int32)

    @cached_property
    def length(self) -> NDArray[np.int32]:
        """Messages in the conversation of each message, (n_messages,)."""
        return np.diff(self.offsets).astype(np.int32)[self.conversation]

    @cached_property
    def links(self) -> NDArray[np.int32]:
        """The message that each one follows, -1 for none, (n_messages,).

        What it answers; where nobody answers anybody, the message before.
        """
        return links_of(self.parents, self.offsets, self.content["steps"])

    @cached_property
    def opens(self) -> NDArray[np.bool_]:
        """Messages with which a person begins a thread, (n_messages,)."""
        return np.asarray((self.replied < 0) & ~self.by_bot)

    @cached_property
    def has_wait(self) -> NDArray[np.bool_]:
        """Messages of which it is known how soon somebody else answers, (n_messages,)."""
        found = np.zeros(self.n_messages, bool)
        found[self.waited] = True
        return found

    def codes(self, field: str) -> NDArray[np.int32]:
        """Return the code of each message's group, -1 for none, (n_messages,)."""
        return self.all_codes[:, self.fields.index(field)]

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """Where the counts of each field begin in a row of all, and where they end.

        Those of messages without a group come first, (n_fields + 1,).
        """
        sizes = [len(self.names(field)) + 1 for field in self.fields]
        return np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)

    @cached_property
    def _names(self) -> dict[str, list[str]]:
        return {}

    def names(self, field: str) -> list[str]:
        """Return the names behind the codes of a field."""
        if field not in self._names:
            self._names[field] = self.texts.names(field)
        return self._names[field]

    @cached_property
    def _code_of(self) -> dict[str, dict[str, int]]:
        return {}

    def code(self, field: str, name: str) -> int:
        """Return the code of a group; -1 for one that does not exist."""
        if field not in self._code_of:
            self._code_of[field] = {own: code for code, own in enumerate(self.names(field))}
        return self._code_of[field].get(name, -1)

    @cached_property
    def _totals(self) -> dict[str, NDArray[np.int64]]:
        return {}

    def totals(self, field: str) -> NDArray[np.int64]:
        """Return the messages of each group, those without one first, (n_groups + 1,)."""
        if field not in self._totals:
            n_groups = len(self.names(field))
            self._totals[field] = np.bincount(self.codes(field) + 1, minlength=n_groups + 1)
        return self._totals[field]

    @cached_property
    def known_words(self) -> frozenset[str] | None:
        """The model's vocabulary; None if it reads unknown words, too."""
        words = self.content["words"]
        return None if words is None else frozenset(words)

    @cached_property
    def has_time(self) -> NDArray[np.bool_]:
        """Messages whose time is known, (n_messages,)."""
        return np.asarray(self.time != NO_TIME)

    @cached_property
    def period(self) -> str | None:
        """The finest unit of time that gives at most sixty periods; None without times."""
        times = self.time[self.has_time]
        if not len(times) or times.min() == times.max():
            return None
        ends = np.array([times.min(), times.max()])
        for unit in _UNITS:
            first, last = _numbered(ends, unit)
            if last - first < _MOST_PERIODS:
                return unit
        return "year"

    @cached_property
    def periods(self) -> tuple[NDArray[np.int32], list[str]]:
        """Period of each message, -1 for none, and the first day of each period."""
        if self.period is None:
            return np.full(self.n_messages, -1, np.int32), []
        numbers = _numbered(np.where(self.has_time, self.time, 0), self.period)
        first, last = numbers[self.has_time].min(), numbers[self.has_time].max()
        days = _first_days(np.arange(first, last + 1), self.period)
        codes = np.where(self.has_time, numbers - first, -1).astype(np.int32)
        return codes, days.astype(str).tolist()

    @cached_property
    def period_totals(self) -> NDArray[np.int64]:
        """Messages of each period, those without one first, (n_periods + 1,)."""
        codes, days = self.periods
        return np.bincount(codes + 1, minlength=len(days) + 1)

    def close(self) -> None:
        """Close the texts."""
        self.texts.close()


def links_of(
    parents: NDArray[np.int32], offsets: NDArray[np.int64], steps: str
) -> NDArray[np.int32]:
    """Return the message that each one follows, -1 for none, (n_messages,).

    What it answers; where nobody answers anybody, the message before.

    Parameters
    ----------
    parents : array of int32, shape (n_messages,)
    offsets : array of int64, shape (n_conversations + 1,)
    steps : str
        "messages" if the model takes each message to follow the one before.
    """
    if steps != "messages" and (parents >= 0).any():
        return parents
    before = np.arange(-1, len(parents) - 1, dtype=np.int32)
    starts = offsets[:-1]
    before[starts[starts < len(before)]] = -1
    return before


def _numbered(times: NDArray[np.int64], unit: str) -> NDArray[np.int64]:
    """Return the number of the day, week, month or year of times in seconds."""
    days = times // 86_400
    if unit == "day":
        return days
    if unit == "week":
        return (days + _MONDAY) // 7
    return days.astype("datetime64[D]").astype(f"datetime64[{unit[0].upper()}]").astype(np.int64)


def _first_days(numbers: NDArray[np.int64], unit: str) -> NDArray[np.datetime64]:
    """Return the first day of each period."""
    if unit == "day":
        return numbers.astype("datetime64[D]")
    if unit == "week":
        return (numbers * 7 - _MONDAY).astype("datetime64[D]")
    return numbers.astype(f"datetime64[{unit[0].upper()}]").astype("datetime64[D]")
