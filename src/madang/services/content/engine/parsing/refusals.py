"""Errors of files that are not read."""

from __future__ import annotations

from madang.core.errors import InvalidArguments, LimitExceeded, NotFound, ToolError, Unavailable
from madang.core.phrases import Phrase, say

_MAX_NAME_CHARS = 80


def quoted_name(filename: str) -> str:
    """Return a name fit for a sentence: on one line, without signs that turn or hide text, and not too long."""
    name = "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in filename).strip()
    if len(name) > _MAX_NAME_CHARS:
        name = f"{name[: _MAX_NAME_CHARS - 20]}…{name[-19:]}"
    return f"'{name}'" if name else "''"


def reading_timed_out(filename: str, deadline_s: float) -> LimitExceeded:
    return LimitExceeded(
        say(
            "{filename} could not be read within {seconds:g} {seconds|second|seconds}.",
            filename=quoted_name(filename),
            seconds=deadline_s,
        ),
        hint=say("Split it, or add only the part that is needed."),
    )


def reader_stopped(filename: str) -> Unavailable:
    return Unavailable(
        say(
            "The process that was reading {filename} was stopped from outside, before it had an answer.",
            filename=quoted_name(filename),
        ),
        hint=say("Try once more. If it happens again the computer is short of memory: add a smaller file."),
    )


def reader_cannot_start(error: OSError) -> Unavailable:
    return Unavailable(
        say("The process that reads documents could not be started: {reason}.", reason=error.strerror or str(error)),
        hint=say("Try again in a while. Plain text files can be added meanwhile."),
    )


def not_a_pdf(filename: str) -> InvalidArguments:
    return InvalidArguments(say("{filename} is no PDF.", filename=quoted_name(filename)))


def refusal_error(reason: str, filename: str, *, count: int = 0, memory_mb: int = 0) -> ToolError:
    """Return the error for what the child said; a reason that it should not know counts as a broken file."""
    if reason == "no_text" and count:
        reason = "pictures"
    kind, message, hint = _REASONS.get(reason, _REASONS["broken"])
    values = {"filename": quoted_name(filename), "count": f"{count:,}", "size": count >> 20, "memory": memory_mb}
    return kind(Phrase(message.template, values), hint=hint)


_SMALLER = say("Split it, or add only the part that is needed.")
_ANEW = say("No office program writes such files. Save the document anew and add that.")

_REASONS: dict[str, tuple[type[ToolError], Phrase, Phrase]] = {
    "broken": (
        InvalidArguments,
        say("{filename} is broken: it begins like a document, and cannot be read as one."),
        say("Open it in the program that made it, save it anew, and add that."),
    ),
    "password": (
        InvalidArguments,
        say("{filename} is protected by a password."),
        say("Ask for a copy without a password and add that."),
    ),
    "no_text": (
        InvalidArguments,
        say("{filename} holds no text."),
        say("Check that it is the right file. Text inside pictures is not read."),
    ),
    "pictures": (
        InvalidArguments,
        say("{filename} holds no text: all it has on its {count} page(s) are pictures, as in a scan."),
        say("Run text recognition (OCR) over it and add the result, or add the text itself."),
    ),
    "archive": (
        InvalidArguments,
        say("{filename} is a ZIP archive and no document."),
        say("Unpack it and add the files one by one."),
    ),
    "other_office": (
        InvalidArguments,
        say("{filename} is a document of a kind that cannot be read here."),
        say("Save it as PDF, DOCX, XLSX or PPTX and add that."),
    ),
    "names": (
        InvalidArguments,
        say("{filename} was refused: it holds parts whose names lead out of it, or are there twice."),
        _ANEW,
    ),
    "dtd": (
        InvalidArguments,
        say("{filename} was refused: its XML declares entities, which could pull in other files."),
        _ANEW,
    ),
    "overlap": (
        InvalidArguments,
        say("{filename} was refused: its parts lie over one another, as in an archive bomb."),
        _ANEW,
    ),
    "entries": (
        LimitExceeded,
        say("{filename} consists of more than {count} parts, the most that are read."),
        _SMALLER,
    ),
    "expanded": (
        LimitExceeded,
        say("{filename} expands to more than {size} MB, the most that is read."),
        _SMALLER,
    ),
    "ratio": (
        LimitExceeded,
        say("{filename} expands to more than {count} times its size, as an archive bomb does."),
        _SMALLER,
    ),
    "text": (LimitExceeded, say("{filename} holds more than {size} MB of text, the most that is read."), _SMALLER),
    "pages": (LimitExceeded, say("{filename} has more than {count} pages, the most that are read."), _SMALLER),
    "no_page": (NotFound, say("{filename} has no such page: there are {count}."), say("Choose one of these.")),
    "memory": (LimitExceeded, say("{filename} needs more than {memory} MB of memory to be read."), _SMALLER),
}
