"""What a simulation leaves behind, and what it refuses."""

from __future__ import annotations

import json
from typing import Any

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob._core.random_numbers import trial_keys
from hrprob._core.records import describe
from hrprob.estimation import glse
from hrprob.models import Model, base, register
from hrprob.noise import FromDistribution
from hrprob.simulation import misspecification, results
from hrprob.simulation.play import Play, play_block
from hrprob.simulation.results import kept_users, summary_users
from hrprob.simulation.schedule import Schedule

PROBLEM = hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Finite([[[0.9], [0.1]]]))


@pytest.fixture(scope="module")
def result() -> xarray.Dataset:
    played: list[int] = []
    policies = {"best": hrprob.Oracle(), "some": hrprob.Random(warmup=1)}
    result = hrprob.simulate(PROBLEM, policies, users=50, trials=3, seed=7, progress=played.append)
    return result.assign_attrs(played=sum(played))


def test_axes_of_a_result(result: xarray.Dataset) -> None:
    assert result.regret.dims == result.lifetime.dims == result.action.dims == ("policy", "trial", "user")
    assert result.mean_lifetime.dims == ("policy", "trial")
    assert result.seconds.dims == ("policy",)
    assert result.policy.values.tolist() == ["best", "some"]
    assert result.user.values.tolist() == list(range(1, 51))
    assert result.trial.values.tolist() == [0, 1, 2]


def test_no_value_is_missing(result: xarray.Dataset) -> None:
    for variable in result.data_vars.values():
        assert np.all(np.isfinite(variable))
    assert result.action.min() >= 0
    assert result.lifetime.min() >= 1


def test_regret_grows(result: xarray.Dataset) -> None:
    assert np.all(np.diff(result.regret, axis=-1) >= 0)
    assert np.all(result.regret.sel(policy="best") == 0)
    assert np.all(result.regret.sel(policy="some", user=50) > 0)


def test_progress_counts_every_user(result: xarray.Dataset) -> None:
    assert result.attrs["played"] == 2 * 50 * 3


def test_attributes_describe_the_run(result: xarray.Dataset) -> None:
    assert (result.attrs["seed"], result.attrs["users"]) == (7, 50)
    problem = json.loads(result.attrs["problem"])
    assert problem["theta"] == [0.5]
    assert problem["contexts"] == {"kind": "finite", "sets": [[[0.9], [0.1]]]}
    policies = json.loads(result.attrs["policies"])
    assert policies["some"] == {"kind": "random", "eager": False, "warmup": 1}


@pytest.mark.slow
def test_a_model_of_ones_own_is_described(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base.MODELS, "_classes", dict(base.MODELS._classes))

    @register("laplace-noise")
    class LaplaceNoise(Model):
        """Outcomes with the double exponential distribution."""

        def outcome(self, u: Any, w: Any) -> Any:
            return dist.Laplace(u, jnp.sqrt(w / 2))

    policies = {"own": hrprob.Thompson(model="laplace-noise"), "plain": hrprob.Greedy()}
    own = {"kind": "distribution", "distribution": {"kind": "Laplace", "loc": 0.0, "scale": 0.5**0.5}}
    result = hrprob.simulate(PROBLEM, policies["own"], users=2, trials=1)
    assert json.loads(result.attrs["misspecified"]) == {"thompson": {"noise": own}}
    # Another object with the noise of the model: the policy recognises it by its content.
    for noise in (LaplaceNoise().noise, FromDistribution(dist.Laplace(0, 0.5**0.5))):
        assert misspecification.misspecified(PROBLEM.replace(noise=noise), policies) == {}
    other = PROBLEM.replace(noise=FromDistribution(dist.Logistic(0.0, 3**0.5 / np.pi)))
    assert misspecification.misspecified(other, policies) == {"own": {"noise": own}}


def test_distributions_of_distributions_are_described() -> None:
    shifted = dist.TransformedDistribution(dist.Exponential(2.0), dist.transforms.AffineTransform(-1.0, 2.0))
    noise = describe(FromDistribution(shifted))
    said = json.loads(
        misspecification.as_json({"noise": noise, "size": np.float64(0.5), "call": test_axes_of_a_result})
    )
    assert said["noise"]["distribution"]["base_dist"] == {"kind": "Exponential", "rate": 2.0}
    assert said["noise"]["distribution"]["transforms"] == [{"kind": "AffineTransform", "values": [-1.0, 2.0]}]
    assert said["size"] == 0.5
    assert "test_axes_of_a_result" in said["call"]


@pytest.mark.parametrize(
    ("users", "keep", "expected"),
    [
        (5, "all", [1, 2, 3, 4, 5]),
        (5, 2, [1, 3, 5]),
        (6, 2, [1, 3, 5, 6]),
        (1, 1000, [1]),
        (3, "auto", [1, 2, 3]),
    ],
)
def test_kept_users(users: int, keep: Any, expected: list[int]) -> None:
    assert kept_users(users, keep, rows=1).tolist() == expected


@pytest.mark.parametrize("rows", [20, 1000, 100_000])
def test_automatic_thinning_fits_and_keeps_the_summary(rows: int) -> None:
    kept = kept_users(30000, "auto", rows)
    assert rows * len(kept) <= results.MOST_ENTRIES
    assert set(summary_users(30000)) <= set(kept)


@pytest.mark.parametrize("keep", [0, -1, 2.5, "some", True, None])
def test_thinning_that_makes_no_sense(keep: Any) -> None:
    with pytest.raises(InvalidInput, match="`keep` must be"):
        kept_users(10, keep, rows=1)


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"users": 0}, "users"),
        ({"users": 1.5}, "users"),
        ({"trials": 0}, "trials"),
        ({"seed": -1}, "seed"),
        ({"seed": 2**64}, "seed"),
        ({"keep": "none"}, "keep"),
        ({"block": 0}, "block"),
        ({"block": -1}, "block"),
        ({"workers": 0}, "workers"),
        ({"workers": -1}, "workers"),
    ],
    ids=str,
)
def test_options_that_make_no_sense(options: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{field}` must be"):
        hrprob.simulate(PROBLEM, hrprob.Oracle(), **{"users": 2, "trials": 1, **options})


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ([], "must not be empty"),
        ({}, "must not be empty"),
        ([hrprob.Oracle(), hrprob.Oracle()], "must have names of their own, got 'oracle'"),
        ({"a": "oracle"}, "must be policies, got 'oracle'"),
        ([1], "must be policies, got 1"),
        (None, "must be policies, got None"),
        ("oracle", "must be policies, got 'oracle'"),
        ([hrprob.Oracle], "must be policies, got .*call it"),
        ({1: hrprob.Oracle()}, "must go by names of text, got 1"),
    ],
)
def test_policies_that_cannot_be_played(policies: Any, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"`policies` {message}"):
        hrprob.simulate(PROBLEM, policies, users=2, trials=1)


def test_a_problem_of_another_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match="`problem` must be a Problem, got None"):
        hrprob.simulate(None, hrprob.Oracle(), users=2, trials=1)  # type: ignore[arg-type]


@pytest.mark.slow
def test_estimates_do_not_drift() -> None:
    """V⁻¹ carried along by rank-one updates for 30000 users is still that of V."""
    problem, users = hrprob.Problem(), 30000
    with double_precision():
        policy = hrprob.HRUCB(warmup=5).bind(problem, users)
        keys = trial_keys(0, np.arange(2))
        schedule = Schedule(problem, users=users, trials=range(2), warmup=5)
        play = Play(problem, policy, keys, users)
        for _ in play_block(problem, play, keys, schedule, 2):
            pass
    state = play.state
    for trial in range(2):
        statistics = glse.Statistics(*(np.asarray(leaf)[..., trial] for leaf in state.statistics))
        afresh = glse.solve(statistics, 1.0, problem.link)
        for carried, direct in zip(state.estimates, afresh, strict=True):
            # Rounding of 2e-16 per step, 30000 steps: at most 1e-11 even if it always adds up.
            np.testing.assert_allclose(np.asarray(carried)[..., trial], direct, rtol=1e-9, atol=1e-11)
