"""Searching texts by words: how text and query become tokens. Which texts, and how they are ranked, is for stores."""
