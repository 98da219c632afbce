"""A local server that completes chats, or misbehaves in a chosen way."""

from __future__ import annotations

import json
import re
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def completion(content: Any) -> bytes:
    return json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": content}}]}
    ).encode()


def letters_asked(body: bytes) -> list[str]:
    text = json.loads(body)["messages"][1]["content"]
    return re.findall(r"^Group (\w+) ", text, re.MULTILINE)


def good_names(body: bytes) -> str:
    words = ["asks", "thanks", "tells", "greets", "doubts", "agrees", "jokes", "quotes"]
    return json.dumps({c: f"{words[i]} people" for i, c in enumerate(letters_asked(body))})


@contextmanager
def serving(answer):
    """Yield (address, requests); ``answer(handler, body, count)`` writes the response.

    ``requests`` has path, headers and body of what arrived.
    """
    requests: list[tuple[str, dict[str, str], bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            requests.append((self.path, dict(self.headers), body))
            with suppress(OSError):  # the client has had enough
                answer(self, body, len(requests))

        do_GET = do_POST

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", requests
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def send(handler, body: bytes, code: int = 200, **headers: str) -> None:
    handler.send_response(code)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)


def saying(content):
    """Answer with a text, or with what a function makes of the request."""

    def answer(handler, body, count):
        send(handler, completion(content(body) if callable(content) else content))

    return answer


def dripping(handler, body, count):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.05)


def endless(handler, body, count):
    handler.send_response(200)
    handler.end_headers()
    for _ in range(200):
        handler.wfile.write(b"x" * 65536)


def cut_short(handler, body, count):
    handler.send_response(200)
    handler.send_header("Content-Length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [')


def hanging_up(handler, body, count):
    handler.connection.close()


def no_http(handler, body, count):
    handler.wfile.write(b"\x00\x01 hello\r\n\r\n")
