"""What content drives: sources and parsing, chunks and excerpts, and the search index beside the database.

The tools use `ContentWriter`, `ContentReader` and `PassageSearch`, which get the rows and the ranking handed in.
"""
