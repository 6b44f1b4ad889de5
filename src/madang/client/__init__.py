"""The reading side: tools as methods, and answers as typed data, for programs that use Madang or any MCP server.

It needs the vocabulary of `core` and nothing else of ours, but the catalogue where a provider in this process reports
progress; the MCP SDK is imported when a connection is opened.
"""

from madang.client.answers import Answer, JsonView, OpenPause
from madang.client.connecting import connect
from madang.client.model_tools import AnsweredCall, ModelTools
from madang.client.proxy import ServerProxy, ToolMethod
from madang.client.reading import unwrap

__all__ = [
    "Answer",
    "AnsweredCall",
    "JsonView",
    "ModelTools",
    "OpenPause",
    "ServerProxy",
    "ToolMethod",
    "connect",
    "unwrap",
]
