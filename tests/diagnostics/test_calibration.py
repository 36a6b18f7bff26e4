"""Coverage and ranks on draws whose calibration is known."""

import numpy as np
import pytest
import xarray
from scipy import stats

from hrprob.diagnostics import calibration, sbc, verdicts

from .toy import PROBLEM, TARGET, toy


def coverage_of(**fault):
    data, found = toy(**fault)
    places = calibration.sigma2_places(PROBLEM, TARGET, data, found)
    return places, calibration.coverage(places)


def test_what_is_calibrated_is_called_so():
    places, table = coverage_of()
    assert places.place.shape == (2, 200, 6)
    assert table.probability.sel(region="all").min() >= table.attrs["least_probability"]
    found = verdicts.on_calibration(table, "toy")
    assert all(verdict.good for verdict in found)
    assert "calibrated" in found[0].words
    assert verdicts.on_places(table).good


@pytest.mark.parametrize(("fault", "word"), [({"spread": 0.5}, "too narrow"), ({"spread": 2.0}, "too wide")])
def test_a_wrong_spread_is_seen(fault, word):
    _, table = coverage_of(**fault)
    for verdict in verdicts.on_calibration(table, "toy"):
        assert verdict.good is False
        assert word in verdict.words
    assert verdicts.on_places(table).good is False


def calibrated_places(rng, sets, dimension, users=3, points=8):
    """Places that are uniform, those of one data set as dependent as variances at several contexts are."""
    z = rng.normal(size=(users, sets, dimension))
    x = rng.normal(size=(users, sets, points + 1, dimension))
    x /= np.linalg.norm(x, axis=-1, keepdims=True)
    place = stats.norm.cdf(np.einsum("usd,uspd->usp", z, x))
    dims = ("users", "data_set", "point")
    values = {"place": (dims, place)} | {
        name: (dims, rng.uniform(size=place.shape)) for name in ("predicted", "leverage")
    }
    names = [*(f"fresh {number + 1}" for number in range(points)), "served"]
    return xarray.Dataset(values, coords={"users": [10, 30, 100][:users], "point": names})


def test_regions_that_make_up_for_each_other_are_seen():
    places = calibrated_places(np.random.default_rng(0), 200, 4)
    even = calibration.coverage(places)
    assert verdicts.on_regions(even).good is None
    assert "would be seen" in verdicts.on_regions(even).words
    # After 30 users draws scatter too little where the variance is large, and too much where it is small.
    wrong = stats.norm.ppf(places.place) * xarray.where(
        places.predicted > 2 / 3, 1.4, xarray.where(places.predicted < 1 / 3, 0.7, 1.0)
    )
    later = places.users == 30
    table = calibration.coverage(
        places.assign(place=places.place.where(~later, stats.norm.cdf(wrong)).transpose(*places.place.dims))
    )
    before, at, after = verdicts.on_calibration(table, "toy")
    assert before.good is after.good is True
    assert at.good is None
    assert "right on average over contexts, not in every region" in at.words
    said = verdicts.on_regions(table)
    assert said.good is False
    assert "low after 30 users" in said.words
    assert "high after 30 users" in said.words
    assert "after 10 users" not in said.words


@pytest.mark.slow
@pytest.mark.parametrize(("sets", "dimension"), [(200, 4), (32, 4), (32, 1)])
def test_what_is_calibrated_fails_as_rarely_as_is_said(sets, dimension):
    rng, times = np.random.default_rng(3), 300
    bad = {"all": 0, "elsewhere": 0}
    for _ in range(times):
        table = calibration.coverage(calibrated_places(rng, sets, dimension))
        verdict = verdicts.on_calibration(table, "toy")
        bad["all"] += any(one.good is False for one in verdict)
        others = table.probability.drop_sel(region="all")
        bad["elsewhere"] += bool((others < table.attrs["least_chance_elsewhere"]).any())
    # With a rate of 1 % more than 10 of 300 come with probability 3e-4.
    assert max(bad.values()) <= 10


def test_few_data_sets_do_not_make_it_calibrated():
    places = calibrated_places(np.random.default_rng(0), 32, 1)
    places["place"] = 0.5 + 0.4 * (places.place - 0.5)  # all within central intervals of 50 %
    table = calibration.coverage(places)
    assert float(table.coverage.min()) == 1.0
    assert np.all(table.se.values > 0)
    assert all("too wide" in verdict.words for verdict in verdicts.on_calibration(table, "toy"))
    sound = calibration.coverage(calibrated_places(np.random.default_rng(0), 32, 1))
    for verdict in verdicts.on_calibration(sound, "toy"):
        assert verdict.good is None
        assert "32 data sets show only what is off by" in verdict.words


def test_the_binomial_test_is_that_of_whole_numbers():
    for hits, trials, probability in ((3, 20, 0.5), (20, 20, 0.9), (0, 12, 0.5), (18, 40, 0.5)):
        few, many = stats.binom.cdf(hits, trials, probability), stats.binom.sf(hits - 1, trials, probability)
        found = calibration._two_sided(*(np.array(float(value)) for value in (hits, trials, probability)))
        assert float(found) == pytest.approx(min(1.0, 2 * min(few, many)), rel=1e-9)


def test_posteriors_of_some_data_sets_only():
    data, found = toy()
    some = {users: type(draws)(*(leaf[:30] for leaf in draws)) for users, draws in found.items()}
    places = calibration.sigma2_places(PROBLEM, TARGET, data, some)
    whole = calibration.sigma2_places(PROBLEM, TARGET, data, found)
    assert places.sizes["data_set"] == 30
    np.testing.assert_array_equal(places.predicted, whole.predicted[:, :30])
    np.testing.assert_array_equal(places.leverage, whole.leverage[:, :30])


@pytest.mark.slow
def test_standard_errors_are_those_of_data_sets():
    # Over repetitions the coverage scatters by its standard error, though points of a set are dependent.
    times = 200
    found = [
        coverage_of(sets=60, users=(4,), seed=seed)[1].sel(region="all", level=0.8) for seed in range(times)
    ]
    scatter = np.std([float(of.coverage[0]) for of in found], ddof=1)
    said = np.mean([float(of.se[0]) for of in found])
    # The standard deviation of so many values has a relative error of 1/√(2 · times): four of them.
    assert scatter == pytest.approx(said, rel=4 / np.sqrt(2 * times))


def test_regions_are_parts_of_the_fresh_contexts():
    places, table = coverage_of()
    masks = calibration._masks(places)
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


def test_ranks_pass_and_fail_as_they_should():
    names = sbc.quantities(2)
    data, found = toy()
    sound = sbc.judge(sbc.ranks(PROBLEM, TARGET, data, found))
    assert list(sound.quantity.values) == names
    assert sound.passed.values.all()
    assert all(verdict.good for verdict in verdicts.on_sbc("toy", sound))
    data, found = toy(bias=0.15)
    shifted = sbc.judge(sbc.ranks(PROBLEM, TARGET, data, found))
    failing = set(shifted.quantity.values[~shifted.passed.values.all(axis=0)])
    assert {"φ1", "φ2"} <= failing
    assert not {"θ1", "θ2"} & failing
    assert all(verdict.good is False for verdict in verdicts.on_sbc("toy", shifted))
