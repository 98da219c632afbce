"""Search for the settings of a hidden backoff tagger on development data.

The space is large but nearly separable, so that the search goes through one setting after the
other, tries every value of it beside the best so far, and begins again until nothing improves or
the budget is spent. Settings that only matter when tags are chosen cost no training.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
import polars as pl

from palaver.corpus.table import Corpus
from palaver.encode import Encoded
from palaver.errors import NotFittedError
from palaver.models.taggers.contract import Tagger
from palaver.models.taggers.sentences import all_words

#: Values that are tried, in this order, for taggers with the words before and the tag as parents.
SPACE: dict[str, list[Any]] = {
    "interpolate": [True, False],
    "min_count": [1, 2, 5, 20, 60, 200],
    "continuation": [True, "words", False],
    "discount": ["modified-kneser-ney", "kneser-ney", "witten-bell"],
    "combine": ["mean", "count-weighted", "max", "product"],
    "cutoffs": [0, [0, 0, 1], [0, 0, 0, 1], [0, 0, 1, 2]],
    "tag_order": [2, 1, 3],
    "speaker_change": [False, True],
    "decode": ["viterbi", "sum"],
    "word_weight": [1.0, 0.8, 1.25],
    "topology": ["forward", "fork"],
}
#: Settings for which nothing but the choice of tags changes.
_CHEAP = ("tag_order", "speaker_change", "decode", "word_weight")


def graphs(parents: Sequence[str]) -> list[str]:
    """Return every chain of dropping, then every pair of parents dropped in parallel."""
    chains = [">".join(order) for order in itertools.permutations(parents)]
    pairs = []
    for first, second in itertools.combinations(parents, 2):
        rest = [name for name in parents if name not in (first, second)]
        steps = [f"{first}+{second}", *rest]
        pairs += [">".join(order) for order in itertools.permutations(steps)]
    return chains + pairs


def search(
    evaluate: Callable[[dict[str, Any]], float],
    first: dict[str, Any],
    parents: Sequence[str],
    tags: Sequence[str],
    budget: int,
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Go through the settings one by one, keep what is better, until nothing is.

    Parameters
    ----------
    evaluate : callable
        From settings to the share of right tags; higher is better.
    first : dict
        Settings to begin with.
    parents : sequence of str
        Of words, for the graphs.
    tags : sequence of str
        Whose numbers of states are tried one by one if the first settings hide states.
    budget : int
        Most evaluations; the first settings are one of them.

    Returns
    -------
    settings : dict
    table : polars.DataFrame
        One row an evaluation: number, setting, value, accuracy, kept.
    """
    best = dict(first)
    known = {_key(best): evaluate(best)}
    rows = [(1, "", "", known[_key(best)], True)]
    improved = True
    while improved and len(known) < budget:
        improved = False
        for name, value in _steps(best, parents, tags):
            trial = {**best, name: value}
            if _key(trial) in known:
                continue
            if len(known) >= budget:
                break
            known[_key(trial)] = evaluate(trial)
            better = known[_key(trial)] > known[_key(best)]
            rows.append((len(known), name, str(value), known[_key(trial)], better))
            if better:
                best.update(trial)  # the same dict: the steps still to come begin from it
                improved = True
    names = ["number", "setting", "value", "accuracy", "kept"]
    return best, pl.DataFrame(rows, schema=names, orient="row")


def search_tagger(
    tagger: Any, train: Any, labels: str, dev: Any, budget: int
) -> tuple[dict[str, Any], pl.DataFrame]:
    """Search settings of a tagger: trained on ``train``, judged on ``dev``.

    Parameters
    ----------
    tagger : HiddenBackoffTagger
        Fitted; its parameters are where the search begins.
    train, dev : Encoded or Corpus
    labels : str
    budget : int
    """
    searched = [*SPACE, "backoff", "n_states"]
    first = {name: tagger.get_params()[name] for name in searched}
    trained: dict[str, Any] = {}

    def evaluate(settings: dict[str, Any]) -> float:
        costly = {name: value for name, value in settings.items() if name not in _CHEAP}
        if _key(costly) not in trained:
            trained.clear()  # one is enough: cheap settings are tried on the best so far
            fresh = type(tagger)(**{**tagger.get_params(), **settings})
            trained[_key(costly)] = fresh.fit(train, labels, show_progress=False)
        judged = trained[_key(costly)].set_params(**settings)
        judged.relearn_tags(train, labels)
        return float(judged.score(dev))

    return search(evaluate, first, tagger.word_parents_, tagger.tags_, budget)


class Searching(Tagger):
    """A tagger that looks for its settings itself.

    Attributes
    ----------
    search_ : polars.DataFrame
        Every setting tried, with its share of right tags.
    """

    #: Data and column of the last fit; not kept with the model.
    _training: tuple[Corpus | Encoded, str] | None = None

    def search(self, dev: Corpus | Encoded, budget: int = 200) -> Self:
        """Look for better settings on development data, and train with the best.

        One setting after the other is tried beside the best so far (backoff graph, cut-offs,
        discounts, unknown words, tags before, states of each tag), until nothing improves.

        Parameters
        ----------
        dev : Corpus or Encoded
            Labelled, other conversations than those of the training.
        budget : int
            Most settings to try; each costs a training, those of the tag chain none.

        Returns
        -------
        self
            With the best settings as parameters, trained; all trials are in ``search_``.
        """
        self._check_fitted()
        if self._training is None:
            raise NotFittedError(f"{type(self).__name__}: a loaded tagger has no training data to "
                                 "search with; call fit(corpus) first")  # fmt: skip
        train, labels = self._training
        judged = dev if self.get_params()["factors"] else all_words(dev)
        settings, table = search_tagger(self, train, labels, judged, budget)
        self.set_params(**settings).fit(train, labels, show_progress=False)
        self.search_ = table
        return self


def _key(settings: dict[str, Any]) -> str:
    return repr(sorted(settings.items()))


def _steps(
    best: dict[str, Any], parents: Sequence[str], tags: Sequence[str]
) -> Iterator[tuple[str, Any]]:
    """Yield settings to change; those that cost no training first."""
    hides = best.get("n_states", 1) != 1
    for name in _CHEAP:
        yield from ((name, value) for value in SPACE[name])
    yield from (("backoff", text) for text in graphs(parents))
    for name, values in SPACE.items():
        if name not in _CHEAP and (hides or name != "topology"):
            yield from ((name, value) for value in values)
    if not hides:
        return
    yield from (("n_states", number) for number in (2, 3))
    for tag in tags:
        for number in (1, 2, 3):
            yield "n_states", _with_states(best["n_states"], tags, tag, number)


def _with_states(n_states: Any, tags: Sequence[str], tag: str, number: int) -> dict[str, int]:
    """Return numbers of states of all tags with that of one tag changed."""
    if isinstance(n_states, dict):
        return {**n_states, tag: number}
    common = int(n_states) if isinstance(n_states, int | np.integer) else 2
    return {**dict.fromkeys(tags, common), tag: number}
