"""Fingerprints of data: equal for equal arrays and values, and short enough to record."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

#: A text of so many characters is told by itself, whatever the message is called.
_LONG = 40


def fingerprint_of(*parts: Any) -> str:
    """Return a short hash of arrays and plain values, in the order given."""
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(np.ascontiguousarray(part).reshape(-1).view(np.uint8).data)
        else:
            text = repr(part).encode()
            digest.update(len(text).to_bytes(8, "little") + text)
    return digest.hexdigest()


def short_id(value: Any) -> str:
    """Return twelve characters that tell plain values apart."""
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def message_keys(ids: Iterable[str | None], texts: Iterable[str]) -> NDArray[np.uint64]:
    """Return a number for each message, equal where long texts are, or ids and short texts."""
    told = (
        text if len(text) >= _LONG else f"{name}\0{text}"
        for name, text in zip(ids, texts, strict=True)
    )
    hashes = (
        hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest() for text in told
    )
    return np.frombuffer(b"".join(hashes), "<u8").astype(np.uint64)
