"""Fuzz loading of models: python fuzz/models.py [libFuzzer options]."""

import json
import shutil
import sys
import tempfile
import zlib
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

with atheris.instrument_imports(
    include=["palaver.store", "palaver.models", "palaver.encoding"], exclude=KERNELS
):
    import palaver as pv
    from palaver.models.registry import MODELS, TAGGERS, model_class, tagger_class
    from palaver.store.folder import MANIFEST

    CLASSES = [model_class(name) for name in MODELS] + [tagger_class(name) for name in TAGGERS]

FOLDER = Path(tempfile.mkdtemp(prefix="palaver-fuzz-"))
COPY = FOLDER / "copy"
WRONG = (None, 0, -1, 2, 10**30, 1.5, "", "x", [], {}, [1], {"a": 1}, True, "../../x", "\ud800")


def test_one_input(data: bytes) -> None:
    """Tamper with one of the models: its manifest, a value in it, or an array that it admits."""
    if len(data) < 2:
        return
    kind, way, rest = CLASSES[data[0] % len(CLASSES)], data[1], data[2:]
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(FOLDER / kind.name, COPY)
    manifest = json.loads((COPY / MANIFEST).read_text())
    if way % 3 == 0:
        (COPY / MANIFEST).write_bytes(rest)
    elif way % 3 == 1:
        change_values(manifest, rest)
        (COPY / MANIFEST).write_text(json.dumps(manifest))
    else:
        arrays = sorted(COPY.glob("arrays-*/*.npy"))
        path = arrays[way // 3 % len(arrays)]
        path.write_bytes(rest)
        content = rest[rest.find(b"\n") + 1 :]
        manifest["arrays"][path.stem] = {"bytes": len(rest), "crc32": zlib.crc32(content)}
        (COPY / MANIFEST).write_text(json.dumps(manifest))
    try:
        model = pv.load(COPY)
        model.summary()
        if kind.name in MODELS:
            model.top_words(3)
    except PalaverError:
        pass


def change_values(place: Any, steps: bytes) -> None:
    """Walk down a manifest, a byte a step, and put something else where the walk ends."""
    for step, wrong in zip(steps[::2], steps[1::2], strict=False):
        name = sorted(place)[step % len(place)] if isinstance(place, dict) else step % len(place)
        if wrong % 2 and isinstance(place[name], dict | list) and place[name]:
            place = place[name]
            continue
        value = (WRONG * 2)[wrong // 2 % (2 * len(WRONG))]
        if wrong // 2 >= 2 * len(WRONG) and isinstance(place, dict):
            del place[name]
        else:
            place[name] = value
        return


def seeds(folder: Path) -> None:
    """Save a small model of each kind, and write what changes nothing as first inputs."""
    corpus = pv.sample(5)
    for number, kind in enumerate(CLASSES):
        whole = FOLDER / kind.name
        if kind.name in MODELS:
            options = {"n_sweeps": 4, **kind.sized(2)}
            kind(**options).fit(corpus, show_progress=False).save(whole)
        else:
            kind().fit(corpus, show_progress=False).save(whole)
        (folder / f"{kind.name}-manifest").write_bytes(
            bytes([number, 0]) + (whole / MANIFEST).read_bytes()
        )
        (folder / f"{kind.name}-value").write_bytes(bytes([number, 1]))
        for place, path in enumerate(sorted(whole.glob("arrays-*/*.npy"))[:85]):
            start = bytes([number, 3 * place + 2])
            (folder / f"{kind.name}-{path.stem}").write_bytes(start + path.read_bytes())


if __name__ == "__main__":
    first = FOLDER / "seeds"
    first.mkdir()
    seeds(first)
    # arrays that change nothing teach the fuzzer nothing either, but are what it must begin from
    kept = ["-keep_seed=1", "-len_control=0"]
    atheris.Setup([sys.argv[0], *kept, *sys.argv[1:], str(first)], test_one_input)
    atheris.Fuzz()
