"""Seed words: the file that ``palaver fit --seeds`` names."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from palaver.errors import ParameterError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from palaver.models import Model

_EXAMPLE = 'one line per class, as in: thanks = ["thanks", "cheers"]'


def seed_words(kind: type[Model], path: Path) -> dict[str, list[str]]:
    """Return the words of --seeds, for a model that takes them."""
    check_takes_seeds(kind)
    return read_seeds(path)


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


def strayed(
    seeds: Mapping[str, Sequence[str]], words: NDArray[np.float64], index: Mapping[str, int]
) -> list[tuple[int, int]]:
    """Return the seeded classes that their words are not most frequent in, and which those are.

    Parameters
    ----------
    seeds : mapping
        Words by the name of their class; the first class has the first name.
    words : array of float64, shape (n_classes, n_words)
        The share of each word in each class.
    index : mapping of str to int
        The number of each word.
    """
    found = []
    for number, own in enumerate(seeds.values()):
        known = [index[word] for word in own if word in index]
        at = int(words[:, known].sum(axis=1).argmax()) if known else number
        if at != number:
            found.append((number, at))
    return found


def tell_strayed(model: Model, folder: Path) -> None:
    """Say which classes did not form around their seed words, and what to do."""
    from palaver.cli.options import command
    from palaver.cli.output import errors

    seeds, words = getattr(model, "seed_words", None), getattr(model, "class_words_", None)
    if not seeds or words is None:
        return
    names = model.summary().class_names
    for number, at in strayed(seeds, words, model.vocabulary_.index):
        name = list(seeds)[number]
        other = f"“{names[at]}”" if at in names else f"class {at}"
        errors.print(
            f"The words of “{name}” are most frequent in {other}, not in the class that was "
            "started with them: read messages of both before you believe the name. More words "
            "for it may help, or the name for the other class: "
            f"{command('name', folder, at, name)}",
            style="yellow", soft_wrap=True, markup=False,
        )  # fmt: skip
