"""The mixture of information-directed sampling, and the information about the best action."""

import jax.numpy as jnp
import numpy as np

from hrprob._core.precision import double_precision
from hrprob.policies.ids import _between, best_mixture


def test_best_mixture_has_the_smallest_ratio_of_a_grid() -> None:
    rng = np.random.default_rng(2)
    probabilities = np.linspace(0, 1, 401)
    for _ in range(20):
        regret, gain = rng.uniform(0.1, 2, 4), rng.uniform(0.01, 1, 4)
        with double_precision():
            a, b, q = (np.asarray(part) for part in best_mixture(jnp.asarray(regret), jnp.asarray(gain)))
        got = (q * regret[a] + (1 - q) * regret[b]) ** 2 / (q * gain[a] + (1 - q) * gain[b])
        least = min(
            np.min(
                (probabilities * regret[i] + (1 - probabilities) * regret[j]) ** 2
                / (probabilities * gain[i] + (1 - probabilities) * gain[j])
            )
            for i in range(4)
            for j in range(4)
        )
        assert got <= least * (1 + 1e-12)
        assert got >= least * (1 - 1e-3)


def test_information_of_the_best_action_is_the_variance_between_groups() -> None:
    rng = np.random.default_rng(3)
    best, numbers = rng.integers(3, size=50), rng.normal(size=(50, 3))
    means = np.array([numbers[best == k].mean(axis=0) for k in range(3)])
    shares = np.array([np.mean(best == k) for k in range(3)])
    direct = np.sum(shares[:, None] * (means - numbers.mean(axis=0)) ** 2, axis=0)
    with double_precision():
        got = _between(jnp.asarray(1.0 * (best[:, None] == np.arange(3))), jnp.asarray(numbers))
    np.testing.assert_allclose(got, direct, rtol=1e-12)
