"""Bytes in, text out. Text files are decoded here; documents are read in a child that can be killed.

Nothing is written to disk, nothing is fetched, and no name decides what a file is. Chunks and storage are not its
concern.
"""

from madang.services.content.engine.parsing.parsed import Parsed
from madang.services.content.engine.parsing.parser import MAX_PARSED_BYTES, Parser

__all__ = ["MAX_PARSED_BYTES", "Parsed", "Parser"]
