"""Particles: weights, moves, draws."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.records import with_fields
from hrprob.estimation.posterior import smc_integrated
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.models import Rounds, Setting, Stays, make_model, make_prior

from .comparing import against_nuts, by, long_stays, shift_and_ratio
from .reference import USERS, gathered


@pytest.mark.study
def test_smc_moves_only_the_trials_with_few_effective_particles(target):
    """Three trials: one particle of the second has all the weight, and seven of the third; those of the first have equal weights."""
    engine = make_engine({"kind": "smc", "particles": 16, "moves": 1})
    sets = [gathered(8, seed=seed) for seed in range(3)]
    with double_precision():
        cloud = engine.init(target)
        even, uneven = jnp.zeros(16), jnp.zeros(16).at[3].set(30.0)
        seven = jnp.zeros(16).at[:7].set(30.0)
        clouds = []
        for data, weight in zip(sets, (even, uneven, seven), strict=True):
            value, given = smc_integrated.posterior(target, [(data, 8)], cloud.z)
            clouds.append(cloud._replace(log_weight=weight, base=value - weight, given=given))
        stack = lambda trees: jax.tree.map(lambda *leaves: jnp.stack(leaves, axis=-1), *trees)  # noqa: E731
        refresh = jax.jit(lambda data, cloud, due: engine.refresh(target, [(data, 8)], cloud, due))
        every = lambda due: jax.vmap(refresh, (-1, -1, None), -1)(stack(sets), stack(clouds), due)  # noqa: E731
        moved, due = every(jnp.asarray(False)), every(jnp.asarray(True))
        for trial, (data, before) in enumerate(zip(sets, clouds, strict=True)):
            alone = jax.jit(lambda data, cloud: engine.fit(target, [(data, 8)], cloud))(data, before)
            np.testing.assert_allclose(due.z[..., trial], (before if trial == 0 else alone).z, rtol=1e-12)
            expected = alone if trial == 1 else before
            np.testing.assert_allclose(moved.z[..., trial], expected.z, rtol=1e-12)
            of_theta = moved.given.covariance[..., trial]
            np.testing.assert_allclose(of_theta, expected.given.covariance, rtol=1e-12)


@pytest.mark.parametrize(("moves", "in_policy", "of_fit"), [(None, 2, None), (4, 4, 4), (1, 1, 1)])
def test_a_policy_moves_by_two_steps_unless_told_otherwise(moves, in_policy, of_fit):
    engine = make_engine("smc" if moves is None else {"kind": "smc", "moves": moves})
    assert (hrprob.Thompson(engine=engine).engine.moves, engine.moves) == (in_policy, of_fit)


def both(z_phi):
    return jnp.concatenate([jnp.zeros_like(z_phi), z_phi], axis=-1)


@pytest.mark.parametrize("prior", ["uniform", "gaussian"])
def test_smc_updates_agree_with_a_fit(prior, target, data):
    engine, target = make_engine("smc"), with_fields(target, prior=make_prior(prior))
    with double_precision():
        cloud = jax.jit(lambda: engine.init(target))()
        absorb = jax.jit(lambda cloud, stay: engine.absorb(target, cloud, stay))
        for row in range(10):
            cloud = absorb(cloud, jax.tree.map(lambda leaf, row=row: jnp.asarray(leaf[row]), data))
        table = jax.tree.map(lambda leaf: jnp.asarray(leaf[:10]), data)
        posterior = jax.jit(lambda z: smc_integrated.posterior(target, [(table, 10)], z))
        value, (covariance, sum_rx, _) = posterior(cloud.z)
        np.testing.assert_allclose(cloud.given.covariance, covariance, rtol=1e-8, atol=1e-12)
        np.testing.assert_allclose(cloud.given.sum_rx, sum_rx, rtol=1e-10)
        # Log weights are the log posterior minus the log prior that the particles came from.
        tilt = target.prior.log_tilt(
            jnp.zeros((256, 4)), target.coefficients(both(cloud.z))[1], target.setting
        )
        apart = cloud.log_weight - (value + 0.5 * jnp.sum(cloud.z**2, axis=1) - tilt)
        assert np.ptp(np.asarray(apart)) < 1e-9
        # The density that moves start from is what the rows have added to that of the prior.
        assert np.ptp(np.asarray(cloud.value - value)) < 1e-9


def test_particles_over_both_weigh_as_the_likelihood_says():
    """Student-t outcomes, several of a context, written out with SciPy; then particles are drawn by their weights."""
    target = Target(make_model("student-t"), make_prior("uniform"), Setting(2))
    engine = make_engine({"kind": "smc", "particles": 64})
    x, r = np.array([[0.6, 0.2], [-0.3, 0.5]]), np.array([[0.4, -2.0], [1.5, 0.0]])
    weight = np.array([[1.0, 1.0], [1.0, 0.0]])
    with double_precision():
        cloud = jax.jit(lambda: engine.init(target))()
        absorb = jax.jit(lambda cloud, row: engine.absorb(target, cloud, row))
        for row in zip(x, r, weight, strict=True):
            cloud = absorb(cloud, Rounds(*map(jnp.asarray, row)))
        theta, phi = (np.asarray(leaf) for leaf in target.coefficients(cloud.z))
        draw = jax.jit(jax.vmap(lambda key, scale: engine.draw(target, cloud, key, scale), (0, None)))
        keys = jax.random.split(jax.random.key(1), 4000)
        whole, half = (np.asarray(draw(keys, scale)) for scale in (1.0, 0.5))
    u, deviation = theta @ x.T, np.sqrt(phi @ x.T + 2)
    each = stats.t.logpdf(r, 5.0, u[..., None], np.sqrt(3 / 5) * deviation[..., None])
    value = np.sum(weight * each, axis=(1, 2))
    assert np.ptp(np.asarray(cloud.log_weight) - value) < 1e-10
    share = np.exp(value - value.max())
    share /= share.sum()
    picked = np.argmin(np.linalg.norm(whole[:, None] - np.asarray(cloud.z), axis=-1), axis=1)
    # Shares of 4000 draws, each known to 0.008 at most: four such.
    np.testing.assert_allclose(np.bincount(picked, minlength=64) / 4000, share, atol=0.032)
    np.testing.assert_allclose(half, 0.5 * (whole + share @ np.asarray(cloud.z)), atol=1e-12)


@pytest.mark.study
def test_smc_is_moved_when_one_stay_outweighs_all_others(target, data):
    """A stay of a hundred thousand rounds leaves one particle with all the weight, until the cloud is moved."""
    smc = make_engine("smc")
    long = Stays(np.asarray([[0.3, 0.2, -0.1, 0.4]]), *(np.asarray([v]) for v in (1e5, 3e4, 2.3e5)))
    every = jax.tree.map(lambda *parts: np.concatenate(parts), data, long)
    with double_precision():
        tables = [(jax.tree.map(jnp.asarray, part), len(part.rounds)) for part in (data, long)]
        cloud = smc.fit(target, tables[:1], smc.init(target))
        assert not smc.needs_refit(cloud)
        after = smc.absorb(target, cloud, jax.tree.map(lambda column: column[0], tables[1][0]))
        assert smc.needs_refit(after)
        after = smc.fit(target, tables, after)
        keys = jax.random.split(jax.random.key(0), 2000)
        one = np.asarray(jax.vmap(lambda key: smc.draw(target, after, key))(keys))
    apart, _ = shift_and_ratio(one, by("nuts", target, every).z.reshape(-1, 8))
    # 256 particles know a mean to 0.06 standard deviations. Moved at once to where one is, they are off by 0.5.
    assert apart.max() < 0.25


@pytest.mark.slow
def test_smc_is_moved_when_few_particles_are_effective(target):
    """Long stays between two times at which a move is due, as a table of one's own may have them."""
    data = long_stays(np.where(np.arange(119) < 100, 1.0, 300.0), seed=1)
    apart, _ = against_nuts("smc", target, data)
    # Unmoved they are off by 0.6.
    assert apart.max() < 0.2


@pytest.mark.study
def test_scaled_draws_of_smc_shrink_to_the_mean_of_z(target, data):
    engine = make_engine("smc")
    with double_precision():
        belief = jax.jit(lambda: engine.fit(target, [(data, USERS)], engine.init(target)))()
        draw = jax.jit(jax.vmap(lambda key, scale: engine.draw(target, belief, key, scale), (0, None)))
        keys = jax.random.split(jax.random.key(0), 4000)
        whole, half, none = (np.asarray(draw(keys, scale)) for scale in (1.0, 0.5, 0.0))
    np.testing.assert_allclose(none, none[:1].repeat(4000, axis=0), atol=1e-12)
    np.testing.assert_allclose(half, 0.5 * (whole + none), atol=1e-9)
    # Half of the tries at θ lie beyond the ball: what the centre is taken from is worth some 200.
    assert np.all(np.abs(none[0] - whole.mean(axis=0)) < 0.25 * whole.std(axis=0))


@pytest.mark.slow
def test_smc_draws_in_the_ball_where_data_put_theta_beyond_it(target):
    # Given what these 30 users did, one try in forty at θ lies in the ball: the others are beyond the bound.
    data = gathered(30, seed=30)
    apart, _ = against_nuts("smc", target, data)
    # Four fits of 256 particles know a mean to 0.03 standard deviations, 4000 draws of nuts to 0.02.
    assert apart.max() < 0.15
