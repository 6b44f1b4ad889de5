"""Files that the person hands to a service: as they come, and as they were accepted."""

from __future__ import annotations

from dataclasses import dataclass

from madang.core.phrases import Text

UPLOAD_LIMIT_S = 120.0
"""For one file: 25 MiB of Korean take half a minute, and several times that on a busy machine."""


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file before a service has it. `url` is where its bytes are: an upload's draft, or a `data:` URL."""

    url: str
    name: str
    """What it is called; for a service of files, its path."""


@dataclass(frozen=True, slots=True)
class AcceptedUpload:
    """What a service made of a file."""

    id: str
    """By which the service knows it."""
    tool: str
    """With which a model does the same: the text is told under its name."""
    text: Text
    is_new: bool = True
    """False: the same file was there already, so that there is nothing to withdraw."""
