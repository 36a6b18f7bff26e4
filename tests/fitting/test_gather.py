"""Rounds of a problem that a policy plays, as a table."""

from pathlib import Path

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.fitting.gather import gather
from hrprob.fitting.table import read_table


@pytest.mark.slow
def test_gathered_rounds_are_those_that_were_played():
    problem = hrprob.Problem(theta=[0.9, 0.3], phi=[-1.0, -1.0], satisfaction=hrprob.UniformLevels(-3.0, 0.5))
    table = gather(problem, hrprob.Random(), users=80, seed=4, most_rounds=40)
    played = hrprob.simulate(problem, hrprob.Random(), users=80, trials=1, seed=4).isel(policy=0, trial=0)
    _, first, length = np.unique(table.user, return_index=True, return_counts=True)
    np.testing.assert_array_equal(length, np.minimum(played.lifetime.values, 40))
    assert length.max() == 40  # longer than what is drawn in bulk
    last = first + length - 1
    cut = played.lifetime.values > 40
    below = table.r < table.beta
    # A user leaves at the first outcome below the level, and not before.
    np.testing.assert_array_equal(np.flatnonzero(below), last[~cut])
    np.testing.assert_allclose(np.linalg.norm(table.x, axis=1), 1.0)
    noise = (table.r - table.x @ problem.theta) / np.sqrt(table.x @ problem.phi + 2)
    # By Wald's identities Σe and Σ(e² − 1) over stays have mean 0, and variance n and 2n for n rounds.
    assert abs(noise.sum()) < 4 * np.sqrt(len(noise))
    assert abs((noise**2 - 1).sum()) < 4 * np.sqrt(2 * len(noise))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"policy": "greedy"}, "policy"),
        ({"policy": hrprob.Greedy}, "policy"),
        ({"policy": hrprob.HRUCB(eager=True)}, "policy.eager"),
        ({"policy": hrprob.HRUCB(warmup=5)}, "policy.warmup"),
        ({"policy": hrprob.Random(), "most_rounds": 0}, "most_rounds"),
        ({"link": hrprob.Affine()}, "link"),
        ({"bounds": hrprob.Bounds()}, "bounds"),
    ],
)
def test_what_cannot_be_played_is_refused(options, field):
    with pytest.raises(InvalidInput) as complaint:
        hrprob.fit(hrprob.Problem(), "laplace", **options)
    assert complaint.value.field == field


def test_the_example_is_what_hrprob_plays():
    path = Path(hrprob.__file__).parent / "experiments" / "data" / "rounds.csv"
    written, played = read_table(path), gather(hrprob.Problem(), hrprob.Random(), users=60, seed=0)
    np.testing.assert_allclose(written.x, played.x, atol=6e-7)
    np.testing.assert_allclose(written.r, played.r, atol=6e-7)
    assert written.user.astype(int).tolist() == played.user.tolist()
