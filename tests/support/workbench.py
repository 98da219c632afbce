"""A workbench for tests: a small run with an index, and a browser's view of its server."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import palaver as pv
from palaver.explore.build import build
from palaver.explore.stored import origin_of, place_of
from palaver.explore.workbench import Workbench


def make_run(folder: Path, model: Any, corpus: pv.Corpus, *, anonymize: bool = False) -> Path:
    """Save a model and index a corpus for it; return the run."""
    model.save(folder)
    build(folder, model, corpus, origin_of(folder, "a table"), anonymize=anonymize)
    return folder


def opened(run: Path, *, anonymize: bool = False, **options: Any) -> Workbench:
    """Open the index of a run."""
    return Workbench(run, place_of(run, anonymize=anonymize), **options)


def pretended_fit(run: Path, n_classes: int | None) -> None:
    """Write what a new fit writes, without fitting: it runs until it is stopped, then ends."""
    place = run / "refit"
    goes_on = (place / "progress.json").exists()
    place.mkdir(exist_ok=True)

    def tell(state: str) -> None:
        told = {"state": state, "sweep": 3, "of": 10}
        (place / "progress.tmp").write_text(json.dumps(told))
        (place / "progress.tmp").replace(place / "progress.json")

    tell("running")
    end = time.monotonic() + 60
    while not goes_on and not (place / "stop").exists() and time.monotonic() < end:
        time.sleep(0.05)
    row = {"old": "asks", "new": "asks", "before": 0.5, "after": 0.4, "kept": 0.9}
    move = {"from": "asks", "to": "<b>moved</b>", "messages": 2, "rows": [0], "examples": ["hi"]}
    found = {"messages": 10, "same": 0.8, "kappa": 0.7, "classes": [row], "moves": [move],
             "marks": {"of": 2, "before": 1, "after": 2}, "lost": ["gone"]}  # fmt: skip
    (place / "comparison.json").write_text(json.dumps(found))
    tell("done" if goes_on else "stopped")


class Client:
    """Somebody who asks a server, with or without the token."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self.host, self.port = parts.hostname, parts.port
        self.token = parts.query.partition("=")[2]
        self.headers: dict[str, str] = {}
        _, headers, _ = self.ask("GET", f"/?token={self.token}")
        self.headers["Cookie"] = headers["set-cookie"].partition(";")[0]

    def ask(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        """Return status, headers and body of an answer; a header of "" is not sent."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=60)
        sent = {**self.headers, **{key.replace("_", "-"): own for key, own in headers.items()}}
        sent = {key: value for key, value in sent.items() if value}
        content = None if body is None else json.dumps(body)
        if content is not None:
            sent.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, content, sent)
            answer = connection.getresponse()
            found = {key.lower(): value for key, value in answer.getheaders()}
            return answer.status, found, answer.read()
        finally:
            connection.close()

    def get(self, path: str, **params: Any) -> Any:
        """Return the JSON of an answer that must be in order."""
        query = f"?{urlencode(params)}" if params else ""
        status, _, body = self.ask("GET", path + query)
        assert status == 200, body
        return json.loads(body)

    def refused(self, path: str, **params: Any) -> str:
        """Return what the server says about a mistake."""
        status, _, body = self.ask("GET", f"{path}?{urlencode(params)}")
        assert status == 400, (status, body)
        return str(json.loads(body)["error"])

    def post(self, path: str, body: Any, status: int = 200) -> Any:
        """Send something; return the JSON of the answer."""
        found, _, content = self.ask("POST", path, body, Origin=f"http://{self.host}:{self.port}")
        assert found == status, content
        return json.loads(content)
