"""Groups of linked things, such as the mails of a thread or the lines of a conversation."""

from __future__ import annotations

from typing import Generic, TypeVar

Name = TypeVar("Name")


class Linked(Generic[Name]):
    """Sets of names that belong together (union-find with path halving)."""

    def __init__(self) -> None:
        self._above: dict[Name, Name] = {}

    def find(self, name: Name) -> Name:
        """Return the name that represents everything linked to this one."""
        above = self._above
        while (parent := above.get(name, name)) != name:
            above[name] = name = above.get(parent, parent)
        return name

    def join(self, one: Name, other: Name) -> None:
        """Link two names, and with them everything that either is linked to."""
        self._above[self.find(other)] = self.find(one)
