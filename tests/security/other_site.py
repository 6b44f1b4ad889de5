"""A web server of somebody else on this machine, and what its pages send to the chat."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from playwright.async_api import Browser, Page

# What another site can send without our leave; each is tried with every route that changes something.
SEND = """async ([url, body]) => {
    const multipart = new FormData()
    multipart.set("x", body)
    const attempts = {
        text: { method: "POST", mode: "no-cors", body, headers: { "content-type": "text/plain" } },
        form: { method: "POST", mode: "no-cors", body: new URLSearchParams({ x: body }) },
        multipart: { method: "POST", mode: "no-cors", body: multipart },
        json: { method: "POST", body, headers: { "content-type": "application/json" } },
        token: { method: "POST", body, headers: { authorization: "Bearer guess" } },
        blob: { method: "POST", mode: "no-cors", body: new Blob([body]) },
        get: { method: "GET", mode: "no-cors", credentials: "include" },
        delete: { method: "DELETE" },
        patch: { method: "PATCH", body, headers: { "content-type": "application/json" } },
    }
    const readable = []
    for (const [name, init] of Object.entries(attempts)) {
        try {
            const answer = await fetch(url, init)
            if (answer.type !== "opaque") readable.push([name, answer.status])
        } catch {}
    }
    navigator.sendBeacon(url, body)
    navigator.sendBeacon(url, new Blob([body], { type: "text/plain" }))
    await new Promise((resolve) => {
        const socket = new WebSocket(url.replace("http", "ws"))
        socket.onopen = () => { readable.push(["socket", 101]); resolve() }
        socket.onerror = resolve
    })
    return readable
}"""

SUBMIT = """([url, body, enctype]) => {
    document.querySelectorAll("iframe, form").forEach((one) => one.remove())
    const frame = document.createElement("iframe")
    const target = frame.name = `into-${Math.random()}`
    document.body.append(frame)
    const form = Object.assign(document.createElement("form"), { action: url, method: "post", enctype, target })
    // As text/plain this is JSON: the name is up to the '=', the value after it.
    const [name, value] = [body.slice(0, -1) + ',"x":"', '"}']
    form.append(Object.assign(document.createElement("input"), { name, value }))
    document.body.append(form)
    const loaded = new Promise((resolve) => frame.addEventListener("load", resolve, { once: true }))
    form.submit()
    return loaded.then(() => undefined)
}"""


@dataclass
class Site:
    """A web server of somebody else, on a port of its own."""

    port: int = 0
    heard: list[str] = field(default_factory=list)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.heard.append((await reader.readuntil(b"\r\n\r\n")).decode(errors="replace"))
            page = b"<!doctype html><title>elsewhere</title><body>elsewhere"
            head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n"
            writer.write(f"{head}content-length: {len(page)}\r\n\r\n".encode() + page)
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def another_site() -> AsyncIterator[Site]:
    site = Site()
    # On both addresses: a browser takes `localhost` for either.
    servers = [await asyncio.start_server(site.answer, "127.0.0.1", 0)]
    site.port = servers[0].sockets[0].getsockname()[1]
    servers.append(await asyncio.start_server(site.answer, "::1", site.port))
    try:
        yield site
    finally:
        for server in servers:
            server.close()


@asynccontextmanager
async def hostile_page(browser: Browser, site: Site, name: str) -> AsyncIterator[Page]:
    context = await browser.new_context()
    page = await context.new_page()
    try:
        await page.goto(f"http://{name}:{site.port}/")
        yield page
    finally:
        await context.close()
