"""One page of a PDF as pixels. They are sent as they are: the parent writes the picture, and checks their number."""

from __future__ import annotations

import math

import pypdfium2  # type: ignore[import-untyped]  # it has no types

from .pdf import open_pdf
from .pixels import CHANNELS, MAX_PIXELS, MAX_SIDE
from .refused import Refused


def render_page(data: bytes, number: int) -> tuple[dict[str, object], bytes]:
    """Return the size of a page's picture, how many pages there are, and the picture: rows of red, green and blue."""
    pdf = open_pdf(data)
    if not 1 <= number <= len(pdf):
        raise Refused("no_page", len(pdf))
    try:
        page = pdf[number - 1]
        bitmap = page.render(scale=_scale(*page.get_size()), rev_byteorder=True)
    except pypdfium2.PdfiumError as error:
        raise Refused("broken") from error
    width, height = bitmap.width, bitmap.height
    if bitmap.n_channels != CHANNELS or not 0 < width * height <= MAX_PIXELS:
        raise Refused("broken")
    rows = memoryview(bitmap.buffer).cast("B")
    row_bytes = width * CHANNELS
    pixels = b"".join(rows[start : start + row_bytes] for start in range(0, bitmap.stride * height, bitmap.stride))
    return {"width": width, "height": height, "pages": len(pdf)}, pixels


def _scale(width: float, height: float) -> float:
    """Return how large a page is drawn, by its own words on its size, which may be anything."""
    if not (math.isfinite(width) and math.isfinite(height) and width > 0 and height > 0):
        raise Refused("broken")
    # Sides are rounded up to whole pixels, which is a few thousand of them at most.
    return min(math.sqrt(0.99 * MAX_PIXELS / (width * height)), MAX_SIDE / max(width, height))
