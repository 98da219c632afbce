"""Fuzz the readers: python fuzz/readers.py [libFuzzer options] [corpus folder].

An input names a fixture of the tests, says whether the file or its whole folder is read and in
which format, and has what stands in the file instead. Files of JSON are also changed by value: a
random one becomes null, a number, a list, another part of the file. So no format stops at its
first key.

Findings do not end it: the first at each line of code is printed and its input kept in the current
folder. Every 20,000 inputs, it prints how many of each format could be read.
"""

import hashlib
import json
import random
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import atheris

import palaver
from palaver.errors import PalaverError

SOURCE = Path(palaver.__file__).parent
KERNELS = [  # compiled code is left alone
    ".".join(("palaver", *path.relative_to(SOURCE).with_suffix("").parts))
    for path in SOURCE.rglob("kernels/**/*.py")
]

with atheris.instrument_imports(include=["palaver.corpus"], exclude=KERNELS):
    import palaver as pv
    from palaver.corpus.readers import FORMATS

FOLDER = Path(tempfile.mkdtemp(prefix="palaver-fuzz-"))
FIXTURES = FOLDER / "fixtures"
LONGEST = 20_000  # bytes of a seed
#: What a value of a JSON file is replaced by.
VALUES = (None, True, 0, -1, 1e308, 2**70, "", "x", "\ud83d", "2024-01-01T00:00:00Z", [], {}, [[]],
          [None], [{}], {"": None}, {"id": {}}, ["a", 1])  # fmt: skip
EVERY = 20_000  # inputs, after which counts are printed
read: Counter[str] = Counter()
findings: Counter[str] = Counter()
tried = Counter({"inputs": 0})


def places() -> list[Path]:
    """Copy the fixtures, and a small file of each general format; return all of them."""
    shutil.copytree(Path(__file__).parents[1] / "tests" / "fixtures", FIXTURES)
    for suffix in ("csv", "jsonl", "parquet"):
        (FIXTURES / suffix).mkdir()
        pv.sample(2).write(FIXTURES / suffix / f"sample.{suffix}")
    return sorted(path for path in FIXTURES.rglob("*") if path.is_file())


PLACES = places()
CONTENTS = [path.read_bytes() for path in PLACES]


def test_one_input(data: bytes) -> None:
    """Put bytes in the place of a fixture, and read the file or its folder."""
    if len(data) < 3:
        return
    number = data[0] % len(PLACES)
    path = PLACES[number]
    whole = FIXTURES / path.relative_to(FIXTURES).parts[0]
    name = None if data[2] & 1 else FORMATS[data[2] // 2 % len(FORMATS)].name
    path.write_bytes(data[3:])
    try:
        corpus = pv.read(whole if data[1] & 1 else path, name, max_bytes=1 << 24)
        assert all(parent < row for row, parent in enumerate(corpus.parents))
        read[corpus.format] += 1
    except PalaverError:
        pass
    except Exception as error:
        keep(error, path, data)
    finally:
        path.write_bytes(CONTENTS[number])
        tried["inputs"] += 1
        if tried["inputs"] % EVERY == 0:
            report()


def keep(error: Exception, path: Path, data: bytes) -> None:
    """Print a finding and keep its input, the first time that a line of code fails."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{type(error).__name__} at {last.filename}:{last.lineno}"
    findings[place] += 1
    if findings[place] == 1:
        name = f"finding-{hashlib.sha256(data).hexdigest()[:12]}"
        Path(name).write_bytes(data)
        print(f"FINDING: {path.name}: {place}; input kept as {name}", file=sys.stderr)
        traceback.print_exception(error)


def changed(data: bytes, most: int, seed: int) -> bytes:
    """Return an input that differs in a value of its JSON, or as libFuzzer changes bytes."""
    chosen = random.Random(seed)
    lines = data[3:].split(b"\n") if data[3:].count(b"\n{") else [data[3:]]
    number = chosen.randrange(len(lines))
    try:
        value = json.loads(lines[number])
    except (ValueError, RecursionError):
        value = None
    holders = [node for node in nodes(value) if node]
    if not holders or chosen.random() < 0.4:
        return bytes(atheris.Mutate(data, most))
    for _ in range(chosen.randint(1, 3)):
        holder = chosen.choice(holders)
        keys = list(holder) if isinstance(holder, dict) else range(len(holder))
        other = chosen.choice(holders)
        copied = json.loads(json.dumps(other))
        holder[chosen.choice(keys)] = chosen.choice((*VALUES, copied))
    lines[number] = json.dumps(value).encode()
    return (data[:3] + b"\n".join(lines))[:most]


def nodes(value: Any) -> list[Any]:
    """Return every list and object of a JSON value."""
    found, waiting = [], [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict | list):
            found.append(node)
            waiting.extend(node.values() if isinstance(node, dict) else node)
    return found


def seeds(folder: Path) -> None:
    """Write the fixtures as first inputs: file and folder, by detection and in their format."""
    names = [known.name for known in FORMATS]
    for number, (path, data) in enumerate(zip(PLACES, CONTENTS, strict=True)):
        kind = path.relative_to(FIXTURES).parts[0]
        own = [2 * names.index(kind)] if kind in names else []
        for where in (0, 1):
            for how in (1, *own):
                seed = bytes([number, where, how]) + data[:LONGEST]
                (folder / f"{number}-{where}-{how}").write_bytes(seed)


def report() -> None:
    """Print how often a file was read in each format, those never read, and the findings."""
    counts = ", ".join(f"{name} {count:,}" for name, count in read.most_common())
    never = ", ".join(sorted({known.name for known in FORMATS} - set(read))) or "none"
    print(f"{tried['inputs']:,} inputs; read: {counts}; never: {never}; findings: {len(findings)}",
          file=sys.stderr)  # fmt: skip


if __name__ == "__main__":
    first = FOLDER / "seeds"
    first.mkdir()
    seeds(first)
    atheris.Setup([*sys.argv, str(first)], test_one_input, custom_mutator=changed)
    atheris.Fuzz()
