"""Coverage and ranks on draws whose calibration is known."""

import numpy as np
import pytest

from hrprob.diagnostics import calibration, sbc, verdicts

from .toy import PROBLEM, TARGET, toy


def coverage_of(**fault):
    data, found = toy(**fault)
    places = calibration.sigma2_places(PROBLEM, TARGET, data, found)
    return places, calibration.coverage(places)


def test_what_is_calibrated_is_called_so():
    places, table = coverage_of()
    assert places.place.shape == (2, 200, 6)
    # Errors are cluster errors over 200 data sets; the limit has an error rate of 1 % in all.
    off = (table.coverage - table.level) / table.se
    assert np.abs(off.sel(region="all")).max() < table.attrs["most_errors"]
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
