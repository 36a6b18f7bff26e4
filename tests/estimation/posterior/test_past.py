"""Earlier rows as a summary of bounded size: the posterior is that of all rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob._core.records import with_fields
from hrprob.estimation.posterior import memory, past
from hrprob.estimation.posterior.laplace import laplace_approximation
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior
from hrprob.observations import Stays
from hrprob.policies import bayes
from tests.helpers import make

TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting(2))
ROWS = 4096


def stays(number):
    """Return rows of normal outcomes with θ = (.6, .3) and φ = (.5, −.4), a round each."""
    rng = np.random.default_rng(number)
    x = rng.normal(size=(ROWS, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = x @ [0.6, 0.3] + np.sqrt(x @ [0.5, -0.4] + 2) * rng.normal(size=ROWS)
    return Stays(*map(jnp.asarray, (x, np.ones(ROWS), r, r**2)))


def test_a_fit_to_a_summary_and_later_rows_is_that_to_all_rows():
    with double_precision():
        first, second = stays(1), stays(2)
        fit = jax.jit(laplace_approximation)
        early = fit(TARGET, [(first, ROWS)], jnp.zeros(4))
        folded = with_fields(TARGET, past=past.nothing(2)).fold([(first, ROWS)], early.mode)
        late = fit(with_fields(TARGET, past=folded), [(second, ROWS)], early.mode)
        whole = fit(
            TARGET, [(jax.tree.map(lambda *both: jnp.concatenate(both), first, second), 2 * ROWS)], early.mode
        )
    wide, narrow, sd = (
        np.sqrt(np.diagonal(f @ f.T)) for f in (np.asarray(one.factor) for one in (early, late, whole))
    )
    # The remainder is of fourth order: 1/4096 standard deviations per unit of the fourth derivative, which is some units.
    assert np.max(np.abs((np.asarray(late.mean) - np.asarray(whole.mean)) / sd)) < 0.005
    np.testing.assert_allclose(narrow, sd, rtol=0.002)
    # The summary counts: without it the posterior is wider by √2.
    assert np.all(narrow < 0.8 * wide)


def test_a_summary_is_its_own_expansion():
    """Folding no rows, at another point, leaves the cubic as it is."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    with double_precision():
        parts = (
            rng.normal(size=4) / 5,
            rng.normal(size=4),
            -half @ half.T,
            rng.normal(size=(4, 4)),
            np.int32(7),
        )
        one = past.Past(*map(jnp.asarray, parts))
        other = with_fields(TARGET, past=one).fold([], jnp.asarray(rng.normal(size=4)))
        points = jnp.asarray(rng.normal(size=(5, 4)) / 4)
        values = [np.asarray([each.derivatives(point)[0] for point in points]) for each in (one, other)]
    assert not np.allclose(one.origin, other.origin)
    np.testing.assert_allclose(np.diff(values[0]), np.diff(values[1]), atol=1e-10)


def test_a_summary_has_the_derivatives_of_its_rows():
    """At its origin, up to the third, and elsewhere those of its own value."""
    with double_precision():
        data, at, empty = stays(3), jnp.asarray([0.3, -0.2, 0.5, 0.1]), past.nothing(2)
        summary = with_fields(TARGET, past=empty).fold([(data, ROWS)], at)

        def likelihood(both):
            return jnp.sum(TARGET.model.log_likelihood(both[:2], both[2:], data, TARGET.setting))

        spread = jnp.asarray(np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5)
        third = jax.jacfwd(jax.hessian(likelihood))(summary.origin)
        expected = jax.grad(likelihood)(summary.origin), jax.hessian(likelihood)(summary.origin)
        elsewhere = summary.origin + jnp.asarray([0.1, -0.2, 0.05, 0.3])
        value, slope, bend = summary.derivatives(elsewhere)
        traced = summary.traced(spread)
        own = [f(lambda both: summary.derivatives(both)[0])(elsewhere) for f in (jax.grad, jax.hessian)]
    assert int(summary.rows) == ROWS
    np.testing.assert_allclose(summary.gradient, expected[0], rtol=1e-8)
    np.testing.assert_allclose(summary.hessian, expected[1], rtol=1e-8)
    np.testing.assert_allclose(traced, np.einsum("jkl,kl", third, spread), rtol=1e-8)
    np.testing.assert_allclose(slope, own[0], rtol=1e-8)
    np.testing.assert_allclose(bend, own[1], rtol=1e-8)
    assert np.isfinite(value)


def test_rows_of_an_action_that_is_hardly_ever_served_are_kept(monkeypatch):
    monkeypatch.setattr(memory, "KEPT", 64)
    with double_precision():
        data = stays(4)
        rare = np.arange(ROWS) % 128 == 5
        x = jnp.where(jnp.asarray(rare)[:, None], jnp.asarray([0.0, 0.9]), jnp.asarray([0.9, 0.0]))
        # The other action is that of every row but 32, and some rows are empty.
        data = data._replace(x=x, rounds=data.rounds.at[10:20].set(0.0))
        normal = laplace_approximation(TARGET, [(data, ROWS)], jnp.zeros(4))
        given = normal.mode, normal.factor @ normal.factor.T
        first = memory.add(TARGET, memory.nothing(data), data, *given)
        again = memory.add(TARGET, first, data, *given)
        tables = [(first.kept, first.used)]
        folded = laplace_approximation(with_fields(TARGET, past=first.past), tables, normal.mode)
    counts = [int(np.sum(np.asarray(each.kept.x)[:, 1] > 0)) for each in (first, again)]
    # Rows that were kept compete with new ones: all 64 of the rare action have room.
    assert counts == [rare.sum(), 2 * rare.sum()] == [32, 64]
    assert int(first.used) == 64
    assert int(first.past.rows) == ROWS - 64
    assert int(again.past.rows) == 2 * ROWS - 64
    # At the mode nothing is lost, whatever is summarised; a search ends within 0.003 standard deviations of it.
    mean, factor = (np.asarray(leaf) for leaf in (normal.mean, normal.factor))
    sd = np.sqrt(np.sum(factor**2, axis=1))
    assert np.max(np.abs(np.asarray(folded.mean) - mean) / sd) < 0.005
    np.testing.assert_allclose(folded.factor, factor, atol=1e-3 * sd.max())


@pytest.mark.parametrize(("engine", "kept"), [("laplace", 64), ("smc", 192)])
def test_a_long_run_keeps_a_bounded_number_of_rows(monkeypatch, engine, kept):
    monkeypatch.setattr(bayes, "USERS_PER_FEATURE", 16)
    policy = make("thompson", {"engine": engine, "warmup": 3})
    with double_precision():
        assert policy.bind(hrprob.Problem(), users=180).capacity == 192
    monkeypatch.setattr(bayes, "LONG_RUN", 100)
    with double_precision():
        bound = policy.bind(hrprob.Problem(), users=180)
        long = policy.bind(hrprob.Problem(), users=100_000)
    assert bound.capacity == kept
    assert (long.capacity == 64) == (engine == "laplace")
    if engine == "laplace":
        # A fit is due whenever rows are summarised.
        assert all(bound.due[3 + 64 * turn] for turn in (1, 2))


@pytest.mark.slow
def test_a_run_with_summaries_is_close_to_one_without(monkeypatch):
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.4], contexts=hrprob.Ball(actions=5))
    sizes = {"users": 3000, "trials": 4, "seed": 0}
    whole = hrprob.simulate(problem, hrprob.Thompson(), **sizes)
    monkeypatch.setattr(bayes, "USERS_PER_FEATURE", 128)
    monkeypatch.setattr(bayes, "LONG_RUN", 1000)
    folded = hrprob.simulate(problem, hrprob.Thompson(), **sizes)
    same = (whole.action == folded.action).mean()
    # Nothing differs before the first summary, and little after it: draws move by hundredths of a standard deviation.
    assert (whole.action == folded.action).isel(user=slice(0, 500)).all()
    assert 0.9 < float(same) < 1.0
    one, other = (float(run.regret.isel(user=-1).mean()) for run in (whole, folded))
    assert abs(one - other) < 0.2 * one
