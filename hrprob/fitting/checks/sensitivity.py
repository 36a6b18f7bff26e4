"""Does the prior decide? Power scaling of prior and likelihood.

The prior (or the likelihood) is raised to a power a little below and a little above 1, the draws are reweighted, and the
distance of each marginal distribution is measured [1]_ by ArviZ. A uniform prior does not change when it is scaled: there
its bounds are what could decide, and all that is asked is whether too many draws lie at them.

References
----------
.. [1] N. Kallioinen, T. Paananen, P.-C. Bürkner, A. Vehtari, "Detecting and diagnosing prior and likelihood sensitivity
   with power-scaling", Statistics and Computing 34, 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from hrprob._core.formatting import format_number, percent
from hrprob.fitting import concerns, predictive
from hrprob.fitting.checks.base import Check, Evidence, register
from hrprob.fitting.checks.inputs import CheckInputs

__all__ = ["Sensitivity", "SensitivityResult"]

# Above this distance a posterior is called sensitive [1]_.
_SENSITIVE = 0.05
# Draws that are reweighted.
_DRAWS = 1000


class SensitivityResult(NamedTuple):
    """The largest distances, with their parameters, and the share of draws near the bounds."""

    prior: float
    prior_parameter: str
    likelihood: float
    restricted: list[str]
    at_bound: float  # the largest share of draws at a bound
    most_at_bound: float  # the share from which on the bound is said to restrict


@register("sensitivity")
class Sensitivity(Check[SensitivityResult]):
    """Prior and likelihood sensitivity by power scaling, and draws at the bounds."""

    title = "Sensitivity to the prior"
    order = 7.0
    quick = False

    def compute(self, inputs: CheckInputs) -> SensitivityResult:
        """Return the largest distances."""
        from arviz_base import from_dict
        from arviz_stats import psense  # type: ignore[attr-defined]

        posterior, table = inputs.posterior, inputs.table
        flat = posterior.flat()
        picks = np.linspace(0, len(flat["theta"]) - 1, min(_DRAWS, len(flat["theta"]))).astype(int)
        draws = {name: value[picks] for name, value in flat.items()}
        prior = predictive.log_prior(posterior.target, table.x, draws, posterior.columns)
        likelihood = predictive.log_likelihood(
            posterior.target, table.x, table.r, draws, posterior.columns
        ).sum(axis=1)
        tree = from_dict(
            {
                "posterior": {name: value[None] for name, value in draws.items()},
                "log_prior": {name: value[None] for name, value in prior.items()},
                "log_likelihood": {"r": likelihood[None]},
            }
        )
        worst = {}
        total = np.sum(list(prior.values()), axis=0)
        if np.ptp(total) <= 1e-9 * max(1.0, float(np.max(np.abs(total)))):
            worst["prior"] = (0.0, "")  # a constant density to any power is the same density
        for group in ("prior", "likelihood"):
            if group in worst:
                continue
            found = psense(tree, group=group)
            flat_distances = {
                f"{name}[{table.features[place[0]]}]" if name in ("theta", "phi") else str(name): float(
                    values.values[place]
                )
                for name, values in found.data_vars.items()
                for place in np.ndindex(values.shape)
            }
            parameter = max(flat_distances, key=lambda name: flat_distances[name])
            worst[group] = (flat_distances[parameter], parameter)
        restricted = [concern.words for concern in concerns.restricted(posterior)]
        shares = max(concerns.at_bounds(posterior).values())
        return SensitivityResult(*worst["prior"], worst["likelihood"][0], restricted, *shares)

    def evidence(self, result: SensitivityResult) -> Evidence:
        """Return whether the prior decides."""
        if result.prior == 0.0:
            return _of_uniform_prior(result)
        words = (
            f"power scaling moves {result.prior_parameter} most, by {format_number(result.prior, 2)} (prior) and "
            f"{format_number(result.likelihood, 2)} (likelihood)"
        )
        detectable = f"distances above {_SENSITIVE} count"
        if result.restricted:
            return Evidence(f"{words}; {'; '.join(result.restricted)}", detectable, sound=None)
        return Evidence(words, detectable, sound=True if result.prior < _SENSITIVE else None)

    def to_plain(self, result: SensitivityResult) -> Mapping[str, object]:
        """Return the distances."""
        return result._asdict()


def _of_uniform_prior(result: SensitivityResult) -> Evidence:
    """Return whether the bounds decide, which is all that can be asked of a uniform prior."""
    words = f"power scaling cannot tell under a uniform prior; {percent(result.at_bound)} of the draws lie at a bound"
    detectable = f"more than {percent(result.most_at_bound)} of the draws within 2 % of a bound count"
    if result.restricted:
        words = f"power scaling cannot tell under a uniform prior; {'; '.join(result.restricted)}"
    return Evidence(words, detectable, sound=None if result.restricted else True)
