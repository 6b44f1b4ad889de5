"""Writing YAML that keeps every line break. It takes more than a second for a megabyte and looks at no clock, so long
documents are written in a child process, for which little is imported here."""

from __future__ import annotations

import json
from typing import Any

import yaml


class _Dumper(yaml.SafeDumper):
    """Safe YAML that keeps every line break: unquoted, YAML 1.1 reads these as spaces or not at all."""

    def represent_text(self, text: str) -> yaml.ScalarNode:
        style = '"' if any(sign in text for sign in "\x85\u2028\u2029") else "|" if "\n" in text else None
        return self.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _Dumper.represent_text)


def write_yaml(value: Any) -> str:
    """Return the document of a value that JSON knows."""
    # An endless width keeps each text on the lines its author gave it.
    text: str = yaml.dump(value, Dumper=_Dumper, allow_unicode=True, sort_keys=False, width=2**31)
    return text


def answer(question: bytes) -> bytes:
    """Answer for a child process: a value as JSON in, its document out."""
    return write_yaml(json.loads(question)).encode(errors="surrogatepass")
