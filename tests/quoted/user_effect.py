"""The model of users who differ: ranks of truths drawn from its prior, and coverage of intervals for outcomes of new users.

Posteriors are those of an adapted random walk over many data sets at once, which is none of hrprob's engines: what is
examined is the model's density, whatever samples it.
"""

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import expit

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.sites import log_density as log_density_of_program
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.predictive import outcomes
from hrprob.models import Setting, Stays, UserEffect, make_prior
from hrprob.numerics.multiple_testing import holm
from hrprob.numerics.uniformity import detectable_shift, pit_among, uniformity_p_value
from hrprob.problem import LogLink

LEAST_P = 0.01
NAMES = ("theta1", "theta2", "phi1", "phi2", "user_correlation", "user_log_sd")

SETS, USERS, NEW = 208, 24, 40
STEPS, ADAPTING, THINNING = 6000, 3000, 50


def in_balls(rng, radius):
    way = rng.normal(size=(SETS, 2))
    return radius * way / np.linalg.norm(way, axis=1, keepdims=True) * np.sqrt(rng.uniform(size=(SETS, 1)))


def sums_of_rounds(rng, u, w, correlation, log_sd, rounds):
    """Σr and Σr² of users, drawn round by round as the model is written."""
    a, b = rng.normal(size=u.shape), log_sd * rng.normal(size=u.shape)
    within = np.sqrt((1 - correlation) * np.exp(b - log_sd**2 / 2))
    total, squares = np.zeros(u.shape), np.zeros(u.shape)
    for number in range(int(np.max(rounds))):
        e = np.sqrt(correlation) * a + within * rng.normal(size=u.shape)
        r = np.where(number < rounds, u + np.sqrt(w) * e, 0.0)
        total, squares = total + r, squares + r * r
    return total, squares


def walk(rng, density, z):
    """Draws (sets, draws, k) by an adapted random walk for every data set: a sampler that is none of hrprob's."""
    value, scale, k = density(z), np.ones(SETS), z.shape[1]
    assert np.all(np.isfinite(value))
    factor, past, kept = np.tile(0.3 * np.eye(k), (SETS, 1, 1)), [], []
    for step in range(STEPS):
        there = z + scale[:, None] * np.einsum("sij,sj->si", factor, rng.normal(size=z.shape))
        new = density(there)
        assert np.all(new < np.inf)
        accepted = np.log(rng.uniform(size=SETS)) < new - value
        z, value = np.where(accepted[:, None], there, z), np.where(accepted, new, value)
        if step < ADAPTING:
            # Of constant gain: where a covariance was learned on the way to the posterior, the scale makes up for it.
            scale *= np.exp(0.05 * (accepted - 0.27))
            past.append(z)
            if step in (500, 1000, 1500, 2000):
                spread = [np.cov(one.T) + 1e-3 * np.eye(k) for one in np.stack(past[step // 2 :], axis=1)]
                factor, scale = np.linalg.cholesky(np.stack(spread)), np.full(SETS, 2.38 / np.sqrt(k))
        elif step % THINNING == 0:
            kept.append(z)
    return np.stack(kept, axis=1)


def interval_of_new_users(target, x, draws, seed):
    """Ends (2, contexts) of the 90 % intervals of outcomes of new users, as `Posterior.predict` makes them."""
    each = np.tile(draws, (32, 1))  # 32 outcomes per draw, for quantiles of 1920
    values = {
        "theta": each[:, :2],
        "phi": each[:, 2:4],
        "user_correlation": each[:, 4],
        "user_log_sd": each[:, 5],
    }
    return np.quantile(outcomes(target, x, values, jax.random.key(seed)), [0.05, 0.95], axis=0)


def user_effect(folder=None) -> dict:
    """Return p-values of SBC over 208 data sets drawn from the prior, and the coverage of 90 % intervals for new users."""
    rng = np.random.default_rng(0)
    setting = Setting(2, LogLink(2.0))
    target = Target(UserEffect(), make_prior("uniform"), setting)
    sites = (("user_correlation", ()), ("user_log_sd", ()))
    theta, phi = in_balls(rng, 1.0), in_balls(rng, 2.0)
    rho, omega = rng.uniform(size=(SETS, 1)), 0.5 * np.abs(rng.normal(size=(SETS, 1)))
    x = rng.normal(size=(SETS, USERS + NEW, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    u, w = np.einsum("snd,sd->sn", x, theta), 2 * np.exp(np.einsum("snd,sd->sn", x, phi))
    m, first = 1.0 + np.arange(USERS) % 6, slice(None, USERS)
    total, squares = sums_of_rounds(rng, u[:, first], w[:, first], rho, omega, m)
    seen, _ = sums_of_rounds(rng, u[:, USERS:], w[:, USERS:], rho, omega, np.ones(NEW))
    with double_precision():
        columns = (x[:, first], np.broadcast_to(m, (SETS, USERS)), total, squares)
        data = Stays(*map(jnp.asarray, columns))
        compiled = jax.jit(jax.vmap(lambda z, data: log_density_of_program(target, sites, z, data)))
        z = walk(rng, lambda z: np.asarray(compiled(z, data)), 0.1 * rng.normal(size=(SETS, 6)))
        of_theta, of_phi = (np.asarray(part) for part in target.coefficients(jnp.asarray(z[..., :4])))
    drawn = expit(z[..., 4:5]), np.exp(z[..., 5:])
    draws = np.concatenate([of_theta, of_phi, *drawn], axis=-1)
    ranks = pit_among(np.concatenate([theta, phi, rho, omega], axis=1), draws, np.random.default_rng(1))
    p_values = np.array([uniformity_p_value(column) for column in ranks.T])
    low, high = np.stack(
        [interval_of_new_users(target, x[one, USERS:], draws[one], one) for one in range(SETS)], axis=1
    )
    by_set = ((low <= seen) & (seen <= high)).mean(axis=1)
    se = by_set.std(ddof=1) / np.sqrt(SETS)
    return {
        "sets": SETS,
        "users": USERS,
        "p_values": dict(zip(NAMES, p_values.tolist(), strict=True)),
        "least_adjusted": float(holm(p_values).min()),
        "detectable": 100.0 * detectable_shift(SETS, LEAST_P / len(NAMES)),
        "coverage": {"mean": 100.0 * float(by_set.mean()), "se": 100.0 * float(se)},
        "shares": {name: float(np.mean(column < 0.5)) for name, column in zip(NAMES, ranks.T, strict=True)},
    }


if __name__ == "__main__":
    print(user_effect())
