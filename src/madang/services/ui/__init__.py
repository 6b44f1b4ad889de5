"""Asking the person: questions and waits."""
