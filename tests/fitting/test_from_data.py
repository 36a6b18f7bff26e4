"""Intercepts outside the norm, bounds and links chosen from the data, standardised contexts."""

import jax
import numpy as np
import pytest
from scipy import stats

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob._core.precision import double_precision
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.from_data import bounds_from, estimate, link_from, prior_with_intercept
from hrprob.fitting.table import Table, as_table
from hrprob.models import Setting, make_model, make_prior, priors, rounds
from hrprob.problem import LogLink, SoftplusLink


def raw(n=400, seed=0):
    """Features and outcomes in units of their own: a mean near 500, standard deviations near 60."""
    rng = np.random.default_rng(seed)
    age, dose = rng.normal(40.0, 9.0, n), rng.uniform(0.0, 5.0, n)
    sd = 60.0 * np.exp(0.5 * (0.4 * (age - 40.0) / 9.0))
    return {
        "age": age,
        "dose": dose,
        "gain": 500.0 + 2.0 * (age - 40.0) + 20.0 * dose + sd * rng.normal(size=n),
    }


def test_estimates_are_those_of_maximum_likelihood():
    table = as_table(raw(4000), hrprob.fitting.columns.Columns("gain", ["age", "dose"]), "standardise")
    table = table.with_intercept()
    for link in (LogLink(3600.0), SoftplusLink(3600.0)):
        found = estimate(table, link)
        # At the maximum both gradients vanish, up to the weak prior of φ.
        w = link(table.x @ found.phi)
        e = table.r - table.x @ found.theta
        np.testing.assert_allclose(table.x.T @ (e / w) * np.sqrt(3600), 0.0, atol=1e-6)
        by_z = (link(table.x @ found.phi + 1e-5) - link(table.x @ found.phi - 1e-5)) / (2e-5 * w)
        slope = table.x.T @ (0.5 * by_z * (e**2 / w - 1.0)) - 0.01 * found.phi * [0, 1, 1]
        np.testing.assert_allclose(slope, 0.0, atol=1e-3)
    # 0.4 per standard deviation of age, within four standard errors.
    scale = table.scale[1] / raw(4000)["age"].std()
    found = estimate(table, LogLink(3600.0))
    assert abs(found.phi[1] - 0.4 * scale) < 4 * np.sqrt(found.phi_covariance[1, 1])


def test_bounds_are_stated_and_leave_room():
    table = as_table(raw(), hrprob.fitting.columns.Columns("gain", ["age", "dose"]), "standardise")
    table = table.with_intercept()
    link = link_from(table)
    assert link.scale == pytest.approx(3600, rel=0.3)
    found, bounds = estimate(table, link), bounds_from(table, link)
    room = 2 * (np.linalg.norm(found.theta[1:]) + 3 * np.sqrt(np.trace(found.theta_covariance[1:, 1:])))
    assert room <= bounds.theta <= 1.1 * room
    assert 1.0 <= bounds.phi <= 10.0
    # An affine link cannot give more room than its offset.
    affine = hrprob.Affine(slope=2.0, offset=3600.0)
    assert bounds_from(table, affine).phi == 1800.0
    # Outcomes that a line fits exactly still have bounds and a link.
    exact = Table([[0.5], [1.0], [-0.5]], [1.0, 2.0, -1.0])
    assert bounds_from(exact, link_from(exact)).theta >= 2.0


def test_intercepts_are_normal_a_priori_and_every_density_agrees():
    table = as_table(raw(30), hrprob.fitting.columns.Columns("gain", ["age", "dose"]), "standardise")
    table = table.with_intercept()
    prior = prior_with_intercept(table, LogLink(3600.0), make_prior("gaussian"))
    assert prior.theta_location == pytest.approx(table.r.mean(), rel=0.01)
    assert prior.theta_sd == pytest.approx(2.5 * table.r.std(), rel=0.01)
    assert prior.phi_sd == pytest.approx(2.5, rel=0.01)
    setting = Setting(3, LogLink(3600.0), hrprob.Bounds(300.0, 3.0))
    priors.check_prior(prior, setting)
    target = Target(make_model("gaussian"), prior, setting)
    with double_precision():
        draw = np.asarray(prior.theta(setting).sample(jax.random.key(0), (4000,)))
        assert stats.kstest(draw[:, 0], stats.norm(prior.theta_location, prior.theta_sd).cdf).pvalue > 1e-4
        assert np.linalg.norm(draw[:, 1:], axis=1).max() <= 300.0
        theta = np.array([510.0, 40.0, -25.0])
        wanted = stats.norm.logpdf(510.0, prior.theta_location, prior.theta_sd)
        wanted += float(
            make_prior("gaussian").theta(Setting(2, LogLink(), setting.bounds)).log_prob(theta[1:])
        )
        assert float(prior.theta(setting).log_prob(theta)) == pytest.approx(wanted, rel=1e-9)
        # Program and target have the same density in z, and z comes back from θ and φ.
        from hrprob.estimation.posterior.sites import log_density

        data = jax.tree.map(jax.numpy.asarray, rounds(table.x, table.r))
        points = 0.5 * jax.random.normal(jax.random.key(1), (3, 6))
        one = jax.jit(jax.vmap(lambda z: log_density(target, (), z, data)))(points)
        other = jax.jit(jax.vmap(lambda z: target.log_density(z, data)))(points)
        assert np.ptp(np.asarray(one) - np.asarray(other)) < 1e-6
        back = jax.jit(lambda z: target.position(*target.coefficients(z)))(points)
        np.testing.assert_allclose(back, points, atol=1e-7)
        # Derivatives of the map, as laplace uses them.
        curve = jax.jit(lambda z, rows: target.curve(z, [(data, rows)])[1])(points[0], len(table))
        by_jax = jax.jit(lambda z: tuple(of(target.log_density)(z, data) for of in (jax.grad, jax.hessian)))
        slope, bend = by_jax(points[0])
        np.testing.assert_allclose(curve.gradient, slope, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(curve.hessian, bend, rtol=1e-5, atol=1e-5)


@pytest.mark.slow
def test_from_raw_columns_to_predictions(tmp_path):
    data = raw()
    posterior = hrprob.fit(
        data,
        "laplace",
        outcome="gain",
        context=["age", "dose"],
        scale="standardise",
        intercept=True,
        bounds="auto",
    )
    assert posterior.concerns() == []
    assert [str(name) for name in posterior.summary().parameter.values[:2]] == [
        "theta[intercept]",
        "theta[age]",
    ]
    for name in ("theta", "phi"):
        bound = getattr(posterior.setting.bounds, name)
        assert np.linalg.norm(posterior.slopes(name), axis=-1).max() < 0.98 * bound
    found = estimate(posterior.table, posterior.setting.link)
    sd = np.sqrt(np.diag(found.theta_covariance))
    assert np.all(np.abs(posterior.flat()["theta"].mean(axis=0) - found.theta) < 0.3 * sd)
    # Contexts of later questions are in the units of the data, without the intercept.
    said = posterior.predict([[49.0, 2.5], [31.0, 2.5]], outcome=True)
    mean, wide = said["mean"].sel(statistic="mean"), said.variance.sel(statistic="mean")
    np.testing.assert_allclose(mean, [568.0, 532.0], atol=20.0)
    assert float(wide[0]) > 1.5 * float(wide[1])
    spread = (said.outcome.sel(statistic="high") - said.outcome.sel(statistic="low")) / 3.29
    np.testing.assert_allclose(spread, np.sqrt(wide), rtol=0.1)
    with pytest.raises(InvalidInput, match=r"shape \(m, 2\)"):
        posterior.predict([[1.0, 49.0, 2.5]])
    text = str(posterior)
    assert "bounds" in text
    assert "chosen from the data" in text
    assert "theta[intercept] ~ N(" in text
    posterior.save(tmp_path / "raw.nc")
    again = hrprob.Posterior.load(tmp_path / "raw.nc")
    np.testing.assert_allclose(again.predict([[49.0, 2.5]])["mean"], said["mean"][:1])
    assert again.chosen == posterior.chosen
    with pytest.raises(InvalidInput, match="without a scale"):
        hrprob.data.fitted_problem(posterior, posterior.table.x[None])
    hrprob.plot.variance(posterior, 0, data=True)


def test_what_cannot_have_an_intercept_is_refused():
    data = {"x1": [0.1, 0.5, -0.4], "r": [1.0, 2.0, 0.5]}
    with pytest.raises(InvalidInput, match="positive everywhere with an intercept"):
        hrprob.fit(data, "laplace", intercept=True, link=hrprob.Affine())
    with pytest.raises(InvalidInput, match='or "auto"'):
        hrprob.fit(data, "laplace", bounds="wide")
    with pytest.raises(InvalidInput, match="intercept"):
        hrprob.fit(hrprob.Problem(), "laplace", intercept=True)
    with pytest.raises(InvalidInput, match="must go with intercept=True"):
        hrprob.fit(data, "laplace", link="log", prior="with-intercept")
    with pytest.raises(InvalidInput, match="no intercepts in a policy"):
        hrprob.Thompson(prior="with-intercept").bind(hrprob.Problem(), 10)
    with pytest.raises(InvalidInput, match="standardise"):
        hrprob.fit(data, "laplace", scale="standardize")
