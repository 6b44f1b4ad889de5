"""What a file is, in words for the person."""

from __future__ import annotations

from madang.core.phrases import Phrase, say

_BY_EXTENSION: dict[str, Phrase] = {
    **dict.fromkeys(("doc", "docx", "odt", "rtf"), say("Text document")),
    **dict.fromkeys(("hwp", "hwpx"), say("Hangul document")),
    **dict.fromkeys(("xls", "xlsx", "ods"), say("Spreadsheet")),
    **dict.fromkeys(("ppt", "pptx", "odp"), say("Presentation")),
    **dict.fromkeys(("csv", "tsv"), say("Table")),
    **dict.fromkeys(("htm", "html"), say("Web page")),
    **dict.fromkeys(("txt", "md", "log"), say("Text")),
    **dict.fromkeys(("zip", "gz", "xz", "tar", "7z"), say("Archive")),
    "pdf": say("PDF document"),
    "json": say("Data"),
}
_BY_MIME_TYPE: dict[str, Phrase] = {
    "image": say("Picture"),
    "audio": say("Sound"),
    "video": say("Video"),
    "text": say("Text"),
}


def file_kind(name: str, mime_type: str) -> Phrase:
    """Return what a file of this name is, in one or two words."""
    extension = name.rpartition(".")[2].lower()
    return _BY_EXTENSION.get(extension) or _BY_MIME_TYPE.get(mime_type.partition("/")[0]) or say("File")
