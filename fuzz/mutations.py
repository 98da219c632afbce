"""Mutate stored arrays and the fields of constructors: python fuzz/mutations.py [--cases N].

Every case changes one array of a stored folder, or one field of a record made by hand, and then
uses it: opens, fits, folds in, resumes. Cases run in a child process, so that a crash of a
compiled loop is counted and the others continue. A case may end in a ``PalaverError`` ("refused")
or in sound results ("sound"). Anything else is lost: a signal, another exception, numbers that are
not finite, shares that do not sum to one, or a damaged file that nobody noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
import zlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np

#: Numbers that a flipped bit, a wrong format or an enemy may leave in an array.
WHOLE = (-1, -2, 1, 7, 10**6, 2**31 - 1, -(2**31), 2**62, -(2**63))
#: Seconds of processor time that a case may take, compilation included, and of waiting for it.
SECONDS, PATIENCE = 90, 1800
REAL = (float("nan"), float("inf"), -float("inf"), -1.0, 0.0, 1e308, -1e-300)


# how arrays are changed


def mutate(array: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return an array that differs from this one: in a value, its length, dtype or shape."""
    kind = rng.choice(["value", "value", "value", "values", "length", "dtype", "shape"])
    array = np.array(array)
    if kind.startswith("value") and array.size:
        flat = array.reshape(-1)
        for place in rng.integers(len(flat), size=1 if kind == "value" else 5):
            flat[place] = wrong_value(flat.dtype, len(flat), rng)
        return array
    if kind == "length" and array.ndim:
        return [array[:-1], array[:0], np.concatenate((array, array[:1])), array[::-1]][
            rng.integers(4)
        ]
    if kind == "dtype":
        dtypes = (np.int64, np.float32, np.uint8, np.complex128, ">i4", np.bool_, "U3")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return array.astype(dtypes[rng.integers(len(dtypes))])
    return [array[None], np.zeros((), array.dtype), array.T][rng.integers(3)]


def wrong_value(dtype: np.dtype, size: int, rng: np.random.Generator) -> Any:
    """Return a value of a dtype that is unlikely to belong where it will be."""
    if dtype.kind == "f":
        return REAL[rng.integers(len(REAL))]
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return np.clip(
            [*WHOLE, size, size + 1][rng.integers(len(WHOLE) + 2)], limits.min, limits.max
        )
    return np.zeros(1, dtype)[0]


def change_stored(folder: Path, rng: np.random.Generator, *, forged: bool) -> str:
    """Change one array of a stored folder; rewrite its checksum if ``forged``."""
    manifest = json.loads((folder / "manifest.json").read_text())
    folder_of = folder / manifest["generation"]
    names = [name for name in sorted(manifest["arrays"]) if np.load(folder_of / f"{name}.npy").size]
    name = names[rng.integers(len(names))]
    path = folder_of / f"{name}.npy"
    before = array = np.load(path)
    while array.tobytes() == before.tobytes():
        array = np.asarray(mutate(before, rng), order="C")
    np.save(path, array, allow_pickle=False)
    if forged:
        data = array.reshape(-1).view(np.uint8).data if array.size else b""
        entry = {"bytes": path.stat().st_size, "crc32": zlib.crc32(data)}
        manifest["arrays"][name] = entry
        (folder / "manifest.json").write_text(json.dumps(manifest))
    return name


# what is made, changed and used


class Lab:
    """Small folders of every stored kind, made once, and what uses them."""

    def __init__(self, folder: Path) -> None:
        import palaver as pv
        from palaver.models.registry import MODELS, TAGGERS, model_class, tagger_class

        self.pv, self.folder = pv, folder
        self.corpus = pv.sample(6)
        self.encoded = pv.encode(self.corpus, sentences=True)
        self.copy = folder / "copy"
        self.models = {name: model_class(name) for name in MODELS}
        self.taggers = {name: tagger_class(name) for name in TAGGERS}

    def groups(self) -> dict[str, Callable[[np.random.Generator], str]]:
        """Return every group of cases by name; a case returns what it changed."""
        found: dict[str, Callable[[np.random.Generator], str]] = {
            "stored corpus": self.stored_corpus,
            "stored documents": self.stored_documents,
            "Encoded by hand": self.encoded_by_hand,
            "arrays by hand": self.arrays_by_hand,
        }
        for name in (*self.models, *self.taggers):
            found[f"stored model {name}"] = lambda rng, name=name: self.stored_model(name, rng)
        for name in self.models:
            found[f"checkpoint {name}"] = lambda rng, name=name: self.checkpoint(name, rng)
        return found

    def fresh(self, source: Path) -> Path:
        """Return a copy of a folder that may be changed."""
        shutil.rmtree(self.copy, ignore_errors=True)
        shutil.copytree(source, self.copy)
        return self.copy

    def model(self, name: str) -> Any:
        """Return a small model that is not yet fitted."""
        if name in self.taggers:
            return self.taggers[name]()
        kind = self.models[name]
        wanted = {"n_sweeps": 4, "n_samples": 2, "start_sweeps": 1, "n_acts": None, **kind.sized(3)}
        known = {key: value for key, value in wanted.items() if key in kind.limits}
        return kind(**known, random_state=1)

    def fitted(self, name: str) -> Path:
        """Return the run of a model, fitted when it is first asked for."""
        place = self.folder / name
        if not place.exists():
            data = self.corpus if name in self.taggers else self.encoded
            model = self.model(name)
            options = {"folder": place, "checkpoint_seconds": 0} if name in self.models else {}
            model.fit(data, show_progress=False, **options)
            if not options:
                model.save(place)
        return place

    def stored_corpus(self, rng: np.random.Generator) -> str:
        """Change an array of a stored corpus, and use it."""
        source = self.folder / "corpus"
        if not source.exists():
            self.encoded.write(source)
        forged = bool(rng.integers(2))
        name = change_stored(self.fresh(source), rng, forged=forged)
        data = self.pv.Encoded.open(self.copy)
        must_be(forged, "a wrong checksum went unnoticed")
        self.use_encoded(data, rng)
        return name

    def stored_documents(self, rng: np.random.Generator) -> str:
        """Change an array of stored documents, and use them."""
        from palaver.encoding.documents import Documents, documents_of

        source = self.folder / "documents"
        if not source.exists():
            documents_of(self.encoded).write(source)
        forged = bool(rng.integers(2))
        name = change_stored(self.fresh(source), rng, forged=forged)
        data = Documents.open(self.copy)
        must_be(forged, "a wrong checksum went unnoticed")
        self.use_documents(data, rng)
        return name

    def encoded_by_hand(self, rng: np.random.Generator) -> str:
        """Change a field of an encoded corpus, when it is made or later, and use it."""
        from dataclasses import replace

        names = ("tokens", "message_offsets", "parents", "conversation_offsets", "other_parents",
                 "sentence_offsets")  # fmt: skip
        name = names[rng.integers(len(names))]
        value = mutate(getattr(self.encoded, name), rng)
        if rng.integers(3):
            data = replace(self.encoded, **{name: value})
        else:  # in place, after the arrays were checked
            data = self.pv.encode(self.corpus, sentences=True)
            object.__setattr__(data, name, value)
        self.use_encoded(data, rng)
        return name

    def arrays_by_hand(self, rng: np.random.Generator) -> str:
        """Vectors with lengths, numbers with lengths, sparse matrices."""
        from scipy import sparse

        kind = ("vectors", "lengths", "numbers", "indptr", "indices", "data")[rng.integers(6)]
        maker = np.random.default_rng(0)
        vectors, lengths = maker.normal(size=(60, 3)), np.full(6, 10)
        if kind in ("vectors", "lengths"):
            if kind == "vectors":
                vectors = mutate(vectors, rng)
            else:
                huge = (np.array([2**64 - 40, 100], np.uint64), np.array([2**63 - 1] * 2 + [62]))
                lengths = huge[rng.integers(2)] if not rng.integers(4) else mutate(lengths, rng)
            model = self.model(("gaussian-hmm", "gaussian-mixture")[rng.integers(2)])
            model.fit(vectors, lengths, show_progress=False)
            sound_shares(model.predict_proba(vectors, lengths))
        elif kind == "numbers":
            numbers = maker.integers(20, size=60)
            if rng.integers(2):
                numbers = mutate(numbers, rng)
            else:
                lengths = mutate(lengths, rng)
            self.model("infinite-hmm").fit(numbers, lengths, show_progress=False)
        else:
            matrix = sparse.csr_matrix(maker.poisson(0.4, (30, 12)).astype(float))
            setattr(matrix, kind, mutate(getattr(matrix, kind), rng))
            self.use_documents(matrix, rng)
        return kind

    def use_encoded(self, data: Any, rng: np.random.Generator) -> None:
        """Let a model learn from a corpus, or one that has learned read it."""
        names = ("m4", "block-hmm", "lda", "infinite-hmm", "markov-m3", "gaussian-mixture")
        name = names[rng.integers(len(names))]
        if rng.integers(2):
            model = self.pv.load(self.fitted(name))
        else:
            model = self.model(name).fit(data, show_progress=False)
            sound(model)
        sound_shares(model.transform(data))

    def use_documents(self, data: Any, rng: np.random.Generator) -> None:
        """Let a model learn from documents."""
        model = self.model(("online-lda", "markov-m3", "nested-hdp")[rng.integers(3)])
        model.fit(data, show_progress=False)
        sound(model)
        sound_shares(model.transform(data))

    def stored_model(self, name: str, rng: np.random.Generator) -> str:
        """Change an array of a stored model, and let it read a corpus."""
        forged = bool(rng.integers(4))
        changed = change_stored(self.fresh(self.fitted(name)), rng, forged=forged)
        model = self.pv.load(self.copy)
        must_be(forged, "a wrong checksum went unnoticed")
        model.summary()
        model.top_words(3)
        sound_shares(model.transform(self.corpus))
        return changed

    def checkpoint(self, name: str, rng: np.random.Generator) -> str:
        """Change an array of a run's checkpoint, and resume the run."""
        folder = self.fresh(self.fitted(name))
        forged = bool(rng.integers(4))
        for other in ("manifest.previous.json",):
            (folder / "checkpoint" / other).unlink(missing_ok=True)
        changed = change_stored(folder / "checkpoint", rng, forged=forged)
        model = self.model(name).set_params(n_sweeps=6)
        model.fit(self.encoded, folder=folder, show_progress=False)
        must_be(forged, "a wrong checksum went unnoticed")
        sound(model)
        return changed


def must_be(condition: bool, what: str) -> None:
    """End a case as lost unless the condition holds."""
    if not condition:
        raise Unsound(what)


class Unsound(Exception):
    """A case ended in nonsense."""


def sound(model: Any) -> None:
    """Check what a model learned."""
    must_be(bool(np.isfinite(model.class_words_).all()), "word probabilities are not finite")
    must_be(bool(np.isfinite(model.class_shares_).all()), "shares are not finite")


def sound_shares(shares: np.ndarray) -> None:
    """Check shares of classes."""
    must_be(bool(np.isfinite(shares).all()), "shares of messages are not finite")
    sums = shares.sum(axis=1)
    must_be(bool((np.abs(sums - 1) < 1e-6).all()), "shares of messages do not sum to one")


# parent and child


def child() -> None:
    """Run cases whose numbers come on standard input; answer each with a line."""
    from palaver.errors import PalaverError

    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        lab = Lab(Path(place))
        groups = lab.groups()
        for line in sys.stdin:
            group, seed = json.loads(line)
            try:
                answer = "sound", groups[group](np.random.default_rng(seed))
            except PalaverError as error:
                answer = "refused", str(error)
            except Exception as error:  # that is what is looked for
                answer = "lost", f"{type(error).__name__}: {error}"
            print(json.dumps(answer), flush=True)


def run(cases: list[tuple[str, int]]) -> list[tuple[str, int, str, str]]:
    """Run cases in children, a new one after each crash; return (group, seed, end, words)."""
    found, process = [], None
    for group, seed in cases:
        if process is None or process.poll() is not None:
            process = _start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps([group, seed]) + "\n")
        process.stdin.flush()
        done = Event()
        Thread(target=watch, args=(process, done), daemon=True).start()
        line = process.stdout.readline()
        done.set()
        if line:
            found.append((group, seed, *json.loads(line)))
        else:
            found.append((group, seed, "lost", f"exit code {process.wait()}, -9 if it had no end"))
            process = None
    if process is not None:
        process.communicate()
    return found


def watch(process: subprocess.Popen[str], done: Event) -> None:
    """Kill a child whose case does not end; a busy machine is no reason to."""
    begin, used = time.monotonic(), _processor_seconds(process.pid)
    while not done.wait(1):
        late = time.monotonic() - begin > PATIENCE
        if late or _processor_seconds(process.pid) - used > SECONDS:
            process.kill()
            return


def _processor_seconds(pid: int) -> float:
    """Return the processor time of a process, 0 where there is no way to know."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _start() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, __file__, "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        text=True, env=os.environ | {"PYTHONFAULTHANDLER": ""},
    )  # fmt: skip


def main() -> int:
    """Run the cases that were asked for and print a table of how they ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="groups whose name holds this")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child()
        return 0
    with tempfile.TemporaryDirectory() as place:
        names = [name for name in Lab(Path(place)).groups() if options.only in name]
    cases = [(names[i % len(names)], options.seed + i) for i in range(options.cases)]
    results = run(sorted(cases, key=lambda case: names.index(case[0])))
    for group, seed, end, words in results:
        if end == "lost":
            print(f"LOST: {group}, seed {seed}: {words[:300]}")
    print("| arrays of | tried | refused | sound | lost |\n|---|---|---|---|---|")
    counts = Counter((group, end) for group, _, end, _ in results)
    for name in [*names, None]:
        ends = [sum(n for (g, e), n in counts.items() if e == end and name in (g, None))
                for end in ("refused", "sound", "lost")]  # fmt: skip
        print(f"| {name or 'all'} | {sum(ends)} | {ends[0]} | {ends[1]} | {ends[2]} |")
    return 1 if any(end == "lost" for *_, end, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
