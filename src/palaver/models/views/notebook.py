"""How a model looks in a notebook: a short table, its act graph, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from palaver.draw.palette import letters
from palaver.errors import ParameterError
from palaver.params import check, either, nothing, real, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from palaver.corpus.table import Corpus
    from palaver.draw import Svg
    from palaver.models.base.model import Model
    from palaver.models.summary import ModelSummary

_SHOWN = 12  # classes in the table
_AGREE = 1.1  # R-hat up to which chains count as agreeing


def table(model: Model) -> str:
    """Return a model as an HTML table: its largest classes and their characteristic words."""
    from palaver.draw.svg import tag, words
    from palaver.draw.tables import notebook_table

    if not hasattr(model, "chains_"):
        return tag("code", words(f"{model!r}, not fitted"))
    summary = model.summary()
    facts = {
        "classes": f"{len(summary.class_shares)}",
        "sweeps": f"{summary.facts['sweeps']:,}",
        "seed": f"{summary.facts['seed']}",
    }
    if summary.found_by is None and len(summary.trace["chain"].unique()) > 1:
        facts["R-hat"] = _agreement(summary.convergence["r_hat"])
    classes = summary.classes(8).head(_SHOWN)
    rows = [
        (f"{letters(rank)} {summary.class_names.get(k, '')}".strip(), f"{k}", f"{share:.1%}",
         told or "")
        for rank, (k, share, told) in enumerate(classes.iter_rows())
    ]  # fmt: skip
    return notebook_table(
        repr(model), facts, ("class", "number", "share", "characteristic words"), rows
    )


def _agreement(r_hat: float) -> str:
    """Return R-hat with what it means."""
    if r_hat <= _AGREE:
        return f"{r_hat:.2f} (chains agree: up to {_AGREE} they do)"
    return (
        f"{r_hat:.2f} (chains ended in different places: up to {_AGREE} they agree; take these "
        "classes as one good way to divide the talk, or try more sweeps or fewer classes)"
    )


def plot_graph(
    model: Model,
    least: float | None,
    corpus: Corpus | None,
    names: Mapping[int, str] | None,
    tall: bool,
    numbers: bool = False,
) -> Svg:
    """Draw what follows what; see :meth:`Model.plot_graph`."""
    from palaver.draw import graph

    check("plot_graph", {"least": either(real(above=1), nothing())}, {"least": least})
    summary = model.summary()
    answered = model.count_replies(corpus) if corpus is not None else None
    following, effects = summary.next_shares(), summary.effects(answered)
    if following is None or effects is None:
        raise ParameterError(
            f"plot_graph: {summary.name} has no transitions; its page counts what follows "
            "what in the texts: palaver.report(model, corpus)"
        )
    classes = summary.classes(4).head(graph.MAX_NODES)
    order = classes["class"].to_numpy()
    rows = [*order.tolist(), len(summary.class_shares)]
    shares = summary.class_shares[order]
    following, effects = following[rows][:, order], effects[rows][:, order]
    replies = None if answered is None else answered[order]
    edges = graph.find_edges(shares, following, effects, answered=replies)
    if least is None:
        least = graph.STEPS[graph.first_step(edges, len(order))]
    called = summary.class_names | dict(names or {})
    shown = [called.get(number, f"class {number}") for number in order.tolist()]
    told = [words or "" for words in classes["words"]]
    picture = graph.act_graph(shares, following, effects, shown, told, edges, tall=tall,
                              least=least, numbers=numbers)  # fmt: skip
    return picture.standalone()


def plot_trace(summary: ModelSummary) -> Svg:
    """Chart the log joint of each chain by sweep; see :meth:`Model.plot_trace`."""
    from palaver.draw.plots import traces

    lines = {
        f"chain {chain}": own.select("sweep", "log_joint").to_numpy().astype(float)
        for (chain,), own in summary.trace.group_by("chain", maintain_order=True)
    }
    return traces({"log joint": lines}, "sweep", "Log joint by sweep")


def plot_words(summary: ModelSummary, n: int) -> Svg:
    """Chart the characteristic words of each class; see :meth:`Model.plot_words`."""
    from palaver.draw.charts import words_chart

    check("plot_words", {"n": whole(1, 20)}, {"n": n})
    words = summary.words.filter(pl.col("rank") <= n)
    classes = []
    for rank, number in enumerate(summary.order.tolist()):
        own = words.filter(pl.col("class") == number).select("word", "distinctiveness")
        title = f"{_lettered(summary, rank)} ({summary.class_shares[number]:.0%})"
        classes.append((title, [(word, float(bits)) for word, bits in own.iter_rows()]))
    return words_chart(classes, label="Characteristic words of each class, in bits")


def plot_shares(model: Model, corpus: Corpus, by: str, top: int) -> Svg:
    """Chart what groups do; see :meth:`Model.plot_shares`."""
    check("plot_shares", {"top": whole(1, 100)}, {"top": top})
    return chart_of(model.summary(), model.shares(corpus, by, top=top), by)


def chart_of(summary: ModelSummary, table: pl.DataFrame, by: str) -> Svg:
    """Chart a table of shares by group."""
    from palaver.draw.charts import shares_chart

    values = _cube(summary, table)[1]
    counts = table.group_by("group", maintain_order=True).agg(pl.col("messages").first())
    named = [f"{group} ({number:,})" for group, number in counts.iter_rows()]
    return shares_chart(named, values[:, :, 0], _names(summary), label=f"Shares of classes by {by}")


def plot_time(model: Model, corpus: Corpus, by: str | None) -> Svg:
    """Chart shares over time; see :meth:`Model.plot_time`."""
    from palaver.corpus.grouping import NO_GROUP, best_period, quiet_periods
    from palaver.draw.charts import time_chart

    period = best_period(corpus) if by is None else by
    if period is None:
        raise ParameterError(
            "plot_time: the messages have no dates, or too few for three periods; by= takes year, "
            "quarter, month, week, day, weekday or hour"
        )
    summary = model.summary()
    table = model.shares(corpus, period, top=None).filter(pl.col("group") != NO_GROUP)
    groups, values = _cube(summary, table)
    counts = table.group_by("group", maintain_order=True).agg(pl.col("messages").first())
    return time_chart(groups, values, _names(summary), quiet=quiet_periods(counts["messages"]),
                      label=f"Shares of classes by {period}")  # fmt: skip


def _cube(summary: ModelSummary, table: pl.DataFrame) -> tuple[list[str], NDArray[np.float64]]:
    """Return groups, and (n_groups, n_classes, 3) share, low and high in order of letters."""
    groups = [str(group) for group in table["group"].unique(maintain_order=True)]
    columns = [table[name].fill_null(float("nan")).to_numpy() for name in ("share", "low", "high")]
    values = np.stack(columns, axis=1).reshape(len(groups), -1, 3)
    return groups, values[:, summary.order]


def _names(summary: ModelSummary) -> list[str]:
    """Return names of classes in order of their letters, or their first words."""
    told = summary.classes(3)
    return [summary.class_names.get(number) or words or ""
            for number, words in zip(told["class"], told["words"], strict=True)]  # fmt: skip


def _lettered(summary: ModelSummary, rank: int) -> str:
    number = int(summary.order[rank])
    return f"{letters(rank)} {summary.class_names.get(number, '')}".strip()
