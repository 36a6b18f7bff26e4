"""Coverage and PIT values on draws whose calibration is known."""

import numpy as np
import pytest
import xarray
from scipy import stats

from hrprob.diagnostics import calibration

from .toy import PROBLEM, TARGET, toy


def coverage_of(**fault):
    data, posteriors = toy(**fault)
    pit = calibration.sigma2_pit(PROBLEM, TARGET, data, posteriors)
    return pit, calibration.coverage(pit)


def test_calibrated_draws_are_called_calibrated():
    pit, table = coverage_of()
    assert pit.pit.shape == (2, 200, 6)
    assert table.p_value.sel(region="all").min() >= table.attrs["significance_level"]
    verdicts = calibration.coverage_verdicts(table, "toy")
    assert all(verdict.good for verdict in verdicts)
    assert "calibrated" in verdicts[0].words
    assert calibration.uniformity_verdict(table).good


@pytest.mark.parametrize(("fault", "word"), [({"spread": 0.5}, "too narrow"), ({"spread": 2.0}, "too wide")])
def test_a_wrong_spread_is_detected(fault, word):
    _, table = coverage_of(**fault)
    for verdict in calibration.coverage_verdicts(table, "toy"):
        assert verdict.good is False
        assert word in verdict.words
    assert calibration.uniformity_verdict(table).good is False


def calibrated_pit(rng, sets, dimension, users=3, points=8):
    """PIT values that are uniform, and within a data set as dependent as variances at several contexts are."""
    z = rng.normal(size=(users, sets, dimension))
    x = rng.normal(size=(users, sets, points + 1, dimension))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    values = stats.norm.cdf(np.einsum("usd,uspd->usp", z, x))
    dims = ("users", "data_set", "point")
    table = {"pit": (dims, values)} | {
        name: (dims, rng.uniform(size=values.shape)) for name in ("predicted", "leverage")
    }
    names = [*(f"fresh {number + 1}" for number in range(points)), "served"]
    return xarray.Dataset(table, coords={"users": [10, 30, 100][:users], "point": names})


def test_faults_that_cancel_over_regions_are_detected():
    pit = calibrated_pit(np.random.default_rng(0), 200, 4)
    even = calibration.coverage(pit)
    assert calibration.region_verdict(even).good is True
    few = calibration.coverage(calibrated_pit(np.random.default_rng(0), 32, 1))
    assert calibration.region_verdict(few).good is None
    assert "would be detected" in calibration.region_verdict(even).words
    # After 30 users draws scatter too little where the variance is large, and too much where it is small.
    wrong = stats.norm.ppf(pit.pit) * xarray.where(
        pit.predicted > 2 / 3, 1.4, xarray.where(pit.predicted < 1 / 3, 0.7, 1.0)
    )
    later = pit.users == 30
    table = calibration.coverage(
        pit.assign(pit=pit.pit.where(~later, stats.norm.cdf(wrong)).transpose(*pit.pit.dims))
    )
    before, at, after = calibration.coverage_verdicts(table, "toy")
    assert before.good is after.good is True
    assert at.good is None
    assert "right on average over contexts, not in every region" in at.words
    said = calibration.region_verdict(table)
    assert said.good is False
    assert "low after 30 users" in said.words
    assert "high after 30 users" in said.words
    assert "after 10 users" not in said.words


@pytest.mark.slow
@pytest.mark.parametrize(("sets", "dimension"), [(200, 4), (32, 4), (32, 1)])
def test_calibrated_draws_fail_as_rarely_as_stated(sets, dimension):
    rng, times = np.random.default_rng(3), 300
    bad = {"all": 0, "elsewhere": 0}
    for _ in range(times):
        table = calibration.coverage(calibrated_pit(rng, sets, dimension))
        verdict = calibration.coverage_verdicts(table, "toy")
        bad["all"] += any(one.good is False for one in verdict)
        bad["elsewhere"] += bool((table.p_value < table.significance).drop_sel(region="all").any())
    # With a rate of 1 % more than 10 of 300 come with probability 3e-4.
    assert max(bad.values()) <= 10


def test_few_data_sets_leave_calibration_undecided():
    pit = calibrated_pit(np.random.default_rng(0), 32, 1)
    pit["pit"] = 0.5 + 0.4 * (pit.pit - 0.5)  # all within central intervals of 50 %
    table = calibration.coverage(pit)
    assert float(table.coverage.min()) == 1.0
    assert np.all(table.se.values > 0)
    assert all("too wide" in verdict.words for verdict in calibration.coverage_verdicts(table, "toy"))
    sound = calibration.coverage(calibrated_pit(np.random.default_rng(0), 32, 1))
    for verdict in calibration.coverage_verdicts(sound, "toy"):
        assert verdict.good is None
        assert "32 data sets could only detect a difference of" in verdict.words


def test_a_coverage_of_73_percent_of_many_contexts_fails_at_90():
    """73.4 % ± 5 % after one of three numbers of users has p = 0.002, and three tests share 0.8 % of error."""
    rng = np.random.default_rng(0)
    pit = calibrated_pit(rng, 64, 1)
    inside = np.arange(64) < 47  # 73.4 % of 64 data sets
    values = pit.pit.values.copy()
    values[1] = np.where(inside, 0.5, 0.99)[:, None]
    table = calibration.coverage(pit.assign(pit=(pit.pit.dims, values)))
    said = calibration.coverage_verdicts(table, "toy")[1]
    assert said.good is False
    assert "73.4 %" in said.words
    assert "too narrow" in said.words


def test_posteriors_of_some_data_sets_only():
    data, posteriors = toy()
    some = {users: type(draws)(*(leaf[:30] for leaf in draws)) for users, draws in posteriors.items()}
    pit = calibration.sigma2_pit(PROBLEM, TARGET, data, some)
    whole = calibration.sigma2_pit(PROBLEM, TARGET, data, posteriors)
    assert pit.sizes["data_set"] == 30
    np.testing.assert_array_equal(pit.predicted, whole.predicted[:, :30])
    np.testing.assert_array_equal(pit.leverage, whole.leverage[:, :30])


@pytest.mark.slow
def test_standard_errors_are_over_data_sets():
    # Over repetitions the coverage scatters by its standard error, though points of a set are dependent.
    times = 200
    found = [
        coverage_of(sets=60, users=(4,), seed=seed)[1].sel(region="all", level=0.8) for seed in range(times)
    ]
    scatter = np.std([float(of.coverage[0]) for of in found], ddof=1)
    stated = np.mean([float(of.se[0]) for of in found])
    # The standard deviation of `times` values has a relative error of 1/√(2 · times): four of them.
    assert scatter == pytest.approx(stated, rel=4 / np.sqrt(2 * times))


def test_regions_are_parts_of_the_fresh_contexts():
    pit, table = coverage_of()
    masks = calibration._masks(pit)
    for name in ("low", "high", "explored", "rare"):
        assert not np.any(masks[name] & ~masks["all"])
        # A third of five points each, to within a point in a data set.
        assert masks[name].sum() == pytest.approx(masks["all"].sum() / 3, rel=0.02)
    assert masks["served"].sum(axis=2).max() == 1
    assert not np.any(masks["low"] & masks["high"])
    assert list(table.region.values) == list(calibration.REGIONS)


def test_leverage_is_the_norm_of_the_ridge():
    data, _ = toy(sets=3)
    x = data.fresh
    found = calibration._leverage(data, 4, x)
    rows = np.repeat(data.stays.x[1, :4], data.stays.rounds[1, :4].astype(int), axis=0)
    inverse = np.linalg.inv(rows.T @ rows + np.eye(2))
    np.testing.assert_allclose(found[1], np.sqrt(np.einsum("pi,ij,pj->p", x[1], inverse, x[1])))


def table_of_uniformity(p_value, data_sets):
    return xarray.Dataset(
        {"uniformity_p_value": (("point_kind", "users"), np.array(p_value))},
        coords={"point_kind": ["fresh", "served"], "users": [10, 30, 100]},
        attrs={"data_sets": data_sets},
    )


def test_the_least_p_value_is_named_by_one_cell():
    # Of the two that tie, (fresh, 30) comes first; no test was (fresh, 10).
    tied = table_of_uniformity([[0.5, 0.02, 0.4], [0.02, 0.3, 0.2]], 200)
    said = calibration.uniformity_verdict(tied)
    assert said.good is True
    assert "smallest p = 0.02, at fresh contexts after 30 users (6 tests)" in said.words


@pytest.mark.parametrize(("data_sets", "good"), [(32, None), (100, True), (200, True)])
def test_few_data_sets_do_not_make_pit_values_uniform(data_sets, good):
    said = calibration.uniformity_verdict(table_of_uniformity(np.full((2, 3), 0.5), data_sets))
    assert said.good is good
    assert (
        f"{data_sets} data sets {'would' if good else 'could only'} detect shares that are off by"
        in said.words
    )
    gross = calibration.uniformity_verdict(
        table_of_uniformity([[0.5, 0.5, 1e-4], [0.5, 0.5, 0.5]], data_sets)
    )
    assert gross.good is False
