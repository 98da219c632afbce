"""Seed words: the file that ``palaver fit --seeds`` names."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.errors import ParameterError

if TYPE_CHECKING:
    from palaver.models import Model

_EXAMPLE = 'one line per class, as in: thanks = ["thanks", "cheers"]'


def check_takes_seeds(kind: type[Model]) -> None:
    """Refuse --seeds for a model that cannot use them, and name those that can."""
    from palaver.models import model_class
    from palaver.names import commands

    if "seed_words" in kind.limits:
        return
    others = [name for name in commands("model") if "seed_words" in model_class(name).limits]
    raise ParameterError(f"--seeds: {kind.name} takes no seed words; {', '.join(others)} do")


def read_seeds(path: Path) -> dict[str, list[str]]:
    """Return the words of each class, from a TOML file: ``name = ["word", "word"]``."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise ParameterError(f"--seeds: {path} cannot be read ({error.strerror})") from error
    except (ValueError, RecursionError) as error:  # not TOML, or not UTF-8
        raise ParameterError(f"--seeds: {path} is no TOML ({error}); {_EXAMPLE}") from error
    if not content:
        raise ParameterError(f"--seeds: {path} has no words; {_EXAMPLE}")
    for name, words in content.items():
        is_list = isinstance(words, list) and bool(words)
        if not is_list or not all(isinstance(word, str) and word.strip() for word in words):
            raise ParameterError(f"--seeds: {path}: {name!r} must be a list of words; {_EXAMPLE}")
    return content
