"""A run in tasks is the run, to the bit."""

import pytest
import xarray

import hrprob
from hrprob.simulation import tasks
from hrprob.simulation.tasks import InProcess, Task, play_tasks, trial_ranges


@pytest.mark.parametrize(("trials", "first"), [(1, 0), (32, 3), (33, 0), (640, 20)])
def test_ranges_are_the_blocks_of_the_engine(trials, first):
    ranges = trial_ranges(trials, first)
    assert [number for part in ranges for number in part] == list(range(first, first + trials))
    assert max(map(len, ranges)) <= 32


def test_the_run_to_the_bit(monkeypatch):
    # Blocks of at most 4, so that 7 trials make one of 4 and one of 3, which is filled up.
    monkeypatch.setattr(tasks, "MOST_TRIALS_IN_BLOCK", 4)
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9])
    policies = {"Zufall (±)": hrprob.Random(), "oracle": hrprob.Oracle()}
    whole = hrprob.simulate(problem, policies, users=2500, trials=7, seed=3, keep=100, block=4)
    joined = play_tasks(Task(problem, policies, 2500, range(7), 3, 100), InProcess())
    xarray.testing.assert_identical(joined.drop_vars("seconds"), whole.drop_vars("seconds"))
