"""Bytes in, text out. Text files are decoded here; documents are read in a child that can be killed.

Nothing is written to disk, nothing is fetched, and no name decides what a file is. What the text means, how it is cut
into pieces and where it is kept is not known here.
"""

from madang.services.content.engine.parsing.parsed import Parsed
from madang.services.content.engine.parsing.parser import MAX_FILE_BYTES, Parser

__all__ = ["MAX_FILE_BYTES", "Parsed", "Parser"]
