"""Planted faults, each detected by the diagnostic that should detect it; and a sound engine, which passes.

200 data sets over the prior, gathered by Thompson sampling as in a report.
"""

from typing import Any

import numpy as np
import pytest

import hrprob
from hrprob._core.records import record
from hrprob.diagnostics import calibration, health, model_comparison, outcomes, sbc
from hrprob.diagnostics.posteriors import posteriors
from hrprob.diagnostics.truths import draw_truths
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.laplace import Laplace
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.gather import gather as rounds_of
from hrprob.models import Setting, make_model, make_prior
from hrprob.noise import StudentT
from hrprob.simulation.data_sets import gather

pytestmark = pytest.mark.study

PROBLEM = hrprob.Problem()
TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting.of(PROBLEM))
USERS = (10, 30, 100)
SETS = 200


@record(static=("points", "few"))
class Halved(Laplace):
    """An engine whose φ has half the spread that it should have."""

    def draw(self, target: Any, belief: Any, key: Any, scale: Any = 1.0) -> Any:
        z, d = super().draw(target, belief, key, scale), target.setting.dimension
        return z.at[d:].set(belief.mean[d:] + 0.5 * (z[d:] - belief.mean[d:]))


@record(static=("dimension",))
class Shrunk(Setting):
    """A setting that hands out variances 30 % too small."""

    def moments(self, theta: Any, phi: Any, x: Any) -> Any:
        u, w = super().moments(theta, phi, x)
        return u, 0.7 * w


def played(policy):
    truths = draw_truths(TARGET.prior, TARGET.setting, SETS, seed=0)
    return gather(PROBLEM, policy, truths, users=USERS[-1] + 1, seed=0, fresh=8)


@pytest.fixture(scope="module")
def data():
    return played(hrprob.Thompson())


def examined(engine, data, target=TARGET):
    found = dict(zip(USERS, posteriors(engine, target, data.stays, USERS, draws=511), strict=True))
    table = calibration.coverage(calibration.sigma2_pit(PROBLEM, target, data, found))
    return table, sbc.uniformity_tests(sbc.ranks(PROBLEM, target, data, found))


def test_a_sound_engine_passes(data):
    table, tests = examined(make_engine("laplace"), data)
    assert all(verdict.good for verdict in calibration.coverage_verdicts(table, "laplace"))
    assert calibration.uniformity_verdict(table).good
    assert all(verdict.good for verdict in sbc.sbc_verdicts("laplace", tests))


@pytest.mark.parametrize("kind", ["laplace", "smc"])
def test_intervals_for_the_variance_hold_what_they_say(kind):
    # Gathered by Thompson sampling with the engine itself. Cluster errors are about 0.011, so that 0.9
    # lies 2.7 of them from either end.
    table, _ = examined(make_engine(kind), played(hrprob.Thompson(engine=kind)))
    covered = table.coverage.sel(region="all", level=0.9)
    assert np.all((covered >= 0.87) & (covered <= 0.93))


def test_a_halved_spread_is_caught_by_calibration_and_by_ranks(data):
    table, tests = examined(Halved(), data)
    assert all("too narrow" in verdict.words for verdict in calibration.coverage_verdicts(table, "halved"))
    failing = tests.quantity.values[~tests.passed.values.all(axis=0)]
    assert {"φ1", "φ2", "φ3", "φ4", "σ²(x)"} <= set(failing)
    assert not {"θ1", "θ2", "θ3", "θ4"} & set(failing)


def test_variances_too_small_are_caught_by_calibration(data):
    target = Target(TARGET.model, TARGET.prior, Shrunk.of(PROBLEM))
    table, tests = examined(make_engine("laplace"), data, target)
    assert all(verdict.good is False for verdict in calibration.coverage_verdicts(table, "shrunk"))
    assert not tests.passed.sel(quantity="σ²(x)").any()


def test_a_policy_that_peeks_is_caught_by_the_contexts_it_serves():
    _, tests = examined(make_engine("laplace"), played(hrprob.Oracle()))
    assert not tests.passed.sel(quantity="h served").any()
    assert any(verdict.good is False for verdict in sbc.sbc_verdicts("laplace", tests))


@pytest.mark.parametrize(("noise", "fits"), [(PROBLEM.noise, True), (StudentT(4.0), False)])
def test_heavy_tails_under_the_normal_model_are_caught_by_outcomes(noise, fits):
    problem = PROBLEM.replace(noise=noise)
    table = rounds_of(problem, hrprob.Random(), users=500, seed=3)
    models = {name: model_comparison.MODELS[name] for name in ("gaussian", "student-t")}
    found = model_comparison.fit_models(table, TARGET.setting, models)
    tree = found["gaussian"].to_datatree(pointwise=True)
    checks = outcomes.residual_checks(tree, TARGET.setting)
    said = outcomes.residual_verdicts("gaussian", checks, 1.0)[1]
    assert said.good is fits
    trees = {"gaussian": tree, "student-t": model_comparison.log_likelihood_tree(found["student-t"])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("warnings.warn", lambda *words, **more: None)  # of shapes k̂, which the table has
        assert outcomes.model_verdict(model_comparison.compare_models(trees, "gaussian")).good is fits


def test_a_sampler_stopped_too_early_is_caught_by_its_health():
    table = rounds_of(PROBLEM, hrprob.Random(), users=60, seed=1)
    hasty = hrprob.fit(table, engine={"kind": "nuts", "warmup": 3, "draws": 25})
    said = health.health_verdict(
        "nuts", health.sampler_health({"nuts": hasty}), health.health_concerns(hasty)
    )
    assert said.good is False
    patient = hrprob.fit(table, engine="nuts")
    said = health.health_verdict(
        "nuts", health.sampler_health({"nuts": patient}), health.health_concerns(patient)
    )
    assert said.good
