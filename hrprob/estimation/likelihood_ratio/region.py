r"""The likelihood-ratio set of normal outcomes in closed form, cheap enough for every user of a compiled run.

The set is :math:`\{\ell(\theta, \phi) \ge \sum \ln q - \ln(1/\delta)\}` within the balls of the bounds. Around a
maximum of ℓ with the Fisher information A_θ, A_φ,

.. math:: A_\theta = \sum \frac{m\,xx^\top}{w}, \qquad A_\phi = \sum \frac{m M_f^2\,xx^\top}{2w^2}, \qquad
    \tfrac12\lVert\theta - \hat\theta\rVert^2_{A_\theta} + \tfrac12\lVert\phi - \hat\phi\rVert^2_{A_\phi} \le b
    = \ell(\hat\theta, \hat\phi) - \sum\ln q + \ln\tfrac1\delta

to second order. A small share κ of the balls' own inequalities is added to both sides (the S-procedure), so that the
matrices have inverses from the first user on: it costs κ in b.

**Beyond second order.** The likelihood of a variance is far from quadratic at the width that such a set has. For the
rounds of *one* context, N of them, the set of (u, w) is, with ρ = w/ŵ and s = 2b/N,

.. math:: \ln\rho + \frac{1 + (u-\hat u)^2/\hat w}{\rho} - 1 \le s,

whose boundary is :math:`u = \hat u \pm \sqrt{s \hat w \rho}\cos a`, with
:math:`\psi(\rho) = \ln\rho + 1/\rho - 1 = s \sin^2 a`; and ψ(ρ) ≈ (9/2)(1 − ρ^{−1/3})² (Wilson and
Hilferty's cube root), so that :math:`\rho = (1 - \tfrac13\sqrt{2s}\sin a)^{-3}`.

For any context, :func:`boundary` moves φ along Σ_φx. The variances of the contexts that were served change by other
shares than that of x itself. Let γ be their mean share (weighted as in the third derivative of ℓ) over that of x:
1 where x was served itself, near 0 where the variance at x is extrapolated, negative where it falls while those of the served
contexts rise. With half axes h_u and h_w (as a share of ŵ) of the ellipsoid,

.. math:: \rho = (1 - \tfrac13 \gamma h_w \sin a)^{-3}, \qquad
    w = \hat w\,(1 + (\rho - 1)/\gamma), \qquad u = \hat u + h_u \sqrt\rho \cos a,

which is exact to third order along that line. The largest \|u − û\|, which :func:`ends` returns, is at
:math:`\sin a = 3c/(1 + \sqrt{1 + 3c^2})` with :math:`c = \tfrac13 \gamma h_w`, as far as the variance there is allowed. On the side on which the third order makes the set wider than the ellipsoid (γ sin a > 0), γ
enters whole; on the other, half of it: the set bends away from the line there.

**What is promised.** The expansion needs h_w of at most about 1. With fewer than :data:`LEAST_ROUNDS` rounds per dimension the region
is that of the bounds alone, which contains every set; with more, the half axes are multiplied by :data:`SLACK`, the stated slack. For
this form there is no proof: searches of the exact set try to escape it and do not (``tests``, and
``docs/explanation/likelihood-ratio.md`` for what was tried). What is proved is the ellipsoid of
:mod:`hrprob.estimation.likelihood_ratio.certificate`.

An old region stays valid: the set of an earlier n holds together with all others. So it is fitted again only now and
then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from hrprob._core.types import Integer, Number
from hrprob.estimation.projection import project
from hrprob.noise.normal import log_density_of_rounds
from hrprob.numerics.factors import cholesky, inverse_of
from hrprob.numerics.products import contract, quadratic_form
from hrprob.numerics.row_sums import sum_over_rows
from hrprob.observations import Stays
from hrprob.problem.bounds import Bounds
from hrprob.problem.links import AffineLink

__all__ = [
    "LEAST_ROUNDS",
    "POINTS",
    "SLACK",
    "Ends",
    "Region",
    "boundary",
    "empty",
    "ends",
    "expand",
    "fit",
    "maximum",
]

POINTS = 7
"""Points of the boundary per context, from the smallest variance to the largest."""

SLACK = 1.1
"""The stated slack, a factor on the radius. 3.5 % of it is for the points of :func:`boundary`, which are corners of a polygon."""

LEAST_ROUNDS = 128
"""Rounds per dimension below which the region is that of the bounds alone."""

# κ: what the balls' own inequalities may cost in b.
_SHARE = 0.25
# The search ends when its next step is shorter than this share of a standard deviation, squared.
_CLOSE = 0.01
_MOST_STEPS = 20
_LEAST_GAMMA, _MOST_GAMMA = 0.02, 4.0
# Its square is not 0.
_LEAST_SPREAD = 1e-150


class Region(NamedTuple):
    """The set in closed form: its centre, the inverses of A_θ and A_φ, third derivatives, and 2b."""

    theta: jax.Array  # (d,)
    phi: jax.Array  # (d,)
    theta_covariance: jax.Array  # (d, d)
    phi_covariance: jax.Array  # (d, d)
    third: jax.Array  # (d, d, d) Σ m M_f³ x⊗x⊗x/w³
    squared_radius: jax.Array  # ()


class Ends(NamedTuple):
    """Outer intervals of mean and variance."""

    u_low: jax.Array  # (...)
    u_high: jax.Array  # (...)
    w_low: jax.Array  # (...)
    w_high: jax.Array  # (...)


class _Sums(NamedTuple):
    """ℓ with its gradient and the Fisher information, without the balls."""

    value: jax.Array  # ()
    by_theta: jax.Array  # (d,)
    by_phi: jax.Array  # (d,)
    information: jax.Array  # (2, d, d)


class _Search(NamedTuple):
    steps: jax.Array  # () int
    near: jax.Array  # () bool
    part: jax.Array  # () share of the next step that is taken
    region: Region  # the best centre so far; its squared radius is the value of ℓ there
    step: jax.Array  # (2, d)


def empty(dimension: int, bounds: Bounds) -> Region:
    """Return the region before any data: it contains both balls.

    Examples
    --------
    >>> from hrprob.problem import Bounds
    >>> float(empty(2, Bounds(theta=1.0, phi=2.0)).squared_radius)
    2.0
    """
    nothing, eye = jnp.zeros(dimension), jnp.eye(dimension)
    # ‖θ‖²/R_θ² + ‖φ‖²/R_φ² ≤ 2 in the balls.
    third = jnp.zeros((dimension,) * 3)
    return Region(nothing, nothing, bounds.theta**2 * eye, bounds.phi**2 * eye, third, jnp.asarray(2.0))


def fit(
    tables: Sequence[tuple[Stays, Integer]],
    log_q: Number,
    delta: Number,
    start: Region,
    link: AffineLink,
    bounds: Bounds,
    scale: Number = 1.0,
) -> Region:
    """Return the region given stays.

    Parameters
    ----------
    tables : list of (Stays, rows)
        The stays, and how many rows of each table are in use.
    log_q : scalar
        Σ ln q over the same rounds.
    delta : scalar
        δ.
    start : Region
        Where the search for the maximum begins: the last region.
    link, bounds : Affine, Bounds
        f, and the bounds of ‖θ‖ and ‖φ‖.
    scale : scalar
        Factor on the radius; with less than 1 nothing is promised.
    """
    fitted = expand(tables, log_q, delta, start, link, bounds, scale)
    d = start.theta.shape[-1]
    # The error of the expansion depends on radius²/n: a scaled set needs fewer rounds.
    few = _rounds(tables) < LEAST_ROUNDS * d * jnp.minimum(scale, 1.0) ** 2
    return jax.tree.map(lambda whole, other: jnp.where(few, whole, other), empty(d, bounds), fitted)


def expand(
    tables: Sequence[tuple[Stays, Integer]],
    log_q: Number,
    delta: Number,
    start: Region,
    link: AffineLink,
    bounds: Bounds,
    scale: Number = 1.0,
) -> Region:
    """Return the region by its expansion at any number of rounds, also where too few make it inaccurate; as :func:`fit`."""
    found = maximum(tables, start, link, bounds)
    excess = found.squared_radius + _SHARE - log_q - jnp.log(delta)
    # The maximum is above the likelihood of any pair, also where the search was stopped or ended at the ball.
    excess = jnp.maximum(excess, -jnp.log(delta))
    third = jnp.zeros_like(start.third)
    for data, rows in tables:
        third = third + sum_over_rows(_block_third, data, rows, (found.phi, link), third)
    return found._replace(third=third, squared_radius=2.0 * excess * scale**2)


def maximum(
    tables: Sequence[tuple[Stays, Integer]], start: Region, link: AffineLink, bounds: Bounds
) -> Region:
    """Return a region around the maximum of the likelihood; its squared radius is the value of ℓ there."""
    return _climb(tables, start, link, bounds, _rounds(tables))


def _rounds(tables: Sequence[tuple[Stays, Integer]]) -> jax.Array:
    return sum((jnp.sum(data.rounds) for data, _ in tables), jnp.zeros(()))


def boundary(
    region: Region, contexts: jax.Array, link: AffineLink, bounds: Bounds, floor: Number
) -> tuple[jax.Array, jax.Array]:
    """Return points (u, w) on the upper boundary of the set of each context (n, d): (POINTS, n) both.

    ``u`` is the largest mean at each variance; it and ``w`` are clipped to the bounds, ``w`` to ``floor`` too.
    """
    section = _section(region, contexts, link, bounds, floor)
    low, high = section.low, section.high
    place = np.sin(np.linspace(-0.5 * math.pi, 0.5 * math.pi, POINTS)).reshape((POINTS,) + (1,) * low.ndim)
    sine = 0.5 * (low + high) + 0.5 * (high - low) * place
    gamma = jnp.where(sine < 0.0, section.below, section.above)
    ratio = _ratio(gamma, section.half_w, sine)
    half = section.half_u * jnp.sqrt(jnp.maximum(1.0 - sine * sine, 0.0) * ratio)
    u = jnp.clip(section.u + half, -section.most_u, section.most_u)
    return u, section.variance(ratio, gamma)


def ends(region: Region, contexts: jax.Array, link: AffineLink, bounds: Bounds, floor: Number) -> Ends:
    """Return outer intervals of mean and variance of each context (n, d)."""
    section = _section(region, contexts, link, bounds, floor)
    sides = ((section.below, section.low), (section.above, section.high))
    squares, w = [], []
    for gamma, end in sides:
        # cos²a·ρ is largest where its derivative by sin a is 0; sin a is between 0 and its value at the end.
        c = gamma * section.half_w / 3.0
        place = 3.0 * c / (1.0 + jnp.sqrt(1.0 + 3.0 * c * c))
        sine = jnp.clip(place, jnp.minimum(end, 0.0), jnp.maximum(end, 0.0))
        squares.append((1.0 - sine * sine) * _ratio(gamma, section.half_w, sine))
        w.append(section.variance(_ratio(gamma, section.half_w, end), gamma))
    widest = section.half_u * jnp.sqrt(jnp.maximum(*squares))
    u = (jnp.clip(section.u + side * widest, -section.most_u, section.most_u) for side in (-1.0, 1.0))
    return Ends(*u, *w)


class _Section(NamedTuple):
    """What the set allows for mean and variance of contexts, on a line through its centre; all (n,)."""

    u: jax.Array
    w: jax.Array
    half_u: jax.Array
    half_w: jax.Array  # as a share of w
    below: jax.Array  # γ where the variance is below w
    above: jax.Array
    low: jax.Array  # sin a at the ends
    high: jax.Array
    least: jax.Array  # the variances that the bounds allow
    most: jax.Array
    most_u: jax.Array

    def variance(self, ratio: jax.Array, gamma: jax.Array) -> jax.Array:
        return jnp.clip(self.w * (1.0 + (ratio - 1.0) / gamma), self.least, self.most)


def _section(
    region: Region, contexts: jax.Array, link: AffineLink, bounds: Bounds, floor: Number
) -> _Section:
    length = jnp.sqrt(contract(contexts, contexts))
    least = jnp.maximum(link(-bounds.phi * length), floor)
    most = jnp.maximum(link(bounds.phi * length), floor)
    w = jnp.clip(link(contract(contexts, region.phi)), least, most)
    radius = SLACK * jnp.sqrt(region.squared_radius)
    half_u = radius * jnp.sqrt(jnp.maximum(quadratic_form(region.theta_covariance, contexts), 0.0))
    toward = contract(region.phi_covariance, contexts[..., None, :])  # Σ_φ x
    spread = jnp.maximum(contract(toward, contexts), 0.0) * link.slope**2
    half_w = jnp.maximum(radius * jnp.sqrt(spread) / w, 1e-9)
    third = contract(
        contract(contract(region.third, toward[..., None, None, :]), toward[..., None, :]), toward
    )
    # A context of almost no length has the variance f(0) whatever φ is.
    tiny = spread < _LEAST_SPREAD
    gamma = jnp.where(tiny, 0.0, 0.5 * third * w * link.slope**3 / jnp.where(tiny, 1.0, spread) ** 2)
    # On the wider side γ enters whole, on the other half of it; never 0, because a quotient by it is taken.
    size = jnp.clip(jnp.abs(gamma), _LEAST_GAMMA, _MOST_GAMMA)
    half_size = 0.5 * jnp.minimum(size, 1.0)
    below = jnp.where(gamma < 0.0, -size, half_size)
    above = jnp.where(gamma < 0.0, -half_size, size)
    # Where the variance meets its bounds: w = ŵ(1 + (ρ − 1)/γ) with ρ = (1 − γ·half_w·sin a/3)^{−3}.
    low, high = (
        3.0 * (1.0 - 1.0 / jnp.cbrt(jnp.maximum(1.0 + share * (end / w - 1.0), 1e-9))) / (share * half_w)
        for share, end in ((below, least), (above, most))
    )
    low, high = jnp.clip(low, -1.0, 0.0), jnp.clip(high, 0.0, 1.0)
    most_u = bounds.theta * length
    u = contract(contexts, region.theta)
    return _Section(u, w, half_u, half_w, below, above, low, high, least, most, most_u)


def _ratio(gamma: jax.Array, half_w: jax.Array, sine: jax.Array) -> jax.Array:
    """Return ρ."""
    root = 1.0 / jnp.maximum(1.0 - gamma * half_w * sine / 3.0, 1e-3)
    return root * root * root


def _climb(
    tables: Sequence[tuple[Stays, Integer]], start: Region, link: AffineLink, bounds: Bounds, rounds: Number
) -> Region:
    """Return the maximum of ℓ − κ/2 times the balls' quadratic forms, by Fisher scoring from ``start``."""
    # With few rounds the likelihood is unbounded where the variance of an outcome may be 0, at the sphere: keep away.
    allowed = bounds.phi * (1.0 - 1.0 / (rounds + 10.0))
    pull = _SHARE / jnp.stack([jnp.asarray(bounds.theta, float), jnp.asarray(bounds.phi, float)]) ** 2

    def look(steps: jax.Array, theta: jax.Array, phi: jax.Array) -> _Search:
        d = theta.shape[-1]
        nothing = _Sums(jnp.zeros(()), jnp.zeros(d), jnp.zeros(d), jnp.zeros((2, d, d)))
        sums = nothing
        for data, rows in tables:
            added = sum_over_rows(_block, data, rows, (theta, phi, link), nothing)
            sums = jax.tree.map(jnp.add, sums, added)
        information = sums.information + pull[:, None, None] * jnp.eye(d)
        inverse, both = inverse_of(cholesky(information)), jnp.stack([theta, phi])
        value = sums.value - 0.5 * contract(pull, contract(both, both))
        gradient = jnp.stack([sums.by_theta, sums.by_phi]) - pull[:, None] * both
        step = contract(inverse, gradient[:, None, :])
        step = step.at[1].set(project(phi + step[1], inverse[1], allowed) - phi)
        size = contract(contract(information, step[:, None, :]), step).sum()
        there = Region(theta, phi, inverse[0], inverse[1], start.third, value)
        return _Search(steps, size < _CLOSE, jnp.asarray(1.0), there, step)

    def advance(now: _Search) -> _Search:
        region, (by_theta, by_phi) = now.region, now.part * now.step
        moved = look(now.steps + 1, region.theta + by_theta, region.phi + by_phi)
        moved = moved._replace(part=jnp.minimum(1.0, 2.0 * now.part))
        stayed = now._replace(steps=now.steps + 1, part=0.25 * now.part)
        better = moved.region.squared_radius >= region.squared_radius
        return jax.tree.map(lambda new, old: jnp.where(better, new, old), moved, stayed)

    # The first step has length 0 and is accepted, since ℓ is above −∞: it evaluates the start.
    unseen = start._replace(squared_radius=jnp.asarray(-jnp.inf))
    nowhere = jnp.zeros((2, start.theta.shape[-1]))
    first = _Search(jnp.zeros((), jnp.int32), jnp.asarray(False), jnp.asarray(1.0), unseen, nowhere)
    return lax.while_loop(lambda now: ~now.near & (now.steps < _MOST_STEPS), advance, first).region


def _block(data: Stays, theta: jax.Array, phi: jax.Array, link: AffineLink) -> _Sums:
    d = data.x.shape[1]
    u, w = contract(data.x, theta), jnp.maximum(link(contract(data.x, phi)), 1e-9)
    inverse = 1.0 / w
    spread = data.squares - 2.0 * u * data.total + data.rounds * u * u
    by_u = inverse * (data.total - data.rounds * u)
    by_v = 0.5 * link.slope * inverse * (spread * inverse - data.rounds)
    weight = data.rounds * inverse
    weights = jnp.stack([weight, 0.5 * link.slope**2 * weight * inverse])
    first = jnp.stack([by_u, by_v]) @ data.x
    pairs = (data.x[:, :, None] * data.x[:, None, :]).reshape(-1, d * d)
    value = jnp.sum(log_density_of_rounds(u, w, data.rounds, data.total, data.squares))
    return _Sums(value, first[0], first[1], (weights @ pairs).reshape(2, d, d))


def _block_third(data: Stays, phi: jax.Array, link: AffineLink) -> jax.Array:
    d = data.x.shape[1]
    share = link.slope / jnp.maximum(link(contract(data.x, phi)), 1e-9)
    weighted = (data.rounds * share**3)[:, None] * data.x
    pairs = (data.x[:, :, None] * data.x[:, None, :]).reshape(-1, d * d)
    return (weighted.T @ pairs).reshape(d, d, d)
