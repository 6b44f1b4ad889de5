"""The line that tells what a walk has left out."""

from __future__ import annotations

from madang.core.phrases import Phrase, say


def left_out_notes(count: int) -> list[Phrase]:
    """Return a line on files and folders under a rule; none where there are none."""
    if not count:
        return []
    return [
        say(
            "Note: {count} {count|file or folder is|files and folders are} under a rule and {count|was|were} left out: "
            "Madang's 'read_file' asks the person.",
            count=count,
        )
    ]
