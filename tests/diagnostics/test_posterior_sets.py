"""The posterior beside the printed sets, compared with plain NumPy."""

import jax
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.diagnostics import posterior_sets
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.models import pad, stays

from .toy import PROBLEM, TARGET


@pytest.mark.slow
def test_the_posterior_beside_the_printed_sets_is_as_in_plain_numpy():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = x @ PROBLEM.theta + np.sqrt(x @ PROBLEM.phi + 2.0) * rng.normal(size=12)
    data, key, delta, ridge = stays(x, r, user=np.arange(12)), jax.random.key(7), 0.1, 1.0
    truth, radii = np.stack([PROBLEM.phi, PROBLEM.theta]), np.array([[5.0, 0.5], [3.0, 0.2]])
    engine = Laplace()
    with double_precision():
        wide = pad(data, 16)
        belief, sums = (
            engine.fit(TARGET, [(wide, 12)], engine.init(TARGET)),
            posterior_sets._statistics(wide, 12),
        )
        found = jax.tree.map(
            np.asarray,
            posterior_sets._compare(engine, TARGET, belief, sums, truth, radii, delta, ridge, key),
        )

        @jax.jit
        def drawn(belief, keys):
            return TARGET.coefficients(jax.vmap(lambda key: engine.draw(TARGET, belief, key))(keys))

        keys = jax.random.split(key, posterior_sets._DRAWS)
        theta, phi = (np.asarray(leaf) for leaf in drawn(belief, keys))
    glse, shape = hrprob.GLSE(ridge=ridge, link=PROBLEM.link).fit(x, r), x.T @ x + ridge * np.eye(2)
    for place, (draws, centre) in enumerate(((phi, glse.phi_), (theta, glse.theta_))):
        away = np.sqrt(np.einsum("nd,de,ne->n", draws - centre, shape, draws - centre))
        np.testing.assert_allclose(found.mass[place], np.mean(away[:, None] <= radii[place], axis=0))
        # The posterior's own ellipsoid: draws within the 90 % quantile of Mahalanobis' distance.
        mean, covariance = draws.mean(axis=0), np.cov(draws, rowvar=False)
        around = np.sqrt(np.einsum("nd,de,ne->n", draws - mean, shape, draws - mean))
        np.testing.assert_allclose(found.radius[place], np.quantile(around, 0.9), rtol=1e-8)
        squared = np.einsum("nd,de,ne->n", draws - mean, np.linalg.inv(covariance), draws - mean)
        own, off = np.quantile(squared, 0.9), truth[place] - mean
        assert found.covers[place] == (np.sqrt(off @ shape @ off) <= np.quantile(around, 0.9))
        assert found.ellipsoid[place] == (off @ np.linalg.inv(covariance) @ off <= own)
        # Areas: π r²/√det V and π own √det Σ.
        printed = np.pi * radii[place] ** 2 / np.sqrt(np.linalg.det(shape))
        ratio = printed / (np.pi * own * np.sqrt(np.linalg.det(covariance)))
        np.testing.assert_allclose(found.log_volume[place], np.log(ratio), rtol=1e-8)
