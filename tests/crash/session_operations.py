"""A process that works on a whole session and kills itself at a chosen moment.

`python -m tests.crash.session_operations FOLDER DATABASE OPERATION POINT`, where DATABASE is the URL of
a server or empty. The points are counted through all units of work that write, before and after each, and
all changes of files. With POINT 0 it lives, and prints how many there were.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from madang import app
from madang.core.ids import SessionId
from madang.provider import sessions
from madang.records import audit, retention
from madang.services.content.engine import following
from madang.services.content.store import maintenance
from tests.crash.points import Points
from tests.whole_sessions import House, open_house

TARGET = SessionId("target")
NEVER_S = 3600.0
FILE_EVENTS = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link")

OPERATIONS: dict[str, Callable[[House, Path], Awaitable[object]]] = {
    "forget": lambda house, _: house.madang.session_operations.forget(house.call),
    "copy": lambda house, _: house.madang.session_operations.copy(house.call, TARGET),
    "import": lambda house, folder: house.madang.session_operations.import_(
        replace(house.call, session_id=TARGET), folder / "session.zip"
    ),
}


def stop_background_work() -> None:
    """Put off whatever writes by the clock: its points would come at any moment, or not at all."""
    sessions.AUDIT_SETTLE_S = 0.0
    sessions.HEARTBEAT_S = NEVER_S
    app.RETENTION_DELAY_S = NEVER_S
    audit.FLUSH_S = NEVER_S
    following.FOLLOW_DELAY_S = NEVER_S
    maintenance.DELAY_S = NEVER_S
    retention.START_S = NEVER_S


async def main(folder: Path, url: str, operation: str, points: Points) -> None:
    stop_background_work()
    async with open_house(folder, "", database=url) as house:
        await house.asker.done("list_prompts")
        database: Any = house.madang.database
        write = type(database).write

        async def counted_write(self: Any, *arguments: Any, **options: Any) -> Any:
            points()
            result = await write(self, *arguments, **options)
            points()
            return result

        def hook(event: str, arguments: tuple[Any, ...]) -> None:
            if event in FILE_EVENTS:
                points()

        type(database).write = counted_write
        sys.addaudithook(hook)
        points.is_counting = True
        await OPERATIONS[operation](house, folder)
        points.is_counting = False


if __name__ == "__main__":
    counted = Points(int(sys.argv[4]))
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], counted))
    sys.stdout.write(f"{counted.passed}\n")
