"""Sizes of figures."""

__all__ = ["COLUMN_WIDTH", "DOTS_PER_INCH", "LINE_HEIGHT", "PAGE_WIDTH"]

COLUMN_WIDTH = 3.3
"""Inches: one column of a two-column paper."""

PAGE_WIDTH = 2 * COLUMN_WIDTH + 0.2
"""Inches: two columns of a paper, and the width of a report."""

DOTS_PER_INCH = 300
"""Resolution of saved figures."""

LINE_HEIGHT = 0.14
"""Inches from one line of small text to the next."""
