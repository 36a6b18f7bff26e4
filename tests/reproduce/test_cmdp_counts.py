"""How often a CMDP knew its actions, counted from a run."""

import math

import numpy as np
import pytest

import hrprob
from hrprob.io.netcdf import read_netcdf, write_netcdf
from hrprob.io.run_cache import thinned
from hrprob.reproduce.cmdp_counts import CMDPCounts, count, counts_of, with_counts

PROBLEM = hrprob.Problem(
    theta=[0.6, 0.3],
    phi=[0.5, 0.4],
    contexts=hrprob.Finite([[[0.9, 0.0], [0.0, 0.9]], [[0.5, 0.5], [0.2, -0.7]]]),
)


@pytest.mark.slow
def test_counts():
    policy = hrprob.CMDP(partition="sets", eager=False)
    run = hrprob.simulate(PROBLEM, {"cmdp": policy}, users=400, trials=2, seed=1, keep="all")
    counts = count(PROBLEM, {"cmdp": policy}, run)["cmdp"]
    assert counts.pairs == 4
    assert counts.needed == 4 * math.sqrt(400)
    assert counts.rounds == pytest.approx(float(run.lifetime.sum(("policy", "user")).mean()))
    # Two sets of two actions need some 80 tries; to have made none is impossible, to have made only tries too.
    assert 4 / 400 < counts.random < 0.5


@pytest.mark.slow
def test_a_cmdp_with_too_many_cells_is_a_random_choice():
    policy = hrprob.CMDP(partition="k-means", cells=50, eager=False)
    problem = hrprob.Problem(contexts=hrprob.Sphere(20))
    run = hrprob.simulate(problem, {"cmdp": policy}, users=300, trials=2, keep="all")
    assert count(problem, {"cmdp": policy}, run)["cmdp"].random == 1.0


def test_an_eager_cmdp_cannot_be_counted():
    policy = hrprob.CMDP(partition="sets", eager=True)
    run = hrprob.simulate(PROBLEM, {"cmdp": policy}, users=20, trials=1)
    with pytest.raises(ValueError, match="lazy"):
        count(PROBLEM, {"cmdp": policy}, run)


def test_counts_are_kept_beside_the_users_that_are_stored(tmp_path):
    options = {"users": 10_000, "trials": 1, "seed": 2}
    every = hrprob.simulate(PROBLEM, {"random": hrprob.Random()}, keep="all", **options)
    counts = {"cmdp": CMDPCounts(4, 400.0, 12_000.5, 0.25)}
    kept = with_counts(thinned(every), counts)
    write_netcdf(kept, tmp_path / "part.nc")
    assert counts_of(read_netcdf(tmp_path / "part.nc").to_dataset()) == counts
    tenth = hrprob.simulate(PROBLEM, {"random": hrprob.Random()}, keep=10, **options)
    for name in ("user", "regret", "lifetime", "action", "mean_lifetime"):
        np.testing.assert_array_equal(kept[name], tenth[name])
    with pytest.raises(KeyError):
        counts_of(every)
