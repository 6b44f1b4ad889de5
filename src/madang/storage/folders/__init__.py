"""Folders of files, each held by a descriptor: no path, link or race leads out of one."""

from madang.storage.folders.entries import Entry, LeftOut
from madang.storage.folders.folder import CopiedStatus, Folder, WriteMode
from madang.storage.folders.paths import parse_path
from madang.storage.folders.sessions import Folders, SessionFolders
from madang.storage.folders.staging import WorkspaceBusy, workspace_busy

__all__ = [
    "CopiedStatus",
    "Entry",
    "Folder",
    "Folders",
    "LeftOut",
    "SessionFolders",
    "WorkspaceBusy",
    "WriteMode",
    "parse_path",
    "workspace_busy",
]
