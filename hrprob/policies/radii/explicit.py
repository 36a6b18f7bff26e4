"""The radii of the corrected confidence sets, without the unknown constants C₁ and C₂."""

from __future__ import annotations

from typing import ClassVar

from hrprob.policies.radii.base import register
from hrprob.policies.radii.paper import Paper

__all__ = ["Explicit"]


@register("explicit")
class Explicit(Paper):
    """The confidence sets in the version ``explicit`` of :mod:`hrprob.estimation.versions`."""

    version: ClassVar[str] = "explicit"
