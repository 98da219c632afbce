"""Speed and memory of the workbench: ``python -m benchmarks.explore``.

The built-in sample is copied with other ids until there are ``--messages``, indexed, and served by
a process of its own. Then ``--clients`` ask at once for ``--seconds``: everything that the views
ask for but files to save and new fits, and one in twelve requests changes something, after which
nothing that was counted before holds. At last the server is killed while names are given, and every
change that it had confirmed must be in the run.

``--folder`` keeps the run, so that the parts can be measured one after the other::

    python -m benchmarks.explore fit --folder kept
    python -m benchmarks.explore index --folder kept
    python -m benchmarks.explore clients --folder kept
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import numpy as np
import polars as pl

import palaver as pv
from palaver.explore.build import build
from palaver.explore.coding import start as draw_sample
from palaver.explore.index import Index
from palaver.explore.stored import origin_of, place_of
from palaver.explore.workbench import Workbench

_THREADS = 400
_MESSAGES = 200  # whose words are looked for
_CODED = 100
_WORDS = ("the", "printer", "thank*", '"thank you"', "driv*", "help -please", "error", "i ")


def copies(corpus: pv.Corpus, n_messages: int) -> pv.Corpus:
    """Return a corpus repeated with other ids until it has so many messages."""
    parts = []
    for i in range(-(-n_messages // corpus.n_messages)):
        columns = [c for c in ("id", "conversation", "reply_to") if c in corpus.table.columns]
        parts.append(corpus.table.with_columns(pl.col(c) + f"-{i}" for c in columns))
    return pv.Corpus.from_polars(pl.concat(parts)[:n_messages])


class Browser:
    """One connection to the server, with its cookie."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)
        self._own: dict[str, str] = {}
        self._connection.request("GET", f"{parts.path}?{parts.query}")
        answer = self._connection.getresponse()
        answer.read()
        self._own = {"Cookie": (answer.getheader("set-cookie") or "").partition(";")[0]}

    def get(self, path: str, expected: tuple[int, ...] = (200,), **params: Any) -> bytes:
        self._connection.request("GET", f"{path}?{urlencode(params)}", headers=self._own)
        return self._body(self._connection.getresponse(), expected)

    def post(self, path: str, content: Any, expected: tuple[int, ...] = (200,)) -> bytes:
        sent = {**self._own, "Content-Type": "application/json"}
        self._connection.request("POST", path, json.dumps(content), sent)
        return self._body(self._connection.getresponse(), expected)

    def _body(self, answer: http.client.HTTPResponse, expected: tuple[int, ...] = (200,)) -> bytes:
        body = answer.read()
        if answer.status not in expected:
            raise RuntimeError(f"{answer.status}: {body[:200]!r}")
        return body


def words_of(texts: pl.Series) -> list[str]:
    """Return words and pairs of words that people may look for: those of some messages."""
    some = texts.gather_every(max(1, len(texts) // _MESSAGES)).head(_MESSAGES)
    found = [word for text in some for word in text.split() if word.isalpha()]
    return [*_WORDS, *found, *(f"{one} {other}" for one, other in pairwise(found))]


@dataclass(frozen=True)
class Facts:
    """What can be asked for: numbers of acts, threads and messages, words, names and days."""

    acts: list[int]
    n_threads: int
    n_messages: int
    words: list[str]
    topics: list[str]
    speakers: list[str]
    days: list[str]


def facts_of(run: Path, texts: pl.Series) -> Facts:
    """Return what can be asked for of a run that was indexed."""
    index = Index(place_of(run, anonymize=False))
    found = Facts(
        list(range(index.n_classes)), index.n_conversations, index.n_messages, words_of(texts),
        index.names("topic"), index.names("speaker"), index.periods[1],
    )  # fmt: skip
    index.close()
    return found


def compared(chance: random.Random, facts: Facts) -> dict[str, Any]:
    """Return two groups to compare."""
    word, other = (chance.choice(facts.words).split()[0] for _ in range(2))
    topics, days = chance.sample(facts.topics, 2), sorted(chance.sample(facts.days, 2))
    return chance.choice(
        [
            {"a.last": chance.randrange(1, 4)},
            {"a.q": word},
            {"a.q": word, "b.q": f"{other} -{word}"},
            {"a.by.topic": topics[0], "b.by.topic": topics[1]},
            {"a.by.speaker": chance.choice(facts.speakers)},
            {"a.until": days[0], "b.since": days[1]},
        ]
    )


def filtered(chance: random.Random, facts: Facts) -> dict[str, Any]:
    """Return filters of a search."""
    days = sorted(chance.sample(facts.days, 2))
    return chance.choice(
        [
            {"by.topic": chance.choice(facts.topics), "q": chance.choice(facts.words)},
            {"by.speaker": chance.choice(facts.speakers)},
            {"since": days[0], "until": days[1]},
            {"least": chance.randrange(2, 9), "first": 2},
            {"act": chance.choice(facts.acts), "p": 0.3, "sort": "surest"},
        ]
    )


def questions(chance: random.Random, facts: Facts) -> tuple[str, str, Any]:
    """Return a kind of interaction, and what it asks for."""
    one, other, word = chance.choice(facts.acts), chance.choice(facts.acts), facts.words
    typed = chance.choice(word)[: chance.randrange(1, 5)]
    later = chance.choice(["> ", ">> ", "> * > "])
    return chance.choice(
        [
            ("words", "/api/search", {"q": chance.choice(word)}),
            ("typing", "/api/search", {"q": typed}),
            ("act", "/api/search", {"act": one, "q": chance.choice(word)}),
            ("filters", "/api/search", filtered(chance, facts)),
            ("sequence", "/api/search", {"seq": f"{one} {later}{other}"}),
            ("no answer", "/api/search", {"seq": f"{one} > !"}),
            ("newest", "/api/search", {"act": one, "sort": "newest"}),
            ("thread", "/api/thread", {"thread": chance.randrange(facts.n_threads)}),
            ("more hits", "/api/hits", {"act": one, "start": 40 * chance.randrange(20)}),
            ("view", chance.choice(["/", "/search", "/compare", "/curate", "/coders"]), {}),
            ("names", "/api/names", {"field": "speaker", "typed": typed[0]}),
            ("agreement", "/api/agreement", {}),
            ("comparison", "/api/compare", compared(chance, facts)),
            ("change", "/api/curate", {}),
        ]
    )


def change(chance: random.Random, facts: Facts, now: Any) -> Any:
    """Return a change to what was decided: a name, a mark, or two acts become one or two again."""
    merged = [act["number"] for act in now["acts"] if len(act["members"]) > 1]
    one, other = chance.sample([act["number"] for act in now["acts"]], 2)
    row = chance.randrange(facts.n_messages)
    action = chance.choice(
        [
            {"do": "name", "class": one, "name": f"name {row}"},
            {"do": "mark", "class": one, "row": row, "right": True},
            {"do": "separate", "class": merged[0]} if merged else
            {"do": "merge", "classes": [one, other]},
        ]
    )  # fmt: skip
    return {"revision": now["revision"], "actions": [action]}


def load(address: str, facts: Facts, clients: int, seconds: float) -> Any:
    """Ask from several clients at once; return milliseconds by kind of interaction."""
    taken: list[tuple[str, float]] = []
    end = time.perf_counter() + seconds

    def work(seed: int) -> None:
        chance, browser = random.Random(seed), Browser(address)
        while time.perf_counter() < end:
            kind, path, params = questions(chance, facts)
            if kind == "change":
                params = change(chance, facts, json.loads(browser.get("/api/curation")))
            start = time.perf_counter()
            if kind == "change":  # somebody else may have been faster
                browser.post(path, params, (200, 409))
            else:  # a group may be empty: every message with one word may have the other
                browser.get(path, (200, 400) if kind == "comparison" else (200,), **params)
            taken.append((kind, 1000 * (time.perf_counter() - start)))
            time.sleep(chance.uniform(0.2, 1.0))  # people look at what they get

    workers = [threading.Thread(target=work, args=[seed]) for seed in range(clients)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    kinds = {kind: [ms for own, ms in taken if own == kind] for kind in {k for k, _ in taken}}
    kinds["all"] = [ms for _, ms in taken]
    return {
        kind: {"n": len(own), "median_ms": float(np.median(own)),
               "p95_ms": float(np.quantile(own, 0.95))}
        for kind, own in sorted(kinds.items())
    }  # fmt: skip


def _file(run: Path) -> Path:
    """Return what stands for the file of a run: the index has its texts."""
    return run.with_suffix(".jsonl")


def start(run: Path) -> tuple[subprocess.Popen[str], str, float]:
    """Start a server; return it, its address, and the seconds until its first answer."""
    begun = time.perf_counter()
    options = ["--no-open", "--port", "0"]
    command = [sys.executable, "-m", "palaver", "explore", str(run), str(_file(run)), *options]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    address = server.stdout.readline().split()[-1]
    Browser(address).get("/api/hits")
    return server, address, time.perf_counter() - begun


def most_memory(pid: int) -> float:
    """Return the largest memory that a process has had, in megabytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used: other work hardly changes it."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill_while_writing(run: Path, address: str, server: subprocess.Popen[str]) -> dict[str, int]:
    """Kill the server while names are given; return what was confirmed and what is there."""
    browser = Browser(address)
    before = confirmed = json.loads(browser.get("/api/curation"))["revision"]
    threading.Timer(2.0, lambda: os.kill(server.pid, signal.SIGKILL)).start()
    try:
        while True:
            action = {"do": "name", "class": 0, "name": f"name {confirmed}"}
            found = browser.post("/api/curate", {"revision": confirmed, "actions": [action]})
            confirmed = json.loads(found)["revision"]
    except (OSError, http.client.HTTPException):
        server.wait()
    kept = pv.load(run).curation_
    return {"confirmed": confirmed - before, "kept": (kept.revision if kept else 0) - before}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="part", default=list(PARTS),
                        help="fit, index, clients; all by default")  # fmt: skip
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--folder", type=Path, help="where the run is kept")
    parser.add_argument("--out", type=Path, help="write the results as JSON")
    arguments = parser.parse_args()
    found: dict[str, Any] = {"messages": arguments.messages}
    with tempfile.TemporaryDirectory() as folder:
        run = (arguments.folder or Path(folder)).absolute() / "run"
        for part in arguments.parts:
            found |= PARTS[part](run, arguments)
    print(json.dumps(found, indent=1))
    if arguments.out:
        arguments.out.write_text(json.dumps(found, indent=1) + "\n")


def copied(arguments: argparse.Namespace) -> pv.Corpus:
    """Return the messages that are indexed and asked for."""
    return copies(pv.sample(_THREADS), arguments.messages)


def fit(run: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Fit the model that reads the messages; nothing of an earlier run is left."""
    shutil.rmtree(run, ignore_errors=True)
    pv.Acts(n_sweeps=30, n_chains=2, random_state=1).fit(pv.sample(_THREADS)).save(run)
    return {}


def index(run: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure how long the index takes, and how large it is."""
    model, corpus = pv.load(run), copied(arguments)
    begun, used = time.perf_counter(), time.process_time()
    build(run, model, corpus, origin_of(run, str(_file(run))))
    seconds, used = time.perf_counter() - begun, time.process_time() - used
    size = sum(file.stat().st_size for file in run.rglob("*") if file.is_file())
    return {
        "index_seconds": seconds,
        "index_messages_per_second": arguments.messages / seconds,
        "index_processor_seconds": used,
        "index_megabytes": size / 1e6,
        "text_megabytes": int(corpus.table["text"].str.len_bytes().sum()) / 1e6,
    }


def clients(run: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the start, the answers and the memory of the server, and kill it."""
    facts = facts_of(run, pv.sample(_THREADS).table["text"])
    workbench = Workbench(run, place_of(run, anonymize=False))
    draw_sample(workbench, _CODED)  # for agreement of coders
    workbench.close()
    server, _, cold = start(run)
    server.kill()
    server.wait()
    server, address, warm = start(run)
    starting = processor_seconds(server.pid)
    times = load(address, facts, arguments.clients, arguments.seconds)
    memory, answering = most_memory(server.pid), processor_seconds(server.pid) - starting
    return {
        "start_seconds": min(cold, warm),
        "start_processor_seconds": starting,
        "answer_processor_ms": 1000 * answering / times["all"]["n"],
        "server_megabytes": memory,
        "interactions": times,
        "killed": kill_while_writing(run, address, server),
    }


PARTS = {"fit": fit, "index": index, "clients": clients}

if __name__ == "__main__":
    main()
