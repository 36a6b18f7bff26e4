"""Ranks of known uniformity: tests, verdicts, histograms."""

import numpy as np
import pytest
import xarray

from hrprob.diagnostics import sbc

from .toy import PROBLEM, TARGET, toy


def test_ranks_pass_and_fail_as_they_should():
    names = sbc.quantities(2)
    data, posteriors = toy()
    ranked = sbc.ranks(PROBLEM, TARGET, data, posteriors)
    assert list(ranked.quantity.values) == names
    every = sbc.uniformity_tests(ranked)
    # These draws have the right distribution whatever the data are: they ignore them, and the likelihood shows it.
    assert not every.passed.sel(quantity="ln p(data)").any()
    sound = every.drop_sel(quantity="ln p(data)")
    assert sound.passed.values.all()
    assert all(verdict.good for verdict in sbc.sbc_verdicts("toy", sound))
    data, posteriors = toy(bias=0.15)
    shifted = sbc.uniformity_tests(sbc.ranks(PROBLEM, TARGET, data, posteriors))
    failing = set(shifted.quantity.values[~shifted.passed.values.all(axis=0)])
    assert {"φ1", "φ2"} <= failing
    assert not {"θ1", "θ2"} & failing
    assert all(verdict.good is False for verdict in sbc.sbc_verdicts("toy", shifted))


def test_one_of_many_tests_can_fail():
    ranked = np.random.default_rng(4).uniform(size=(1, 500, 100))
    ranked[0, 7] **= 6
    tests = sbc.uniformity_tests(xarray.DataArray(ranked, dims=("users", "quantity", "data_set")))
    np.testing.assert_array_equal(np.flatnonzero(~tests.passed.values[0]), [7])


@pytest.mark.parametrize(
    ("data_sets", "quantities", "good"),  # of contexts of dimension 1, 4 and 20
    [(32, 6, None), (32, 12, None), (100, 6, True), (100, 12, True), (100, 44, None), (200, 44, True)],
)
def test_few_data_sets_do_not_make_an_engine_sound(data_sets, good, quantities):
    # As even as can be.
    even = (np.arange(data_sets) + 0.5) / data_sets
    ranked = xarray.DataArray(
        np.tile(even, (1, quantities, 1)),
        dims=("users", "quantity", "data_set"),
        coords={"users": [30], "quantity": [f"q{number}" for number in range(quantities)]},
    )
    said = sbc.sbc_verdicts("laplace", sbc.uniformity_tests(ranked))[0]
    assert said.good is good
    assert ("laplace passes" in said.words) is (good is True)
    assert (
        f"{data_sets} data sets {'would' if good else 'could only'} detect shares that are off by"
        in said.words
    )
    assert "fail with probability at most 1\xa0%" in said.words
    piled = ranked.copy(data=np.where(np.arange(quantities)[:, None] == 1, 0.3 * even, ranked))
    failed = sbc.sbc_verdicts("laplace", sbc.uniformity_tests(piled))[0]
    assert failed.good is False
    assert "laplace FAILS simulation-based calibration at q1:" in failed.words


def test_bars_of_uniform_histograms_seldom_leave_their_range():
    rng = np.random.default_rng(1)
    heights = rng.multinomial(200, np.full(10, 0.1), size=4000) * 10 / 200
    low, high = sbc.bar_range(200, 10, 0.01)
    left = np.mean(np.any((heights < low) | (heights > high), axis=1))
    # Bonferroni over discrete counts errs on the safe side; three binomial errors of 0.0016.
    assert 0.001 < left < 0.01 + 3 * 0.0016


def test_ranks_have_a_row_for_each_engine():
    rng = np.random.default_rng(2)
    ranked = xarray.DataArray(
        rng.uniform(size=(2, 100)), dims=("quantity", "data_set"), coords={"quantity": ["θ1", "h"]}
    )
    figure = sbc.plot_ranks({"one": ranked, "two": ranked**3}, 0.01)
    faces = [axes.patches[-1].get_facecolor() for axes in figure.axes]
    assert len(faces) == 4
    assert faces[0] == faces[1]
    assert faces[2] == faces[3] != faces[0]


@pytest.mark.parametrize(
    ("other", "words"), [(8, "every engine (after 8 users)"), (5, "smc after 8 users, nuts after 5")]
)
def test_captions_say_after_how_many_users_engines_are_ranked(other, words):
    ranked = {
        engine: sbc.ranks(PROBLEM, TARGET, *toy(sets=20, users=users))
        for engine, users in (("smc", (4, 8)), ("nuts", (other,)))
    }
    captions = {figure.name: figure.caption for figure in sbc.SBC().figures(sbc.SBCResult(ranked, {}))}
    assert words in captions["ranks"]
    assert "engine in use after 8 users" in captions["sbc"]
