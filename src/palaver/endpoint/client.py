"""A client of OpenAI-compatible endpoints that trusts neither addresses nor answers."""

from __future__ import annotations

import json
import os
import queue
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPMessage
from ipaddress import ip_address
from typing import IO, Any
from urllib.error import HTTPError, URLError
from urllib.parse import SplitResult, urlsplit, urlunsplit
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from palaver.errors import EndpointError, ParameterError

#: The only place that a key is read from.
KEY_VARIABLE = "PALAVER_API_KEY"
_PATH = "/chat/completions"
_LARGEST = 1_000_000  # bytes of an answer
_PIECE = 65_536
_SHOWN = 200  # characters of an error that a server reports
_LATER = (429, 500, 502, 503, 504)
_PORTS = {"http": 80, "https": 443}

Messages = Sequence[Mapping[str, str]]


def key_from_environment() -> str:
    """Return the key of the environment variable ``PALAVER_API_KEY``; "" if there is none."""
    key = os.environ.get(KEY_VARIABLE, "").strip()
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ParameterError(f"{KEY_VARIABLE}: a key has no blanks and no special characters")
    return key


@dataclass(frozen=True)
class Endpoint:
    """An endpoint that completes chats, as Ollama, llama.cpp, vLLM and many services have.

    Parameters
    ----------
    url : str
        For example ``http://localhost:11434/v1``; ``/chat/completions`` is added.
    model : str
        What the endpoint calls the model.
    key : str
        Sent as a bearer token; never shown, never written. A key is sent by https, or to this
        machine.
    seconds : float
        How long one answer may take in all.
    tries : int
        How often to ask if the endpoint is busy.
    pause : float
        Seconds before asking again; twice as long each time.
    """

    url: str
    model: str
    key: str = field(default="", repr=False)
    seconds: float = 120.0
    tries: int = 3
    pause: float = 1.0

    def __post_init__(self) -> None:
        parts = _checked(self.url)
        path = parts.path.rstrip("/")
        whole = path if path.endswith(_PATH) else path + _PATH
        object.__setattr__(self, "url", urlunsplit(parts._replace(path=whole)))
        if not self.model.strip() or not self.model.isprintable():
            raise ParameterError("say which model to ask")
        if self.key and parts.scheme == "http" and not is_local(parts.hostname or ""):
            raise ParameterError(
                f"{self.url}: a key is not sent over plain http to another machine; use https, or "
                f"unset {KEY_VARIABLE}"
            )

    @property
    def host(self) -> str:
        """Name of the machine, with its port if that is unusual."""
        return urlsplit(self.url).netloc

    def complete(self, messages: Messages) -> str:
        """Return the answer to a chat.

        Raises
        ------
        EndpointError
            There is no usable answer. The key is in no message.
        """
        content = {"model": self.model, "messages": list(map(dict, messages)), "temperature": 0,
                   "stream": False}  # fmt: skip
        body = json.dumps(content).encode()
        for attempt in range(self.tries):
            try:
                return self._without_key(_content(self._bounded(body)))
            except _Busy as error:
                if attempt + 1 == self.tries:
                    raise self._error(f"{error}, {self.tries} times") from None
                time.sleep(self.pause * 2**attempt)
            except (HTTPException, OSError, ValueError) as error:
                raise self._error(_reason(error)) from None
        raise self._error("was not asked")

    def _bounded(self, body: bytes) -> bytes:
        """Post in a thread: no server, however slow its drops, takes more than its time."""
        found: queue.SimpleQueue[bytes | Exception] = queue.SimpleQueue()
        end = time.monotonic() + self.seconds

        def work() -> None:
            try:
                found.put(self._post(body, end))
            except Exception as error:  # handed to the thread that waits
                found.put(error)

        threading.Thread(target=work, daemon=True, name="palaver-endpoint").start()
        try:
            result = found.get(timeout=self.seconds + 0.5)
        except queue.Empty:
            raise TimeoutError from None
        if isinstance(result, Exception):
            raise result
        return result

    def _post(self, body: bytes, end: float) -> bytes:
        headers = {"Content-Type": "application/json", "Accept": "application/json",
                   "User-Agent": "palaver"}  # fmt: skip
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        handlers: list[Any] = [_SameHost()]
        if is_local(urlsplit(self.url).hostname or ""):
            handlers.append(ProxyHandler({}))  # what stays on this machine meets no proxy
        request = Request(self.url, body, headers, method="POST")
        try:
            with build_opener(*handlers).open(request, timeout=self.seconds) as response:
                return _read(response, end)
        except HTTPError as error:
            with error:
                reason = _line(self._without_key(str(error.reason)))
                if error.code in _LATER:
                    raise _Busy(f"says {error.code} {reason}") from None
                told = _line(self._without_key(_told(error, end)))  # cut only after that
                raise ValueError(
                    f"says {error.code} {reason}{f' ({told})' if told else ''}"
                ) from None

    def _without_key(self, text: str) -> str:
        return text.replace(self.key, "[key]") if self.key else text

    def _error(self, why: str) -> EndpointError:
        return EndpointError(f"{self.host}: {self._without_key(why)}; nothing was changed")


class _Busy(Exception):
    """The endpoint may answer later."""


class _SameHost(HTTPRedirectHandler):
    """Follow redirects on the same host only, with everything that was posted."""

    max_redirections = 3

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request:
        if _origin(urlsplit(newurl)) != _origin(urlsplit(req.full_url)):
            place = urlsplit(newurl).netloc
            fp.close()
            raise ValueError(
                f"redirects to another place ({place}), which was refused; if you trust it, give "
                "its address to --ask"
            )
        return Request(newurl, req.data, dict(req.header_items()), method="POST")


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _checked(url: str) -> SplitResult:
    """Return the parts of an address that may be asked; a key has no place in it."""
    try:
        parts = urlsplit(url)
        port_is_wrong = parts.port == 0
    except ValueError as error:
        raise ParameterError(f"--ask takes an address such as http://localhost:11434/v1 ({error})"
                             ) from None  # fmt: skip
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise ParameterError(
            "--ask takes an address without user, password or ?...; the key belongs in the "
            f"environment variable {KEY_VARIABLE}"
        )
    odd = any(not letter.isprintable() or letter.isspace() for letter in url)
    if parts.scheme not in _PORTS or not parts.hostname or port_is_wrong or odd:
        raise ParameterError(
            f"--ask takes an address such as http://localhost:11434/v1, not {url!r}"
        )
    return parts


def _origin(parts: SplitResult) -> tuple[str, str, int | None]:
    return parts.scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(parts.scheme)


def _read(response: Any, end: float) -> bytes:
    pieces: list[bytes] = []
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        if sum(map(len, pieces)) > _LARGEST:
            raise ValueError(f"answers with more than {_LARGEST:,} bytes")
        if time.monotonic() > end:
            raise TimeoutError
    if getattr(response, "length", 0):
        raise ValueError("ended its answer early")
    return b"".join(pieces)


def _told(error: HTTPError, end: float) -> str:
    """Return what a server says about an error."""
    try:
        return _read(error, end).decode("utf-8", "replace")
    except (ValueError, OSError, HTTPException):
        return ""


def _line(text: str) -> str:
    """Return the beginning of a text on one line."""
    seen = "".join(letter if letter.isprintable() else " " for letter in text[: 4 * _SHOWN])
    return " ".join(seen.split())[:_SHOWN]


def _content(body: bytes) -> str:
    """Return the text of a completion."""
    try:
        found = json.loads(body)["choices"][0]["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError("does not answer as an OpenAI-compatible endpoint does") from None
    if not isinstance(found, str) or not found.strip():
        raise ValueError("answers with nothing")
    return found


def _reason(error: Exception) -> str:
    if isinstance(error, URLError):
        error = error.reason if isinstance(error.reason, Exception) else error
    if isinstance(error, TimeoutError):
        return "did not answer in time"
    if isinstance(error, HTTPException) or not str(error):
        return f"broke off the conversation ({type(error).__name__})"
    return f"cannot be asked ({error})" if isinstance(error, OSError) else str(error)
