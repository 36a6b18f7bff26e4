"""The engine that auto takes, and why."""

import numpy as np
import pytest

import hrprob
from hrprob.fitting import fit as fitting
from hrprob.fitting.automatic import choose_engine
from hrprob.fitting.concerns import Concern


@pytest.mark.slow
def test_a_cheap_engine_is_taken_where_its_error_estimate_allows(table):
    posterior = hrprob.fit(table, "auto", seed=3)
    assert posterior.engine.kind == "laplace"
    assert posterior.chosen[-1] == "auto chose laplace: its own error estimate is within the limits"
    assert posterior.chosen[-1] in str(posterior)


@pytest.mark.slow
def test_nuts_is_taken_where_the_cheap_engine_doubts_its_draws(table, monkeypatch):
    monkeypatch.setattr(
        fitting, "about_draws", lambda posterior: [Concern("R-hat of phi[x1] is 1.2: chains")]
    )
    posterior = hrprob.fit(table, {"kind": "auto"}, draws=400)
    assert posterior.engine.kind == "nuts"
    assert posterior.chosen[-1] == "auto chose nuts: of laplace, R-hat of phi[x1] is 1.2"


def test_diagnoses_take_nuts_for_outcomes_with_an_edge():
    problem = hrprob.Problem(noise=hrprob.noise.TruncatedNormal(width=2.0))
    policy = {"t": hrprob.Thompson(model="truncated-normal")}
    study = hrprob.diagnostics.make_study(problem, policy, engine="auto")
    assert study.engine.kind == "nuts"
    assert "edge" in study.why
    assert choose_engine(study.target).engine == "laplace"


def test_a_specification_that_is_wrong_is_estimated_beside_the_coefficients():
    from hrprob.fitting.checks.specification import excess_norm, one_step

    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 2))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    # Fitted with an offset of 3 where it is 2: one step finds −1, within three standard errors.
    assumed, true = 3.0 + x @ [0.5, 0.0], 2.0 + x @ [0.5, 0.0]
    size = true * rng.normal(size=4000) ** 2 / assumed - 1.0
    estimate, weights = one_step(np.column_stack([1.0 / assumed, x / assumed[:, None]]), size)
    assert abs(estimate[0] + 1.0) < 3.0 * np.std(size) * np.linalg.norm(weights[0])
    assert excess_norm(np.array([0.3, 0.4]), 1e-4 * np.eye(2), 1.0).p_value > 0.5
