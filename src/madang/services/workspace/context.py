"""What the model should know about the files of its session this turn."""

from __future__ import annotations

import asyncio

from madang.core.calls import Call
from madang.core.phrases import Line, Rows, say
from madang.core.service import ServiceContext
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.views.files import entry_row, row_text

MAX_NAMED_FILES = 10


async def workspace_context(engine: FileEngine, call: Call) -> ServiceContext:
    """Return the files that changed last. Dates, not ages: the same state must give the same text."""
    newest, files, is_complete = await asyncio.to_thread(engine.newest, call, MAX_NAMED_FILES)
    state = {"files": files, "newest": [entry_row(entry).model_dump(mode="json") for entry in newest]}
    if not newest:
        return ServiceContext("", state)
    heading = say("# Workspace: {count} file(s), changed last:", count=files)
    if not is_complete:
        heading = say("# Workspace: more than {count} files, changed last among these:", count=files)
    text: list[Line | Rows] = [heading, Rows([row_text(entry) for entry in newest], say("  … {left_out} more."))]
    return ServiceContext(text, state)
