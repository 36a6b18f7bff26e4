"""Data sets: the engine's own loop, with a truth for each."""

import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.records import record
from hrprob.diagnostics.truths import draw_truths
from hrprob.models import Rounds, Setting, Stays, make_prior
from hrprob.policies.base import Seen
from hrprob.simulation.data_sets import CAP, CappedPolicy, Truths, gather, gather_jobs

PROBLEM = hrprob.Problem(
    theta=[0.6, 0.3],
    phi=[0.5, -0.9],
    contexts=hrprob.Ball(actions=3),
    satisfaction=hrprob.UniformLevels(-0.5, 0.5),
)
USERS, SETS, SEED = 12, 4, 5


def same_truths(sets=SETS):
    return Truths(np.tile(PROBLEM.theta, (sets, 1)), np.tile(PROBLEM.phi, (sets, 1)))


@pytest.fixture(scope="module")
def data():
    return gather(PROBLEM, hrprob.Greedy(), same_truths(), users=USERS, seed=SEED, cap=np.inf, fresh=3)


@pytest.mark.slow
def test_data_sets_are_the_trials_of_a_simulation(data):
    run = hrprob.simulate(PROBLEM, hrprob.Greedy(), users=USERS, trials=SETS, seed=SEED)
    np.testing.assert_array_equal(data.played, run.lifetime.isel(policy=0).values)


def test_sums_are_those_of_the_outcomes(data):
    rounds = data.of_kind(Rounds)
    np.testing.assert_allclose(rounds.r.sum(axis=-1), data.stays.total, atol=1e-12)
    np.testing.assert_allclose((rounds.r**2).sum(axis=-1), data.stays.squares, atol=1e-12)
    assert data.of_kind(Stays) is data.stays
    # A user stays as long as outcomes reach the level, and no longer.
    last = np.take_along_axis(data.outcomes, data.stays.rounds.astype(int)[..., None] - 1, axis=-1)[..., 0]
    assert np.all(last < data.beta)
    below = (rounds.r < data.beta[..., None]) & (rounds.weight > 0)
    assert np.all(below.sum(axis=-1) == 1)


def test_recording_stops_at_the_cap_and_stays_do_not(data):
    capped = gather(PROBLEM, hrprob.Greedy(), same_truths(), users=USERS, seed=SEED, cap=2)
    np.testing.assert_array_equal(capped.stays.rounds, np.minimum(capped.played, 2))
    assert capped.played.max() > 2
    # Before anything is learned both serve the same, to users who stay as long.
    np.testing.assert_array_equal(capped.played[:, 0], data.played[:, 0])
    assert capped.outcomes.shape[-1] == CAP


@pytest.mark.parametrize(("cap", "heard", "gone"), [(3.0, 3.0, False), (7.0, 7.0, True), (np.inf, 7.0, True)])
def test_a_policy_observes_no_rounds_beyond_the_cap(cap, heard, gone):
    arms = hrprob.Problem(
        theta=[0.6, 0.3],
        phi=[0.5, -0.9],
        contexts=hrprob.Finite([np.eye(2)]),
        satisfaction=hrprob.FixedLevels(0.0),
    )
    capped = CappedPolicy(inner=hrprob.KLULCB(eager=False), cap=cap).bind(arms, 5)
    nothing = np.zeros(())
    stay = Seen(1.0, np.eye(2), 0, np.eye(2)[0], 0.0, 7.0, True, nothing, nothing, nothing, np.zeros(CAP))
    after = capped.update(capped.init(), stay._replace(left=jnp.asarray(True)))
    assert after.tries[0] == heard
    assert after.likes[0] == heard - gone


@pytest.mark.study
def test_every_data_set_has_its_own_truth():
    # The oracle looks at the truth: side by side it must do what it does alone.
    truths = draw_truths(make_prior("uniform"), Setting.of(PROBLEM), sets=3, seed=1)
    both = gather(PROBLEM, hrprob.Oracle(), truths, users=USERS, seed=SEED)
    for number in range(3):
        problem = PROBLEM.replace(theta=truths.theta[number], phi=truths.phi[number])
        alone = hrprob.simulate(problem, hrprob.Oracle(), users=USERS, trials=3, seed=SEED)
        np.testing.assert_array_equal(both.played[number], alone.lifetime.values[0, number])
        assert alone.regret.values[0, number, -1] == 0.0


def test_fresh_contexts_belong_to_no_user(data):
    assert data.fresh.shape == (SETS, 3, 2)
    assert np.all(np.linalg.norm(data.fresh, axis=-1) <= 1)
    served = {tuple(x) for x in data.stays.x.reshape(-1, 2)}
    assert not served & {tuple(x) for x in data.fresh.reshape(-1, 2)}


@pytest.mark.study
def test_a_block_ends_when_there_is_enough():
    jobs = gather_jobs(
        PROBLEM, hrprob.Random(), same_truths(), users=40000, seed=SEED, cap=np.inf, enough=100
    )
    blocks = [job.play() for job in jobs]
    rounds = np.concatenate([block.stays.rounds.sum(axis=1) for block in blocks])
    assert rounds.min() >= 100
    assert blocks[0].stays.rounds.shape[1] < 40000
    assert blocks[0].outcomes.shape[-1] == 0


@pytest.mark.parametrize(
    ("policy", "word"),
    [(hrprob.HRUCB(eager=True), "eager"), (hrprob.Thompson(engine="nuts"), "laplace or smc")],
)
def test_what_cannot_be_played_here_is_refused(policy, word):
    with pytest.raises(InvalidInput, match=word):
        gather(PROBLEM, policy, same_truths(), users=3, seed=0)


def test_a_policy_that_fits_between_chunks_is_refused() -> None:
    class Pausing(hrprob.Random):
        """A policy that would stop after the second user."""

        def pauses(self, users: int) -> tuple[int, ...]:
            return (2,)

    truths = Truths(np.asarray([[0.6, 0.3]]), np.asarray([[0.5, 0.2]]))
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.2])
    with pytest.raises(InvalidInput, match="`policy` must have no pauses"):
        gather(problem, record()(Pausing)(), truths, users=3, seed=0)
