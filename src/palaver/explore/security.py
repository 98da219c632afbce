"""Who may ask: this machine's browser with the token, from our own pages, and nobody else."""

from __future__ import annotations

import hmac
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

#: Only our own files run and are asked for; nothing is framed, submitted elsewhere or evaluated.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
_SAFE = ("GET", "HEAD")
#: Bytes of what a browser may send.
MOST_SENT = 4 << 20


class Guard:
    """Refuse requests of other sites, of other machines and without the token.

    The token is in the address that is opened first. It moves into a cookie, so that the addresses
    of views can be shared without it. Checking ``Host`` keeps out names that lead to this machine
    (DNS rebinding), ``Origin`` and ``Sec-Fetch-Site`` keep out other pages of the same browser.

    Parameters
    ----------
    app : ASGI application
    token : str
    port : int
    read_only : bool
        Refuse everything that changes something.
    """

    def __init__(self, app: ASGIApp, token: str, port: int, *, read_only: bool) -> None:
        self._app, self._token, self._read_only = app, token, read_only
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"palaver-{port}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return  # no websockets here
        headers = Headers(scope=scope)
        refused = self._refusal(scope, headers)
        if refused is not None:
            await refused(scope, receive, _with_headers(send))
            return
        await self._app(scope, _limited(receive), _with_headers(send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """Return what to answer instead, or None if the request is in order."""
        host = headers.get("host", "")
        if host not in self._hosts:
            return _refused("this address is not served here", 421)
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        if origin is not None and origin != f"http://{host}":
            return _refused("other sites may not ask", 403)
        is_navigation = headers.get("sec-fetch-mode") == "navigate" and scope["method"] in _SAFE
        if site not in ("none", "same-origin") and not is_navigation:
            return _refused("other sites may not ask", 403)
        given = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if "token" in given and scope["method"] in _SAFE:
            return self._entered(scope, given)
        if not self._knows(headers):
            return _refused(
                "This workbench opens with the address that `palaver explore` printed, which "
                "has a token. Open that address once, then this one.", 403,
            )  # fmt: skip
        if scope["method"] not in _SAFE and self._read_only:
            return _refused("this workbench only shows (--read-only)", 403)
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_SENT:
            return _refused("that is too much at once", 413)
        return None

    def _entered(self, scope: Scope, given: dict[str, str]) -> Response:
        """Move a right token from the address into a cookie."""
        if not hmac.compare_digest(given.pop("token").encode(), self._token.encode()):
            return _refused("the token is not the one of this start; see the terminal", 403)
        path = "/" + scope["path"].lstrip("/\\")  # never to another host
        answer = RedirectResponse(path + (f"?{urlencode(given)}" if given else ""), 303)
        answer.set_cookie(self._cookie, self._token, httponly=True, samesite="lax", path="/")
        return answer

    def _knows(self, headers: Headers) -> bool:
        try:
            cookie = SimpleCookie(headers.get("cookie", ""))
        except CookieError:
            return False
        found = cookie[self._cookie].value if self._cookie in cookie else ""
        return hmac.compare_digest(found.encode(), self._token.encode())


def _refused(words: str, status: int) -> Response:
    return PlainTextResponse(words + "\n", status)


def _with_headers(send: Send) -> Send:
    async def send_with(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
        await send(message)

    return send_with


def _limited(receive: Receive) -> Receive:
    """Pass on what is sent, up to a limit: its length need not have been announced."""
    got = 0

    async def receive_some() -> Message:
        nonlocal got
        message = await receive()
        got += len(message.get("body", b""))
        return {"type": "http.disconnect"} if got > MOST_SENT else message

    return receive_some
