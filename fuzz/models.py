"""Fuzz loading of models: python fuzz/models.py [libFuzzer options]."""

import json
import pkgutil
import shutil
import sys
import tempfile
import zlib
from importlib import import_module
from pathlib import Path

import atheris

import palaver.kernels
from palaver.errors import PalaverError

for module in pkgutil.iter_modules(palaver.kernels.__path__):  # compiled code is left alone
    import_module(f"palaver.kernels.{module.name}")

with atheris.instrument_imports(include=["palaver.store", "palaver.models.registry"]):
    import palaver as pv
    from palaver.store.folder import MANIFEST

FOLDER = Path(tempfile.mkdtemp(prefix="palaver-fuzz-"))
WHOLE, COPY = FOLDER / "whole", FOLDER / "copy"


def test_one_input(data: bytes) -> None:
    """Put bytes in place of the manifest, or of an array with a manifest that agrees."""
    if len(data) < 2:
        return
    shutil.rmtree(COPY, ignore_errors=True)
    shutil.copytree(WHOLE, COPY)
    arrays = sorted(COPY.glob("arrays-*/*.npy"))
    if data[0] % 2:
        (COPY / MANIFEST).write_bytes(data[2:])
    else:
        path = arrays[data[1] % len(arrays)]
        path.write_bytes(data[2:])
        manifest = json.loads((COPY / MANIFEST).read_text())
        content = data[2:][data[2:].find(b"\n") + 1 :]
        manifest["arrays"][path.stem] = {"bytes": len(data) - 2, "crc32": zlib.crc32(content)}
        (COPY / MANIFEST).write_text(json.dumps(manifest))
    try:
        model = pv.load(COPY)
        model.top_words(3)
        model.summary()
    except PalaverError:
        pass


if __name__ == "__main__":
    pv.LDA(n_classes=2, n_sweeps=4).fit(pv.sample(5), show_progress=False).save(WHOLE)
    first = FOLDER / "seeds"
    first.mkdir()
    (first / "manifest").write_bytes(b"\x01\x00" + (WHOLE / MANIFEST).read_bytes())
    for number, path in enumerate(sorted(WHOLE.glob("arrays-*/*.npy"))):
        (first / path.stem).write_bytes(bytes([0, number]) + path.read_bytes())
    atheris.Setup([*sys.argv, str(first)], test_one_input)
    atheris.Fuzz()
