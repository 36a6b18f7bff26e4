"""What a tree imagines before any data, and anew after them."""

import numpy as np
import pytest

import hrprob


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["laplace", "smc"])
def test_new_outcomes_have_noise_of_their_own(engine):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(12, 3))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    posterior = hrprob.fit((x, rng.normal(size=12)), engine=engine, seed=1)
    tree = posterior.to_datatree()
    without = posterior.to_datatree(prior=False)
    assert set(tree.children) - set(without.children) == {"prior", "prior_predictive"}
    # What is drawn anew from the posterior does not depend on it.
    assert without["posterior_predictive"].equals(tree["posterior_predictive"])
    for group in ("prior", "posterior"):
        drawn = (tree[group]["theta"], tree[group]["phi"], tree[f"{group}_predictive"]["r"])
        for theta, phi, r in zip(*(np.asarray(of_chains) for of_chains in drawn), strict=True):
            noise = (r - theta @ x.T) / np.sqrt(phi @ x.T + 2.0)
            draws = len(noise)
            # A correlation of independent draws has the error 1/sqrt(draws); the largest of 72 in each of up to
            # four chains stays below 4.5 of them.
            both = np.concatenate([theta, phi], axis=1)
            correlations = np.corrcoef(noise, both, rowvar=False)[: len(x), len(x) :]
            assert np.abs(correlations).max() < 4.5 / np.sqrt(draws)
            # The variance of draws squared normals is 2/draws.
            assert np.abs(noise.var(axis=0) - 1).max() < 4.5 * np.sqrt(2 / draws)
