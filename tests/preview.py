"""Pages of a service with the example data of its promises, as files for a browser. scripts/preview runs this."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import webbrowser
from pathlib import Path

from tests.asking import open_asker
from tests.promises import PROMISED, SERVICE_OF, prepare

FOLDER = Path(__file__).resolve().parents[1] / "build" / "preview"


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/preview", description=__doc__)
    parser.add_argument("name", help="a service, or a tool that shows a page")
    parser.add_argument("--locale", choices=("en", "ko"), default="en")
    options = parser.parse_args()

    showing = [tool for tool, promise in PROMISED.items() if promise.shows_page]
    chosen = [tool for tool in showing if options.name in (tool, SERVICE_OF[tool])]
    if not chosen:
        services = sorted({SERVICE_OF[tool] for tool in showing})
        print(f"{options.name} has no page. Those that have: {', '.join([*services, *showing])}", file=sys.stderr)
        return 2
    FOLDER.mkdir(parents=True, exist_ok=True)
    for tool in chosen:
        path = FOLDER / f"{tool}-{options.locale}.html"
        path.write_text(asyncio.run(page_of(tool, options.locale)), encoding="utf-8")
        print(path)
        if has_browser():
            webbrowser.open(path.as_uri())
    return 0


async def page_of(tool: str, locale: str) -> str:
    """Return the whole page that a tool's example shows."""
    async with open_asker() as opened:
        asker = opened.with_call(locale=locale)
        reply = await asker.done(tool, **await prepare(asker, tool))
    assert reply.page is not None
    return reply.page.document


def has_browser() -> bool:
    """Tell whether there is a screen. Without one, Python would open a browser in the terminal."""
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in ("DISPLAY", "WAYLAND_DISPLAY"))


if __name__ == "__main__":
    sys.exit(main())
