"""Asking and showing the person: prompts, waits and charts."""
