"""The radii of the paper's confidence sets with the errors of the print corrected."""

from __future__ import annotations

from typing import ClassVar

from hrprob.policies.radii.base import register
from hrprob.policies.radii.paper import Paper

__all__ = ["Corrected"]


@register("corrected")
class Corrected(Paper):
    """The confidence sets as corrected in :mod:`hrprob.estimation.versions`."""

    version: ClassVar[str] = "corrected"
