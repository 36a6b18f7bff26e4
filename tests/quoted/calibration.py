"""How often the sets of calibrated radii contain the truth, while the policy plays the paper's setting."""

import hrprob
from hrprob.comparison.coverage import coverage
from tests.quoted.blocks import AS_PRINTED

USERS = (30, 100, 300, 1000)
TRIALS = 400
CASES = {
    "`hr-ucb`, `calibrated`, normal": (hrprob.HRUCB(radius="calibrated"), hrprob.Normal()),
    "`hr-ucb-exact`, `calibrated`, normal": (hrprob.HRUCBExact(radius="calibrated"), hrprob.Normal()),
    "`hr-ucb-weighted`, normal": (hrprob.HRUCBWeighted(), hrprob.Normal()),
    "`hr-ucb`, `calibrated`, Student-t with 5 degrees of freedom": (
        hrprob.HRUCB(radius="calibrated"),
        hrprob.StudentT(5.0),
    ),
    AS_PRINTED: (hrprob.HRUCB(radius="paper"), hrprob.Normal()),
}


def calibrated_coverage(folder) -> dict:
    """Return coverage at each user and at all of them, by case and parameter."""
    found = {}
    for label, (policy, noise) in CASES.items():
        measured = coverage(hrprob.Problem(noise=noise), policy, users=USERS, trials=TRIALS)
        found[label] = {
            parameter: {
                "coverage": measured.coverage.sel(parameter=parameter).values.tolist(),
                "always": float(measured.always.sel(parameter=parameter).values[-1]),
                "radius": measured.radius.sel(parameter=parameter).values.tolist(),
            }
            for parameter in ("theta", "phi")
        }
    return found
