"""The answer to a line that is no JSON-RPC message: what is wrong with it, under the id of the request if it has one.

Without an answer a client waits for its own timeout. Pure; reading lines is the transport's.
"""

from __future__ import annotations

import json
import re
from typing import Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR, ErrorData, JSONRPCError, RequestId
from pydantic import ValidationError
from pydantic_core import from_json

from madang.core.limits import MAX_LINE_BYTES

ID_SCAN_BYTES = 1024
"""So much of either end of a line is looked through for its id."""

BAD_ID = "The id of a request must be a string or an integer."

# Members whose values hold neither braces nor escapes. Clients write the id among the first (Python) or as the last
# (TypeScript); what stands right before the last brace of an object is its own member and no deeper one.
_MEMBER = rb'"(\w+)"\s*:\s*("[^"\\{}\[\]]*"|-?\d{1,19})\s*'
_FIRST_MEMBERS = re.compile(rb"\s*\{\s*((?:" + _MEMBER + rb"[,}]\s*)*+)")
_LAST_MEMBERS = re.compile(rb",\s*(" + _MEMBER + rb"(?:,\s*" + _MEMBER + rb")?)\}\s*\Z")
_MEMBERS = re.compile(_MEMBER)


def oversized_answer(start: bytes, end: bytes) -> JSONRPCError:
    """Return the answer to a line that is too long to be kept, of which these are the ends."""
    message = f"The line has more than {MAX_LINE_BYTES} bytes and was not read. A large text or file comes by its path."
    return _error(INVALID_REQUEST, message, _written_id(start, end))


def malformed_answer(line: bytes, error: ValidationError) -> JSONRPCError:
    """Return the answer to a line that is no message; `error` is what its parser said."""
    for details in error.errors(include_url=False, include_input=False):
        if details["type"] == "json_invalid":
            reason = _json_reason(line, str(details["ctx"]["error"]))
            return _error(PARSE_ERROR, f"The line is not JSON: {reason}.", _written_id(line, line))
    value = from_json(line)
    return _error(INVALID_REQUEST, _shape_reason(value), _request_id(value))


def unanswerable(line: bytes) -> JSONRPCError | None:
    """Return the answer to what was read as a notification, if it has an id."""
    return _error(INVALID_REQUEST, BAD_ID, None) if has_bad_id(from_json(line)) else None


def has_bad_id(message: Any) -> bool:
    """Tell whether a request has an id of a type that no answer can carry: the SDK takes it for a notification."""
    is_request = isinstance(message, dict) and "method" in message and "id" in message
    return is_request and type(message["id"]) not in (int, str)


def _json_reason(line: bytes, reason: str) -> str:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    if "hex escape" in reason and _has_half_pair(text):
        # Python's `json` writes half an emoji like this; no text that is kept or sent on can hold it.
        return f"half of a surrogate pair, which is no character ({reason})"
    return reason


def _has_half_pair(text: str) -> bool:
    try:
        json.dumps(json.loads(text), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        return False
    return False


def _shape_reason(value: Any) -> str:
    if isinstance(value, list):
        return "A line must be a single JSON-RPC message: batches are not supported."
    if not isinstance(value, dict):
        return "A line must be a single JSON-RPC message: a JSON object."
    if value.get("jsonrpc") != "2.0":
        return 'A JSON-RPC message must have "jsonrpc": "2.0".'
    if "method" not in value:
        return "A JSON-RPC message must have a method, or an id with a result or an error."
    if not isinstance(value["method"], str):
        return "The method of a request must be a string."
    return "The params of a request must be an object."


def _request_id(value: Any) -> RequestId | None:
    # Without a method it may be an answer, whose id is one of ours.
    id = value.get("id") if isinstance(value, dict) and "method" in value else None
    return id if type(id) in (int, str) else None


def _written_id(start: bytes, end: bytes) -> RequestId | None:
    """Return the id of a request that could not be parsed, from the members at its ends."""
    first = _FIRST_MEMBERS.match(start[:ID_SCAN_BYTES])
    last = _LAST_MEMBERS.search(end[-ID_SCAN_BYTES:])
    members = set(_MEMBERS.findall((first[1] if first else b"") + (b"," + last[1] if last else b"")))
    ids = [value.decode(errors="replace") for name, value in members if name == b"id"]
    # Without a method it may be an answer, whose id is one of ours; with two ids it is none, or two of them.
    if len(ids) != 1 or not any(name == b"method" for name, _ in members):
        return None
    if not ids[0].startswith('"'):
        return int(ids[0])
    return ids[0][1:-1] if ids[0].isprintable() else None


def _error(code: int, message: str, id: RequestId | None) -> JSONRPCError:
    return JSONRPCError(jsonrpc="2.0", id=id, error=ErrorData(code=code, message=message))
