"""How time and memory grow with each size of the input: python -m benchmarks.growth.

Each line doubles one size twice (messages to a million, words of a message, the length of one
thread, replies to one message, people, distinct words, columns, classes, topics), while the others
stay as they are, and prints by which power of it processor time and peak memory of a verb grow: 1
is linear. Powers above 1.1 are marked. Imports and compilation
are not measured; other fixed costs make a power smaller, the less the larger a case.

Texts are synthetic: words drawn by Zipf's law, made anew for each size. ``--only`` takes letters of
a size or verb. Every case is a process of its own.
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
#: By what a size is multiplied.
STEP = 4
#: Seconds and megabytes below which differences are noise.
LEAST_SECONDS, LEAST_MEGABYTES = 0.2, 40.0


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


#: First value of each size where it grows, and the corpus in which it does, if not that of
#: :class:`Sizes`: large enough for time to be more than noise.
FIRST = Sizes(
    messages=256_000, words=240, thread=64_000, replies=64_000, people=32_000, types=16_000,
    columns=200, classes=40, topics=40,
)  # fmt: skip
BEGIN = {"people": Sizes(messages=256_000), "types": Sizes(messages=64_000, words=40),
         "classes": Sizes(messages=64_000), "topics": Sizes(messages=64_000),
         "words": Sizes(messages=8_000), "columns": Sizes(messages=8_000)}  # fmt: skip
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
    "types": ("check", *(f"fit {name}" for name in MODELS), "report", "summarize"),
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
import ctypes, gc, json, sys, time, tempfile, warnings
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
status = lambda name: next(int(line.split()[1]) / 1024 for line in open("/proc/self/status")
                           if line.startswith(name))
gc.collect()
ctypes.CDLL("libc.so.6").malloc_trim(0)                # what was freed does not hide what is added
time.sleep(2)                                          # polars gives memory back in the background
Path("/proc/self/clear_refs").write_text("5")          # the peak begins anew (Linux)
before, start = status("VmRSS"), time.process_time()
work(file, corpus)
print(json.dumps([time.process_time() - start, status("VmHWM") - before]))
"""


def written(folder: Path, sizes: Sizes) -> Path:
    """Return the file of a corpus, written when it is first asked for."""
    path = folder / f"{'-'.join(str(value) for value in vars(sizes).values())}.jsonl"
    if not path.exists():
        write(path, sizes)
    return path


def measure(verb: str, sizes: Sizes, folder: Path) -> tuple[float, float]:
    """Return processor seconds and megabytes added by a verb, in a process of its own."""
    small, file = (
        written(folder, replace(one, classes=0, topics=0))
        for one in (replace(Sizes(), messages=60), sizes)
    )
    command = [sys.executable, "-c", _CHILD, verb, str(small), str(file), str(sizes.classes),
               str(sizes.topics)]  # fmt: skip
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seconds, megabytes = json.loads(done.stdout)
    return seconds, megabytes


def line(size: str, verb: str, folder: Path) -> str:
    """Let a size grow with a verb; return a line of the table."""
    tried = [getattr(FIRST, size), getattr(FIRST, size) * STEP]
    found = [measure(verb, sizes_of(size, value), folder) for value in tried]
    columns, powers = [], []
    for values, least, form in zip(zip(*found, strict=True), (LEAST_SECONDS, LEAST_MEGABYTES),
                                   (".2f", ".0f"), strict=True):  # fmt: skip
        power = np.log(values[1] / values[0]) / np.log(STEP) if min(values) >= least else None
        powers.append(power)
        columns += [f"{values[0]:{form}} to {values[1]:{form}}",
                    "–" if power is None else f"{power:.2f}"]  # fmt: skip
    mark = "above" if any(power is not None and power > MOST for power in powers) else ""
    return f"| {' | '.join([size, verb, f'{tried[0]:,} to {tried[1]:,}', *columns, mark])} |"


def sizes_of(size: str, value: int) -> Sizes:
    """Return the corpus of a case; a thread, and the replies to a message, are half of it."""
    sizes = replace(BEGIN.get(size, Sizes()), **{size: value})
    return replace(sizes, messages=2 * value, thread=value) if size in LONGER else sizes


def main() -> None:
    """Print the table, line by line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--only", default="", help="sizes or verbs with these letters")
    options = parser.parse_args()
    print("| size | verb | from, to | processor seconds | power | MB added | power | |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as place:
        for size in Sizes.__dataclass_fields__:
            for verb in OF_SIZE.get(size, VERBS):
                if options.only in f"{size} {verb}":
                    print(line(size, verb, Path(place)), flush=True)


if __name__ == "__main__":
    main()
