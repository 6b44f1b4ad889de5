"""How many pixels the picture of a page has at most, and what each is: for both sides, so it loads no renderer."""

MAX_PIXELS = 1_600_000
"""About 1,060 by 1,500: sharp enough for a panel on a dense screen."""
MAX_SIDE = 4_000
CHANNELS = 3
"""Red, green and blue, a byte each."""
