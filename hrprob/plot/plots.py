"""Former home of the figures; new code imports them from :mod:`hrprob.plot`."""

from hrprob.plot.saving import save
from hrprob.plot.saving import save_in_background as saving_aside
from hrprob.plot.sizes import COLUMN_WIDTH, DOTS_PER_INCH
from hrprob.plot.style import Look, look_of, style

__all__ = ["COLUMN_WIDTH", "DOTS_PER_INCH", "Look", "look_of", "save", "saving_aside", "style"]
