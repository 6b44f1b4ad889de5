"""What the model should know about the files of its session this turn."""

from __future__ import annotations

from madang.core.calls import Call
from madang.core.documents import Document
from madang.core.errors import ToolError
from madang.core.executor import Executor
from madang.core.phrases import Line, Phrase, Rows, layout, say
from madang.core.service import RowQuery, ServiceContext, StateRows
from madang.core.texts import visible_name
from madang.core.trust import Origin
from madang.services.workspace.domain.exports import StoredExport, export_uri, made_at
from madang.services.workspace.domain.files import FileTree, FolderFiles, RecentFiles
from madang.services.workspace.engine.exports import Exports
from madang.services.workspace.engine.files import FileEngine
from madang.services.workspace.engine.trees import FileTrees
from madang.services.workspace.views.files import EntryRow, entry_row

MAX_NEWEST_FILES = 10
"""In the data, for panels."""
MAX_NAMED_FOLDERS = 5
MAX_NAMED_FILES = 3
"""Of a folder. One with more is told by their number and the newest."""
MAX_NAMED_EXPORTS = 3
MAX_STATE_EXPORTS = 10
MAX_STATE_ENTRIES = 200
"""In the data, for panels; `workspace_rows` has the others."""
MAX_SHOWN_NAME_CHARS = 80
MAX_SHOWN_PATH_CHARS = 200


class ExportInState(Document):
    """One of the last exports, with the address of the resource it is."""

    id: str
    uri: str
    name: str
    size: int
    made_at: str


class FolderInState(Document):
    """A folder, and how much is in it."""

    path: str
    """Empty: the root."""
    total: int


class WorkspaceState(Document):
    """How many files a session has, those that changed last, and its last exports, both newest first."""

    folder: str = ""
    """The folder of the person's own that it works in; empty where it has one in the data folder."""
    is_folder_missing: bool = False
    files: int
    newest: list[EntryRow]
    entries: list[EntryRow]
    """The tree from its root, as far as it fits."""
    folders: list[FolderInState]
    """Those whose entries are in `entries`: all of them, or of the root the first."""
    exports: list[ExportInState]
    export_count: int


async def workspace_context(
    files: FileEngine, exports: Exports, call: Call, executor: Executor | None = None, trees: FileTrees | None = None
) -> ServiceContext:
    """Return the folders that changed last, and the last exports.

    No times: the same state must give the same text, in few words.
    """

    trees = trees or FileTrees(files)

    def look() -> tuple[RecentFiles, ToolError | None, FileTree, list[StoredExport], int]:
        recent, missing = RecentFiles(), None
        try:
            recent = files.recent(call, MAX_NEWEST_FILES, MAX_NAMED_FOLDERS, MAX_NAMED_FILES)
        except ToolError as error:
            if files.personal(call) is None:
                raise
            missing = error
        tree = trees.tree(call, MAX_STATE_ENTRIES) if missing is None else FileTree()
        return recent, missing, tree, *exports.newest(call, MAX_STATE_EXPORTS)

    recent, missing, tree, exported, export_count = await (executor or Executor()).reads.run(call, look)
    folder = files.personal(call)
    state = WorkspaceState(
        folder=str(folder or ""),
        is_folder_missing=missing is not None,
        files=recent.files,
        newest=[entry_row(entry) for entry in recent.newest],
        entries=[entry_row(entry) for entry in tree.entries],
        folders=[FolderInState(path=path, total=total) for path, total in tree.totals.items()],
        exports=[_export_row(export) for export in exported],
        export_count=export_count,
    )
    text: list[Line | Rows] = _files_text(recent) if recent.files else []
    if missing is not None:
        text.append(layout("# {reason} {hint}", reason=missing.message, hint=missing.hint))
    elif folder is not None:
        shown = visible_name(str(folder), MAX_SHOWN_PATH_CHARS)
        text.insert(0, say("# The workspace is the person's own folder {folder}.", folder=shown))
    if exported:
        text.append(_exports_line(exported[:MAX_NAMED_EXPORTS], export_count))
    summary = say("Files: {count} ('list_directory').", count=recent.files) if recent.files else None
    names = [name for found in recent.folders for name in (found.path, *found.newest) if name]
    names += [export.name for export in exported[:MAX_NAMED_EXPORTS]]
    return ServiceContext(text or "", state, tuple(Origin("name", name) for name in names), summary)


async def workspace_rows(trees: FileTrees, call: Call, query: RowQuery, executor: Executor) -> StateRows | None:
    """Return a part of what is in a folder of the session."""
    if query.name != "entries":
        return None
    listed = await executor.reads.run(call, trees.rows, call, query.under, query.offset, query.page_size)
    return StateRows([entry_row(entry) for entry in listed.entries], listed.total)


def _export_row(export: StoredExport) -> ExportInState:
    uri = export_uri(export.id, export.name)
    return ExportInState(id=export.id, uri=uri, name=export.name, size=export.size, made_at=made_at(export.id))


def _files_text(recent: RecentFiles) -> list[Line | Rows]:
    count = recent.files
    heading = say("# Workspace: {count} file(s), changed last first (Madang's 'read_file' reads one):", count=count)
    if not recent.is_complete:
        heading = say(
            "# Workspace: more than {count} files, changed last first (Madang's 'read_file' reads one):", count=count
        )
    text: list[Line | Rows] = [heading, *map(_folder_row, recent.folders)]
    named = sum(len(folder.newest) if folder.count <= MAX_NAMED_FILES else 1 for folder in recent.folders)
    if named < count:
        text.append(
            say(
                "  {count} {count|file is|files are} not named here: Madang's 'list_directory' with path or depth.",
                count=count - named,
            )
        )
    return text


def _exports_line(exported: list[StoredExport], count: int) -> Phrase:
    """Return which files the person was given: a history that was compacted does not tell it any more."""
    names = ", ".join(f'"{visible_name(export.name, MAX_SHOWN_NAME_CHARS)}"' for export in exported)
    if count > len(exported):
        return say("# Exported to the person, the newest of {count}: {names}", names=names, count=count)
    return say("# Exported to the person, newest first: {names}", names=names)


def _folder_row(folder: FolderFiles) -> Phrase:
    """Return the files of a folder by their whole paths: what is shown is copied into the next call as it is."""
    path = f"{visible_name(folder.path, MAX_SHOWN_NAME_CHARS)}/" if folder.path else ""
    paths = [f"{path}{visible_name(name, MAX_SHOWN_NAME_CHARS)}" for name in folder.newest]
    if folder.count > MAX_NAMED_FILES:
        where = path or say("the top folder")
        return say("  {name} (newest of {count} in {path})", path=where, count=folder.count, name=paths[0])
    return layout("  {names}", names=", ".join(paths))
