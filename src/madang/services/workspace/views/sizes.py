"""Sizes in words."""

from __future__ import annotations


def size_text(size: int) -> str:
    """Return a size as people read it: `12 B`, `3.4 KB`, `1.2 MB`."""
    if size < 1000:
        return f"{size} B"
    for power, unit in enumerate(("KB", "MB"), start=1):
        if size < 1000 * 1024**power:
            return f"{size / 1024**power:.1f} {unit}"
    return f"{size / 1024**3:.1f} GB"
