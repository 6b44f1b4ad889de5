"""Playbooks as one portable document, in YAML or JSON, written so that importing and exporting it again is exact.

The document holds what people write. Ids, owners, dates and versions belong to the place where a playbook is kept, so
they stay there; so do step ids that were only defaults.
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
from madang.core.phrases import say
from madang.services.playbook.domain import PlaybookContent

Format = Literal["yaml", "json"]
MAX_IMPORT_BYTES = 2 * 1024 * 1024


class PortableDocument(Document):
    """The document's outline."""

    madang_playbooks: Literal[1]
    playbooks: Annotated[list[PlaybookContent], Field(max_length=MAX_PAGE_ITEMS)]


def write(contents: Sequence[PlaybookContent], format: Format) -> str:
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


def write_fitting(contents: Sequence[PlaybookContent], format: Format) -> tuple[str, int]:
    """Return the document of as many playbooks as can be imported again, and how many these are."""
    count = len(contents)
    document = write(contents, format)
    while len(document) > MAX_IMPORT_BYTES and count > 1:
        count = max(1, min(count - 1, count * MAX_IMPORT_BYTES // len(document)))
        document = write(contents[:count], format)
    return document, count


def read(document: str) -> list[PlaybookContent]:
    """Return the playbooks of a document.

    Raises:
        InvalidArguments: it is not such a document; the message says where it stops being one.
    """
    plain = _parsed(document)
    if not isinstance(plain, dict):
        raise _not_readable("it is not an object with 'madangPlaybooks' and 'playbooks'")
    check_shape(plain)
    try:
        return PortableDocument.model_validate(plain).playbooks
    except ValidationError as error:
        raise invalid_arguments(error, fields=("madangPlaybooks: 1", "playbooks")) from None


def _parsed(document: str) -> Any:
    if document.lstrip("\ufeff \t\r\n").startswith("{"):
        try:
            return json.loads(document.lstrip("\ufeff"))
        except (ValueError, RecursionError) as error:
            raise _not_readable(str(error)) from None
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    depth = 0
    try:
        # A page of aliases can stand for more data than there is memory, so they are looked for before anything is made
        # of the document. The fast loader composes in C, where no method of ours would see them.
        for event in yaml.parse(document, Loader=loader):
            if isinstance(event, yaml.AliasEvent):
                raise _not_readable("aliases are not taken here")
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_ARGUMENT_DEPTH:
                raise _not_readable(f"it is nested deeper than {MAX_ARGUMENT_DEPTH} levels")
        return yaml.load(document, loader)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise _not_readable(str(error)) from None
    except (LookupError, AttributeError, TypeError) as error:
        # PyYAML's own answer to a tag that does not fit its value, such as `!!bool maybe`.
        raise _not_readable(f"a tagged value does not fit its tag ({type(error).__name__})") from None


def _not_readable(reason: str) -> InvalidArguments:
    return InvalidArguments(
        say("document: cannot be read as YAML or JSON: {reason}.", reason=" ".join(reason.split())[:300]),
        hint=say("Pass the whole document as 'export_playbooks' gave it."),
    )
