"""Discounts and windows against sums over the users themselves."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation.forgetting import BLOCKS, Discount, Window
from hrprob.policies.base import Seen

D, USERS = 2, 90


def _stays() -> list[tuple[np.ndarray, float, float, float]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(USERS, D))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    outcomes = [rng.normal(size=rng.integers(1, 5)) for _ in range(USERS)]
    return [(x[i], len(r), r.sum(), (r**2).sum()) for i, r in enumerate(outcomes)]


def _plain_weights(last: int, **forgetting: float) -> np.ndarray:
    """The weight of each of the users 1, …, last, straight from the definition."""
    users = np.arange(1, last + 1)
    if "discount" in forgetting:
        return forgetting["discount"] ** (last - users)
    block = np.floor((users - 1) * BLOCKS / forgetting["window"])
    return 1.0 * (block > block[-1] - BLOCKS)


def _plain_glse(last: int, weights: np.ndarray, ridge: float) -> tuple[np.ndarray, np.ndarray]:
    """θ̂ and φ̂ from the weighted sums, round by round."""
    gram, rx, parts = ridge * np.eye(D), np.zeros(D), []
    for (x, m, total, squares), weight in zip(_stays()[:last], weights, strict=True):
        gram += weight * m * np.outer(x, x)
        rx += weight * total * x
        parts.append((weight, x, m, total, squares))
    theta = np.linalg.solve(gram, rx)
    target = np.zeros(D)
    for weight, x, m, total, squares in parts:
        u = x @ theta
        target += weight * (squares - 2 * u * total + m * u**2 - 2.0 * m) * x
    return theta, np.linalg.solve(gram, target)


def _play(policy: Any, look: int) -> Any:
    bound = policy.bind(hrprob.Problem(theta=[0.5, 0.2], phi=[0.1, 0.3]), USERS)
    with double_precision():
        update, state = jax.jit(bound.update), bound.init()
        for user, (x, m, total, squares) in enumerate(_stays()[:look], start=1):
            contexts, blank = jnp.asarray(x)[None], jnp.zeros(1)
            seen = Seen(
                *(jnp.asarray(1.0 * user), contexts, jnp.asarray(0), contexts[0], jnp.asarray(0.0)),
                *(jnp.asarray(1.0 * m), jnp.asarray(True), jnp.asarray(1.0 * m)),
                *(jnp.asarray(total), jnp.asarray(squares), blank),
            )
            state = update(state, seen)
    return state


@pytest.mark.parametrize("forgetting", [{"discount": 0.9}, {"window": 7.0}, {"window": 50.0}], ids=str)
def test_the_glse_of_weighted_users(forgetting: dict[str, float]) -> None:
    state = _play(hrprob.Greedy(ridge=0.5, **forgetting), USERS)
    weights = _plain_weights(USERS, **forgetting)
    theta, phi = _plain_glse(USERS, weights, ridge=0.5)
    np.testing.assert_allclose(state.estimates.theta, theta, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(state.estimates.phi, phi, rtol=1e-9, atol=1e-11)
    rounds = [m for _, m, _, _ in _stays()]
    assert float(state.sample_size) == pytest.approx(np.dot(weights, rounds))


def test_short_windows_are_exact_and_long_ones_lack_at_most_a_block() -> None:
    for window in (1.0, 5.0, 32.0):
        assert _plain_weights(USERS, window=window).sum() == window
    covered = [_plain_weights(last, window=64.0).sum() for last in range(64, USERS)]
    assert set(covered) == {63.0, 64.0}


def test_nothing_is_forgotten_by_a_discount_of_one_or_a_long_window() -> None:
    for kind in (hrprob.Greedy, hrprob.HRUCBWeighted):
        plain = _play(kind(), USERS)
        for forgetting in ({"discount": 1.0}, {"window": 1e6}):
            other = _play(kind(**forgetting), USERS)
            for one, two in zip(
                jax.tree.leaves(plain.estimates), jax.tree.leaves(other.estimates), strict=True
            ):
                np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10)


def test_a_forgetful_weighted_learner_is_that_of_the_last_users() -> None:
    """After many users, a window of W has the precision of W users, not of all."""
    window = _play(hrprob.HRUCBWeighted(window=8.0), USERS)
    everybody = _play(hrprob.HRUCBWeighted(), USERS)
    kept = _stays()[-8:]
    assert float(window.sample_size) == sum(m for _, m, _, _ in kept)
    assert np.trace(window.estimates.theta.covariance) > 2.0 * np.trace(everybody.estimates.theta.covariance)


def test_users_who_come_late_are_not_older_than_the_newest() -> None:
    for forgetting in (Discount(0.5), Window(2.0)):
        with double_precision():
            memory = forgetting.begin(jnp.zeros(()))
            for user in (1.0, 5.0, 3.0):
                memory = forgetting.forget(memory, jnp.asarray(user))
                memory = memory._replace(recent=memory.recent + 1.0)
        assert float(memory.user) == 5.0
        assert float(forgetting.total(memory)) == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"discount": 0.0}, "`discount` must"),
        ({"discount": 1.1}, "`discount` must"),
        ({"window": 0.5}, "`window` must be at least 1"),
        ({"window": 5, "discount": 0.9}, "`window` must not be given with `discount`"),
        ({"window": 5, "samples": "informative"}, '`samples` must be "first" for a policy that forgets'),
        ({"window": 5, "radius": "likelihood-ratio"}, "`radius` must go with a policy that forgets"),
    ],
)
def test_what_cannot_be_forgotten(options: dict[str, Any], words: str) -> None:
    with pytest.raises(hrprob.InvalidInput, match=words):
        hrprob.HRUCB(**options)
