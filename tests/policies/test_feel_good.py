"""Feel-good Thompson sampling: weights of its pool against plain NumPy, and what is served."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats

import hrprob
from hrprob._core.precision import double_precision
from tests.policies import test_contract as contract


@pytest.fixture(scope="module")
def played() -> Any:
    """A policy as the contract test has it, its users, and its states and actions along them."""
    with double_precision():
        policy = hrprob.FeelGoodThompson(**contract.QUICKER).bind(contract.PROBLEM, contract.USERS)
        users = contract.draw_users(2)
        yield policy, users, *contract.run(policy, users)


def moments(policy: Any, z: jax.Array, contexts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and variances (draws, actions) under draws z."""
    theta, phi = (np.asarray(part) for part in policy.target.coefficients(z))
    link = contract.PROBLEM.link
    return theta @ contexts.T, link.slope * phi @ contexts.T + link.offset


@pytest.mark.slow
def test_the_weights_of_the_pool(played: Any) -> None:
    """Every draw has λ times Σ min(b, max h) over all users, and the likelihood of the stays since the last fit."""
    policy, users, states, actions = played
    due = np.flatnonzero(np.asarray(policy.due)[: contract.USERS + 1])
    for last in (contract.USERS - 1, contract.USERS):
        state = jax.tree.map(lambda leaf, last=last: leaf[last - 1], states)
        fitted = int(due[due <= last].max())
        good, likelihood = np.zeros(policy.draws), np.zeros(policy.draws)
        for user in range(last):
            u, w = moments(policy, state.pool.z, users.contexts[user])
            values = np.exp(-special.log_ndtr((users.beta[user] - u) / np.sqrt(w)))
            good += np.minimum(values.max(axis=1), policy.most)
            if user >= fitted:
                mine = int(actions[user])
                each = stats.norm.logpdf(users.outcomes[user], u[:, [mine]], np.sqrt(w[:, [mine]]))
                likelihood += each.sum(axis=1)
        np.testing.assert_allclose(state.pool.good, good, rtol=1e-9)
        np.testing.assert_allclose(state.pool.likelihood, likelihood, rtol=1e-9, atol=1e-9)
        tilt = np.sqrt(contract.DIMENSION / contract.USERS) / policy.most
        np.testing.assert_allclose(policy.log_weights(state), likelihood + tilt * good, rtol=1e-9)


@pytest.mark.slow
def test_a_draw_with_all_the_weight_decides(played: Any) -> None:
    policy, users, states, _ = played
    state = jax.tree.map(lambda leaf: leaf[-1], states)
    truth = policy.target.position(jnp.asarray(contract.PROBLEM.theta), jnp.asarray(contract.PROBLEM.phi))
    pool = state.pool._replace(
        z=state.pool.z.at[5].set(truth), likelihood=jnp.full(policy.draws, -1e9).at[5].set(0.0)
    )
    best = hrprob.Oracle().bind(contract.PROBLEM, contract.USERS)
    for user in range(contract.USERS):
        offered = users.contexts[user], users.beta[user]
        chosen = policy.select(state._replace(pool=pool), users.key[user], *offered)
        assert int(chosen) == int(best.select((), users.key[user], *offered))


@pytest.mark.slow
def test_the_cumulative_variance_is_that_of_what_was_served(played: Any) -> None:
    """Of every user, the variance under the served action: its mean over the pool at that time, as a share of the largest."""
    policy, users, states, actions = played
    pools = np.concatenate([np.asarray(policy.init().pool.z)[None], np.asarray(states.pool.z)[:-1]])
    shares = []
    for user, z in enumerate(pools):
        _, w = moments(policy, jnp.asarray(z), users.contexts[user])
        shares.append(w[:, int(actions[user])].mean() / policy.variance_max)
    np.testing.assert_allclose(states.variance, np.cumsum(shares), rtol=1e-9)
    link, bound = contract.PROBLEM.link, contract.PROBLEM.bounds.phi
    assert float(policy.variance_max) == pytest.approx(link.offset + link.slope * bound)


def test_the_variance_decides_on_the_tilt() -> None:
    with double_precision():
        policy = hrprob.FeelGoodThompson(variance_aware=True, strength=2.0, **contract.QUICKER)
        bound = policy.bind(contract.PROBLEM, contract.USERS)
        state = bound.init()._replace(variance=jnp.asarray(7.0))
        assert float(bound.tilt(state)) == pytest.approx(2.0 * np.sqrt(contract.DIMENSION / 8.0) / 10.0)
