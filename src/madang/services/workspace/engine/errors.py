"""What the engine refuses, in words: its only module with texts for readers. Nothing is decided here."""

from __future__ import annotations

import json
from collections.abc import Sequence

from madang.core.errors import (
    Conflict,
    InvalidArguments,
    InvalidPath,
    LimitExceeded,
    NotFound,
    NotRegular,
    OutOfRange,
    ToolError,
    Unavailable,
)
from madang.core.phrases import Phrase, layout, say
from madang.core.texts import visible_name
from madang.services.workspace.domain.exports import MAX_EXPORT_BYTES, SkippedFile
from madang.services.workspace.domain.files import GrepMode
from madang.services.workspace.engine.equivalents import show_signs
from madang.text.encodings import EncodingName

MAX_NAMED_SKIPPED = 10
MAX_REASON_CHARS = 300
MAX_QUOTED_CHARS = 1_000


def _list_directory_hint() -> Phrase:
    return say("Call Madang's 'list_directory' to see what there is.")


# Reading and writing


def no_such_path(path: str, nearest: str, parent: str) -> NotFound:
    """Return the error for a path that is not there: `nearest` is like it, `parent` the folder to look in, if any."""
    message = say("There is no '{path}'.", path=visible_name(path))
    if nearest:
        message = say(
            "There is no '{path}'; the nearest name is '{nearest}'.",
            path=visible_name(path),
            nearest=visible_name(nearest),
        )
    hint = _list_directory_hint()
    if parent:
        hint = say("Call Madang's 'list_directory' with path '{path}' to see what is there.", path=visible_name(parent))
    return NotFound(message, hint=hint)


def no_such_source(source: str) -> NotFound:
    return NotFound(
        say("There is no '{path}'.", path=visible_name(source)),
        hint=say("Ask the person where the file is: folders outside of the workspace cannot be listed."),
    )


def file_exists(path: str) -> Conflict:
    return Conflict(
        say("There is something at '{path}' already.", path=visible_name(path)),
        hint=say("Call Madang's 'write_file' with mode 'overwrite' to replace it, or with another path to keep it."),
    )


def file_too_large(path: str, max_bytes: int) -> LimitExceeded:
    return LimitExceeded(
        say(
            "'{path}' has more than {limit} MiB.",
            path=visible_name(path),
            limit=max_bytes // 1024**2,
        ),
        hint=say("Work on smaller files: Madang's 'read_file' reads a part of one of any size."),
    )


def line_out_of_range(path: str, line: int, total: int) -> OutOfRange:
    return OutOfRange(
        say(
            "Line {line} does not exist: '{path}' has {total} {total|line|lines}.",
            line=line,
            path=visible_name(path),
            total=total,
        ),
        hint=say(
            "Call Madang's 'read_file' with path '{path}' and a startLine from 1 to {total}.",
            path=visible_name(path),
            total=max(total, 1),
        ),
    )


def line_not_counted(path: str, counted: int) -> LimitExceeded:
    return LimitExceeded(
        say("Time was up after the first {count} lines of '{path}'.", count=counted, path=visible_name(path)),
        hint=say("Call again: counting goes on where it stopped. Or find the place with Madang's 'grep'."),
    )


def column_out_of_range(path: str, line: int, column: int, chars: int) -> OutOfRange:
    return OutOfRange(
        say(
            "Column {column} does not exist: line {line} of '{path}' has {chars} {chars|character|characters}.",
            column=column,
            line=line,
            path=visible_name(path),
            chars=chars,
        ),
        hint=say("Leave startColumn out to read the line from its beginning."),
    )


def column_too_far(path: str, line: int, column: int) -> LimitExceeded:
    return LimitExceeded(
        say(
            "There was no time to read line {line} of '{path}' up to column {column}.",
            line=line,
            path=visible_name(path),
            column=column,
        ),
        hint=say("Find the place with Madang's 'grep'."),
    )


def column_of_one_line() -> InvalidArguments:
    return InvalidArguments(
        say("startColumn: is for one line; endLine must be startLine, or left out."),
        hint=say("Read the line from its column first, then the lines after it."),
    )


def end_before_start(start_line: int) -> InvalidArguments:
    return InvalidArguments(
        say("endLine: must be at least startLine ({line}).", line=start_line),
        hint=say("Leave endLine out to read on from startLine."),
    )


def cannot_append_to_binary(path: str) -> NotRegular:
    return NotRegular(
        say("'{path}' is a binary file: no text can be added to it.", path=visible_name(path)),
        hint=say("Write to another path, or replace it with mode 'overwrite'."),
    )


def cannot_edit_binary(path: str) -> NotRegular:
    return NotRegular(
        say("'{path}' is a binary file, not a text.", path=visible_name(path)),
        hint=say("Only texts can be edited; Madang's 'write_file' replaces a file."),
    )


def cannot_encode(path: str, error: UnicodeEncodeError, encoding: EncodingName) -> InvalidArguments:
    char = error.object[error.start]
    return InvalidArguments(
        say(
            "'{path}' is in {encoding}, which has no '{char}' (U+{code}).",
            path=visible_name(path),
            encoding=encoding,
            char=char,
            code=f"{ord(char):04X}",
        ),
        hint=say("Write it with characters that {encoding} has, or the whole file as UTF-8.", encoding=encoding),
    )


def offset_out_of_range(path: str, count: int) -> OutOfRange:
    return OutOfRange(
        say(
            "There {count|is|are} only {count} {count|entry|entries} in '{path}'.",
            count=count,
            path=visible_name(path) or ".",
        ),
        hint=say("Call Madang's 'list_directory' with an offset from 0 to {most}.", most=max(count - 1, 0)),
    )


def match_out_of_range(pattern: str, count: int) -> OutOfRange:
    return OutOfRange(
        say("Only {count} file(s) fit '{pattern}'.", count=count, pattern=visible_name(pattern)),
        hint=say("Call Madang's 'search_files' with an offset from 0 to {most}.", most=max(count - 1, 0)),
    )


def grep_out_of_range(pattern: str, count: int, mode: GrepMode) -> OutOfRange:
    facts = {"count": count, "pattern": visible_name(pattern)}
    return OutOfRange(
        say("Only {count} line(s) fit '{pattern}'.", **facts)
        if mode == "lines"
        else say("Only {count} file(s) fit '{pattern}'.", **facts),
        hint=say("Call Madang's 'grep' with an offset from 0 to {most}.", most=max(count - 1, 0)),
    )


def not_outside(source: str) -> InvalidPath:
    return InvalidPath(
        say("'{path}' does not name a file outside of the workspace.", path=visible_name(source)),
        hint=say("Give an absolute path in a folder that the person allowed; Madang's 'move_file' renames files here."),
    )


# Edits. `edit` is the number of the edit and how many there are.


def edit_changes_nothing(edit: tuple[int, int]) -> InvalidArguments:
    return InvalidArguments(
        say("In {which} oldText and newText are the same.", which=_which(edit)),
        hint=say("Leave this edit out, or write what it should become."),
    )


def edit_is_ambiguous(path: str, edit: tuple[int, int], count: int, lines: Sequence[int]) -> Conflict:
    more = ", …" if count > len(lines) else ""
    return Conflict(
        say(
            "The oldText of {which} is in '{path}' {count} times, on lines {lines}.",
            which=_which(edit),
            path=visible_name(path),
            count=count,
            lines=", ".join(map(str, lines)) + more,
        ),
        hint=say("Give more of the lines around the right one, or set replaceAll."),
    )


def edit_not_found(path: str, edit: tuple[int, int]) -> NotFound:
    return NotFound(
        _missing_old_text(path, edit),
        hint=say("Call Madang's 'read_file' with path '{path}' to see the text as it is now.", path=visible_name(path)),
    )


def edit_nearly_found(
    path: str, edit: tuple[int, int], first: int, last: int, likeness: float, lines: str, *, signs: Sequence[str] = ()
) -> NotFound:
    """Return the error for an oldText that is not there, with the nearest lines and names of odd signs in them."""
    facts = {"first": first, "last": last, "piece": _quoted(lines)}
    if likeness < 1 and first == last:
        nearest = say(
            "Line {first} of the file really says: {piece} ({percent} % alike).", **facts, percent=int(likeness * 100)
        )
    elif likeness < 1:
        nearest = say(
            "Lines {first} to {last} of the file really say: {piece} ({percent} % alike).",
            **facts,
            percent=int(likeness * 100),
        )
    elif first == last:
        nearest = say("Line {first} of the file differs from it only in white space: {piece}", **facts)
    else:
        nearest = say("Lines {first} to {last} of the file differ from it only in white space: {piece}", **facts)
    if signs:
        nearest = say("{nearest} It has {signs} there.", nearest=nearest, signs=", ".join(signs))
    return NotFound(
        layout("{message} {nearest}", message=_missing_old_text(path, edit), nearest=nearest),
        hint=say("Call Madang's 'edit_file' again with oldText exactly as the file has it."),
    )


def _which(edit: tuple[int, int]) -> Phrase:
    number, total = edit
    return say("edit {number} of {total}", number=number, total=total)


def _missing_old_text(path: str, edit: tuple[int, int]) -> Phrase:
    which = _which(edit)
    return say("The oldText of {which} is not in '{path}'.", which=which, path=visible_name(path))


def _quoted(lines: str) -> str:
    """Return lines as a JSON string: an error is one line, and white space must be seen, U+2028 too."""
    return visible_name(show_signs(json.dumps(lines, ensure_ascii=False)), max_chars=MAX_QUOTED_CHARS)


# Exports


def export_not_found(id: str) -> NotFound:
    return NotFound(say("There is no export '{id}'.", id=id[:100]))


def export_takes_too_much() -> LimitExceeded:
    return LimitExceeded(
        say("The export is larger than {limit} GiB.", limit=MAX_EXPORT_BYTES // 1024**3),
        hint=say("Export fewer files: call 'export_zip' once for each part."),
    )


def too_many_files(max_files: int) -> LimitExceeded:
    return LimitExceeded(
        say("There are more than {most} files.", most=max_files),
        hint=say("Pack some of the folders by themselves: call 'export_zip' once for each."),
    )


def nothing_to_export(skipped: Sequence[SkippedFile]) -> ToolError:
    hint = _list_directory_hint()
    if not skipped:
        return NotFound(say("There are no files there. Nothing was exported."), hint=hint)
    names = ", ".join(f"'{visible_name(file.path)}'" for file in skipped[:MAX_NAMED_SKIPPED])
    if all(file.reason == "missing" for file in skipped):
        return NotFound(say("None of the files is there: {names}. Nothing was exported.", names=names), hint=hint)
    return NotRegular(
        say("Nothing there can be packed: {names}. Links and special files are never packed.", names=names), hint=hint
    )


# Searching


def cannot_search(path: str) -> NotRegular:
    return NotRegular(
        say("'{path}' is neither a file nor a folder: links are never followed.", path=visible_name(path)),
        hint=_list_directory_hint(),
    )


def bad_pattern(reason: str) -> InvalidArguments:
    return InvalidArguments(
        say("pattern: the search engine cannot read it ({reason}).", reason=_brief(reason)),
        hint=say(
            "Patterns are Rust regular expressions, line by line: no look-around, no back-references. "
            "Put a backslash before signs that are meant as they are."
        ),
    )


def bad_set(field: str, set: str, reason: str) -> InvalidArguments:
    return InvalidArguments(
        say("{field}: the set '{set}' cannot be used: {reason}.", field=field, set=set, reason=reason),
        hint=say("Write sets like [abc] or [a-z]."),
    )


def cannot_export_hard_link(path: str) -> NotRegular:
    return NotRegular(
        say("'{path}' is a hard link: the same file has another name, perhaps outside of the workspace.", path=path),
        hint=say("Copy it inside the workspace, for example with 'read_file' and 'write_file', and export the copy."),
    )


def edits_take_too_long(path: str, limit_s: float) -> LimitExceeded:
    return LimitExceeded(
        say("Editing '{path}' takes longer than {limit:g} s.", path=path, limit=limit_s),
        hint=say("Send fewer edits in one call, or write the file anew."),
    )


def too_many_alternatives(field: str, max_alternatives: int) -> InvalidArguments:
    return InvalidArguments(
        say("{field}: its braces stand for more than {most} patterns.", field=field, most=max_alternatives),
        hint=say("Use fewer alternatives in one call."),
    )


def ripgrep_missing() -> Unavailable:
    return Unavailable(
        say("The program 'rg' (ripgrep) is not there."),
        hint=say(
            "Ask the person to install it: pip install ripgrep. Madang's 'search_files' and 'read_file' work without."
        ),
    )


def ripgrep_not_started(error: OSError) -> Unavailable:
    return Unavailable(
        say("The program 'rg' (ripgrep) cannot be started: {reason}.", reason=error.strerror or str(error)),
        hint=say("Ask the person to install it anew: pip install --force-reinstall ripgrep."),
    )


def _brief(reason: str) -> str:
    return " ".join(reason.split())[:MAX_REASON_CHARS].rstrip(".")
