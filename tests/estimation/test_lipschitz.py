"""C₃, C₄ and the suprema of the derivatives of h, compared with plain grids."""

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.estimation.lipschitz import lipschitz_constants
from hrprob.lifetime import h, h_gradient
from hrprob.noise import TruncatedNormal
from hrprob.problem.links import Affine

LINK = Affine(slope=1.5, offset=2.0)


# The first has every supremum on an edge; in the second |∂h/∂w| and the Hessian peak inside, since
# with β above u both go to 0 as w does.
DOMAINS = [
    {"beta_low": -1.0, "beta_high": 1.0, "variance_floor": 0.3},
    {"beta_low": 0.4, "beta_high": 1.0, "bound_theta": 0.0, "variance_floor": 0.001},
]


@pytest.mark.parametrize("domain", DOMAINS)
def test_constants_are_those_of_a_plain_grid(domain):
    constants = lipschitz_constants(LINK, 1.2, **domain)
    radius = domain.get("bound_theta", 1.0)
    gap = np.linspace(domain["beta_low"] - radius, domain["beta_high"] + radius, 151)[:, None]
    w = np.geomspace(domain["variance_floor"], LINK(1.2), 1201)
    gradient = h_gradient(0.0, w, gap)

    # Second derivatives as differences of the first ones: no code shared with automatic differentiation.
    step = 1e-5 * w
    above, below = h_gradient(0.0, w + step, gap), h_gradient(0.0, w - step, gap)
    along_w = [(above.u - below.u) / (2 * step), (above.w - below.w) / (2 * step)]
    uu = (h_gradient(1e-5, w, gap).u - h_gradient(-1e-5, w, gap).u) / 2e-5
    hessian = np.stack([np.stack([uu, along_w[0]], -1), np.stack(along_w, -1)], -1)
    trace, determinant = np.trace(hessian, axis1=-2, axis2=-1), np.linalg.det(hessian)
    norm = np.abs(trace) / 2 + np.sqrt(np.maximum(trace**2 / 4 - determinant, 0.0))

    # Nothing on this grid may be larger. A peak of width 1 in ln w and .1 in β − u is missed by half the
    # square of half a spacing over that width, 5e-4 at most here. Differences are good to 1e-7.
    for value, sizes, slack in (
        (constants.q_u, np.abs(gradient.u), 1e-12),
        (constants.q_v, np.abs(gradient.w), 1e-12),
        (constants.m_h, norm, 1e-6),
    ):
        assert sizes.max() <= value * (1 + slack)
        assert sizes.max() == pytest.approx(value, rel=5e-4)


def test_one_domain_has_its_peak_inside():
    """Otherwise the test above would not cover the refinement of the grid."""
    constants = lipschitz_constants(LINK, 1.2, **DOMAINS[1])
    edges = np.array([0.001, LINK(1.2)])
    assert np.abs(h_gradient(0.0, edges, np.linspace(0.4, 1.0, 201)[:, None]).w).max() < 0.9 * constants.q_v
    # At the least β, d/dw of |∂h/∂w| vanishes at the peak: found by a one-dimensional search.
    w = np.geomspace(0.05, 0.3, 100_001)
    assert np.abs(h_gradient(0.0, w, 0.4).w).max() == pytest.approx(constants.q_v, rel=1e-11)


def test_constants_follow_from_the_suprema_and_the_domain_is_stated():
    constants = lipschitz_constants(
        LINK, 1.2, beta_low=-0.5, beta_high=2.0, bound_theta=0.8, variance_floor=0.5
    )
    assert constants.c3 == constants.q_u + constants.m_h
    assert constants.c4 == pytest.approx(1.5 * (constants.q_v + constants.m_h * 1.5 * 1.2), rel=1e-14)
    assert constants.domain == ((-0.8, 0.8), (0.5, LINK(1.2)), (-0.5, 2.0))


def test_theorem_2_holds_with_these_constants():
    """h(θ₂, φ₂) − h(θ₁, φ₁) ≤ C₃|Δθᵀx| + C₄|Δφᵀx| for points of the domain."""
    constants = lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0.3)
    rng = np.random.default_rng(1)
    u, beta = rng.uniform(-1, 1, (2, 5000)), rng.uniform(-1, 1, 5000)
    v = rng.uniform(LINK.inverse(0.3), 1.2, (2, 5000))
    gain = h(u[1], LINK(v[1]), beta) - h(u[0], LINK(v[0]), beta)
    assert np.all(gain <= constants.c3 * np.abs(u[1] - u[0]) + constants.c4 * np.abs(v[1] - v[0]))


@pytest.mark.slow
def test_domains_without_finite_constants_are_refused():
    with pytest.raises(InvalidInput, match=r"`variance_floor` must lie in \(0, 3.8\], got 0"):
        lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0)
    with pytest.raises(InvalidInput, match=r"derivatives of h below 1e308, got 0\.001"):
        lipschitz_constants(LINK, 1.2, beta_low=-1.0, beta_high=1.0, variance_floor=0.001)
    # Beyond the truncation h is infinite and its derivatives are 0: the suprema are finite but meaningless.
    truncated, edged = TruncatedNormal(2.5), TruncatedNormal(2.5, edge=0.5)
    for low, noise in ((-1.0, truncated), (-3.0, truncated), (-30.0, edged)):
        with pytest.raises(InvalidInput, match="derivatives of h below 1e308"):
            lipschitz_constants(LINK, 1.2, beta_low=low, beta_high=1.0, noise=noise)
    assert (
        lipschitz_constants(LINK, 1.2, beta_low=0.0, beta_high=1.0, variance_floor=0.5, noise=truncated).c3
        > 0
    )
    with pytest.raises(InvalidInput, match="`beta_high` must be at least 1"):
        lipschitz_constants(LINK, 1.2, beta_low=1.0, beta_high=-1.0)
