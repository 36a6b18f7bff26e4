"""Regret beside coverage: intervals against plain NumPy, plays against `simulate`, verdicts with three ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.comparison.frontier.dials import dial_policies
from hrprob.comparison.frontier.intervals import KINDS, PARAMETERS, intervals_of
from hrprob.comparison.frontier.report import to_plain, write_frontier
from hrprob.comparison.frontier.summary import points_of, verdicts_in_words
from hrprob.io.config import Experiment
from hrprob.models import Stays

PROBLEM = hrprob.Problem(theta=[0.5, 0.2], phi=[0.3, -0.4], contexts=hrprob.Sphere(3))
USERS, TRIALS, SEED = 300, 4, 1


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A frontier of two policies and one dial, and the folder that it was written to."""
    folder = tmp_path_factory.mktemp("frontier") / "out"
    experiment = Experiment(PROBLEM, {"greedy": hrprob.Greedy()}, users=USERS, trials=TRIALS, seed=SEED)
    return write_frontier(experiment, folder, scales=[], radii=[0.0, 4.0]), folder


def data_sets(sets: int, rows: int) -> Stays:
    """Return stays of one to three rounds under random contexts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(sets, rows, 2))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    m = rng.integers(1, 4, size=(sets, rows)).astype(float)
    sd = np.sqrt(x @ PROBLEM.phi + 2.0)
    outcomes = (x @ PROBLEM.theta)[..., None] + sd[..., None] * rng.normal(size=(sets, rows, 3))
    outcomes = np.where(np.arange(3) < m[..., None], outcomes, 0.0)
    return Stays(x, m, outcomes.sum(axis=-1), (outcomes**2).sum(axis=-1))  # type: ignore[arg-type]


@pytest.mark.slow
def test_intervals() -> None:
    """Wald intervals equal plain least squares; the joint set is the exact one; anytime intervals are the widest."""
    stays = data_sets(2, USERS)
    ends = intervals_of(PROBLEM, stays, 0.9)
    for number in range(2):
        x, m, total, squares = (np.asarray(leaf)[number] for leaf in stays)
        V = x.T @ (m[:, None] * x)
        theta = np.linalg.solve(V, x.T @ total)
        u = x @ theta
        phi = np.linalg.solve(V, x.T @ (squares - 2 * u * total + m * u * u - 2.0 * m))
        w = x @ phi + 2.0
        for row, (estimate, weight) in enumerate(((theta, w), (phi, 2 * w * w))):
            inner = np.linalg.solve(V, x.T @ ((m * weight)[:, None] * x))
            half = stats.norm.ppf(0.95) * np.sqrt(np.diag(np.linalg.solve(V, inner.T)))
            # A ridge of 1e-6 beside some hundred rounds.
            np.testing.assert_allclose(ends.low[number, 0, row], estimate - half, rtol=1e-6)
            np.testing.assert_allclose(ends.high[number, 0, row], estimate + half, rtol=1e-6)
        exact = hrprob.LikelihoodRatioSet(delta=0.1, predictive="weighted").update(
            Stays(x, m, total, squares)
        )
        assert bool(ends.joint[number]) == exact.contains(PROBLEM.theta, PROBLEM.phi)
    width = (ends.high - ends.low).mean(axis=(0, 3))
    assert np.all(width[KINDS.index("anytime")] > 1.5 * width[KINDS.index("posterior")])
    # With normal outcomes, next to no prior and these sizes both are about the same.
    np.testing.assert_allclose(width[KINDS.index("wald")], width[KINDS.index("posterior")], rtol=0.25)


@pytest.mark.slow
def test_a_policy_plays_as_in_a_simulation(result: Any) -> None:
    found, _ = result
    run = hrprob.simulate(PROBLEM, {"greedy": hrprob.Greedy()}, users=USERS, trials=TRIALS, seed=SEED)
    np.testing.assert_allclose(
        found.regret.sel(policy="greedy"), run.regret.isel(policy=0, user=-1), rtol=1e-12
    )
    np.testing.assert_array_equal(
        found.rounds.sel(policy="greedy"), run.lifetime.isel(policy=0).sum("user").values
    )
    assert found.covered.dims == ("policy", "kind", "parameter", "coordinate", "trial")


@pytest.mark.slow
def test_what_is_written(result: Any) -> None:
    found, folder = result
    assert {path.name for path in folder.iterdir()} >= {
        "report.html",
        "frontier.png",
        "results.nc",
        "manifest.json",
    }
    assert json.loads(Path(folder, "frontier.json").read_text("utf-8")) == json.loads(
        json.dumps(to_plain(found))
    )
    assert found.dial.values.tolist() == ["", "hr-ucb ξ", "hr-ucb ξ"]


def covered_in(shares: list[float], trials: int = 400) -> xarray.Dataset:
    """Return a frontier of one policy whose intervals cover each coordinate in these shares of trials."""
    covered = np.arange(trials) < np.round(np.array(shares) * trials)[:, None]
    by = ("policy", "kind", "parameter", "coordinate", "trial")
    whole = np.broadcast_to(covered, (1, len(KINDS), 2, *covered.shape))
    return xarray.Dataset(
        {
            "regret": (("policy", "trial"), np.ones((1, trials))),
            "rounds": (("policy", "trial"), np.ones((1, trials))),
            "joint": (("policy", "trial"), np.ones((1, trials), bool)),
            "covered": (by, whole),
            "width": (by, np.ones(whole.shape)),
        },
        {
            "policy": ["it"],
            "dial": ("policy", [""]),
            "setting": ("policy", [np.nan]),
            "kind": list(KINDS),
            "parameter": list(PARAMETERS),
            "coordinate": np.arange(1, len(shares) + 1),
        },
        {"level": 0.9, "users": 10, "seed": 0, "noise": "normal"},
    )


@pytest.mark.parametrize(
    ("shares", "verdict", "good"),
    [([0.9, 0.92], "holds", True), ([0.9, 0.7], "fails", False), ([0.9, 0.86], "undecided", None)],
)
def test_verdicts(shares: list[float], verdict: str, good: bool | None) -> None:
    one = covered_in(shares)
    coverage = points_of(one)[0].of("wald", "theta")
    assert (coverage.verdict, coverage.worst) == (verdict, pytest.approx(min(shares)))
    assert coverage.coordinate == 1 + int(np.argmin(shares))
    decided, words = verdicts_in_words(one)[0]
    assert decided is good
    assert ("only a coverage below" in words) == (verdict == "undecided")


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"policies": {}}, "policies"),
        ({"policies": [hrprob.Greedy(), hrprob.Greedy()]}, "differ"),
        ({"policies": [hrprob.Greedy(eager=True)]}, "one action per stay"),
        ({"policies": {"hr-ucb ξ 2": hrprob.Greedy()}, "radii": [2.0]}, "names of their own"),
        ({"level": 1.0}, "level"),
        ({"trials": 1}, "trials"),
    ],
)
def test_wrong_input(arguments: dict[str, Any], match: str) -> None:
    usual = {"policies": [hrprob.Greedy()], "users": 10, "trials": 2}
    with pytest.raises(InvalidInput, match=match):
        hrprob.frontier(PROBLEM, **(usual | arguments))


@pytest.mark.parametrize("others", [3, 24])
def test_every_policy_has_a_marker_of_its_own(others: int) -> None:
    dials = dial_policies()
    names, count = [*map(str, range(others)), *dials], others + len(dials)
    by = ("policy", "kind", "parameter", "coordinate", "trial")
    shape = (count, 1, 2, 1, 4)
    made = xarray.Dataset(
        {
            "regret": (("policy", "trial"), np.arange(1.0, 4 * count + 1).reshape(count, 4)),
            "covered": (by, np.ones(shape, bool)),
            "width": (by, np.ones(shape)),
        },
        {
            "policy": names,
            "dial": ("policy", [""] * others + [one.dial for one in dials.values()]),
            "setting": ("policy", [np.nan] * others + [one.value for one in dials.values()]),
            "kind": ["wald"],
            "parameter": list(PARAMETERS),
        },
        {"level": 0.9, "users": 100},
    )
    figure = hrprob.plot.frontier(made)
    (legend,) = figure.legends
    markers = [handle.get_marker() for handle in legend.legend_handles][1:]  # the first is the kind's
    assert len(set(markers)) == len(markers) == others + 2
    drawn = {line.get_marker() for line in figure.axes[0].lines} - {"None"}
    assert set(markers) <= drawn


def test_a_setting_twice() -> None:
    with pytest.raises(InvalidInput, match="twice"):
        dial_policies(scales=[1.0, 1.0], radii=[])
