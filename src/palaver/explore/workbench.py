"""The state of a running workbench: the index, the acts as they are now, and answers so far."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from palaver import curation, store
from palaver.curation import Curation, read_curation
from palaver.errors import InputError, ParameterError, StaleCurationError
from palaver.explore.acts import Classified, acts_of, key_of, marks_of, names_of
from palaver.explore.index import Index
from palaver.explore.parts import missing_parts, widened
from palaver.explore.question import Answers
from palaver.explore.refits import Refits
from palaver.explore.stored import shape_of

if TYPE_CHECKING:
    from palaver.corpus.table import Corpus

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
    corpus : callable, optional
        Reads the texts again, for what needs the model: other parts of classes, a new fit.
    rebuild : callable, optional
        Makes the index again.
    page : callable, optional
        Returns the static page.
    refit : callable, optional
        Fits the run again in a process of its own; see :class:`Refits`.
    """

    def __init__(
        self,
        run: Path,
        folder: Path,
        *,
        read_only: bool = False,
        who: str = "",
        corpus: Callable[[], Corpus] | None = None,
        rebuild: Callable[[], None] | None = None,
        page: Callable[[], bytes] | None = None,
        refit: Callable[[int | None], None] | None = None,
    ) -> None:
        self.run, self.read_only, self.who = run, read_only, who
        self.index, self._folder, self._rebuild = Index(folder), folder, rebuild
        self._page, self._corpus = page, corpus
        self.refits = Refits(run, refit)
        self._lock = threading.Lock()
        self._shape: tuple[Index, str] | None = None
        self.answers: Answers
        self._curate(self._read())

    def _read(self) -> Curation:
        """Return what was decided about the run that was indexed."""
        try:
            return read_curation(self.run, self.index.content["run"], self.index.n_classes)
        except StaleCurationError:  # of another fit; every verb ignores it
            return Curation.empty(self.index.content["run"], self.index.n_classes)

    def _curate(self, state: Curation) -> None:
        shape = (self.index, shape_of(state))
        if shape == self._shape:  # nothing but names: what was found so far still holds
            acts = acts_of(self.index, state, self.answers.classified.wide)
            self.state, self.answers = state, self.answers.renamed(acts)
            return
        if missing_parts(self._folder, state):
            from palaver.explore.splits import read_parts

            read_parts(self.run, self._folder, self.corpus(), state)
        wide = widened(self._folder, self.index.shares, self.index.content["sizes"], state)
        acts = acts_of(self.index, state, wide)
        classified = Classified(self.index, acts, marks_of(self.index, state), wide)
        answers = Answers(self.index, classified)
        if self._shape is not None and self._shape[0] is self.index:
            answers.take_over(self.answers)
        self.state, self.answers, self._shape = state, answers, shape

    def corpus(self) -> Corpus:
        """Read the texts again.

        Raises
        ------
        InputError
            They are not at hand.
        """
        if self._corpus is None:
            raise InputError("the texts are not at hand; start `palaver explore` with their file")
        return self._corpus()

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
            "canRefit": self.refits.is_possible
            and not self.read_only
            and not index.content["anonymized"]
            and not index.content["tagger"],
            "canMark": not self.read_only and not index.content["anonymized"],
            "rebuilt": False,
            "revision": self.state.revision,
        }

    @property
    def can_refit(self) -> bool:
        """Whether the run can be fitted again from here."""
        content = self.index.content
        shows = self.read_only or content["anonymized"] or content["tagger"]
        return self.refits.is_possible and not shows

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
            "names": names_of(self.index, state),
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
        changed = state.splits or any(len(own.ids) > 1 for own in state.classes)
        if changed and self.index.content["tagger"]:
            raise ParameterError(
                "the tags are labels that people gave; merge or divide them in the data, and "
                "train again"
            )
        for split in state.splits:
            if not store.is_stored(self.run / split.folder):
                raise InputError("a class is divided by parts that were shown before")

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

    # dividing

    def try_split(self, id: int, n_parts: int) -> dict[str, Any]:
        """Divide an act, and return its parts; nothing is kept until `split` is sent back."""
        if self.read_only:
            raise InputError("this workbench only shows (--read-only)")
        if self.index.content["anonymized"]:
            raise InputError("acts are divided where messages are not anonymized")
        from palaver.explore.splits import tried

        self.refresh()
        return tried(self.run, self._folder, self.corpus(), self.state, id, n_parts, self.index)

    def take_refit(self) -> None:
        """Put the new fit in the place of the old one, and show it."""
        if self._rebuild is None:
            raise InputError("`palaver refit --take` takes the new fit")
        with self._lock:
            self.refits.take()
        self.rebuild()

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
        """Close the index; a fit that is under way stops."""
        self.refits.close()
        self.index.close()


#: A column with more values than this is typed, not chosen.
_MOST_CHOICES = 60


def _choices(index: Index, field: str) -> list[str] | None:
    names = index.names(field)
    return names if len(names) <= _MOST_CHOICES else None
