"""Remark 2: the errors of both estimators at growing n."""

import numpy as np
import pytest

import hrprob
from hrprob.reproduce.convergence import Errors, measure_errors, remark_2


def test_errors_are_those_of_the_estimator():
    problem = hrprob.Problem()
    errors = measure_errors(problem, sizes=(30, 90), replications=2, seed=3)
    assert errors.theta.shape == (2, 2)
    rng = np.random.default_rng([3, 1])
    x = rng.standard_normal((90, 4))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    theta, phi = np.asarray(problem.theta), np.asarray(problem.phi)
    r = x @ theta + np.sqrt(x @ phi + 2.0) * rng.standard_normal(90)
    for place, n in enumerate((30, 90)):
        model = hrprob.GLSE(ridge=1.0).fit(x[:n], r[:n])
        v = x[:n].T @ x[:n] + np.eye(4)
        for measured, away in ((errors.theta, model.theta_ - theta), (errors.phi, model.phi_ - phi)):
            assert measured[1, place] == pytest.approx(np.sqrt(away @ v @ away))


@pytest.mark.parametrize(("power", "verdict"), [(0.0, "fails"), (0.06, "holds")])
def test_the_remark_is_decided_by_the_difference_of_slopes(power, verdict):
    sizes = np.array([250, 2000, 16000])
    noise = np.exp(0.3 * np.random.default_rng(0).standard_normal((2, 800, 3)))
    errors = Errors(sizes, 2.6 * noise[0], 5.7 * sizes**power * noise[1])
    claim = remark_2(hrprob.Problem(), errors)
    assert claim.verdict == verdict
    if verdict == "fails":
        assert "the slower rate is the bound's" in claim.evidence


def test_few_replications_decide_nothing():
    errors = measure_errors(hrprob.Problem(), sizes=(30, 90), replications=5)
    claim = remark_2(hrprob.Problem(), errors)
    assert claim.verdict == "undecided"
    assert "replications" in claim.evidence
