"""How a model looks in a notebook: a short table, its act graph, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from palaver.errors import MissingExtraError, ParameterError
from palaver.params import check, either, nothing, real, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from palaver.corpus.table import Corpus
    from palaver.draw import Svg
    from palaver.models.base.model import Model
    from palaver.models.summary import ModelSummary

_SHOWN = 12  # classes in the table


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
        facts["R-hat"] = f"{summary.convergence['r_hat']:.2f}"
    classes = summary.classes(8).head(_SHOWN)
    rows = [
        (f"{k} {summary.class_names.get(k, '')}".strip(), f"{share:.1%}", told or "")
        for k, share, told in classes.iter_rows()
    ]
    return notebook_table(repr(model), facts, ("class", "share", "characteristic words"), rows)


def plot_graph(
    model: Model,
    least: float | None,
    corpus: Corpus | None,
    names: Mapping[int, str] | None,
    tall: bool,
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
                              least=least)  # fmt: skip
    return picture.standalone()


def plot_trace(summary: ModelSummary) -> Any:
    """Chart the log joint of each chain by sweep; see :meth:`Model.plot_trace`."""
    altair = _altair("plot_trace")
    trace = summary.trace.select("chain", "sweep", "log_joint")
    rows = trace.with_columns(pl.col("chain").cast(pl.String)).to_dicts()
    return (
        altair.Chart(altair.Data(values=rows), title="Log joint by sweep")
        .mark_line()
        .encode(
            x=altair.X("sweep:Q"),
            y=altair.Y("log_joint:Q", title="log joint", scale=altair.Scale(zero=False)),
            color=altair.Color("chain:N"),
        )
    )


def plot_words(summary: ModelSummary, n: int) -> Any:
    """Chart the characteristic words of each class; see :meth:`Model.plot_words`."""
    check("plot_words", {"n": whole(1, 20)}, {"n": n})
    altair = _altair("plot_words")
    order = [f"class {k} ({summary.class_shares[k]:.0%})" for k in _by_size(summary)]
    titles = dict(zip(_by_size(summary), order, strict=True))
    words = summary.words.filter(pl.col("rank") <= n).select("class", "word", "distinctiveness")
    rows = [{**row, "class": titles[row["class"]]} for row in words.to_dicts()]
    bars = (
        altair.Chart(altair.Data(values=rows))
        .mark_bar()
        .encode(
            x=altair.X("distinctiveness:Q", title="bits"),
            y=altair.Y("word:N", sort="-x", title=None),
        )
        .properties(width=150)
    )
    facet = altair.Facet("class:N", sort=order, title=None)
    return bars.facet(facet=facet, columns=4).resolve_scale(y="independent")


def _by_size(summary: ModelSummary) -> list[int]:
    return [int(k) for k in np.argsort(-summary.class_shares, kind="stable")]


def _altair(who: str) -> Any:
    try:
        import altair
    except ImportError as error:
        raise MissingExtraError(f"{who} needs altair: pip install altair") from error
    return altair
