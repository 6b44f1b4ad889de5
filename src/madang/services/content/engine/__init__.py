"""What content drives: reading documents, cutting texts into chunks, words for searching, and the search index."""
