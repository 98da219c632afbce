"""Building the page: findings become sections, sections become one file."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack
from urllib.parse import quote

import polars as pl
from markupsafe import Markup

from palaver.corpus.describe import are_roles, bots, roles
from palaver.corpus.grouping import is_dated
from palaver.corpus.table import Corpus, as_corpus
from palaver.draw.bars import stacked_bar
from palaver.draw.svg import Svg, tag, words
from palaver.draw.topics import topic_map
from palaver.errors import ParameterError
from palaver.page import sections
from palaver.page.embed import MAX_CHARACTERS, MAX_MESSAGES, pack_threads
from palaver.page.files import environment, percent, script_of, style_of, times
from palaver.page.findings import Findings, gather, rows_of
from palaver.page.groups import LABELS, choose_columns, make_groups
from palaver.page.names import Names, read_names
from palaver.page.people import make_people
from palaver.page.progress import Work, part_of_work
from palaver.page.quality import make_quality
from palaver.page.questions import make_questions
from palaver.page.relevance import packed
from palaver.page.settings import make_settings
from palaver.page.tagging import make_tagging
from palaver.page.text import name, to_json
from palaver.page.walks import make_walks
from palaver.params import check, whole
from palaver.store.atomic import replace_file

if TYPE_CHECKING:
    from palaver.models.base.model import Model
    from palaver.models.summary import ModelSummary
    from palaver.threads import ThreadRebuilder

#: Joined in this order.
_SCRIPTS = ("base.js", "save.js", "pictures.js", "names.js", "kept.js", "graph.js", "groups.js",
            "rebuilt.js", "thread.js", "reader.js", "relevance.js", "main.js")  # fmt: skip
_STYLES = ("page.css", "rebuilt.css")
#: Nothing may be fetched, framed, submitted or evaluated; only our own script and style run.
#: Pictures may come from the script itself (blob:), which makes PNG files of them.
_POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob:; "
    "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)


class Page(type(Path())):  # type: ignore[misc]  # Windows has a class of its own
    """The path of a page that was written; notebooks show it as a link."""

    def _repr_html_(self) -> str:
        address = self.as_posix() if not self.is_absolute() else self.as_uri()
        return tag("a", words(f"Open {self.name}"), href=quote(address, safe=":/%"),
                   target="_blank", rel="noopener")  # fmt: skip


class Options(TypedDict, total=False):
    """What a page shows beyond the findings; see :func:`report`."""

    title: str | None
    command: str | None
    fit_command: str | None
    rebuilder: ThreadRebuilder | None
    n_new: int | None
    by: str | None


def report(
    model: Model,
    corpus: Corpus,
    path: str | Path = "report.html",
    *,
    names: Names | str | Path | None = None,
    anonymize: bool = False,
    title: str | None = None,
    test: Corpus | None = None,
    predict_heldout: bool = True,
    max_messages: int = MAX_MESSAGES,
    max_characters: int = MAX_CHARACTERS,
    command: str | None = None,
    fit_command: str | None = None,
    rebuilder: ThreadRebuilder | None = None,
    by: str | None = None,
) -> Page:
    """Write one HTML file about what people do in a corpus.

    Parameters
    ----------
    model : Model
        A fitted model.
    corpus : Corpus
        What it was fitted on, or other conversations.
    path : path
        The file to write; replaced in one step. Missing folders are created.
    names : mapping or path, optional
        Names of classes by number, or a file that the page exported.
    anonymize : bool
        Show the texts as ``corpus.anonymized()`` has them, and leave out words of the model that
        are then in no text any more. The numbers stay the same.
    title : str, optional
    test : Corpus, optional
        Conversations that the model has not seen, to measure how well it predicts words. Without
        them it predicts the texts of the page, and the page says so.
    predict_heldout : bool
        Whether to measure that at all; the first time, it compiles a loop of its own.
    max_messages, max_characters : int
        How much the page's reader may carry; see :mod:`palaver.page.embed`.
    command : str, optional
        The command that made the page, for its last section.
    fit_command : str, optional
        The command that fitted the model, for the same section.
    rebuilder : ThreadRebuilder, optional
        Show the replies that it finds next to the given ones in the page's reader.
    by : str, optional
        A column or period to show first under "Who and when"; two are crossed: "role,quarter".

    Returns
    -------
    Page
        The path, which notebooks show as a link.

    Examples
    --------
    >>> pv.report(model, corpus, "report.html")  # doctest: +SKIP
    """
    summary = model.summary()
    make_page(
        model, corpus, path, summary=summary, names=read_names(names, summary), test=test,
        anonymize=anonymize, title=title, predict_heldout=predict_heldout,
        max_messages=max_messages, max_characters=max_characters, command=command,
        fit_command=fit_command, rebuilder=rebuilder, by=by,
    )  # fmt: skip
    return Page(path)


def make_page(
    model: Model,
    corpus: Corpus,
    path: str | Path,
    *,
    summary: ModelSummary,
    names: dict[int, str],
    test: Corpus | None = None,
    anonymize: bool = False,
    predict_heldout: bool = True,
    max_messages: int = MAX_MESSAGES,
    max_characters: int = MAX_CHARACTERS,
    **shown: Unpack[Options],
) -> Findings:
    """Write the page of :func:`report`, given the model's summary; return what it shows."""
    limits = {"max_messages": whole(1), "max_characters": whole(1)}
    check("report", limits, {"max_messages": max_messages, "max_characters": max_characters})
    corpus = as_corpus(corpus)
    if not isinstance(corpus, Corpus):
        raise ParameterError(
            f"report: takes a Corpus or a list of texts, got {type(corpus).__name__}; texts are "
            "needed for the page"
        )
    if not corpus.n_messages:
        raise ParameterError("report: the corpus holds no messages")
    work = Work.expected(model, corpus, max_characters, predict=predict_heldout)
    findings = gather(
        model, corpus, max_messages, max_characters, summary=summary, work=work, test=test,
        predict_heldout=predict_heldout, anonymize=anonymize,
    )  # fmt: skip
    with part_of_work(work.writing):
        html = render(findings, names, **shown)
        with replace_file(Path(path)) as target:
            target.write_text(html, encoding="utf-8")
    return findings


def render(
    findings: Findings,
    names: dict[int, str],
    *,
    title: str | None = None,
    command: str | None = None,
    fit_command: str | None = None,
    rebuilder: ThreadRebuilder | None = None,
    n_new: int | None = None,
    by: str | None = None,
) -> str:
    """Return the page's text, groups ``by`` a column first.

    ``n_new`` messages are not among those that the model learned from; None if that is not known.
    """
    values = _values(findings, names, title, command, fit_command, n_new, by)
    values |= {"questions": make_questions(findings, by), "all_button": True}
    part = findings.corpus.take(findings.shown.conversations)
    rows = rows_of(findings.corpus, findings.shown)
    rebuilt = None if rebuilder is None else rebuilder.predict(part)["parent_row"].to_numpy()
    chunks, index = pack_threads(
        part, findings.shown, findings.shares[rows], findings.marks, rebuilt,
        anonymized=findings.anonymized, gold=_gold(part),
    )  # fmt: skip
    style, script = style_of(_STYLES), script_of(_SCRIPTS)
    data = _data(findings, values) | {"threads": index, "rebuilt": rebuilt is not None}
    return environment().get_template("page.html.j2").render(
        **values,
        policy=_POLICY.format(script=_hash(script), style=_hash(style)),
        style=Markup(style),
        script=Markup(script),
        data=Markup(to_json(data)),
        chunks=[Markup(chunk) for chunk in chunks],
    )  # fmt: skip


def render_sections(
    findings: Findings,
    names: dict[int, str],
    *,
    fit_command: str | None = None,
    n_new: int | None = None,
) -> tuple[str, dict[str, Any]]:
    """Return the sections of the page without its reader, and what their script needs."""
    values = _values(findings, names, None, None, fit_command, n_new)
    values |= {"questions": make_questions(findings)}
    template = environment().get_template("sections.html.j2")
    return template.render(**values, all_button=False), _data(findings, values)


def _values(
    findings: Findings,
    names: dict[int, str],
    title: str | None,
    command: str | None,
    fit_command: str | None,
    n_new: int | None,
    by: str | None = None,
) -> dict[str, Any]:
    """Return what the templates of the sections need."""
    positions = sections.positions_of(findings)
    acts = sections.make_acts(findings, names, positions)
    graph = sections.make_graph(findings, acts)
    wording = findings.wording
    return {
        "title": name(title) if title else wording.title,
        "acts": acts,
        "n_empty": sum(act.is_empty and not act.is_hidden for act in acts),
        "n_hidden": sum(act.is_hidden for act in acts),
        "story": sections.make_story(findings, acts, graph),
        "graph": graph,
        "corpus": _corpus_facts(findings),
        "overview": stacked_bar(findings.flow.class_shares, [act.name for act in acts]),
        "positions": sections.make_positions(positions, acts),
        "axis": positions.axis,
        "quality": make_quality(findings),
        "n_new": n_new,
        "topics": sections.make_topics(findings),
        "topic_map": _topic_map(findings, acts),
        "topic_share": findings.summary.facts.get("topic_share", 0.0),
        "tagging": make_tagging(findings, acts),
        "groups": make_groups(findings, acts, by),
        "people": make_people(findings.corpus) if wording.text == "message" else None,
        "walks": make_walks(findings.walks, findings.corpus, [act.name for act in acts]),
        "steps": findings.flow.steps,
        "words_apart": findings.words_apart,
        "units": findings.units,
        "reads_all": findings.reads_all,
        "wording": wording,
        "settings": make_settings(findings, command, fit_command),
        "noun": wording.noun,
        "taught": findings.summary.tags is not None,
        "proposes": any(act.proposed for act in acts),
        "guided": findings.summary.is_guided,
    }


def _topic_map(findings: Findings, acts: list[sections.Act]) -> Svg | None:
    """Draw the topics of documents next to each other."""
    if findings.topic_view is None:
        return None
    shares = findings.flow.class_shares.tolist()
    return topic_map(findings.topic_view.places, shares, [act.name for act in acts])


def _gold(part: Corpus) -> pl.Series | None:
    """Return the labels that people gave to messages, if there are any."""
    sure = [column for column in choose_columns(part)[0] if column in LABELS]
    return part.table[sure[0]] if sure else None


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def _corpus_facts(findings: Findings) -> dict[str, Any]:
    corpus, shown = findings.corpus, findings.shown
    times = corpus.table["time"].drop_nulls()
    played = roles(corpus)
    speakers = corpus.table["speaker"].drop_nulls().n_unique() - len(bots(corpus))
    return {
        "source": name(Path(corpus.source).name),
        "messages": corpus.n_messages,
        "conversations": corpus.n_conversations,
        "speakers": speakers if played is None else played["people"],
        "are_roles": played is None and are_roles(corpus),
        "bots": len(bots(corpus)),
        "first": str(times.min())[:10] if len(times) and is_dated(corpus) else None,
        "last": str(times.max())[:10] if len(times) and is_dated(corpus) else None,
        "undated": not is_dated(corpus),
        "shown_messages": int(shown.lengths.sum()),
        "shown_conversations": len(shown.conversations),
    }


def _data(findings: Findings, values: dict[str, Any]) -> dict[str, Any]:
    """Return what the script needs."""
    acts, graph = values["acts"], values["graph"]
    return {
        "run": findings.summary.view_id,
        "observed": findings.flow.observed,
        "wording": asdict(findings.wording),
        "acts": [
            {"letter": a.letter, "colour": a.colour, "number": a.number, "name": a.name,
             "named": a.named, "proposed": a.proposed, "share": percent(a.share),
             "start": times(a.start) if a.opens else None}
            for a in acts
        ],
        "edges": [
            [e.source, e.target, round(e.effect, 3), times(e.effect), percent(e.probability),
             percent(e.usual), None if e.weight is None else round(e.weight, 2),
             None if e.replies is None else round(e.replies)]
            for e in graph["edges"]
        ],
        "steps": graph["steps"],
        "topics": values["topics"],
        "relevance": packed(findings.topic_view),
        **_group_data(values["groups"]),
    }  # fmt: skip


def _group_data(groups: dict[str, Any]) -> dict[str, Any]:
    """Return shares and intervals of groups for the script, class by class."""
    return {
        "groups": [
            {"rows": [row["values"] for row in table["rows"]], "overall": table["overall"]}
            for table in groups["tables"]
        ]
    }
