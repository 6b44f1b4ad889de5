"""A listener that must see nothing, and texts that try to reach it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from anyio import fail_after


class Canary:
    """Remembers who knocked: over TCP the head of their request, over UDP that they did."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.port = 0
        self._knocked = asyncio.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/"

    def knock(self, what: str) -> None:
        self.heard.append(what)
        self._knocked.set()

    async def knocked(self, what: str = "") -> None:
        """Wait until somebody said this."""
        with fail_after(60):
            while not any(what in said for said in self.heard):
                self._knocked.clear()
                await self._knocked.wait()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.knock((await reader.readuntil(b"\r\n\r\n")).decode(errors="replace"))
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nAccess-Control-Allow-Origin: *\r\n"
                b"Connection: close\r\nContent-Length: 0\r\n\r\n"
            )
        except asyncio.IncompleteReadError:
            pass  # browsers open connections that they may need; nothing was said
        finally:
            writer.close()


class _Packets(asyncio.DatagramProtocol):
    def __init__(self, canary: Canary) -> None:
        self._canary = canary

    def datagram_received(self, data: bytes, addr: object) -> None:
        self._canary.knock("UDP")


@asynccontextmanager
async def listening() -> AsyncIterator[Canary]:
    """Listen on a port of this machine, TCP and UDP, for as long as the block runs."""
    canary = Canary()
    server = await asyncio.start_server(canary.answer, "127.0.0.1", 0)
    canary.port = server.sockets[0].getsockname()[1]
    packets, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        lambda: _Packets(canary), local_addr=("127.0.0.1", canary.port)
    )
    try:
        yield canary
    finally:
        packets.close()
        server.close()
        await server.wait_closed()


def markup(canary: Canary) -> list[str]:
    """Texts that would run a script or load something, were they ever taken for more than texts (T17)."""
    return [
        "<img src=x onerror=window.__pwned=1>",
        f'<img src="{canary.url}img"><link rel=stylesheet href={canary.url}css>',
        "</script><!--<script>window.__pwned=1</script>",
        "</title></textarea></template></style></svg><svg onload=window.__pwned=1>",
        "{{7*7}} {% raw %} ${7*7} {prompt} %s javascript:window.__pwned=1",
        "\" onmouseover=\"window.__pwned=1\" autofocus onfocus='window.__pwned=1' x='",
        f"<iframe srcdoc='<script>parent.__pwned=1</script>'></iframe><form action={canary.url}>",
        f"<meta http-equiv=refresh content='0;url={canary.url}refresh'><base href={canary.url}>",
        "한국어 <script>window.__pwned=1</script> 목표 <b>굵게</b>",
        "\u202e<script>window.__pwned=1</script>\u202c",
        "\u2066\u0645\u0631\u062d\u0628\u0627 <img src=x onerror=window.__pwned=1>\u2069",
        "&lt;script&gt;window.__pwned=1&lt;/script&gt; &#60;img src=x onerror=window.__pwned=1&#62;",
        "]]><![CDATA[<script>window.__pwned=1</script>",
    ]


def markdown(canary: Canary) -> list[str]:
    """Texts that would load or lead somewhere, were they ever taken for Markdown (T19)."""
    return [
        f"![image]({canary.url}image)",
        f"![by reference][pixel] [pixel]: {canary.url}reference",
        "[script](javascript:window.__pwned=1) [data](data:text/html,<script>window.__pwned=1</script>)",
        f"<{canary.url}auto> {canary.url}bare www.canary.example",
        f"<img src='{canary.url}html' alt=''>",
        rf"$\href{{javascript:window.__pwned=1}}{{x}}$ $\includegraphics{{{canary.url}tex}}$ $$\undefined{{",
        f"```html <img src={canary.url}code> ```",
    ]
