"""How time and memory grow with each size of the input: python -m benchmarks.growth.

Each line doubles one size (messages, words of a message, the length of one thread, replies to one
message, people, distinct words, columns, classes, topics) while the others stay as they are, and
prints by which power of it processor time and peak memory of a verb grow: 1 is linear. What a verb
takes at the smallest size, without imports and compilation, is subtracted where it is a fixed cost:
the power is that of the differences. Powers above 1.1 are marked.

Texts are synthetic: words drawn by Zipf's law, made anew for each size. ``--only`` takes letters of
a size or verb, ``--largest`` how often the smallest size is doubled at most: 3 takes minutes, 10
reaches a million messages. Every case is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

#: A power above this is marked.
MOST = 1.1
#: Seconds that the largest case of a line may take before its doubling ends.
LONGEST = 60.0


@dataclass(frozen=True)
class Sizes:
    """The sizes of a corpus, and of what is fitted to it."""

    messages: int = 2_000
    words: int = 12
    thread: int = 5
    replies: int = 1
    people: int = 200
    types: int = 3_000
    columns: int = 2
    classes: int = 5
    topics: int = 0


#: First value of each size where it is doubled; others are those of :class:`Sizes`.
FIRST = Sizes(
    messages=1_000, words=10, thread=250, replies=250, people=250, types=2_000, columns=8,
    classes=5, topics=5,
)  # fmt: skip
#: Sizes that grow the corpus itself: messages grow with a thread and with replies.
LONGER = ("thread", "replies")
MODELS = ("acts", "m4", "block-hmm", "lda", "infinite-hmm", "gaussian-mixture", "markov-m3",
          "online-lda")  # fmt: skip
VERBS = ("check", *(f"fit {name}" for name in MODELS), "report", "reconstruct", "summarize",
         "people", "annotate")  # fmt: skip
#: Which verbs a size is tried with; all, unless named here.
OF_SIZE = {
    "classes": ("fit acts", "fit m4", "fit block-hmm", "fit lda", "fit gaussian-mixture",
                "fit online-lda", "report"),
    "topics": ("fit m4",),
    "columns": ("check", "fit acts", "report"),
    "people": ("check", "people", "reconstruct", "report"),
}  # fmt: skip


def write(path: Path, sizes: Sizes) -> None:
    """Write a corpus of given sizes as JSON lines."""
    rng = np.random.default_rng(0)
    shares = 1 / np.arange(1, sizes.types + 1)
    drawn = rng.choice(sizes.types, (sizes.messages, sizes.words), p=shares / shares.sum())
    people = rng.integers(sizes.people, size=sizes.messages)
    with path.open("w", encoding="utf-8") as stream:
        for i in range(sizes.messages):
            place = i % sizes.thread
            # a chain of replies, or as many as wanted to the first message of a thread
            parent = None if not place else i - place if sizes.replies > 1 else i - 1
            line = {
                "id": f"m{i}", "conversation": f"c{i // sizes.thread}",
                "reply_to": None if parent is None else f"m{parent}",
                "speaker": f"p{people[i]}", "time": 1_000_000_000 + 60 * i,
                "text": " ".join(f"w{word}" for word in drawn[i]) + ".",
            }  # fmt: skip
            line |= {f"k{c}": f"v{(i + c) % 7}" for c in range(sizes.columns)}
            stream.write(json.dumps(line) + "\n")


_CHILD = """
import json, resource, sys, time, tempfile, warnings
from pathlib import Path
warnings.simplefilter("ignore")
import palaver as pv
from palaver.corpus.describe import describe
from palaver.models import model_class
verb, small, file, classes, topics = sys.argv[1:6]
classes, topics = int(classes), int(topics)
def model(name):
    kind = model_class(name)
    wanted = {"n_sweeps": 4, "n_samples": 2, "start_sweeps": 2, "n_chains": 1, "n_jobs": 1,
              **kind.sized(classes)}
    known = {key: value for key, value in wanted.items() if key in kind.limits}
    if topics and name == "m4":
        known["n_topics"] = topics
    return kind(**known, random_state=0)
fitted = None
def prepared(path):
    return pv.read(path)
def work(path, corpus):
    if verb == "check":
        return describe(pv.read(path))
    if verb.startswith("fit "):
        return model(verb[4:]).fit(corpus, show_progress=False)
    if verb == "report":
        return pv.report(fitted, corpus, Path(tempfile.mkdtemp()) / "x.html", predict_heldout=False)
    if verb == "annotate":
        return fitted.annotate(corpus)
    if verb == "reconstruct":
        return pv.ThreadRebuilder.default().predict(corpus)
    if verb == "summarize":
        return pv.summarize(corpus)
    return pv.people(corpus)
few = prepared(small)
if verb in ("people", "summarize"):                    # which have another solver for many items
    pv.grasshopper([[1, 1], [1, 1]], top=1, solver="iterative")
if verb in ("report", "annotate"):
    fitted = model("lda").fit(few, show_progress=False)
work(small, few)                                       # imports, compilation
corpus = prepared(file)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = peak(), time.process_time()
work(file, corpus)
print(json.dumps([time.process_time() - start, peak() - before]))
"""


def measure(verb: str, sizes: Sizes, folder: Path) -> tuple[float, float]:
    """Return processor seconds and megabytes added by a verb, in a process of its own."""
    small, file = folder / "small.jsonl", folder / "file.jsonl"
    write(small, replace(Sizes(), messages=60, classes=sizes.classes))
    write(file, sizes)
    command = [sys.executable, "-c", _CHILD, verb, str(small), str(file), str(sizes.classes),
               str(sizes.topics)]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


def power(sizes: list[int], values: list[float]) -> float:
    """Return the power of growth between the last two differences, or the last two values.

    Differences, because they are without fixed costs; values, where there are only two.
    """
    if len(values) > 2:
        steps = np.maximum(np.diff(values), 1e-9)
        return float(np.log(steps[-1] / steps[-2]) / np.log(sizes[-1] / sizes[-2]))
    return float(np.log(max(values[-1], 1e-9) / max(values[-2], 1e-9)) / np.log(2))


def line(size: str, verb: str, largest: int, folder: Path) -> str:
    """Double a size with a verb; return a line of the table."""
    tried: list[int] = []
    seconds: list[float] = []
    megabytes: list[float] = []
    for step in range(largest + 1):
        value = getattr(FIRST, size) << step
        sizes = replace(Sizes(), **{size: value})
        if size in LONGER:
            sizes = replace(sizes, messages=2 * value, thread=value)
        if size == "columns":
            sizes = replace(sizes, messages=500)
        took, added = measure(verb, sizes, folder)
        tried.append(value)
        seconds.append(took)
        megabytes.append(added)
        if took > LONGEST:
            break
    powers = power(tried, seconds), power(tried, megabytes)
    # below half a second or some megabytes, the power is that of noise
    shown = [
        f"{p:.2f}" if enough else "–"
        for p, enough in zip(powers, (seconds[-1] > 0.5, megabytes[-1] > 20), strict=True)
    ]
    mark = "above" if any(s != "–" and p > MOST for p, s in zip(powers, shown, strict=True)) else ""
    cells = [size, verb, f"{tried[0]:,} to {tried[-1]:,}", f"{seconds[0]:.2f} to {seconds[-1]:.2f}",
             shown[0], f"{megabytes[-1]:.0f}", shown[1], mark]  # fmt: skip
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--largest", type=int, default=4, help="doublings at most (default 4)")
    parser.add_argument("--only", default="", help="sizes or verbs with these letters")
    options = parser.parse_args()
    print("| size | verb | values | processor seconds | power | MB added | power | |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for size in Sizes.__dataclass_fields__:
            for verb in OF_SIZE.get(size, VERBS):
                if options.only in f"{size} {verb}":
                    print(line(size, verb, options.largest, Path(place)), flush=True)


if __name__ == "__main__":
    main()
