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
from madang.core.errors import InvalidArguments
from madang.core.limits import MAX_ARGUMENT_DEPTH
from madang.core.paging import MAX_PAGE_ITEMS
from madang.core.phrases import Phrase, say
from madang.core.texts import one_line
from madang.services.playbook.domain import PlaybookContent

Format = Literal["yaml", "json"]
MAX_IMPORT_CHARS = 2 * 1024 * 1024
MAX_PARSER_MESSAGE_CHARS = 300


class PortableDocument(Document):
    """The document's outline."""

    madang_playbooks: Literal[1]
    playbooks: Annotated[list[PlaybookContent], Field(max_length=MAX_PAGE_ITEMS)]


class _ParsedArgument(Document):
    """The argument that the document came in, so that errors name it before the place in the document."""

    document: PortableDocument


def write_document(contents: Sequence[PlaybookContent], format: Format) -> str:
    """Return the document of these playbooks; equal playbooks give equal bytes."""
    outline = PortableDocument.model_construct(madang_playbooks=1, playbooks=list(contents))
    plain = outline.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    if format == "json":
        return json.dumps(plain, ensure_ascii=False, indent=2) + "\n"
    import yaml

    class Dumper(yaml.SafeDumper):
        """Safe YAML that keeps every line break: unquoted, YAML 1.1 reads these as spaces or not at all."""

        def represent_text(self, text: str) -> yaml.ScalarNode:
            style = '"' if any(sign in text for sign in "\x85\u2028\u2029") else "|" if "\n" in text else None
            return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    Dumper.add_representer(str, Dumper.represent_text)
    # An endless width keeps each text on the lines its author gave it.
    text: str = yaml.dump(plain, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=2**31)
    return text


def write_importable(contents: Sequence[PlaybookContent], format: Format) -> tuple[str, int]:
    """Return the document of as many playbooks as `read_document` takes, and how many these are."""
    count = len(contents)
    document = write_document(contents, format)
    while len(document) > MAX_IMPORT_CHARS and count > 1:
        count = max(1, min(count - 1, count * MAX_IMPORT_CHARS // len(document)))
        document = write_document(contents[:count], format)
    return document, count


def read_document(document: str) -> list[PlaybookContent]:
    """Return the playbooks of a document.

    Raises:
        InvalidArguments: it is not such a document; the message says where it stops being one.
    """
    plain = _parse(document)
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


def _parse(document: str) -> Any:
    if document.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return json.loads(document.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise _unreadable(one_line(str(error), MAX_PARSER_MESSAGE_CHARS)) from None
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        # Aliases of aliases expand to more data than there is memory (a "billion laughs"), so the events are checked
        # before anything is built. The fast loader composes in C, where no method of ours would see them.
        for event in yaml.parse(document, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise _unreadable(say("aliases are not allowed"))
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_ARGUMENT_DEPTH:
                raise _unreadable(say("it is nested deeper than {max} levels", max=MAX_ARGUMENT_DEPTH))
        return yaml.load(document, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _unreadable(one_line(str(error), MAX_PARSER_MESSAGE_CHARS)) from None
    except (LookupError, AttributeError, TypeError) as error:
        # What PyYAML raises for a tag that does not fit its value, such as `!!bool maybe`.
        raise _unreadable(say("a tagged value does not fit its tag ({error})", error=type(error).__name__)) from None


def _unreadable(reason: Phrase | str) -> InvalidArguments:
    return InvalidArguments(
        say("document: cannot be read as YAML or JSON: {reason}.", reason=reason),
        hint=say("Pass the whole document as 'export_playbooks' gave it."),
    )
