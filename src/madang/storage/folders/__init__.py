"""Folders of files, each held by a descriptor: no path, link or race leads out of one."""

from madang.storage.folders.folder import CopiedStatus, Entry, Folder, WorkspaceBusy, WriteMode, workspace_busy
from madang.storage.folders.paths import parse_path
from madang.storage.folders.sessions import Folders, SessionFolders

__all__ = [
    "CopiedStatus",
    "Entry",
    "Folder",
    "Folders",
    "SessionFolders",
    "WorkspaceBusy",
    "WriteMode",
    "parse_path",
    "workspace_busy",
]
