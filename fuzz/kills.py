"""Kill writing verbs at any file they touch: python fuzz/kills.py [--kills N].

Each case restores a folder, runs a verb that kills itself (SIGKILL) at its k-th file-system event
there, and looks at what is left: what was there before or what the verb writes, whole. Fits are
then resumed, or begun again, and must end in the same bytes as one that was never stopped; every
fifth other case runs the verb again, after which nothing temporary may be left.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

#: What verbs import: loaded once, so that children are forked instead of started. Nothing of it may
#: be used here: libraries that have started threads do not survive a fork.
_MODULES = ("numba", "polars", "scipy.sparse", "sklearn", "palaver.cli.fit", "palaver.page",
            "palaver.models.acts", "palaver.models.m4", "palaver.models.lda",
            "palaver.explore.workbench", "palaver.explore.serve")  # fmt: skip
SECONDS = 1200  # that a verb may take on a busy machine


@dataclass(frozen=True)
class Done:
    """How a verb ended: its exit code, -9 if it was killed, and what it said."""

    returncode: int
    stderr: str


def palaver(place: Path, arguments: list[str], after: int) -> Done:
    """Run a verb that kills itself at an event; -1 counts them instead."""
    for name in _MODULES:
        importlib.import_module(name)
    with tempfile.TemporaryFile() as said:
        pid = os.fork()
        if not pid:
            _be_verb(str(place), arguments, after, said.fileno())
        status = _wait(pid)
        said.seek(0)
        return Done(status, said.read().decode("utf-8", "replace"))


def _wait(pid: int) -> int:
    """Return the exit code of a child, which is killed if it does not end."""
    begin = time.monotonic()
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() - begin > SECONDS:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return -1
        time.sleep(0.02)


def _be_verb(place: str, arguments: list[str], after: int, said: int) -> None:
    """Become a verb, in a forked child; never returns."""
    code, seen = 1, [0]

    def hook(event: str, values: tuple[Any, ...]) -> None:
        if event != "open" and not event.startswith(("os.", "shutil.")):
            return
        if any(isinstance(v, str | os.PathLike) and str(v).startswith(place) for v in values):
            seen[0] += 1
            if seen[0] == after:
                os.kill(os.getpid(), signal.SIGKILL)

    try:
        nothing = os.open(os.devnull, os.O_RDWR)
        for number, target in ((0, nothing), (1, nothing), (2, said)):
            os.dup2(target, number)
        sys.argv = ["palaver", *arguments]
        from palaver.cli import main
        from palaver.explore import serve

        serve.serve = lambda *args, **options: None  # type: ignore[assignment]
        sys.addaudithook(hook)
        main()
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        if after < 0:
            print("events", seen[0], file=sys.stderr, flush=True)
        os._exit(code)


def content_of(folder: Path) -> dict[str, Any]:
    """Return what a folder holds, without locks, litter and what differs from run to run."""
    found: dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if not path.is_file() or path.name == "lock" or ".palaver-" in name:
            continue
        if path.parent.name == "explore":  # indexes have names of their own
            continue
        if path.name == "manifest.json":
            manifest = json.loads(path.read_text())
            arrays = {key: np.load(path.parent / manifest["generation"] / f"{key}.npy").tobytes()
                      for key in manifest["arrays"]}  # fmt: skip
            found[name] = (json.dumps(manifest["content"], sort_keys=True), arrays)
        elif path.name == "curation.json":
            found[name] = json.dumps(timeless(json.loads(path.read_text())))
        elif "arrays-" not in name and path.name != "manifest.previous.json":
            found[name] = path.read_bytes()
    return found


def timeless(value: Any) -> Any:
    """Return a JSON value without the times at which something was decided."""
    if isinstance(value, list):
        return [timeless(item) for item in value]
    if isinstance(value, dict):
        return {key: timeless(item) for key, item in value.items() if key != "at"}
    return value


class Case:
    """A verb, the folder it writes to before it runs, and how it is finished after a kill."""

    def __init__(
        self,
        name: str,
        root: Path,
        before: list[list[str]],
        verb: list[str],
        finish: Callable[[Path], list[str]] | None = None,
    ) -> None:
        self.name, self.verb, self.finish = name, verb, finish
        self.old, self.place = root / f"{name}-old", root / f"{name}-now"
        self.place.mkdir(parents=True)
        for arguments in before:
            self.run(arguments)
        shutil.copytree(self.place, self.old)
        self.was = content_of(self.place)
        done = self.run(verb)
        self.n_events = int(done.stderr.rpartition("events")[2])
        self.will_be = content_of(self.place)

    def run(self, arguments: list[str], after: int = -1) -> Done:
        """Run a verb in the folder, where ``@`` stands for it."""
        words = [argument.replace("@", str(self.place)) for argument in arguments]
        done = palaver(self.place, words, after)
        if after < 0 and done.returncode:
            raise RuntimeError(f"{self.name}: {done.stderr[-600:]}")
        return done

    def kill(self, after: int, again: bool) -> str:
        """Run a case; return how it ended: held, or what was wrong."""
        shutil.rmtree(self.place)
        shutil.copytree(self.old, self.place)
        done = self.run(self.verb, after)
        if done.returncode != -9:
            return f"was not killed: {done.stderr[-200:]}"
        if self.finish is None and content_of(self.place) not in (self.was, self.will_be):
            return "left something else than the old or the new"
        if self.finish is not None or again:
            last = self.verb if self.finish is None else self.finish(self.place)
            try:
                self.run(last)
            except RuntimeError as error:
                return f"could not be run again: {error}"
            if content_of(self.place) != self.will_be:
                return "did not end in the same bytes"
            if list(self.place.rglob(".palaver-*")):
                return "left temporary files"
        return "held"


def resumed(place: Path, verb: list[str]) -> list[str]:
    """Return how a fit continues: resumed if it has begun, or else the same command."""
    begun = (place / "run" / "settings" / "manifest.json").exists()
    return ["fit", "--resume", "@/run", "--jobs", "1"] if begun else verb


def _in_child(work: Callable[[Any], Any]) -> None:
    """Use Palaver in a forked child, so that no threads are started here."""
    pid = os.fork()
    if not pid:
        import palaver

        work(palaver)
        os._exit(0)
    os.waitpid(pid, 0)


def cases(root: Path, only: str) -> list[Case]:
    """Return the writing verbs whose name holds some letters, as cases."""
    old, new = str(root / "old.jsonl"), str(root / "new.jsonl")
    _in_child(lambda pv: (pv.sample(8).write(old), pv.sample(12, random_state=2).write(new)))
    run = str(root / "run")
    base = ["fit", "lda", new, "--classes", "2", "--sweeps", "3", "--seed", "1", "--jobs", "1"]
    palaver(root, [*base, "--out", run], -1)
    verbs = {
        f"convert to {suffix or 'a ConvoKit folder'}": ["convert", "{}", f"@/out{suffix}"]
        for suffix in (".jsonl", ".csv", ".parquet", "")
    } | {
        "annotate": ["annotate", run, "{}", "@/out.jsonl"],
        "shares": ["shares", run, "{}", "--out", "@/out.csv"],
        "report": ["report", run, "{}", "--out", "@/out.html"],
        "reconstruct": ["reconstruct", "{}", "--out", "@/out.jsonl"],
        "label": ["label", "{}", "--out", "@/out.csv", "--n", "5", "--labels", "none"],
        "effects": [
            "effects",
            run,
            "{}",
            "--formula",
            "~ weekday",
            "--draws",
            "2",
            "--out",
            "@/out.csv",
        ],
    }
    found = []
    for name, verb in verbs.items():
        before, after = ([part.format(file) for part in verb] for file in (old, new))
        if only in name:
            found.append(Case(name, root, [before], after))
    own = [*base, "--out", "@/run"]
    for name, verb in {
        "name": ["name", "@/run", "A", "asks"],
        "explore": ["explore", "@/run", "--no-open"],
    }.items():
        if only in name:
            found.append(Case(name, root, [own], verb))
    whole = ["run", new, "--seed", "1", "--jobs", "1", "--out", "@/run"]
    if only in "run":
        found.append(Case("run", root, [], whole, lambda place: whole))
    for model in ("lda", "m4", "block-hmm", "infinite-hmm"):
        verb = ["fit", model, new, "--sweeps", "6", "--seed", "1", "--jobs", "1",
                "--checkpoint-seconds", "0", "--out", "@/run"]  # fmt: skip
        if only in f"fit {model}":
            found.append(Case(f"fit {model}", root, [], verb,
                              lambda place, verb=verb: resumed(place, verb)))  # fmt: skip
    return found


def main() -> int:
    """Kill the verbs in turn and print a table of how that ended."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="verbs whose name holds this")
    options = parser.parse_args()
    chosen = random.Random(options.seed)
    ends: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as place:
        all_cases = cases(Path(place).resolve(), options.only)
        with suppress(KeyboardInterrupt):  # Ctrl-C: the table of what was done
            for number in range(options.kills):
                case = all_cases[number % len(all_cases)]
                after = chosen.randint(1, case.n_events)
                end = case.kill(after, again=number // len(all_cases) % 5 == 0)
                ends[case.name, end] += 1
                if end != "held":
                    print(f"LOST: {case.name}, event {after} of {case.n_events}: {end}", flush=True)
    print("| verb | events | killed | held | lost |\n|---|---|---|---|---|")
    for case in all_cases:
        killed = sum(n for (name, _), n in ends.items() if name == case.name)
        held = ends[case.name, "held"]
        print(f"| {case.name} | {case.n_events} | {killed} | {held} | {killed - held} |")
    killed, held = sum(ends.values()), sum(n for (_, end), n in ends.items() if end == "held")
    print(f"| all | | {killed} | {held} | {killed - held} |")
    return int(held < killed)


if __name__ == "__main__":
    sys.exit(main())
