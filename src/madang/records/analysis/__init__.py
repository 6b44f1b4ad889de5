"""Texts of records turned into words, in a process of its own, in turns that are fair."""
