"""Playbooks as one portable document in YAML or JSON that round-trips byte for byte.

It holds what people write. Ids, owners, dates, versions and default step ids belong to the place where a playbook is
kept, and stay there.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from madang.core.arguments import check_shape, invalid_arguments
from madang.core.documents import Document
from madang.core.errors import InvalidArguments, LimitExceeded, Unavailable
from madang.core.executor import StopSignal
from madang.core.limits import MAX_ARGUMENT_DEPTH, MAX_ARGUMENT_VALUES
from madang.core.paging import MAX_PAGE_ITEMS
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.services.playbook.domain import PlaybookContent
from madang.system.child_process import ChildFailed, ask_child

Format = Literal["yaml", "json"]
MAX_IMPORT_CHARS = 2 * 1024 * 1024
MAX_PARSER_MESSAGE_CHARS = 300
INLINE_YAML_MAX_CHARS = 32 * 1024
"""Longer documents are parsed and written in a child process, whose start would cost more than these."""
MAX_PARSE_S = 10.0
MAX_WRITE_S = 20.0
MAX_PARSE_BYTES = 512 << 20
MAX_ANSWER_BYTES = 8 * MAX_IMPORT_CHARS
"""Of what a parser says, as JSON: every character may be an escape."""


class PortableDocument(Document):
    """The document's outline."""

    madang_playbooks: Literal[1]
    playbooks: Annotated[list[PlaybookContent], Field(max_length=MAX_PAGE_ITEMS)]


class _ParsedArgument(Document):
    """The argument that the document came in, so that errors name it before the place in the document."""

    document: PortableDocument


def write_document(contents: Sequence[PlaybookContent], format: Format, stop: StopSignal | None = None) -> str:
    """Return the document of these playbooks; equal playbooks give equal bytes.

    Raises:
        LimitExceeded: it takes too long to write.
    """
    outline = PortableDocument.model_construct(madang_playbooks=1, playbooks=list(contents))
    plain = outline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if format == "json":
        return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
    bare = json.dumps(plain).encode()
    if len(bare) > INLINE_YAML_MAX_CHARS:
        return _write_in_child(bare, stop)
    from madang.text.yaml_writing import write_yaml

    return write_yaml(plain)


def write_importable(
    contents: Sequence[PlaybookContent], format: Format, stop: StopSignal | None = None
) -> tuple[str, int]:
    """Return the document of as many playbooks as `read_document` takes, and how many these are."""
    count = len(contents)
    document = write_document(contents, format, stop)
    while len(document) > MAX_IMPORT_CHARS and count > 1:
        if stop is not None:
            stop.check()
        count = max(1, min(count - 1, count * MAX_IMPORT_CHARS // len(document)))
        document = write_document(contents[:count], format, stop)
    return document, count


def needs_child(document: str) -> bool:
    """Tell whether a document is parsed in a child process."""
    return len(document) > INLINE_YAML_MAX_CHARS and not _is_json(document)


def read_document(document: str, stop: StopSignal | None = None) -> list[PlaybookContent]:
    """Return the playbooks of a document.

    Raises:
        InvalidArguments: it is not such a document; the message says where it stops being one.
    """
    plain = _parse(document, stop)
    if not isinstance(plain, dict):
        raise _unreadable(say("it is not an object with 'madangPlaybooks' and 'playbooks'"))
    check_shape(plain)
    try:
        return _ParsedArgument.model_validate({"document": plain}).document.playbooks
    except ValidationError as error:
        hint = say(
            "The document needs: madangPlaybooks: 1, playbooks. A playbook needs goal and workflow, a step of workflow "
            "needs description."
        )
        raise invalid_arguments(error, hint=hint) from None


def _parse(document: str, stop: StopSignal | None) -> Any:
    if _is_json(document):
        try:
            return json.loads(document.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise _unreadable(one_line(str(error), MAX_PARSER_MESSAGE_CHARS)) from None
    from madang.text.plain_yaml import YamlRefused, check_directives, parse_plain_yaml

    try:
        check_directives(document)  # here already: a child is not started for what it would refuse
        if needs_child(document):
            return _parse_in_child(document, stop)
        return parse_plain_yaml(document, stop.checkpoint if stop else lambda: None)
    except YamlRefused as refused:
        raise _refusal(refused.reason, refused.detail) from None


def _is_json(document: str) -> bool:
    return document.lstrip("\ufeff \t\r\n").startswith("{")


def _parse_in_child(document: str, stop: StopSignal | None) -> Any:
    """Parse a long document where the parser can be killed: it is C code that looks at no clock."""
    try:
        answer = ask_child(
            "madang.text.plain_yaml",
            document.encode(errors="replace"),
            limit_s=MAX_PARSE_S,
            memory_bytes=MAX_PARSE_BYTES,
            max_answer_bytes=MAX_ANSWER_BYTES,
            stop=stop,
        )
    except ChildFailed as error:
        if error.is_late:
            raise _unreadable(say("it takes longer than {limit:g} s to read", limit=MAX_PARSE_S)) from None
        raise _unreadable(say("its parser gave up")) from error
    except OSError as error:
        raise _no_process(error) from error
    reply = json.loads(answer)
    if "refused" in reply:
        raise _refusal(reply["refused"], reply["detail"])
    return reply["value"]


def _write_in_child(bare: bytes, stop: StopSignal | None) -> str:
    try:
        document = ask_child(
            "madang.text.yaml_writing",
            bare,
            limit_s=MAX_WRITE_S,
            memory_bytes=MAX_PARSE_BYTES,
            max_answer_bytes=MAX_ANSWER_BYTES,
            stop=stop,
        )
    except ChildFailed as error:
        raise LimitExceeded(
            say("These playbooks are too much for one YAML document."),
            hint=say("Export fewer playbooks at a time, by 'ids', or as JSON."),
        ) from error
    except OSError as error:
        raise _no_process(error) from error
    return document.decode(errors="surrogatepass")


def _no_process(error: OSError) -> Unavailable:
    return Unavailable(
        say("No process can be started for the document: {reason}.", reason=error.strerror or str(error)),
        hint=say("Call again in a few seconds, or take fewer playbooks at a time."),
    )


def _refusal(reason: str, detail: str) -> InvalidArguments:
    reasons = {
        "aliases": say("aliases are not allowed"),
        "directives": say("directives (lines that begin with %) are not allowed"),
        "depth": say("it is nested deeper than {max} levels", max=MAX_ARGUMENT_DEPTH),
        "values": say("it holds more than {max} values", max=MAX_ARGUMENT_VALUES),
        "keys": say("a key of an object is no text"),
        "tag": say("the tag '{tag}' is not allowed, or does not fit its value", tag=detail),
        "documents": say("there is more than one document"),
    }
    return _unreadable(reasons.get(reason) or one_line(detail, MAX_PARSER_MESSAGE_CHARS))


def _unreadable(reason: Phrase | str) -> InvalidArguments:
    return InvalidArguments(
        say("document: cannot be read as YAML or JSON: {reason}.", reason=reason),
        hint=say("Pass the whole document as 'export_playbooks' gave it."),
    )
