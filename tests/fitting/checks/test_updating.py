"""Posterior SBC: what it detects, whether it can pass, and whom it serves."""

import dataclasses

import jax
import numpy as np
import pytest

import hrprob
from hrprob.fitting.checks import updating
from hrprob.fitting.checks.base import TESTED_AT, make_checks
from hrprob.fitting.checks.runner import decide
from hrprob.fitting.checks.updating import UpdatingResult, serve_further
from tests.diagnostics.test_faults import Halved
from tests.fitting.checks.tables import played


@pytest.mark.parametrize("dimension", [4, 9, 32])
def test_a_sound_full_check_can_pass_with_an_engine_that_is_refitted_rarely(dimension):
    level = TESTED_AT / len(make_checks())
    ranks = (np.arange(updating._SLOW_REFITS) + 0.5) / updating._SLOW_REFITS
    names = [f"{name}[{entry}]" for name in ("theta", "phi") for entry in range(dimension)]
    result = UpdatingResult(dict.fromkeys([*names, "ln p(data)"], ranks), "nuts", level)
    [verdict] = decide({"updating": updating.Updating().evidence(result)})
    assert verdict.verdict == "passes"


@pytest.mark.slow
def test_an_engine_with_half_the_spread_of_phi_fails_and_a_sound_one_passes():
    """Of 160 truths, those beyond the middle 80 % of the draws are counted, say, where 32 are expected.

    A truth is drawn with half the sd of the posterior, 30 users follow 20, and the engine has half the spread again. In normal terms,
    with precision p before and 1.5 p from the further users, the truth scatters √((p + 4·1.5p)/(p + 1.5p)) = 1.67 times as widely as
    the draws: 71 truths lie outside on average, with a standard deviation of 6.
    """
    plain = {"kind": "laplace", "points": 0}
    sound = hrprob.fit(played(20), plain, draws=1024)
    assert not sound.refined
    centre = sound.phi.mean(axis=(0, 1))
    halved = dataclasses.replace(sound, engine=Halved(points=0), phi=centre + 0.5 * (sound.phi - centre))
    assert sound.check(checks=["updating"]).verdicts[0].verdict == "passes"
    [failed] = halved.check(checks=["updating"]).verdicts
    assert failed.verdict == "fails"
    assert "smallest p < 0.001" in failed.statement


def test_further_users_meet_contexts_with_the_intercept_of_the_table():
    table = played(60)
    posterior = hrprob.fit(table, "laplace", intercept=True, link="log", draws=100)
    theta, phi = (part[0] for part in (posterior.flat()["theta"], posterior.flat()["phi"]))
    further = serve_further(posterior, theta, phi, np.random.default_rng(0), jax.random.key(0))
    assert further.intercept
    assert len(further) > len(table)
    np.testing.assert_array_equal(further.x[:, 0], 1.0)
