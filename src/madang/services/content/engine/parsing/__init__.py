"""Bytes in, text or the picture of a page out. Text files are decoded here; a child that can be killed has documents.

Nothing is written to disk, nothing is fetched, and no name decides what a file is. How large a file may be, how its
text is cut into pieces and where it is stored is decided elsewhere.
"""

from madang.services.content.engine.parsing.parsed import PageImage, Parsed
from madang.services.content.engine.parsing.parser import Parser

__all__ = ["PageImage", "Parsed", "Parser"]
