"""What reaches the terminal: texts without control characters, in any encoding, into any pipe."""

from __future__ import annotations

import codecs
import errno
import os
import re
import sys
from contextlib import suppress

# escape sequences begin with ESC or with one of the C1 controls; texts hold line ends and tabs
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BEYOND_JSON = re.compile(r"[\x7f-\x9f]")  # controls that JSON does not escape
_INSTEAD = {
    "…": "...", "–": "-", "—": "-", "−": "-", "•": "*", "·": "*", "×": "x", "“": '"', "”": '"',
    "„": '"', "‘": "'", "’": "'", "→": "->", "←": "<-", "↑": "^", "↓": "v", "▲": "^", "▼": "v",
    "≥": ">=", "≤": "<=", "±": "+-", "█": "#", "▏": "|",
}  # fmt: skip


def visible(text: str) -> str:
    r"""Return a text of the same length in which control characters show as pictures of them.

    Examples
    --------
    >>> visible("a\x1b[2Jb")
    'a␛[2Jb'
    """
    return _CONTROLS.sub(_picture, text)


def _picture(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "�"


def escaped_json(text: str) -> str:
    """Return JSON in which the last control characters are escaped too."""
    return _BEYOND_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def is_unicode() -> bool:
    """Whether standard output takes every character."""
    return (getattr(sys.stdout, "encoding", None) or "utf-8").lower().replace("-", "") == "utf8"


def prepare_streams() -> None:
    """Let characters that a terminal lacks be replaced, instead of ending the program."""
    codecs.register_error("palaver", _replaced)
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError, OSError):
            stream.reconfigure(errors="palaver")  # type: ignore[union-attr]


def _replaced(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    text = "".join(_INSTEAD.get(letter, "?") for letter in error.object[error.start : error.end])
    return text, error.end


def is_broken_pipe(error: BaseException | None) -> bool:
    """Whether an error, or what it came from, is that nobody reads our output any more."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in (errno.EPIPE, errno.ESHUTDOWN):
            return True
        error = error.__cause__ or error.__context__
    return False


def give_up_output() -> None:
    """Send what is still in buffers to nowhere, or the interpreter would complain at its end."""
    with suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
