"""How a model looks in a notebook: a short table, its act graph, charts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from palaver.errors import MissingExtraError, ParameterError
from palaver.params import check, either, nothing, real, whole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from palaver.corpus.table import Corpus
    from palaver.draw import Svg
    from palaver.models.summary import ModelSummary

_SHOWN = 12  # classes in the table


class Looks:
    """What notebooks show of a model; everything is made from its summary."""

    def summary(self) -> ModelSummary:
        """Return the plain record; see :class:`Model`."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        from palaver.draw.svg import tag, words
        from palaver.draw.tables import notebook_table

        if not hasattr(self, "chains_"):
            return tag("code", words(f"{self!r}, not fitted"))
        summary = self.summary()
        facts = {
            "classes": f"{len(summary.class_shares)}",
            "sweeps": f"{summary.facts['sweeps']:,}",
            "seed": f"{summary.facts['seed']}",
        }
        if len(summary.trace["chain"].unique()) > 1:
            facts["R-hat"] = f"{summary.convergence['r_hat']:.2f}"
        table = summary.classes(8).head(_SHOWN)
        rows = [(str(k), f"{share:.1%}", told or "") for k, share, told in table.iter_rows()]
        return notebook_table(repr(self), facts, ("class", "share", "telling words"), rows)

    def plot_graph(
        self,
        least: float | None = None,
        *,
        corpus: Corpus | None = None,
        names: Mapping[int, str] | None = None,
        tall: bool = False,
    ) -> Svg:
        """Draw what follows what: classes as circles, arrows where one raises another.

        Parameters
        ----------
        least : float, optional
            How many times as likely as usual the weakest arrow is; a readable number of arrows
            if not given. The numbers are those of ``model.summary().effects()``.
        corpus : Corpus, optional
            What the model learned from. With it, "usual" is the average over messages that
            are answered, and classes with too few replies have no arrows, as on the page;
            without, all classes count as answered alike.
        names : mapping, optional
            Names of classes by number.
        tall : bool
            From top to bottom instead of left to right.

        Returns
        -------
        Svg
            A string that notebooks show; ``.save("graph.svg")`` writes it.
        """
        from palaver.draw import graph

        check("plot_graph", {"least": either(real(above=1), nothing())}, {"least": least})
        summary = self.summary()
        answered = self.count_replies(corpus) if corpus is not None else None
        following, effects = summary.next_shares(), summary.effects(answered)
        if following is None or effects is None:
            raise ParameterError(
                f"plot_graph: {summary.name} has no transitions; its page counts what follows "
                "what in the texts: palaver.report(model, corpus)"
            )
        table = summary.classes(4).head(graph.MAX_NODES)
        order = table["class"].to_numpy()
        rows = [*order.tolist(), len(summary.class_shares)]
        shares = summary.class_shares[order]
        following, effects = following[rows][:, order], effects[rows][:, order]
        replies = None if answered is None else answered[order]
        edges = graph.find_edges(shares, following, effects, answered=replies)
        if least is None:
            least = graph.STEPS[graph.first_step(edges, len(order))]
        called = dict(names or {})
        shown = [called.get(number, f"class {number}") for number in order.tolist()]
        told = [words or "" for words in table["words"]]
        picture = graph.act_graph(shares, following, effects, shown, told, edges, tall=tall,
                                  least=least)  # fmt: skip
        return picture.standalone()

    def count_replies(self, corpus: Corpus) -> NDArray[np.float64] | None:
        """Count what follows each class: replies, or messages where order is what counts.

        Returns
        -------
        array of float64, shape (n_classes,), or None
            What ``summary().effects`` and ``follow_ups`` take; None where what follows what is
            not about messages.
        """
        from palaver.models.summary import messages_before, replies_to

        model: Any = self
        steps = self.summary().transition_steps
        if steps not in ("replies", "messages"):
            return None
        read = corpus if model.needs_texts else model._encode(corpus)
        speaking = model.known_messages(read)
        shares = model.message_shares(read) * speaking[:, None]
        by_order = steps == "messages"
        return replies_to(shares, messages_before(read, speaking) if by_order else read.parents)

    def plot_trace(self) -> Any:
        """Chart the log joint of each chain by sweep (extra ``notebook``: altair).

        Returns
        -------
        altair.Chart
        """
        altair = _altair("plot_trace")
        summary = self.summary()
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

    def plot_words(self, n: int = 8) -> Any:
        """Chart the most telling words of each class (extra ``notebook``: altair).

        Parameters
        ----------
        n : int
            Words a class, at most twenty.

        Returns
        -------
        altair.Chart
        """
        check("plot_words", {"n": whole(1, 20)}, {"n": n})
        altair = _altair("plot_words")
        summary = self.summary()
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
        raise MissingExtraError(f"{who} needs altair: pip install 'palaver[notebook]'") from error
    return altair
