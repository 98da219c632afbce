"""Search for the settings of a hidden backoff tagger on development data.

Ji & Bilmes (2006, section 4) use a genetic algorithm. The settings hardly depend on each other, so
this search changes one setting at a time: it tries every value with the best of the others so far,
and starts over until nothing improves or the budget is spent. Settings that only matter when tags
are chosen need no training.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from palaver.corpus.table import Corpus
from palaver.encoding import Encoded
from palaver.models.taggers.search import climb, key_of
from palaver.models.taggers.sentences import all_words

if TYPE_CHECKING:
    from palaver.models.taggers.hidden_backoff import HiddenBackoffTagger

#: Values to try, in this order.
SPACE: dict[str, list[Any]] = {
    "interpolate": [False, True],
    "min_count": [1, 2, 5, 20, 60, 200],
    "continuation": [True, "words", False],
    "smoothing": ["modified-kneser-ney", "kneser-ney", "witten-bell"],
    "combine": ["mean", "count-weighted", "max", "product"],
    "cutoffs": [0, [0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 2]],
    "tag_order": [3, 2, 1],
    "speaker_change": [True, False],
    "decode": ["viterbi", "sum"],
    "word_weight": [1.0, 0.8, 1.25],
    "order": [2, 3],
    "end": [True, False],
    "topology": ["forward", "fork"],
}
#: Settings that only change how tags are chosen.
_CHEAP = ("tag_order", "speaker_change", "decode", "word_weight")


def graphs(parents: Sequence[str]) -> list[str]:
    """Return every order of dropping parents, then some of them dropped in parallel."""
    chains = [">".join(order) for order in itertools.permutations(parents)]
    pairs = []
    for first, second in itertools.combinations(parents, 2):
        rest = [name for name in parents if name not in (first, second)]
        steps = [f"{first}+{second}", *rest]
        pairs += [">".join(order) for order in itertools.permutations(steps)]
    every = ["+".join(parents)] if len(parents) > 2 else []
    return chains + pairs + every


def search(
    evaluate: Callable[[dict[str, Any]], float],
    first: dict[str, Any],
    parents: Sequence[str],
    tags: Sequence[str],
    budget: int,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Change one setting at a time and keep what is better, until nothing is.

    Parameters
    ----------
    evaluate : callable
        From settings to the share of right tags.
    first : dict
        Settings to start from.
    parents : sequence of str
        Parents of words in bigrams, for the backoff graphs; "state" counts if any is hidden.
    tags : sequence of str
        Their numbers of states are tried one by one if hidden states are better than none.
    budget : int
        Evaluations at most, including that of the first settings.

    Returns
    -------
    settings : dict
    table : polars.DataFrame
        One row per evaluation: number, setting, value, accuracy, kept.
    """
    return climb(evaluate, first, lambda best: _steps(best, parents, tags), budget)


def search_settings(
    tagger: HiddenBackoffTagger,
    train: Corpus | Encoded,
    dev: Corpus | Encoded,
    labels: str,
    budget: int,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Search settings for a tagger that is trained on ``train`` and judged on ``dev``.

    Parameters
    ----------
    tagger : HiddenBackoffTagger
        Its parameters are where the search starts.
    train, dev : Corpus or Encoded
    labels : str
    budget : int

    Returns
    -------
    settings : dict
    table : polars.DataFrame
        As in :func:`search`.
    """
    if not tagger.factors and not tagger.emitted:  # which are read from the texts' own table
        train, dev = all_words(train), all_words(dev)
    params = tagger.get_params()
    first = {name: params[name] for name in (*SPACE, "backoff", "n_states")}
    trained: dict[str, HiddenBackoffTagger] = {}

    def train_with(settings: dict[str, Any]) -> HiddenBackoffTagger:
        costly = key_of({name: value for name, value in settings.items() if name not in _CHEAP})
        if costly not in trained:
            trained.clear()  # one is enough: cheap settings are tried on the best so far
            fresh = type(tagger)(**{**params, **settings})
            trained[costly] = fresh.fit(train, labels, show_progress=False)
        return trained[costly]

    def evaluate(settings: dict[str, Any]) -> float:
        judged = train_with(settings).set_params(**settings)
        judged.chains_[0]["tag_moves"] = judged._tag_moves(judged._labelled(train, labels))
        return judged.score(dev, labels)

    start = train_with(first)
    factors = list(tagger.factors or [])
    return search(evaluate, first, ["word", "state", "tag", *factors], start.tags_, budget)


def _steps(
    best: dict[str, Any], parents: Sequence[str], tags: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield settings to change; those that need no training first."""
    for name in _CHEAP:
        yield from ({name: value} for value in SPACE[name])
    yield from ({"n_states": number, **_graph(best, "state")} for number in (1, 2, 3, "auto"))
    yield from ({"order": order, "backoff": "auto"} for order in SPACE["order"])
    present = [*parents[:1], *(["word2"] if best["order"] > 2 else []), *parents[1:]]
    hides = best["n_states"] != 1
    yield from ({"backoff": text} for text in graphs([n for n in present if hides or n != "state"]))
    for name, values in SPACE.items():
        if name not in (*_CHEAP, "order") and (hides or name != "topology"):
            yield from ({name: value} for value in values)
    if not hides:
        return
    for tag in tags:
        for number in (1, 2, 3):
            yield {"n_states": _with_states(best["n_states"], tags, tag, number)}


def _graph(best: dict[str, Any], parent: str) -> dict[str, str]:
    """Return the change of a backoff graph that lacks a parent."""
    return {} if parent in best["backoff"] else {"backoff": "auto"}


def _with_states(n_states: Any, tags: Sequence[str], tag: str, number: int) -> dict[str, int]:
    """Return the numbers of states of all tags, with that of one tag changed."""
    if isinstance(n_states, dict):
        return {**n_states, tag: number}
    common = int(n_states) if isinstance(n_states, int | np.integer) else 2
    return {**dict.fromkeys(tags, common), tag: number}
