"""Samples of the heteroscedastic model, and the estimators by their definition."""

import numpy as np

from hrprob.problem.links import Affine

LINK = Affine(slope=1.3, offset=2.1)


def samples(seed, n, d):
    """Contexts on the sphere and outcomes of the heteroscedastic model."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta, phi = np.full(d, 1.0 / np.sqrt(d)), np.linspace(-1.0, 1.0, d) / np.sqrt(d)
    return x, x @ theta + np.sqrt(LINK(x @ phi)) * rng.normal(size=n)


def by_definition(x, r, ridge):
    """θ̂ and φ̂ from the matrix of all contexts and the residuals one by one."""
    v = x.T @ x + ridge * np.eye(x.shape[1])
    theta = np.linalg.solve(v, x.T @ r)
    residuals = r - x @ theta
    return theta, np.linalg.solve(v, x.T @ ((residuals**2 - LINK.offset) / LINK.slope))


def distance(value, reference):
    return np.linalg.norm(np.asarray(value) - reference) / np.linalg.norm(reference)


def assert_same(first, second, rtol=1e-12):
    for name, a, b in zip(first._fields, first, second, strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * max(1.0, np.abs(b).max()), err_msg=name)
