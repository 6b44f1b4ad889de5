"""The page at the root for a person who opens the printed address in a browser. It says nothing of data or token."""

from __future__ import annotations

from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response

from madang.core.calls import Locale
from madang.core.phrases import say
from madang.rendering.catalogue import translator
from madang.server.gate import PolicyRoute, RoutePolicy

WELCOME = RoutePolicy(kind="static", needs_token=False, navigated_as=frozenset({"document"}))

_HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
_STYLE = (
    "body{font:16px/1.6 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem;color-scheme:light dark}"
    "code{background:#8882;padding:.1em .3em;border-radius:4px}"
)


class WelcomeRoute(PolicyRoute):
    """Answers browsers at `/`; to programs it is as closed as everything else."""

    def __init__(self, locale: Locale) -> None:
        page = welcome_page(locale)

        async def answer(request: Request) -> Response:
            if "text/html" in request.headers.get("accept", ""):
                return HTMLResponse(page, headers=_HEADERS)
            error = {"code": "unauthorized", "message": "MCP is served at /mcp, to clients that have the token."}
            return JSONResponse({"error": error}, 401, {"www-authenticate": "Bearer"})

        super().__init__("/", answer, policy=WELCOME)


def welcome_page(locale: Locale) -> str:
    """Return the page in one language."""
    translate = translator(locale)
    title = say("This is Madang, an MCP server")
    paragraphs = (
        say("It is for programs: a client connects to /mcp at this address, with the token that the server printed."),
        say("To connect one, run in a terminal: madang install"),
        say("There is nothing to see here yet. The data stays on this machine."),
    )
    body = "".join(f"<p>{escape(paragraph.render(translate))}</p>" for paragraph in paragraphs)
    heading = escape(title.render(translate))
    return (
        f'<!doctype html><html lang="{locale}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>Madang</title><style>{_STYLE}</style><h1>{heading}</h1>{body}"
    )
