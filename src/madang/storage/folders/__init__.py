"""Folders of files, each held by a descriptor: no path, link or race leads out of one."""

from madang.storage.folders.folder import CopiedStatus, Entry, Folder, WriteMode, workspace_busy
from madang.storage.folders.paths import parse_path
from madang.storage.folders.sessions import Folders, SessionFolders

__all__ = [
    "CopiedStatus",
    "Entry",
    "Folder",
    "Folders",
    "SessionFolders",
    "WriteMode",
    "parse_path",
    "workspace_busy",
]
