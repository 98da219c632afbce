"""The model whose classes are those of another one, merged and divided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NoReturn, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.corpus.table import Corpus
from palaver.curation import Curation
from palaver.encoding import Encoded
from palaver.errors import ParameterError
from palaver.models.base.model import FOLD_SWEEPS, Model
from palaver.models.curated.divided import (
    Divisions,
    Estimates,
    Found,
    base_of,
    distinctive,
    divide_columns,
    find,
)
from palaver.models.summary import next_shares
from palaver.models.views.reading import ReadsTokens, TokenReading
from palaver.params import Limit

#: What was learned and has nothing to do with how classes are grouped.
_SAME = (
    "vocabulary_", "trace_", "chains_", "best_chain_", "seed_", "n_sweeps_", "burn_in_",
    "sampler_", "fingerprint_", "class_probability_", "topic_probability_", "units",
    "transition_steps", "needs_sentences", "view", "keeps_unknown", "finds_topics",
    "joins_searches",
)  # fmt: skip
#: What the origin answers for itself: words and replies, not classes.
_ASKED = frozenset(
    {"log_likelihoods", "perplexity", "score", "reconstruct", "heldout_methods", "log_predictive",
     "predict_words", "topics_table", "coverage_", "unit_", "needs_texts"}
)  # fmt: skip


class CuratedModel(Model):
    """A fitted model with other classes; made by :meth:`Model.merge` and :func:`palaver.load`.

    Attributes
    ----------
    origin : Model
        The fitted model, whose classes have the ids of ``curation_``.
    curation_ : Curation
    divisions_ : dict of str to Division
        How classes are divided, by the folders of ``curation_.splits``.
    groups_ : array of int64, shape (n_ids,)
        The class that each id belongs to now; -1 for classes that were divided.
    transitions_ : array of float64, shape (n_classes + 1, n_classes)
        Probabilities, also where the origin has weights; the last row is the start. Rows of merged
        classes are weighted by how often something follows each of them.
    """

    limits: ClassVar[dict[str, Limit]] = {}

    curation_: Curation

    def __init__(
        self, origin: Model, curation: Curation, divisions: Divisions | None = None
    ) -> None:
        self._origin = origin
        self.divisions_ = dict(divisions or {})
        self.curation_ = curation
        for name in _SAME:
            setattr(self, name, getattr(origin, name))
        self.name = origin.name  # type: ignore[misc]
        self.size_parameter = origin.size_parameter  # type: ignore[misc]
        self.groups_ = np.array(curation.groups, np.int64)
        members = np.eye(len(curation.classes))[self.groups_]
        self._members = members * (self.groups_ >= 0)[:, None]
        self._base = base_of(curation)
        self._set_estimates()

    @property
    def origin(self) -> Model:
        """The fitted model."""
        return self._origin

    def __getattr__(self, name: str) -> Any:
        if name in _ASKED:
            return getattr(self._origin, name)
        if name in _OFFERED and hasattr(self._origin, name):
            return _OFFERED[name].__get__(self)
        raise AttributeError(
            f"{type(self).__name__} has no {name!r}; its origin may: model.origin.{name}"
        )

    def __repr__(self) -> str:
        return f"{self._origin!r} with {len(self.curation_.classes)} classes after curation"

    # counts add up

    def _set_estimates(self) -> None:
        origin, members = self._origin, self._members
        self._estimates = own = Estimates(origin, self.curation_, self.divisions_)
        self.class_shares_ = own.shares @ members
        self.class_words_ = _weighted_rows(own.words, own.word_totals, members)
        self._totals = own.word_totals @ members
        self.draws_ = {}
        self.transition_kind = "none"  # type: ignore[misc]
        if origin.transition_kind == "none":
            return
        self.transition_kind, self.transition_rows = "probabilities", ["start"]  # type: ignore[misc]
        self.transitions_ = self._transitions(np.asarray(getattr(origin, "transitions_")))  # noqa: B009
        if "transitions" in origin.draws_:
            draws = [self._transitions(draw) for draw in origin.draws_["transitions"]]
            self.draws_["transitions"] = np.stack(draws)

    def _transitions(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return what follows each class, given the transitions of the origin."""
        origin, members = self._origin, self._members
        table = next_shares(
            values, origin.transition_kind, origin.transition_rows, origin.class_shares_
        )
        wide = self._estimates.transitions(table)
        between = _weighted_rows(wide[:-1], self._estimates.moves, members)
        return np.vstack((between, wide[-1:])) @ members

    def _word_totals(self) -> NDArray[np.float64]:
        return self._totals

    def _transition_totals(self) -> NDArray[np.float64]:
        return np.asarray(self._estimates.moves @ self._members)

    def _regroup(self, shares: NDArray[np.float64], corpus: Any) -> NDArray[np.float64]:
        """Return the shares of the classes, given those of the origin, (n, n_classes)."""
        if self.curation_.splits:
            return np.asarray(self.find(corpus, shares).shares @ self._members)
        return np.asarray(shares @ self._members)

    def find(self, corpus: Corpus | Encoded, shares: NDArray[np.float64] | None = None) -> Found:
        """Return what messages are by id, given what the origin says about them if that is known.

        Parameters
        ----------
        corpus : Corpus or Encoded
        shares : array of float64, shape (n_messages, n_classes of the origin), optional
        """
        encoded, tokens = self._encode(corpus), None
        if isinstance(self._origin, ReadsTokens):
            read = self._origin.read_tokens(encoded)
            tokens = read.classes
            shares = read.shares if shares is None else shares
        if shares is None:
            shares = self._origin.message_shares(corpus)
        return find(self.curation_, self.divisions_, encoded, shares, tokens)

    # asking

    def transform(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message; see the origin's ``transform``."""
        return self._regroup(self._origin.transform(corpus, n_sweeps), corpus)

    def message_shares(
        self, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
    ) -> NDArray[np.float64]:
        """Return the share of each class in each message, (n_messages, n_classes)."""
        return self._regroup(self._origin.message_shares(corpus, n_sweeps), corpus)

    def read_tokens(self, encoded: Encoded) -> TokenReading:
        """Return the classes of messages and tokens, for an origin that has those of tokens."""
        read = self._origin.read_tokens(encoded)  # type: ignore[attr-defined]
        found = find(self.curation_, self.divisions_, encoded, read.shares, read.classes)
        classes = np.append(self.groups_, -1)[found.tokens].astype(np.int16)
        return TokenReading(found.shares @ self._members, classes, read.topics)

    def known_messages(self, corpus: Corpus | Encoded) -> NDArray[np.bool_]:
        """Return which messages the model can say something about, (n_messages,)."""
        return self._origin.known_messages(corpus)

    @property
    def needs_texts(self) -> bool:
        """Whether new messages must be given as a :class:`Corpus`."""
        return self._origin.needs_texts

    def _encode(self, corpus: Corpus | Encoded) -> Encoded:
        return self._origin._encode(corpus)

    def _all_words(self) -> NDArray[np.float64]:
        return self._origin._all_words()

    def _telling_words(self) -> NDArray[np.bool_] | None:
        return self._origin._telling_words()

    def _found_by(self) -> NDArray[np.int64] | None:
        """Return how many searches found all of what a class is made of; None."""
        found = self._origin._found_by()
        if found is None:
            return None
        own = [self._base[list(own.ids)] for own in self.curation_.classes]
        return np.array([found[ids].min() for ids in own], np.int64)

    def _leading(self, number: int) -> int:
        """Return the id after which a class is called: the largest of it."""
        ids = list(self.curation_.classes[number].ids)
        return int(ids[int(np.argmax(self._estimates.shares[ids]))])

    def _class_names(self) -> dict[int, str]:
        own = self._origin._class_names()
        found = {}
        for number in range(len(self.class_shares_)):
            leading = self._leading(number)
            name = own.get(int(self._base[leading]))
            if name is not None:
                found[number] = name + self._part_in_words(leading)
        return found

    def _part_in_words(self, id: int) -> str:
        """Return which part of its class an id is, as " 2"; "" for one that is whole."""
        own = [split.parts.index(id) + 1 for split in self.curation_.splits if id in split.parts]
        return f" {own[0]}" if own else ""

    def _proposed_names(self) -> frozenset[int]:
        own = self._origin._proposed_names()
        leading = [self._leading(k) for k in range(len(self.class_shares_))]
        return frozenset(
            k for k, id in enumerate(leading) if int(self._base[id]) in own or id != self._base[id]
        )

    def _facts(self) -> dict[str, Any]:
        facts = self._origin._facts()
        if "acts" in facts:
            facts["acts"] = len(self.class_shares_)
        return facts

    def tables(self) -> dict[str, pl.DataFrame]:
        """Return the tables of the origin; that of acts with the acts as they are now."""
        tables = dict(self._origin.tables())
        if "acts" in tables:
            tables["acts"] = self._acts(tables["acts"])
        return tables

    def _acts(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return the table of acts, cues and searches of merged acts put together."""
        old = {row["act"]: row for row in table.to_dicts()}
        names, proposed = self._class_names(), self._proposed_names()
        found, rows = self._found_by(), []
        for number, own in enumerate(self.curation_.classes):
            parts = sorted((self._row(old, id) for id in own.ids), key=lambda row: -row["share"])
            share = sum(row["share"] for row in parts)
            weights = [row["share"] / share if share else 1 / len(parts) for row in parts]
            cues = [row["cues"].split(", ") for row in parts]
            mixed = [cue for place in range(max(map(len, cues))) for own_cues in cues
                     for cue in own_cues[place : place + 1]]  # fmt: skip
            rows.append(
                {
                    "act": number,
                    "name": names.get(number, ""),
                    "proposed": number in proposed,
                    "share": share,
                    "searches": f"{found[number]} of {parts[0]['searches'].rpartition(' ')[2]}"
                    if found is not None else "",
                    "agreement": float(np.dot(weights, [row["agreement"] for row in parts])),
                    "cues": ", ".join(list(dict.fromkeys(mixed))[:6]),
                }
            )  # fmt: skip
        made = pl.DataFrame(rows, schema=table.schema)
        return made.sort("share", descending=True, maintain_order=True)

    def _row(self, old: Mapping[int, dict[str, Any]], id: int) -> dict[str, Any]:
        """Return the row of a class or part; parts have words of their own as cues."""
        base = int(self._base[id])
        if id == base:
            return old[id]
        share = self._estimates.shares[[id, *np.flatnonzero(self._base == base)]]
        words = distinctive(self._estimates.words[id], self._estimates.words, self._base == base)
        cues = ", ".join(self.vocabulary_.words[k] for k in words)
        whole = share[1:].sum()
        own = old[base]["share"] * (share[0] / whole if whole else 0.0)
        return old[base] | {"share": own, "cues": cues}

    @property
    def convergence_(self) -> dict[str, float]:
        """Those of the origin."""
        return self._origin.convergence_

    @property
    def run_id(self) -> str:
        """A short id of the fitted model."""
        return self._origin.run_id

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the origin."""
        return self._origin.get_params(deep)

    def check_params(self) -> None:
        """Compare the origin's parameters with their limits."""
        self._origin.check_params()

    def save(self, folder: str | Path) -> None:
        """Write the fitted model, and what was decided about it, to a folder."""
        from palaver.models.curated.apply import save_curated

        save_curated(self, folder)

    # what only a model that is fitted does

    def fit(self, *data: Any, **options: Any) -> Self:
        """Refuse: classes are merged and divided after a fit."""
        raise ParameterError("a model with merged classes cannot be fitted; fit model.origin")

    def _engine(self, data: Any) -> NoReturn:
        raise ParameterError("a model with merged classes cannot be fitted; fit model.origin")

    def _shards(self, data: Any, engine: Any) -> Sequence[Any]:
        return self._engine(data)

    def _sampler(self, data: Any) -> str:
        return self.sampler_

    def _set_extras(self, content: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._engine(None)


def _weighted_rows(
    rows: NDArray[np.float64], weights: NDArray[np.float64], members: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean row of each group, (n_groups, n); even weights where all are zero."""
    totals = weights @ members
    even = np.where(totals[members.argmax(axis=1)] > 0, weights, 1.0)
    return np.asarray((members * even[:, None]).T @ rows / (even @ members)[:, None])


# what is offered if the origin has it


def _token_classes(
    model: CuratedModel, corpus: Corpus | Encoded, n_sweeps: int = FOLD_SWEEPS
) -> pl.DataFrame:
    """Return the class of each token; see the origin's ``token_classes``."""
    found: pl.DataFrame = model.origin.token_classes(corpus, n_sweeps)  # type: ignore[attr-defined]
    classes = found["class"].fill_null(-1).to_numpy()
    if model.curation_.splits:
        parts = model.find(corpus).parts
        for split in model.curation_.splits:
            which = np.array(split.parts)[parts[split.folder].argmax(axis=1)]
            classes = np.where(classes == split.id, which[found["message"].to_numpy()], classes)
    groups = pl.Series("class", np.append(model.groups_, -1)[classes], found.schema["class"])
    return found.with_columns(groups.set(groups < 0, None))


def _unit_acts(model: CuratedModel, corpus: Corpus | Encoded) -> pl.DataFrame:
    """Return the act of each unit; see :meth:`Acts.unit_acts`."""
    posteriors, units = model.origin._unit_posteriors(corpus)  # type: ignore[attr-defined]
    wide = np.pad(posteriors, ((0, 0), (0, len(model.groups_) - posteriors.shape[1])))
    if model.curation_.splits:
        parts = model.find(corpus).parts
        for split in model.curation_.splits:
            divide_columns(wide, split, parts[split.folder][units.messages])
    posteriors = wide @ model._members
    called = model.summary().class_names
    acts, messages = posteriors.argmax(axis=1), units.messages
    starts = np.flatnonzero(np.diff(messages, prepend=-1))
    lengths = np.diff(np.append(starts, len(messages)))
    names = [called.get(number) for number in range(posteriors.shape[1])]
    return pl.DataFrame(
        {
            "message": messages,
            "unit": np.arange(len(messages)) - np.repeat(starts, lengths),
            "act": acts,
            "name": pl.Series(names, dtype=pl.String).gather(acts),
            "probability": posteriors.max(axis=1),
        }
    )


def _acts_table(model: CuratedModel) -> pl.DataFrame:
    """Return one row per act, the largest first; see :meth:`Acts.acts_table`."""
    return model.tables()["acts"]


_OFFERED: dict[str, Any] = {
    "token_classes": _token_classes, "unit_acts": _unit_acts, "acts_table": _acts_table,
}  # fmt: skip
