"""``palaver name RUN --ask URL``: show, ask for consent, ask the language model, keep its names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from palaver.endpoint import Answers, Endpoint
    from palaver.models import Model
    from palaver.questions.naming import Suggestions
    from palaver.questions.talk import Talk

_TWICE = "If names in it cannot be used, the answer is sent back once, with what was wrong."
_ROUNDS = 2  # questions: the second one says what was wrong with the first answer


def suggest(
    folder: Path,
    url: str,
    model_name: str,
    *,
    file: Path | None,
    seconds: float,
    yes: bool,
    json: bool,
) -> None:
    """Ask a language model for names of the classes that no person has named."""
    from palaver.cli.name import show_names
    from palaver.cli.output import errors
    from palaver.cli.talks import talk_of
    from palaver.endpoint import Endpoint, key_from_environment
    from palaver.errors import EndpointError
    from palaver.models import load

    endpoint = Endpoint(url, model_name, key_from_environment(), seconds)
    model = load(folder)
    wanted = _unnamed(model)
    talk = talk_of(folder, file)
    found = _ask(folder, endpoint, talk, wanted, yes=yes)
    for why in found.refused:
        errors.print(f"Not taken: {why}", style="yellow", markup=False)
    if not found.names:
        raise EndpointError(f"{endpoint.host}: gave no name that can be used; nothing was changed")
    ids = {talk.letters[number]: model_ids for number, model_ids in _ids(model).items()}
    n_kept = _keep(folder, {ids[letter]: name for letter, name in found.names.items()},
                   model, endpoint)  # fmt: skip
    errors.print(f"Suggestions of {endpoint.model}: {n_kept}. `palaver name RUN --undo` takes them "
                 "back; name a class to make its name yours.", markup=False)  # fmt: skip
    show_names(folder, load(folder).summary(), json=json)


def _unnamed(model: Model) -> list[int]:
    """Return the classes to ask about: neither named by a person nor hidden."""
    from palaver.errors import ParameterError

    summary = model.summary()
    if summary.tags is not None:
        raise ParameterError("the classes are tags, whose names people gave; nothing to suggest")
    own = set(summary.class_names) - summary.proposed
    wanted = [int(k) for k in summary.order if int(k) not in own and int(k) not in summary.hidden]
    if not wanted:
        raise ParameterError("people have named all classes; nothing to suggest")
    return wanted


def _ids(model: Model) -> dict[int, int]:
    """Return the leading id of each class, by number."""
    from palaver.models.curated import curation_of

    return {number: own.ids[0] for number, own in enumerate(curation_of(model).classes)}


def _ask(
    folder: Path, endpoint: Endpoint, talk: Talk, wanted: list[int], *, yes: bool
) -> Suggestions:
    """Return the names of the first answer that is right, or of the last one."""
    from palaver.cli.consent import consent
    from palaver.endpoint import Answers
    from palaver.errors import EndpointError
    from palaver.questions.naming import Suggestions, again, question, suggestions

    answers, agreed = Answers(folder), yes
    asked = question(talk.anonymized(), wanted)
    letters = [talk.letters[number] for number in wanted]
    taken = [name for k, name in talk.names.items() if k not in wanted]
    best = Suggestions()
    for _ in range(_ROUNDS):
        answer = answers.get(endpoint, asked)
        if answer is None:
            if not agreed:
                consent(endpoint, asked, _TWICE)
            agreed = True
            try:
                answer = _answer(endpoint, answers, asked)
            except EndpointError:
                if best.names:
                    break  # what came first is of use
                raise
        found = suggestions(answer, letters, taken, talk.private_words)
        best = found if len(found.names) >= len(best.names) else best
        if len(found.names) == len(letters):
            break
        asked = again(asked, answer, found)
    return best


def _answer(endpoint: Endpoint, answers: Answers, asked: list[dict[str, str]]) -> str:
    from palaver.cli.output import working

    with working(f"asking {endpoint.model}"):
        answer = endpoint.complete(asked)
    answers.keep(endpoint, asked, answer)
    return answer


def _keep(folder: Path, names: dict[int, str], asked: Model, endpoint: Endpoint) -> int:
    """Write suggestions, as one step, for classes that still have no person's name."""
    from palaver import curation
    from palaver.errors import StaleCurationError
    from palaver.models import load

    now = load(folder)
    if now.run_id != asked.run_id or set(_ids(now).values()) != set(_ids(asked).values()):
        raise StaleCurationError(
            f"{folder}: its classes have changed since; repeat the command (answers are kept)"
        )
    from palaver.models.curated import curation_of

    state = curation_of(now)
    own = {ids.ids[0] for ids in state.classes if ids.name is not None and not ids.name.proposed}
    actions = [{"do": "name", "class": id, "name": name, "proposed": True}
               for id, name in names.items() if id not in own]  # fmt: skip
    if actions:
        curation.change(folder, state, *actions, by=f"model {endpoint.model}"[:80])
    return len(actions)
