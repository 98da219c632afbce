"""Starting the server: a free port on this machine, a token, a browser."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator

import uvicorn

from palaver.errors import InputError, PalaverError
from palaver.explore.hits import counted
from palaver.explore.question import Question
from palaver.explore.server import make_app
from palaver.explore.workbench import Workbench

HOST, PORT = "127.0.0.1", 8465
_TRIED = 50
#: Seconds after which what is needed later is loaded: the overview comes first.
_PATIENCE = 0.5


def listen(port: int | None) -> socket.socket:
    """Return a socket that listens on this machine only.

    On the asked port; without one on the first free port from :data:`PORT` on.

    Raises
    ------
    InputError
        The port cannot be used.
    """
    asked = [port] if port == 0 else range(port or PORT, (port or PORT) + _TRIED)
    for one in asked:
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if sys.platform != "win32":
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            sock.bind((HOST, one))
            sock.listen(128)
        except (OSError, OverflowError):
            sock.close()
            continue
        return sock
    raise InputError(f"no port from {asked[0]} to {asked[-1]} can be used; give another --port")


def serve(
    workbench: Workbench,
    *,
    port: int | None = None,
    open_browser: bool = True,
    tell: Callable[[str, int], None] = lambda address, port: None,
) -> None:
    """Serve a workbench until Ctrl-C.

    Parameters
    ----------
    workbench : Workbench
    port : int, optional
        The next free one is taken if it is in use; 0 for any.
    open_browser : bool
    tell : callable
        Called with the address and the port, once the server listens.
    """
    with contextlib.closing(listen(port)) as sock:
        own = sock.getsockname()[1]
        server, address = _server(workbench, own)
        tell(address, own)
        if open_browser and has_browser():
            threading.Thread(target=webbrowser.open, args=[address], daemon=True).start()
        _soon(prepare, workbench)
        with contextlib.suppress(KeyboardInterrupt):  # which uvicorn repeats after its end
            server.run(sockets=[sock])


def prepare(workbench: Workbench) -> None:
    """Load what searches, threads and comparisons need, and count for a search without filters."""
    from palaver.explore import comparing, threads  # noqa: F401

    with contextlib.suppress(PalaverError):  # whoever asks is told
        counted(workbench.answers, Question())


def _soon(work: Callable[[Workbench], None], workbench: Workbench) -> None:
    timer = threading.Timer(_PATIENCE, work, [workbench])
    timer.daemon = True
    timer.start()


@contextlib.contextmanager
def running(workbench: Workbench) -> Iterator[str]:
    """Serve a workbench on any port from a thread, for as long as it takes; yield its address."""
    with contextlib.closing(listen(0)) as sock:
        server, address = _server(workbench, sock.getsockname()[1])
        thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]})
        thread.start()
        try:
            yield address
        finally:
            server.should_exit = True
            thread.join()


def _server(workbench: Workbench, port: int) -> tuple[uvicorn.Server, str]:
    """Return a server and the address that opens it."""
    token = secrets.token_urlsafe(24)
    config = uvicorn.Config(
        make_app(workbench, token, port), log_level="error", access_log=False, lifespan="off",
        server_header=False, timeout_graceful_shutdown=1,
    )  # fmt: skip
    return uvicorn.Server(config), f"http://{HOST}:{port}/?token={token}"


def has_browser() -> bool:
    """Whether a browser with a window can be opened."""
    if sys.platform.startswith("linux") and not (
        os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    ):
        return False
    try:
        webbrowser.get()
    except webbrowser.Error:
        return False
    return True
