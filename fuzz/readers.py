"""Fuzz the readers: python fuzz/readers.py [libFuzzer options] [corpus folder]."""

import sys
import tempfile
from pathlib import Path

import atheris

import palaver
from palaver.errors import PalaverError

SOURCE = Path(palaver.__file__).parent
KERNELS = [  # compiled code is left alone
    ".".join(("palaver", *folder.relative_to(SOURCE).parts)) for folder in SOURCE.rglob("kernels")
]

with atheris.instrument_imports(include=["palaver.corpus"], exclude=KERNELS):
    import palaver as pv
    from palaver.corpus.readers import FORMATS

FOLDER = Path(tempfile.mkdtemp(prefix="palaver-fuzz-"))
NAMES = ("x.jsonl", "x.json", "x.csv", "x.txt", "x.vtt", "x.mbox", "x.cha", "x.zip", "x.gz", "x")
FORMAT_NAMES = (None, *(format.name for format in FORMATS))


def test_one_input(data: bytes) -> None:
    """Read bytes under one of the names, in one of the formats or by detection."""
    if len(data) < 2:
        return
    path = FOLDER / NAMES[data[0] % len(NAMES)]
    path.write_bytes(data[2:])
    try:
        corpus = pv.read(path, FORMAT_NAMES[data[1] % len(FORMAT_NAMES)], max_bytes=1 << 24)
        assert all(parent < row for row, parent in enumerate(corpus.parents))
    except PalaverError:
        pass
    finally:
        path.unlink()


def seeds(folder: Path) -> None:
    """Write the fixtures of the tests as first inputs."""
    fixtures = Path(__file__).parents[1] / "tests" / "fixtures"
    for number, path in enumerate(p for p in fixtures.rglob("*") if p.is_file()):
        for name in range(len(NAMES)):
            if path.suffix == Path(NAMES[name]).suffix:
                seed = bytes([name, 0]) + path.read_bytes()[:20_000]
                (folder / str(number)).write_bytes(seed)


if __name__ == "__main__":
    first = FOLDER / "seeds"
    first.mkdir()
    seeds(first)
    atheris.Setup([*sys.argv, str(first)], test_one_input)
    atheris.Fuzz()
