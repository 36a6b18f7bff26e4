"""Sub-Gaussian scales against brute force in 30 digits, and refusals."""

import math
import runpy
from pathlib import Path
from typing import Any, ClassVar

import mpmath
import numpy as np
import numpyro.distributions as dist
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.noise import NOISES, NORMAL, FromDistribution, Mixture, StudentT, TruncatedNormal
from hrprob.noise.sub_gaussian import excess_exponential, integrated_scale, scale_of

# sup of 2 ln M(s)/s² on a grid of this spacing is below the supremum by less than 1e-5 of it.
GRID = np.geomspace(0.01, 100.0, 400)


def brute_force(log_mgf: Any) -> float:
    with mpmath.workdps(30):
        squares = [2 * log_mgf(mpmath.mpf(sign * s)) / s**2 for s in GRID.tolist() for sign in (1, -1)]
        return max(1.0, math.sqrt(float(max(squares))))


MIXTURES = [
    Mixture(),
    Mixture(weight=0.1, gap=2.5),
    Mixture(ratio=3.0),
    Mixture(weight=0.05, gap=4.0, ratio=0.3),
    Mixture(weight=0.5, gap=1.5),
    Mixture(gap=0.0, ratio=1.0),
]


@pytest.mark.parametrize("noise", MIXTURES, ids=repr)
def test_the_scale_of_a_mixture(noise: Mixture) -> None:
    parts = [tuple(mpmath.mpf(float(number)) for number in part) for part in noise.normal_components()]

    def log_mgf(s: Any) -> Any:
        return mpmath.log(sum(p * mpmath.exp(m * s + (v * s) ** 2 / 2) for p, m, v in parts))

    wanted = brute_force(log_mgf)
    assert wanted * (1 - 1e-12) <= noise.sub_gaussian_scale <= wanted * (1 + 1e-4)


def test_a_symmetric_mixture_with_light_tails_has_scale_exactly_one() -> None:
    # Kurtosis below 3, and components of the same sd below 1.
    assert Mixture(weight=0.5, gap=1.5).sub_gaussian_scale == 1.0
    assert NORMAL.sub_gaussian_scale == 1.0


def test_a_mixture_that_is_wider_than_normal_far_out_has_at_least_the_scale_of_its_wider_component() -> None:
    noise = Mixture(weight=0.5, gap=0.0, ratio=4.0)
    assert noise.sub_gaussian_scale >= float(noise.tail)
    assert noise.sub_gaussian_scale == pytest.approx(float(noise.tail), rel=1e-8)


@pytest.mark.parametrize("noise", [TruncatedNormal(2.0), TruncatedNormal(0.5, 0.2)], ids=repr)
def test_the_scale_of_truncated_normal_noise_is_one(noise: TruncatedNormal) -> None:
    """By the GHS inequality; here by integrals of the density in 30 digits."""
    b, tau = mpmath.mpf(noise.width), mpmath.mpf(noise.edge)
    far = b + 40 * tau

    def density(e: Any) -> Any:
        over = max(abs(e) - b, 0)
        return mpmath.exp(-(e**2) / 2 - ((over / tau) ** 2 / 2 if tau else 0))

    with mpmath.workdps(30):
        cuts = [-far, -b, 0, b, far] if tau else [-b, 0, b]
        mass = mpmath.quad(density, cuts)
        sd = mpmath.sqrt(mpmath.quad(lambda e: e**2 * density(e), cuts) / mass)
        for s in (0.05, 0.3, 1.0, 3.0, 8.0):
            mgf = mpmath.quad(lambda e, s=s: mpmath.exp(s * e / sd) * density(e), cuts) / mass
            assert 2 * mpmath.log(mgf) / mpmath.mpf(s) ** 2 <= 1
    assert noise.sub_gaussian_scale == 1.0


def test_integration_agrees_with_closed_forms() -> None:
    for noise in (Mixture(), TruncatedNormal(2.0)):
        assert integrated_scale(noise) == pytest.approx(noise.sub_gaussian_scale, rel=1e-6)
        assert integrated_scale(noise) >= noise.sub_gaussian_scale * (1 - 1e-9)


def test_a_distribution_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(NOISES, "_classes", NOISES.kinds())
    # The uniform distribution is strictly sub-Gaussian.
    assert FromDistribution(dist.Uniform(-(3**0.5), 3**0.5)).sub_gaussian_scale == 1.0
    # E exp(se) is infinite for s > √2 with Laplace tails, and beyond some s with logistic ones.
    assert FromDistribution(dist.Laplace(0.0, 0.5**0.5)).sub_gaussian_scale == math.inf
    logistic = runpy.run_path(str(Path(__file__).parents[1] / "plugins" / "noise.py"))["Logistic"]
    assert logistic().sub_gaussian_scale == math.inf
    assert StudentT(df=30.0).sub_gaussian_scale == math.inf


class _Opaque:
    kind: ClassVar[str] = "opaque"


class _AlmostNormal(TruncatedNormal):
    """Tails exp(−|z|^1.95): neither clearly normal nor clearly heavier."""

    def log_pdf(self, z: Any) -> Any:
        return -(np.abs(np.asarray(z)) ** 1.95)


def test_what_cannot_be_computed_is_refused_with_a_reason() -> None:
    with pytest.raises(InvalidInput, match="must have a sub-Gaussian scale"):
        scale_of(_Opaque())
    with pytest.raises(InvalidInput, match="tails that are clearly normal or clearly heavier"):
        integrated_scale(_AlmostNormal(2.0))

    class NotStandard(TruncatedNormal):
        def log_pdf(self, z: Any) -> Any:
            return -(np.asarray(z) ** 2) / 4

    with pytest.raises(InvalidInput, match="density that can be integrated"):
        integrated_scale(NotStandard(2.0))


def test_exponentials_without_their_first_terms() -> None:
    a = np.array([-30.0, -0.6, -0.4, -1e-8, 0.0, 1e-12, 0.3, 0.5, 2.0])
    with mpmath.workdps(40):
        wanted = [float(mpmath.exp(mpmath.mpf(one)) - 1 - mpmath.mpf(one)) for one in a.tolist()]
    np.testing.assert_allclose(excess_exponential(a), wanted, rtol=1e-14)
