"""The noises under test, with points in their tails, and their Ψ and ψ in 40 digits by mpmath."""

import functools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np

from hrprob._core.precision import double_precision
from hrprob.noise import Mixture, Noise, StudentT, TruncatedNormal

NOISES: dict[str, tuple[Noise, list[float]]] = {
    "t": (StudentT(df=5.0), [-1e50, -1e9, -50.0, -4.0, -1.0, 0.7, 6.0]),
    "t, nearly no variance": (StudentT(df=2.05), [-1e100, -30.0, -1.0, 0.2, 3.0]),
    "t, nearly normal": (StudentT(df=1000.0), [-50.0, -20.0, -5.0, -0.5, 0.1, 4.0]),
    "truncated": (TruncatedNormal(width=2.0), [-2.2735, -2.27, -2.0, -1.0, -0.1, 0.5, 2.2]),
    "truncated, nearly uniform": (TruncatedNormal(width=0.1), [-1.732, -1.7, -0.9, 0.0, 1.5]),
    "truncated, nearly normal": (TruncatedNormal(width=9.0), [-8.9999, -8.7, -6.0, -1.0, 0.3, 5.0]),
    "with an edge": (TruncatedNormal(width=3.0, edge=0.05), [-4.5, -3.2, -3.04, -3.0, -1.0, 0.4, 3.3]),
    "with a soft edge": (TruncatedNormal(width=0.5, edge=1.0), [-20.0, -3.0, -0.5, 0.1, 2.0]),
    "two peaks": (Mixture(weight=0.5, gap=1.9), [-11.0, -3.0, -1.0, 0.0, 0.8, 3.0]),
    "skewed": (Mixture(weight=0.1, gap=2.5, ratio=0.4), [-12.0, -5.0, -2.3, 0.0, 1.0, 4.0]),
    "spread": (Mixture(weight=0.3, gap=0.0, ratio=4.0), [-60.0, -9.0, -1.0, 0.1, 2.0]),
}


def exact(noise, z):
    """Ψ(z) and ψ(z) to 40 digits, by other formulas than those of hrprob."""
    return {StudentT: _exact_t, TruncatedNormal: _exact_truncated, Mixture: _exact_mixture}[type(noise)](
        noise, mpmath.mpf(float(z))
    )


def _exact_t(noise, z):
    nu = mpmath.mpf(noise.df)
    scale = mpmath.sqrt((nu - 2) / nu)
    t = z / scale
    below = mpmath.betainc(nu / 2, mpmath.mpf(1) / 2, 0, nu / (nu + t * t), regularized=True) / 2
    norm = mpmath.gamma((nu + 1) / 2) / mpmath.gamma(nu / 2) / mpmath.sqrt(nu * mpmath.pi)
    return (below if t < 0 else 1 - below), norm * (1 + t * t / nu) ** (-(nu + 1) / 2) / scale


@functools.cache
def _moments_of_truncated(b, edge):
    density = functools.partial(_raw_truncated, b, edge)
    ends = [-b - 12 * edge / mpmath.sqrt(1 + edge**2), -b, 0] if edge else [-b, 0]
    mass = 2 * mpmath.quad(density, ends)
    return mass, mpmath.sqrt(2 * mpmath.quad(lambda e: e * e * density(e), ends) / mass)


def _raw_truncated(b, edge, e):
    over = max(abs(e) - b, 0)
    if over and not edge:
        return mpmath.mpf(0)
    return mpmath.exp(-e * e / 2 - ((over / edge) ** 2 / 2 if edge else 0))


def _exact_truncated(noise, z):
    b, edge = mpmath.mpf(noise.width), mpmath.mpf(noise.edge)
    mass, sd = _moments_of_truncated(b, edge)
    density = functools.partial(_raw_truncated, b, edge)
    e = z * sd
    if e > 0:
        below, above = _exact_truncated(noise, -z)
        return 1 - below, above
    # Beyond the cut a piece of a normal density, whose mass 40 digits hold; quadrature within.
    q = edge / mpmath.sqrt(1 + edge**2)
    piece = mpmath.sqrt(2 * mpmath.pi) * q * mpmath.exp(-(1 - q * q) * b * b / 2)
    below = piece * mpmath.ncdf((min(e, -b) + (1 - q * q) * b) / q) if edge else mpmath.mpf(0)
    below += mpmath.quad(density, [-b, (e - b) / 2, e]) if e > -b else 0
    return below / mass, density(e) * sd / mass


def _exact_mixture(noise, z):
    p, gap, ratio = (mpmath.mpf(value) for value in (noise.weight, noise.gap, noise.ratio))
    upper = mpmath.sqrt((1 - p * (1 - p) * gap**2) / (p * ratio**2 + 1 - p))
    parts = [(p, -(1 - p) * gap, ratio * upper), (1 - p, p * gap, upper)]
    below = sum(w * mpmath.erfc(-(z - m) / s / mpmath.sqrt(2)) / 2 for w, m, s in parts)
    density = sum(w * mpmath.npdf(z, m, s) for w, m, s in parts)
    return below, density


def error(value, wanted):
    return float(abs(mpmath.mpf(float(value)) / wanted - 1))


@jax.jit
def everything(noise, z):
    """Values and derivatives, one program per kind."""
    slopes = [jax.vmap(jax.grad(f))(z) for f in (noise.cdf, noise.log_cdf, noise.reciprocal_cdf)]
    second = jax.vmap(jax.grad(jax.grad(noise.reciprocal_cdf)))(z)
    values = noise.cdf(z), noise.log_cdf(z), noise.reciprocal_cdf(z), noise.pdf(z), noise.log_pdf(z)
    return *values, *slopes, second


def computed(noise, points):
    with double_precision():
        padded = np.append(points, np.zeros(8 - len(points)))
        return [np.asarray(row)[: len(points)] for row in everything(noise, jnp.asarray(padded))]
