"""The state of a running workbench: the index, the acts as they are now, and answers so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from palaver import curation
from palaver.curation import Curation, read_curation
from palaver.errors import InputError, ParameterError, StaleCurationError
from palaver.explore.acts import Classified, acts_of, key_of, marks_of
from palaver.explore.build import shape_of
from palaver.explore.index import Index
from palaver.explore.question import Answers

#: Steps of the history that are shown.
_SHOWN_STEPS = 30


class Workbench:
    """What the views of the workbench are made from.

    Parameters
    ----------
    run : path
    folder : path
        The index.
    read_only : bool
    who : str
        Whose word changes are.
    rebuild : callable, optional
        Makes the index again.
    page : callable, optional
        Returns the static page.
    """

    def __init__(
        self,
        run: Path,
        folder: Path,
        *,
        read_only: bool = False,
        who: str = "",
        rebuild: Callable[[], None] | None = None,
        page: Callable[[], bytes] | None = None,
    ) -> None:
        self.run, self.read_only, self.who = run, read_only, who
        self.index, self._folder, self._rebuild = Index(folder), folder, rebuild
        self._page = page
        self._lock = threading.Lock()
        self._curate(self._read())

    def _read(self) -> Curation:
        """Return what was decided about the run that was indexed."""
        try:
            return read_curation(self.run, self.index.content["run"], self.index.n_classes)
        except StaleCurationError:  # of another fit; every verb ignores it
            return Curation.empty(self.index.content["run"], self.index.n_classes)

    def _curate(self, state: Curation) -> None:
        acts = acts_of(self.index, state)
        classified = Classified(self.index, acts, marks_of(self.index, state))
        self.state, self.answers = state, Answers(self.index, classified)

    # what the views need

    def data(self) -> dict[str, Any]:
        """Return what the script of every view needs."""
        index = self.index
        shown: dict[str, Any] = index.overview["data"]
        return shown | {
            "acts": self.answers.classified.listed(),
            "edges": [],
            "threads": {"of": [], "speakers": [], "titles": [], "gold": None},
            "fields": index.fields,
            "columns": {field: _choices(index, field) for field in index.fields},
            "days": [index.periods[1][0], index.periods[1][-1]] if index.period else None,
            "readOnly": self.read_only,
            "canMark": not self.read_only and not index.content["anonymized"],
            "rebuilt": False,
            "revision": self.state.revision,
        }

    def overview_data(self) -> dict[str, Any]:
        """Return what the script of the overview needs: acts as they were when it was made.

        Names are those of now, where the act is still the same.
        """
        overview = self.index.overview
        now = {frozenset(act.members): act for act in self.answers.classified.acts}
        acts = []
        for act in overview["data"]["acts"]:
            ids = overview["ids"][act["number"]]
            own = now.get(frozenset(ids))
            named = {} if own is None else {
                "name": own.name, "named": own.named, "proposed": own.proposed}  # fmt: skip
            acts.append(act | {"number": ids[0], "members": ids, "was": act["name"]} | named)
        return {"acts": acts, "edges": overview["data"]["edges"], "stale": self.is_stale}

    @property
    def unmarked(self) -> Classified:
        """The acts of all messages as the model alone sees them."""
        own = self.answers.classified
        return Classified(self.index, own.acts) if own.marked else own

    @property
    def is_stale(self) -> bool:
        """Whether acts were merged, hidden, ordered or corrected since the overview was made."""
        return bool(self.index.overview["shape"] != shape_of(self.state))

    def curated(self) -> dict[str, Any]:
        """Return the acts, and what was done so far, the latest first."""
        self.refresh()
        state = self.state
        return {
            "revision": state.revision,
            "acts": self.answers.classified.listed(),
            "steps": [
                {"by": step.by, "at": step.at, "actions": list(step.actions)}
                for step in state.steps[: -_SHOWN_STEPS - 1 : -1]
            ],
            "can_undo": bool(state.steps),
            "can_redo": bool(state.undone),
            "marked": len(state.marks),
        }

    # curating

    def refresh(self) -> None:
        """Read what others have decided in the meantime."""
        with self._lock:
            state = self._read()
            if state.revision != self.state.revision:
                self._curate(state)

    def change(self, actions: Sequence[Mapping[str, Any]], revision: int) -> None:
        """Do something as one step, if nobody else was faster; see :func:`palaver.curation.change`.

        Raises
        ------
        StaleCurationError, ParameterError, InputError
        """
        with self._lock:
            own = [self._action(action) for action in actions]
            state = self._seen(revision)
            self._check(state.after(curation.Step(tuple(own))))
            self._curate(curation.change(self.run, state, *own, by=self.who))

    def undo(self, revision: int) -> None:
        """Take back the last step."""
        with self._lock:
            self._curate(curation.undo(self.run, self._seen(revision)))

    def redo(self, revision: int) -> None:
        """Do again what was undone last."""
        with self._lock:
            self._curate(curation.redo(self.run, self._seen(revision)))

    def _seen(self, revision: int) -> Curation:
        state = read_curation(self.run, self.index.content["run"], self.index.n_classes)
        if state.revision != revision:
            self._curate(state)
            raise StaleCurationError(
                "Somebody else, or another window, has changed something. It is shown now: look, "
                "then do it again."
            )
        return state

    def _check(self, state: Curation) -> None:
        """Refuse what the model cannot do, before it is written."""
        merged = any(len(own.ids) > 1 for own in state.classes)
        if merged and self.index.content["tagger"]:
            raise ParameterError(
                "the tags are labels that people gave; merge them in the data, and train again"
            )

    def _action(self, action: Mapping[str, Any]) -> dict[str, Any]:
        """Return an action as the file has it: messages by id and key, not by row."""
        if not isinstance(action, Mapping):
            raise InputError("an action must be an object")
        own = dict(action)
        if own.get("do") not in ("mark", "unmark"):
            return own
        if self.index.content["anonymized"]:
            raise InputError("messages are marked where they are not anonymized")
        row = own.pop("row", None)
        if not isinstance(row, int) or not 0 <= row < self.index.n_messages:
            raise InputError(f"there is no message {row!r}")
        _, id, text, original = self.index.texts.messages([row])[0]
        return own | {"id": id, "key": key_of(id, text if original is None else original)}

    # the overview

    @property
    def can_rebuild(self) -> bool:
        """Whether the index can be made again from here."""
        return self._rebuild is not None

    def rebuild(self) -> None:
        """Make the index again, with what was decided; the old one answers until then."""
        if self._rebuild is None:
            raise InputError("stop `palaver explore` and start it again")
        self._rebuild()
        index = Index(self._folder)
        with self._lock:
            self.index = index
            self._curate(self._read())

    @property
    def can_page(self) -> bool:
        """Whether the static page can be made from here."""
        return self._page is not None

    def page(self) -> bytes:
        """Return the static page, with what was decided."""
        if self._page is None:
            raise InputError("`palaver report` makes the page")
        return self._page()

    def close(self) -> None:
        """Close the index."""
        self.index.close()


#: A column with more values than this is typed, not chosen.
_MOST_CHOICES = 60


def _choices(index: Index, field: str) -> list[str] | None:
    names = index.names(field)
    return names if len(names) <= _MOST_CHOICES else None
