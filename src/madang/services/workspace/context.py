"""What the model should know about the files of its session this turn."""

from __future__ import annotations

import asyncio

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.phrases import Line, Phrase, Rows, layout, say
from madang.core.service import ServiceContext
from madang.core.texts import visible_name
from madang.services.workspace.domain.files import FolderFiles
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.views.files import EntryRow, entry_row

MAX_NEWEST_FILES = 10
"""In the data, for panels."""
MAX_NAMED_FOLDERS = 5
MAX_NAMED_FILES = 3
"""Of a folder. One with more is told by their number and the newest."""
MAX_SHOWN_NAME_CHARS = 80


class WorkspaceState(Document):
    """How many files a session has, and those that changed last, newest first."""

    files: int
    newest: list[EntryRow]


async def workspace_context(engine: FileEngine, call: Call) -> ServiceContext:
    """Return the folders that changed last. No times: the same state must give the same text, in few words."""
    state = await asyncio.to_thread(engine.state, call, MAX_NEWEST_FILES, MAX_NAMED_FILES)
    data = WorkspaceState(files=state.files, newest=[entry_row(entry) for entry in state.newest])
    if not state.files:
        return ServiceContext("", data)
    heading = say(
        "# Workspace: {count} file(s), changed last first (Madang's 'read_file' reads one):", count=state.files
    )
    if not state.is_complete:
        heading = say(
            "# Workspace: more than {count} files, changed last first (Madang's 'read_file' reads one):",
            count=state.files,
        )
    named = state.folders[:MAX_NAMED_FOLDERS]
    text: list[Line | Rows] = [heading, *map(_folder_row, named)]
    listed = sum(len(folder.newest) if folder.count <= MAX_NAMED_FILES else 1 for folder in named)
    if listed < state.files:
        text.append(
            say(
                "  {count} file(s) are not named here: Madang's 'list_directory' with path or depth.",
                count=state.files - listed,
            )
        )
    return ServiceContext(text, data, say("Files: {count} ('list_directory').", count=state.files))


def _folder_row(folder: FolderFiles) -> Phrase:
    path = f"{visible_name(folder.path, MAX_SHOWN_NAME_CHARS)}/" if folder.path else "./"
    names = [visible_name(name, MAX_SHOWN_NAME_CHARS) for name in folder.newest]
    if folder.count > MAX_NAMED_FILES:
        return say("  {path}: {count} files, newest {name}", path=path, count=folder.count, name=names[0])
    return layout("  {path}: {names}", path=path, names=", ".join(names))
