"""What moves the shares of classes: a regression on columns of the corpus.

For each class ``k``, the share of message ``i`` is explained by the columns of a formula,

    share[i, k] = x[i] b[k] + u[g(i), k] + e[i, k],

where ``u`` is a random intercept of the group (the author, say) if groups are given. Shares are
not observed but inferred, so the regression is repeated on draws of them and the answers are
pooled (the method of composition; Treier & Jackman 2008, Roberts et al. 2014).
"""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from palaver import rng
from palaver.corpus.grouping import group_column
from palaver.corpus.table import Corpus
from palaver.draw.palette import letters
from palaver.errors import MissingExtraError, PalaverWarning, ParameterError
from palaver.models.views.formulas import check_size, columns_of
from palaver.models.views.marks import with_marks
from palaver.models.views.shares import readable
from palaver.params import check, either, nothing, real, text, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from palaver.draw import Svg
    from palaver.models.base.model import Model
    from palaver.models.summary import ModelSummary

#: Values above which a column is no fixed effect: every value is a term of its own.
MOST_VALUES = 50
_LIMITS = {
    "formula": text(),
    "groups": either(text(), nothing()),
    "n_draws": whole(2, 1000),
    "level": real(0, 1),
    "random_state": whole(0),
}
_SCHEMA = pl.Schema(
    {
        "class": pl.Int64(),
        "term": pl.String(),
        "effect": pl.Float64(),
        "low": pl.Float64(),
        "high": pl.Float64(),
        "p_value": pl.Float64(),
        "p_adjusted": pl.Float64(),
        "messages": pl.Int64(),
    }
)
INTERCEPT = "(usual)"


class Design(NamedTuple):
    """A formula applied to the messages that count.

    Attributes
    ----------
    rows : array of int64, shape (n,)
        The messages.
    terms : list of str
    values : array of float64, shape (n, n_terms)
    conversations, groups : array of int64, shape (n,)
        Numbers of what each message belongs to; ``groups`` is None if there are none.
    """

    rows: NDArray[np.int64]
    terms: list[str]
    values: NDArray[np.float64]
    conversations: NDArray[np.int64]
    groups: NDArray[np.int64] | None


def effects(
    model: Model,
    corpus: Corpus,
    formula: str,
    n_sweeps: int,
    *,
    groups: str | None,
    n_draws: int,
    level: float,
    random_state: int,
    shown: Corpus | None = None,
) -> pl.DataFrame:
    """Explain the shares of classes by columns; see :meth:`Model.effects`.

    ``shown`` has the columns to explain by, if they differ from those of what the model reads:
    those of the same messages without names of people.
    """
    asked = {"formula": formula, "groups": groups, "n_draws": n_draws, "level": level,
             "random_state": random_state}  # fmt: skip
    check("effects", _LIMITS, asked)
    if not isinstance(corpus, Corpus):
        raise ParameterError(f"effects: takes a Corpus, got {type(corpus).__name__}")
    _statsmodels()
    everything = np.ones(corpus.n_messages, bool)
    table = corpus if shown is None else shown
    with warnings.catch_warnings(action="ignore", category=PalaverWarning):  # said below
        design(table, formula, groups, everything)  # refuse a wrong question before the long work
    read = readable(model, corpus)
    known = model.known_messages(read)
    found = with_marks(model, corpus, model.message_shares(read, n_sweeps))
    one = np.ones(corpus.n_messages, np.int64)
    units = one if model.units == "messages" else np.maximum(model._encode(read).known_words, 1)
    chosen = design(table, formula, groups, known)
    return effects_table(found, units, chosen, n_draws=n_draws, level=level,
                         random_state=random_state)  # fmt: skip


def design(corpus: Corpus, formula: str, groups: str | None, known: NDArray[np.bool_]) -> Design:
    """Return what a formula says about the messages that count and have all its values."""
    parsed, names = _parse(formula)
    table = _columns(corpus, names, groups)
    levels = {c.name: 1 if c.dtype.is_numeric() else c.n_unique() for c in table}
    check_size(([factor.expr for factor in term.factors] for term in parsed), levels, table.height)
    whole_rows = ~table.select(pl.any_horizontal(pl.all().is_null())).to_series().to_numpy()
    rows = np.flatnonzero(known & whole_rows)
    left = int(known.sum()) - len(rows)
    if left:
        warnings.warn(
            f"effects: {left:,} of {int(known.sum()):,} messages lack a value that the formula "
            "needs, and are left out",
            PalaverWarning,
            stacklevel=4,
        )
    lengths = np.diff(corpus.conversation_offsets)
    conversations = np.repeat(np.arange(corpus.n_conversations), lengths)[rows]
    table = table[rows]
    terms, values = _matrix(parsed, table, formula)
    members = None if groups is None else _numbered(table[_GROUPS])
    return Design(rows, terms, values, conversations, members)


_GROUPS = "(groups)"


def _parse(formula: str) -> tuple[Any, list[str]]:
    """Return a formula as formulaic parses it, and the columns that it names."""
    try:
        import formulaic
    except ImportError as error:
        raise _missing("formulaic") from error
    outcome, tilde, terms = formula.partition("~")
    if not tilde or outcome.strip():
        raise ParameterError(f"effects: a formula starts with ~, as in '~ role', got {formula!r}")
    columns = columns_of(terms)
    try:
        return formulaic.Formula(terms), columns
    except Exception as error:  # formulaic has no common class of errors for syntax
        said = re.sub(r"[⧛⧚]|\x1b?\[[\d;]*m", "", str(error)).strip().splitlines()
        raise ParameterError(f"effects: cannot read {formula!r}: {said[0]}") from None


def _columns(corpus: Corpus, names: list[str], groups: str | None) -> pl.DataFrame:
    """Return the columns of a formula: texts as they are, times as days since the first."""
    found: dict[str, pl.Series] = {}
    for name in names:
        column = group_column(corpus, name, who="effects")
        if isinstance(column.dtype, pl.Datetime):
            column = (column - column.min()).dt.total_seconds() / 86400
        elif isinstance(column.dtype, pl.List):
            raise ParameterError(
                f"effects: {name!r} has lists; a message must have one value of each column"
            )
        elif not column.dtype.is_numeric():
            column = column.cast(pl.String)
            values = column.n_unique()
            if values > MOST_VALUES:
                raise ParameterError(
                    f"effects: {name!r} has {values:,} values, each of which would be a term; at "
                    f"most {MOST_VALUES} are allowed. For an effect of each author: "
                    f"groups={name!r}"
                )
        found[name] = column
    if groups is not None:
        found[_GROUPS] = group_column(corpus, groups, who="effects").cast(pl.String)
    if not found:
        raise ParameterError("effects: the formula names no column")
    return pl.DataFrame(found)


def _matrix(parsed: Any, table: pl.DataFrame, formula: str) -> tuple[list[str], Any]:
    """Return the terms of a formula and their values, (n, n_terms)."""
    import formulaic

    if not table.height:
        raise ParameterError("effects: no message has all values that the formula needs")
    try:
        with np.errstate(all="ignore"):  # what is not finite is refused below
            matrix = formulaic.model_matrix(parsed, table, output="numpy", context={})
    except Exception as error:
        said = str(error).splitlines()[0]
        raise ParameterError(f"effects: cannot evaluate {formula!r}: {said}") from None
    names = [_readable_term(name) for name in matrix.model_spec.column_names]
    values = np.ascontiguousarray(matrix, float)
    if not np.isfinite(values).all():
        raise ParameterError(f"effects: {formula!r} has values that are no finite numbers")
    if np.linalg.matrix_rank(values) < values.shape[1]:
        raise ParameterError(
            f"effects: the terms of {formula!r} cannot be told apart: some are combinations of "
            "others, or some combinations of values never occur. Leave one out, or use + "
            "instead of *"
        )
    return names, values


def _readable_term(name: str) -> str:
    """Return a term as people write it: ``role[T.tutor]:month[T.02]`` is role=tutor, month=02."""
    parts = [re.sub(r"^(?:C\()?(.*?)\)?\[T\.(.*)\]$", r"\1=\2", part) for part in name.split(":")]
    return INTERCEPT if name == "Intercept" else " × ".join(parts)


def _numbered(column: pl.Series) -> NDArray[np.int64]:
    return column.rank("dense").cast(pl.Int64).to_numpy() - 1


def effects_table(
    shares: NDArray[np.float64],
    units: NDArray[np.int64],
    asked: Design,
    *,
    n_draws: int,
    level: float,
    random_state: int,
) -> pl.DataFrame:
    """Return the effect of each term on each class; see :meth:`Model.effects`.

    Parameters
    ----------
    shares : array of float64, shape (n_messages, n_classes)
    units : array of int64, shape (n_messages,)
        What has a class in each message: 1, or its known words.
    asked : Design
    n_draws, level, random_state
        As in :meth:`Model.effects`.
    """
    found, counts = shares[asked.rows], units[asked.rows]
    fits = [_Regression(asked, found[:, k]) for k in range(found.shape[1])]
    n_terms = len(asked.terms)
    means = np.empty((n_draws, len(fits), n_terms))
    within = np.zeros((len(fits), n_terms))
    for draw in range(n_draws):
        drawn = _draw_shares(found, counts, rng.generator(random_state, "effects", draw))
        for k, regression in enumerate(fits):
            means[draw, k], variances = regression.fit(drawn[:, k])
            within[k] += variances / n_draws
    # Rubin (1987): what draws differ by is added to what each is uncertain by
    error = np.sqrt(within + (1 + 1 / n_draws) * means.var(axis=0, ddof=1))
    effect = means.mean(axis=0)
    width = special.ndtri((1 + level) / 2) * error
    with np.errstate(divide="ignore", invalid="ignore"):
        p_values = 2 * special.ndtr(-np.abs(effect) / error)
    n_classes = len(fits)
    return pl.DataFrame(
        {
            "class": np.repeat(np.arange(n_classes), n_terms),
            "term": asked.terms * n_classes,
            "effect": effect.ravel(),
            "low": (effect - width).ravel(),
            "high": (effect + width).ravel(),
            "p_value": p_values.ravel(),
            "p_adjusted": _adjusted(p_values, asked.terms).ravel(),
            "messages": np.full(n_classes * n_terms, len(asked.rows)),
        },
        schema=_SCHEMA,
    ).with_columns(pl.col(pl.Float64).fill_nan(None))


class _Regression:
    """Ordinary least squares with errors that are alike within conversations and groups.

    Clustered errors are far too small for a term that few conversations have: in a single one the
    residuals sum to zero. So no error is below the ordinary one.

    A random intercept per group is taken out by the usual transform of generalized least squares:
    of every value, the part ``1 - sqrt(s2 / (s2 + n_g t2))`` of its group's mean is subtracted,
    where ``s2`` and ``t2`` are the variances within and between groups and ``n_g`` is the group's
    size.
    """

    def __init__(self, asked: Design, expected: NDArray[np.float64]) -> None:
        self._groups = asked.groups
        self._clusters: NDArray[np.int64] = asked.conversations
        if asked.groups is not None:
            ratio = _variance_ratio(asked, expected)
            self._sizes = np.bincount(asked.groups)
            self._parts = 1 - 1 / np.sqrt(1 + self._sizes * ratio)
            self._clusters = np.column_stack([asked.conversations, asked.groups])
        self._values = self._without_groups(asked.values)

    def fit(self, drawn: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the coefficients for one draw of the shares and their variances, (n_terms,)."""
        found = _statsmodels().OLS(self._without_groups(drawn), self._values).fit()
        alike = found.get_robustcov_results("cluster", groups=self._clusters)
        variances = np.maximum(np.diag(alike.cov_params()), np.diag(found.cov_params()))
        return found.params, variances

    def _without_groups(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Subtract the part of the group's mean that its intercept explains."""
        if self._groups is None:
            return values
        columns = values.reshape(len(values), -1)
        sums = [np.bincount(self._groups, column) for column in columns.T]
        means = np.column_stack(sums) * (self._parts / self._sizes)[:, None]
        return np.asarray(columns - means[self._groups]).reshape(values.shape)


def _variance_ratio(asked: Design, expected: NDArray[np.float64]) -> float:
    """Return the variance between groups by the variance within, estimated by REML."""
    api = _statsmodels()
    if asked.groups is None or not expected.std() or not np.ptp(asked.groups):
        return 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "on the boundary": no variance between groups
        found = api.MixedLM(expected, asked.values, groups=asked.groups).fit(reml=True)
    return float(max(found.cov_re[0, 0], 0.0) / found.scale) if found.scale > 0 else 0.0


def _draw_shares(
    shares: NDArray[np.float64], units: NDArray[np.int64], generator: np.random.Generator
) -> NDArray[np.float64]:
    """Draw what the classes of each message may have been, and return them as shares."""
    exact = shares / shares.sum(axis=1, keepdims=True)
    return generator.multinomial(units, exact) / units[:, None]


def _adjusted(p_values: NDArray[np.float64], terms: list[str]) -> NDArray[np.float64]:
    """Correct for the number of questions asked (Benjamini & Hochberg); intercepts are none."""
    adjusted = np.full_like(p_values, np.nan)
    asked = np.isfinite(p_values) & (np.array(terms) != INTERCEPT)
    if asked.any():
        from scipy import stats  # takes longer to load than all of Palaver

        adjusted[asked] = stats.false_discovery_control(p_values[asked])
    return adjusted


def class_labels(summary: ModelSummary, names: Mapping[int, str]) -> dict[int, str]:
    """Return letters and names of classes, or else first words, in the order of the letters."""
    rows = enumerate(summary.classes(3).select("class", "words").iter_rows())
    return {k: f"{letters(rank)} {names.get(k) or words or ''}".strip()
            for rank, (k, words) in rows}  # fmt: skip


def in_order(table: pl.DataFrame, labels: Mapping[int, str]) -> pl.DataFrame:
    """Return the rows of a table by class, in the order of the labels."""
    return table.sort(
        pl.col("class").replace_strict({k: rank for rank, k in enumerate(labels)}),
        maintain_order=True,
    )


def plot_effects(table: pl.DataFrame, labels: Mapping[int, str]) -> Svg:
    """Draw effects with their intervals, a panel per term; see :meth:`Model.plot_effects`."""
    from palaver.draw.intervals import interval_chart

    table = in_order(table, labels)
    terms = [term for term in table["term"].unique(maintain_order=True) if term != INTERCEPT]
    panels = []
    for term in terms:
        rows = table.filter(pl.col("term") == term).drop_nulls(["low", "high"])
        called = [labels[k] for k in rows["class"]]
        panels.append((term, called, rows.select("effect", "low", "high").to_numpy()))
    return interval_chart(panels, label="Effects on the shares of classes").standalone()


def _statsmodels() -> Any:
    try:
        import statsmodels.api
    except ImportError as error:
        raise _missing("statsmodels") from error
    return statsmodels.api


def _missing(package: str) -> MissingExtraError:
    return MissingExtraError(
        f"effects needs {package}: pip install formulaic statsmodels (extra effects)"
    )
