"""The versions of the formulas differ in the places stated, and only there."""

import pytest

from hrprob.estimation.versions import VERSIONS


@pytest.mark.parametrize(
    ("name", "values"),
    [("paper", (4.0, 1.0, 9.0, 10)), ("corrected", (3.0, 0.5, 3.0, 50)), ("explicit", (3.0, 0.5, 3.0, 50))],
)
def test_versions(name, values):
    version = VERSIONS[name]
    scale, theta, phi, counted = values
    assert float(version.noise_scale(4.0, 1.5)) == scale
    assert version.theta_norm(0.5) == theta
    assert version.phi_norm(3.0) == phi
    assert version.counted(10, 50) == counted
