"""Size limits on what a caller sends and gets. A limit that one module alone keeps stands in that module.

A body over HTTP is bounded before it is parsed, so that it cannot exhaust memory or the parser's stack. The arguments
of a call are bounded before a tool gets them, over every door. A body's limits leave room for the largest arguments
and for more, so that arguments over their limit get an answer that the model can read.
"""

MAX_NAME_CHARS = 200
"""Of an assistant, a session, a user."""

MAX_MODEL_CHARS = 500
"""Of the name of a language model, as a person gives it."""

MAX_ARGUMENT_DEPTH = 64

MAX_ARGUMENT_VALUES = 100_000
"""Names of fields count as values."""

MAX_BODY_BYTES = 4 * 1024 * 1024

MAX_BODY_DEPTH = MAX_ARGUMENT_DEPTH + 2
"""The JSON-RPC message and its `params` stand around the arguments."""

MAX_BODY_VALUES = 2 * MAX_ARGUMENT_VALUES
"""Only separators are counted before parsing, so this is a rough bound."""

MAX_INLINE_BYTES = 4 * 1024 * 1024
"""Of a text or file inside a call; what is larger comes by its path, or as an upload."""

MAX_LINE_BYTES = 8 * MAX_INLINE_BYTES
"""Of a message over standard input: room for the largest text with every byte of it escaped, and for more."""

MAX_REPLY_BYTES = 8 * 1024
"""Of the text of a reply, about: the renderer cuts what does not fit, and says so."""

MAX_REPLY_ROWS = 50
"""Of a list in the text of a reply."""

MAX_REPLY_IMAGE_BYTES = 3 * 1024 * 1024
"""Of the images of a reply together: as clients get them, in base64, they are 4 MiB."""

MAX_EXCERPT_BYTES = MAX_REPLY_BYTES - 1_192
"""Of a text that a reply quotes; the rest is for names, ids and words around it, in any language."""
