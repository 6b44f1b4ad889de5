"""Playbooks as results. Pure: domain in, `ToolResult` out."""

MAX_ROW_VALUE_CHARS = 100
"""How much of a goal or a command stands in one row of a list."""
