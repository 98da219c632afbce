"""What classes are called: a typical sentence or words until somebody names them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from palaver.draw.palette import letters
from palaver.errors import InputError
from palaver.models.summary import ModelSummary
from palaver.page.text import MAX_NAME, name

#: Names of classes by their numbers in the model or their letters on the page.
Names = Mapping[Any, str]


def automatic_name(words: Sequence[str], sentences: Sequence[str]) -> str:
    """Name a class by its most typical sentence, or by three characteristic words."""
    if sentences:
        return f"“{name(sentences[0])}”"
    told = [name(word, 20) for word in spoken(words)[:3]]
    return ", ".join(told) if told else "no words"


def spoken(words: Sequence[str]) -> list[str]:
    """Return the words that have a letter or digit; all, if none has."""
    return [word for word in words if any(map(str.isalnum, word))] or list(words)


def read_names(source: Names | str | Path | None, summary: ModelSummary) -> dict[int, str]:
    """Return names by class number, from a mapping or a file that the page exported.

    Keys are numbers of the model or letters of the page, which go by size.

    Raises
    ------
    InputError
        The file does not hold names, belongs to another run, or names a class that does not exist.
    """
    if source is None:
        return {}
    where = "names" if isinstance(source, Mapping) else str(source)
    content = source if isinstance(source, Mapping) else _load(Path(source))
    inner = content.get("names") if not isinstance(content.get("names"), str) else None
    if isinstance(inner, Mapping):
        run = content.get("run")
        if run is not None and run != summary.view_id:
            raise InputError(
                f"{where}: these names belong to another run; name the classes on this run's page, "
                'or remove the line "run" to use them anyway'
            )
        content = inner
    return {_number(key, where, summary): _name(value, where) for key, value in content.items()}


def _load(path: Path) -> Mapping[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not JSON: {error}") from error
    if not isinstance(content, Mapping):
        raise InputError(f'{path}: must be an object such as {{"names": {{"0": "asks"}}}}')
    return content


def _number(key: int | str, where: str, summary: ModelSummary) -> int:
    numbers = {letters(rank): int(number) for rank, number in enumerate(summary.order)}
    numbers |= {str(number): number for number in range(len(numbers))}
    if str(key) not in numbers:
        last = len(summary.class_shares) - 1
        raise InputError(
            f"{where}: there is no class {key!r}; classes are 0 to {last} as in `palaver classes`, "
            f"or A to {letters(last)} as on the page"
        )
    return numbers[str(key)]


def _name(value: Any, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise InputError(f"{where}: a name must be a non-empty text, got {value!r}")
    return name(value, MAX_NAME)
