"""Content: texts and documents that a session keeps, reads and searches."""
