"""What went over the wire between a client and Madang: who the client said it is, and what it was answered."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """The result of one `tools/call` as it left the server."""

    tool: str
    text: str
    data: dict[str, Any] | None
    blocks: int


@dataclass(slots=True)
class Transcript:
    """The answers to the tool calls of one client, in the order of the calls."""

    client: str = ""
    declares: list[str] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)


def read_transcript(record: Path) -> Transcript:
    """Read what `pipe.py` or the HTTP recorder wrote."""
    transcript = Transcript()
    tools_by_id: dict[tuple[str, Any], str] = {}
    for connection, sender, message in _messages(record):
        if sender == "client" and "method" in message:
            params = message.get("params") or {}
            _read_client(transcript, params)
            if message["method"] == "tools/call":
                tools_by_id[connection, message.get("id")] = params.get("name", "")
        elif sender == "server" and "result" in message:
            tool = tools_by_id.pop((connection, message.get("id")), None)
            # A request for the person's input goes to the client; the call comes again with it.
            if tool and message["result"].get("resultType") != "input_required":
                transcript.answers.append(_answer(tool, message["result"]))
    return transcript


def _messages(record: Path) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for line in record.read_text().splitlines() if record.exists() else []:
        sender, _, text = line.partition(" ")
        sender, _, connection = sender.partition("#")
        try:
            message = json.loads(text)
        except ValueError:
            continue
        if isinstance(message, dict):
            yield connection, sender, message


def _read_client(transcript: Transcript, params: dict[str, Any]) -> None:
    meta = params.get("_meta") or {}
    info = params.get("clientInfo") or meta.get("io.modelcontextprotocol/clientInfo")
    declared = params.get("capabilities") or meta.get("io.modelcontextprotocol/clientCapabilities")
    if info:
        transcript.client = f"{info.get('name', '')} {info.get('version', '')}".strip()
    if declared:
        extensions = declared.get("extensions") or {}
        transcript.declares = sorted({*declared, *extensions} - {"extensions"})


def _answer(tool: str, result: dict[str, Any]) -> Answer:
    content = result.get("content") or []
    text = next((block["text"] for block in content if block.get("type") == "text"), "")
    return Answer(tool, text, result.get("structuredContent"), len(content))
