"""Folders of files, each held by a descriptor: no path, link or race leads out of one."""

from madang.files.folders.entries import Entry, LeftOut
from madang.files.folders.folder import CopiedStatus, Folder, WriteMode
from madang.files.folders.paths import parse_path
from madang.files.folders.sessions import Folders, SessionFolders
from madang.files.folders.staging import WorkspaceBusy, workspace_busy

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
