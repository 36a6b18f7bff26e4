"""GLSE and posterior mean side by side, against plain NumPy."""

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics import estimates, verdicts

from .toy import PROBLEM, toy


def rounds_of(data, number, users):
    """Single rounds with the same sums as the stays: the mean, shifted up and down."""
    rows, outcomes = [], []
    for row in range(users):
        m, total, squares = (float(leaf[number, row]) for leaf in data.stays[1:])
        away = np.linspace(-1, 1, int(m)) if m > 1 else np.zeros(1)
        rest = max(squares - total**2 / m, 0.0)
        away = away * np.sqrt(rest / np.sum(away**2)) if m > 1 else away
        rows += [data.stays.x[number, row]] * int(m)
        outcomes += list(total / m + away)
    return np.array(rows), np.array(outcomes)


def test_the_glse_of_each_is_the_glse():
    data, _ = toy(sets=3)
    # One round a stay has no spread about its mean: the sums are made to agree.
    stays = data.stays._replace(
        squares=np.where(data.stays.rounds == 1, data.stays.total**2, data.stays.squares)
    )
    data = data._replace(stays=stays)
    theta, phi, of_theta, of_phi = estimates.glse_of_each(estimates.first_users(data, 6, 3), PROBLEM.link)
    for number in range(3):
        x, r = rounds_of(data, number, 6)
        plain = hrprob.GLSE(ridge=1.0, link=PROBLEM.link).fit(x, r)
        np.testing.assert_allclose(theta[number], plain.theta_, rtol=1e-9)
        np.testing.assert_allclose(phi[number], plain.phi_, rtol=1e-9)
        variance = plain.predict(x)[1]
        inverse = np.linalg.inv(x.T @ x + np.eye(2))
        for found, weight in ((of_theta, variance), (of_phi, 2 * variance**2)):
            spread = inverse @ (x.T * weight) @ x @ inverse
            np.testing.assert_allclose(found[number], np.sqrt(np.diagonal(spread)), rtol=1e-9)


def test_efficiency_is_a_ratio_of_squared_errors():
    data, found = toy()
    table = estimates.compare_estimates(PROBLEM, data, found)
    assert table.estimate.dims == ("users", "estimator", "data_set", "parameter", "feature")
    result = estimates.efficiency(table)
    away = table.estimate.values - table.truth.values
    squares = (away**2).sum(axis=-1).mean(axis=2)
    np.testing.assert_allclose(
        result.efficiency.transpose("users", "parameter").values, squares[:, 1] / squares[:, 0]
    )
    # The draws have the right spread: errors are as large as said, 400 of them.
    honest = result.honesty.sel(estimator="posterior").values
    np.testing.assert_allclose(honest, 1.0, atol=4 / np.sqrt(2 * 400))
    assert verdicts.on_estimates("over the prior", result).good is None


@pytest.mark.parametrize(
    "noise",
    [hrprob.Mixture(weight=0.3, ratio=0.5), hrprob.TruncatedNormal(width=1.5), hrprob.StudentT(df=9.0)],
)
def test_fourth_moments_are_those_of_draws(noise):
    z = np.random.default_rng(1).uniform(size=200_000)
    at = np.linspace(-40, 40, 400_001)
    draws = np.interp(z, np.asarray(noise.cdf(at)), at)
    # The eighth moment of t with 9 degrees of freedom is barely finite: its mean scatters by a tenth at most.
    assert noise.fourth_moment == pytest.approx(np.mean(draws**4), rel=0.1)


def test_where_the_noise_has_no_fourth_moment_there_is_no_error_for_phi():
    assert hrprob.StudentT(df=4.0).fourth_moment is None
    data, found = toy()
    table = estimates.compare_estimates(PROBLEM.replace(noise=hrprob.StudentT(df=3.0)), data, found)
    errors = table.se.sel(estimator="GLSE")
    assert np.all(np.isnan(errors.sel(parameter="phi")))
    assert np.all(np.isfinite(errors.sel(parameter="theta")))
    words = verdicts.on_estimates("over the prior", estimates.efficiency(table)).words
    assert "nan" not in words
    heavy = estimates.compare_estimates(PROBLEM.replace(noise=hrprob.StudentT(df=5.0)), data, found)
    normal = estimates.compare_estimates(PROBLEM, data, found)
    ratio = (heavy.se / normal.se).sel(estimator="GLSE", parameter="phi")
    np.testing.assert_allclose(ratio, 2.0)  # √((9 − 1)/(3 − 1))


@pytest.mark.parametrize("users", [3, 9])
def test_users_who_have_not_come_count_for_nothing(users):
    data, _ = toy(sets=2)
    some = estimates.first_users(data, users, 2)
    cut = type(some)(*(leaf[:, :users] for leaf in data.stays))
    for one, other in zip(
        estimates.glse_of_each(some, PROBLEM.link), estimates.glse_of_each(cut, PROBLEM.link), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-12)
