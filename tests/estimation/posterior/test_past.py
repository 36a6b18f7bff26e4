"""Earlier rows as a summary of bounded size: the posterior is that of all rows."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior import past
from hrprob.estimation.posterior.laplace import laplace_approximation
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior, pad
from hrprob.observations import Stays
from hrprob.policies import bayes
from tests.helpers import make

TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting(2))
ROWS = 4096
fold = jax.jit(past.fold)


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
        # With as many empty rows as rows it is the program of all of them.
        early = fit(TARGET, [(pad(first, 2 * ROWS), ROWS)], jnp.zeros(4))
        folded = fold(TARGET, past.nothing(TARGET), [(first, ROWS)], early.mode)
        late = fit(past.after(TARGET, folded), [(second, ROWS)], early.mode)
        whole = fit(
            TARGET, [(jax.tree.map(lambda *both: jnp.concatenate(both), first, second), 2 * ROWS)], early.mode
        )
    wide, narrow, sd = (
        np.sqrt(np.diagonal(f @ f.T)) for f in (np.asarray(one.factor) for one in (early, late, whole))
    )
    # The remainder is of third order: 1/√4096 = .016 standard deviations per unit of the third derivative.
    assert np.max(np.abs((np.asarray(late.mean) - np.asarray(whole.mean)) / sd)) < 0.05
    np.testing.assert_allclose(narrow, sd, rtol=0.02)
    # The summary counts: without it the posterior is wider by √2.
    assert np.all(narrow < 0.8 * wide)


def test_a_summary_is_its_own_expansion():
    """Folding no rows, at another point, leaves the quadratic as it is."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(4, 4))
    with double_precision():
        one = past.Past(*map(jnp.asarray, (rng.normal(size=4) / 5, rng.normal(size=4), -half @ half.T)))
        other = fold(TARGET, one, [], jnp.asarray(rng.normal(size=4)))
        points = jnp.asarray(rng.normal(size=(5, 4)) / 4)
        values = [np.asarray(each(points[:, :2], points[:, 2:])) for each in (one, other)]
    assert not np.allclose(one.origin, other.origin)
    np.testing.assert_allclose(np.diff(values[0]), np.diff(values[1]), atol=1e-10)


@pytest.mark.parametrize(("engine", "kept"), [("laplace", 64), ("smc", 192)])
def test_a_long_run_keeps_a_bounded_number_of_rows(monkeypatch, engine, kept):
    monkeypatch.setattr(bayes, "MOST_ROWS", 64)
    policy = make("thompson", {"engine": engine, "warmup": 3})
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
    monkeypatch.setattr(bayes, "MOST_ROWS", 512)
    folded = hrprob.simulate(problem, hrprob.Thompson(), **sizes)
    same = (whole.action == folded.action).mean()
    # Nothing differs before the first summary, and little after it: draws move by hundredths of a standard deviation.
    assert (whole.action == folded.action).isel(user=slice(0, 500)).all()
    assert 0.9 < float(same) < 1.0
    one, other = (float(run.regret.isel(user=-1).mean()) for run in (whole, folded))
    assert abs(one - other) < 0.2 * one
