"""Runs of an agent as rows: who owns one, what it waits for, and that every write of it is by its owner."""
