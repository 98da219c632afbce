"""The web application: addresses, and what they answer."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
from markupsafe import Markup
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from palaver.errors import (
    DamagedStoreError,
    InputError,
    PalaverError,
    ParameterError,
    StaleCurationError,
)
from palaver.explore import hits
from palaver.explore.question import Question
from palaver.explore.security import Guard
from palaver.explore.workbench import Workbench
from palaver.page.files import environment, script_of, style_of
from palaver.page.text import to_json

_SCRIPTS = ("base.js", "save.js", "names.js", "graph.js", "groups.js", "rebuilt.js", "thread.js",
            "explore/base.js", "explore/overview.js", "explore/search.js", "explore/facets.js",
            "explore/judge.js", "explore/curate.js", "explore/split.js",
            "explore/refit.js", "explore/compare.js",
            "pictures.js", "explore/coders.js", "explore/main.js")  # fmt: skip
_STYLES = ("page.css", "rebuilt.css", "explore/explore.css")

#: Name, address and what the navigation calls it.
_VIEWS = (
    ("overview", "/", "Overview"),
    ("search", "/search", "Search and read"),
    ("compare", "/compare", "Compare"),
    ("curate", "/curate", "Curate"),
    ("coders", "/coders", "Coders"),
)

View = Callable[[Workbench, Request], Any]


def make_app(workbench: Workbench, token: str, port: int) -> Guard:
    """Return the application, which answers only to those who know the token."""
    style, script = style_of(_STYLES), script_of(_SCRIPTS)
    routes = [
        Route("/", _page(workbench, "overview", _overview)),
        Route("/search", _page(workbench, "search")),
        Route("/curate", _page(workbench, "curate")),
        Route("/coders", _page(workbench, "coders")),
        Route("/compare", _page(workbench, "compare")),
        Route("/static/explore.css", _fixed(style, "text/css")),
        Route("/static/explore.js", _fixed(script, "text/javascript")),
        Route("/api/search", _json(workbench, _search)),
        Route("/api/hits", _json(workbench, _hits)),
        Route("/api/thread", _json(workbench, _thread)),
        Route("/api/names", _json(workbench, _names)),
        Route("/api/curation", _json(workbench, _curation)),
        Route("/api/curate", _json(workbench, _curate, sent=True), methods=["POST"]),
        Route("/api/split", _json(workbench, _split, sent=True), methods=["POST"]),
        Route("/api/refit", _json(workbench, _refit_status)),
        Route("/api/refit", _json(workbench, _refit, sent=True), methods=["POST"]),
        Route("/api/agreement", _json(workbench, _agreement)),
        Route("/api/task", _json(workbench, _task)),
        Route("/api/code", _json(workbench, _code, sent=True), methods=["POST"]),
        Route("/api/rebuild", _json(workbench, _rebuild, sent=True), methods=["POST"]),
        Route("/api/compare", _json(workbench, _compare)),
        Route("/export/{what}.{kind}", _export(workbench)),
    ]
    app = Starlette(routes=routes)
    return Guard(app, token, port, read_only=workbench.read_only)


def _fixed(text: str, kind: str) -> Callable[[Request], Any]:
    async def answer(request: Request) -> Response:
        return Response(text, media_type=kind)

    return answer


@functools.cache
def _templates() -> Any:
    return environment()


def _page(
    workbench: Workbench, view: str, more: View = lambda workbench, request: {}
) -> Callable[[Request], Any]:
    """Answer with a view, made from its template and what ``more`` says."""

    def make(request: Request) -> str:
        values = more(workbench, request)
        html = _templates().get_template(f"explore/{view}.html.j2").render(
            view=view,
            views=_VIEWS,
            sections=Markup(workbench.index.overview["html"]) if view == "overview" else "",
            source=workbench.index.content["source"],
            n_messages=workbench.index.n_messages,
            noun=workbench.index.content["noun"],
            unit=workbench.index.content["unit"],
            fields=workbench.index.fields,
            acts=workbench.answers.classified.listed(),
            has_time=workbench.index.period is not None,
            anonymized=workbench.index.content["anonymized"],
            read_only=workbench.read_only,
            can_page=workbench.can_page,
            can_refit=workbench.can_refit,
            data=Markup(to_json(workbench.data() | values.pop("data", {}))),
            **values,
        )  # fmt: skip
        return str(html)

    async def answer(request: Request) -> Response:
        try:
            return HTMLResponse(await run_in_threadpool(make, request))
        except PalaverError as error:
            return Response(f"{error}\n", _status(error), media_type="text/plain")

    return answer


def _json(
    workbench: Workbench, view: Callable[[Workbench, Any], Any], *, sent: bool = False
) -> Callable[[Request], Any]:
    """Answer with JSON, to what is asked or to what is ``sent``; mistakes are said in words."""

    async def answer(request: Request) -> Response:
        try:
            given = await _sent(request) if sent else request
            found, status = await run_in_threadpool(view, workbench, given), 200
        except PalaverError as error:
            found, status = {"error": _words(error)}, _status(error)
        return Response(to_json(found), status, media_type="application/json")

    return answer


def _export(workbench: Workbench) -> Callable[[Request], Any]:
    """Answer with what is in view as a file."""

    def make(request: Request) -> Response:
        from palaver.explore.export import comparison_table, encoded, messages_table

        what, kind = request.path_params["what"], request.path_params["kind"]
        given = dict(request.query_params)
        if (what, kind) == ("page", "html"):
            content = workbench.page()
        elif what not in ("messages", "comparison") or kind not in ("csv", "parquet"):
            raise InputError("messages and comparisons are exported as csv or parquet")
        elif what == "messages":
            sort = given.get("sort", "thread")
            content = encoded(messages_table(workbench.answers, _asked(request), sort), kind)
        else:
            content = encoded(comparison_table(workbench.answers, given), kind)
        name = {"content-disposition": f'attachment; filename="{what}.{kind}"'}
        return Response(content, headers=name, media_type="application/octet-stream")

    async def answer(request: Request) -> Response:
        try:
            return await run_in_threadpool(make, request)
        except PalaverError as error:
            return Response(f"{_words(error)}\n", _status(error), media_type="text/plain")

    return answer


async def _sent(request: Request) -> dict[str, Any]:
    """Return the JSON object that a browser sent."""
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError, ClientDisconnect) as error:
        raise InputError("what was sent is not JSON") from error
    if not isinstance(found, dict):
        raise InputError("what was sent is not an object")
    return found


def _status(error: PalaverError) -> int:
    if isinstance(error, StaleCurationError):
        return 409
    return 400 if isinstance(error, InputError | ParameterError) else 500


def _words(error: PalaverError) -> str:
    if isinstance(error, DamagedStoreError):
        return f"The index is damaged ({error}). Stop and start again: it is rebuilt then."
    return str(error)


def _asked(request: Request) -> Question:
    return Question.read(dict(request.query_params))


def _whole(request: Request, name: str, default: int = 0) -> int:
    text = request.query_params.get(name, "") or str(default)
    if not text.isdigit() or len(text) > 12:
        raise InputError(f"{name} must be a number, got {text[:40]!r}")
    return int(text)


def _search(workbench: Workbench, request: Request) -> dict[str, Any]:
    question, answers = _asked(request), workbench.answers
    sort = request.query_params.get("sort", "thread")
    return {
        **hits.counted(answers, question),
        "hits": hits.listed(answers, question, 0, hits.PAGE, sort),
    }


def _hits(workbench: Workbench, request: Request) -> dict[str, Any]:
    sort = request.query_params.get("sort", "thread")
    start = _whole(request, "start")
    return {"hits": hits.listed(workbench.answers, _asked(request), start, hits.PAGE, sort)}


def _thread(workbench: Workbench, request: Request) -> dict[str, Any]:
    from palaver.explore.threads import thread

    found = thread(
        workbench.index,
        workbench.answers.classified,
        _whole(request, "thread"),
        _whole(request, "place"),
        rebuilt=request.query_params.get("rebuilt") == "1",
    )
    question = _asked(request)
    if not question.is_open:
        rows = slice(found["row"], found["row"] + len(found["t"]))
        found["hits"] = np.flatnonzero(workbench.answers.passing(question)[rows]).tolist()
    return found


def _names(workbench: Workbench, request: Request) -> list[str]:
    field, typed = request.query_params.get("field", ""), request.query_params.get("typed", "")
    return workbench.index.texts.names_like(field, typed[:200])


def _overview(workbench: Workbench, request: Request) -> dict[str, Any]:
    workbench.refresh()
    return {
        "data": workbench.overview_data(),
        "stale": workbench.is_stale,
        "can_rebuild": workbench.can_rebuild and not workbench.read_only,
    }


def _compare(workbench: Workbench, request: Request) -> dict[str, Any]:
    from palaver.explore.comparing import compared

    return compared(workbench.answers, dict(request.query_params))


def _curation(workbench: Workbench, request: Request) -> dict[str, Any]:
    return workbench.curated()


def _curate(workbench: Workbench, sent: dict[str, Any]) -> dict[str, Any]:
    """Change something, or take it back; answer with the acts as they are then."""
    revision, actions = sent.get("revision"), sent.get("actions")
    if not isinstance(revision, int):
        raise InputError("a change says which revision it has seen")
    if sent.get("do") in ("undo", "redo"):
        (workbench.undo if sent["do"] == "undo" else workbench.redo)(revision)
    elif isinstance(actions, list):
        workbench.change(actions, revision)
    else:
        raise InputError("a change has actions")
    return workbench.curated()


def _split(workbench: Workbench, sent: dict[str, Any]) -> dict[str, Any]:
    """Divide an act to look at its parts."""
    number, parts = sent.get("class"), sent.get("parts")
    if any(not isinstance(own, int) or isinstance(own, bool) for own in (number, parts)):
        raise InputError("an act and the number of its parts are whole numbers")
    return workbench.try_split(int(number or 0), int(parts or 0))


def _refit_status(workbench: Workbench, request: Request) -> dict[str, Any]:
    if workbench.index.content["anonymized"]:
        return {"state": "none", "possible": False}
    return workbench.refits.status()


def _refit(workbench: Workbench, sent: dict[str, Any]) -> dict[str, Any]:
    """Start, stop, take or leave a new fit."""
    do, size = sent.get("do"), sent.get("classes")
    if workbench.index.content["anonymized"]:
        raise InputError("runs are fitted again where messages are not anonymized")
    if size is not None and (not isinstance(size, int) or isinstance(size, bool) or size < 1):
        raise InputError("the number of classes is a whole number")
    if do == "start":
        workbench.refits.start(size)
    elif do in ("stop", "leave"):
        (workbench.refits.stop if do == "stop" else workbench.refits.leave)()
    elif do == "take":
        workbench.take_refit()
    else:
        raise InputError("a new fit is started, stopped, taken or left")
    return workbench.refits.status()


def _rebuild(workbench: Workbench, sent: dict[str, Any]) -> dict[str, Any]:
    workbench.rebuild()
    return workbench.curated()


def _agreement(workbench: Workbench, request: Request) -> dict[str, Any]:
    from palaver.explore import coding

    return coding.agreement(workbench)


def _task(workbench: Workbench, request: Request) -> dict[str, Any]:
    from palaver.explore import coding

    place = _whole(request, "place") if request.query_params.get("place") else None
    return coding.task(workbench, request.query_params.get("coder", ""), place)


def _code(workbench: Workbench, sent: dict[str, Any]) -> dict[str, Any]:
    """Draw a sample, or keep a label; answer with the coder's next message."""
    from palaver.explore import coding

    numbers = {name: sent.get(name) for name in ("size", "place", "class")}
    if any(not isinstance(own, int | None) or isinstance(own, bool) for own in numbers.values()):
        raise InputError("sizes, places and classes are whole numbers")
    coder = str(sent.get("coder", ""))
    if numbers["size"] is not None:
        coding.start(workbench, numbers["size"])
        return coding.agreement(workbench)
    if numbers["place"] is None or numbers["class"] is None:
        raise InputError("a label has a place and a class")
    coding.say(workbench, coder, numbers["place"], numbers["class"])
    return coding.task(workbench, coder)
