"""The radius of the authors' released program: α⁽¹⁾_n(δ) with n = K·T for every user, as a constant."""

from __future__ import annotations

from hrprob._core.errors import InvalidInput
from hrprob.policies.radii.base import Radius, register
from hrprob.policies.radii.constant import ConstantWidth
from hrprob.policies.radii.parameters import OptimistParameters
from hrprob.policies.radii.theory_constants import confidence_sets
from hrprob.problem import Known

__all__ = ["Released"]


@register("released")
class Released(Radius[OptimistParameters]):
    """ξ = α⁽¹⁾_n(δ) with n = K·T."""

    def check(self, policy: OptimistParameters) -> None:
        """Check that K is given."""
        if policy.growth is None:
            remedy = "its ξ is computed with n = growth · users"
            raise InvalidInput("growth", 'must be given with radius = "released"', None, remedy)

    def width(self, policy: OptimistParameters, known: Known) -> ConstantWidth:
        """Return a width of α⁽¹⁾ at n = K·T."""
        assert policy.growth is not None  # checked by `check`
        confidence = confidence_sets(policy, known, "paper")
        return ConstantWidth(float(confidence.alpha1(policy.growth * known.users, policy.delta)))
