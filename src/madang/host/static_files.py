"""The built front end, with the policy under which a browser runs it, and the sandbox proxy of pages.

Both are under names of their own (T21): the chat at 127.0.0.1, foreign content at localhost.
"""

from __future__ import annotations

import mimetypes
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response

from madang.host.page_policy import PageRights, proxy_policy
from madang.server.gate import FRAME, STATIC, PolicyRoute

STATIC_DIR = Path(__file__).parent / "static"
PROXY_FILE = Path(__file__).parent / "proxy.html"
NONCE_MARK = "__NONCE__"
HOST_ORIGIN_MARK = "__HOST_ORIGIN__"
SANDBOX_MARK = "__SANDBOX__"
MAX_VIEW_ID_CHARS = 100
MAX_FILE_BYTES = 8 * 1024 * 1024

NOT_BUILT = """\
Madang is running, but its front end is not built: there is no index.html in madang/host/static.

In a source folder: stop it with Ctrl-C, and run 'make run' again where npm can be reached.
Elsewhere, install a wheel, which carries it: pip install madang
Without it: 'madang chat' is a chat in the terminal, and MCP clients can use /mcp here.

마당은 실행 중이지만 화면이 아직 만들어지지 않았습니다(madang/host/static에 index.html이 없습니다).

소스 폴더라면 Ctrl-C로 멈추고, npm에 접속할 수 있는 곳에서 'make run'을 다시 실행하세요.
그 밖에는 화면이 들어 있는 패키지를 설치하세요: pip install madang
화면 없이도 터미널에서는 'madang chat'을, MCP 클라이언트에서는 여기의 /mcp를 쓸 수 있습니다.
"""

FindRights = Callable[[str], Awaitable[PageRights]]

_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".woff2": "font/woff2"}
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "x-frame-options": "DENY",
}


def host_policy(nonce: str, content_origin: str) -> str:
    """Return the content security policy of the chat itself."""
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self' 'nonce-{nonce}'; connect-src 'self'; "
        f"img-src 'self' data: blob:; font-src 'self'; frame-src {content_origin}; frame-ancestors 'none'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'"
    )


class StaticFiles:
    """The files of a built front end: `index.html`, filled in at each request, and `assets/`.

    They are read once, at the start: there are few, and no request leads to the disk (T01).
    """

    def __init__(self, host_origin: str, content_origin: str, folder: Path = STATIC_DIR) -> None:
        self._host_origin = host_origin
        self._content_origin = content_origin
        self._index = _read(folder / "index.html")
        self._assets = _read_all(folder / "assets")
        self._proxy = PROXY_FILE.read_text(encoding="utf-8").replace(HOST_ORIGIN_MARK, host_origin)

    @property
    def are_built(self) -> bool:
        """Whether there is a front end to serve."""
        return self._index is not None

    def routes(self, host: str, content_host: str, find_rights: FindRights) -> list[PolicyRoute]:
        """Return the routes. `find_rights` tells what a view may do, by its id."""
        static = replace(STATIC, hosts=frozenset({host}))
        frame = replace(FRAME, hosts=frozenset({content_host}))
        return [
            PolicyRoute("/", self.index, policy=static),
            PolicyRoute("/assets/{path:path}", self.asset, policy=static),
            PolicyRoute("/proxy", self._proxy_endpoint(find_rights), policy=frame),
        ]

    async def index(self, request: Request) -> Response:
        """Return the page of the chat, with a nonce of its own for the one style that a library adds."""
        if self._index is None:
            return PlainTextResponse(NOT_BUILT, 404, _HEADERS)
        nonce = secrets.token_urlsafe(16)
        html = self._index.decode("utf-8").replace(NONCE_MARK, nonce)
        policy = host_policy(nonce, self._content_origin)
        return HTMLResponse(html, headers={**_HEADERS, "content-security-policy": policy, "cache-control": "no-store"})

    async def asset(self, request: Request) -> Response:
        """Return a file of the front end, compressed if the browser takes that. Their names hold a hash."""
        name: str = request.path_params["path"]
        accepted = [one.partition(";")[0].strip() for one in request.headers.get("accept-encoding", "").split(",")]
        compressed = self._assets.get(f"{name}.gz") if "gzip" in accepted else None
        data = compressed if compressed is not None else self._assets.get(name)
        if data is None:
            return PlainTextResponse("There is no such file.\n", 404, _HEADERS)
        kind = _TYPES.get(PurePosixPath(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        headers = {
            **_HEADERS,
            "cross-origin-resource-policy": "same-origin",
            "cache-control": "public, max-age=31536000, immutable",
            "vary": "accept-encoding",
        }
        if compressed is not None:
            headers["content-encoding"] = "gzip"
        return Response(data, headers=headers, media_type=kind)

    def _proxy_endpoint(self, find_rights: FindRights) -> Callable[[Request], Awaitable[Response]]:
        async def proxy(request: Request) -> Response:
            """Return the page between the chat and a view: of another site, and the parent of an opaque frame."""
            rights = await find_rights(request.query_params.get("view", "")[:MAX_VIEW_ID_CHARS])
            nonce = secrets.token_urlsafe(16)
            html = self._proxy.replace(NONCE_MARK, nonce).replace(SANDBOX_MARK, rights.sandbox)
            headers = {
                "content-security-policy": proxy_policy(self._host_origin, rights, nonce),
                "x-content-type-options": "nosniff",
                "referrer-policy": "no-referrer",
                "cache-control": "no-store",
            }
            return HTMLResponse(html, headers=headers)

        return proxy


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() and path.stat().st_size <= MAX_FILE_BYTES else None
    except OSError:
        return None


def _read_all(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder, by their paths from there."""
    files = {path.relative_to(folder).as_posix(): _read(path) for path in sorted(folder.rglob("*"))}
    return {name: data for name, data in files.items() if data is not None}
