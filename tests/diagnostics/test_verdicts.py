"""What is said of tables whose numbers are given."""

import numpy as np
import pytest
import xarray

from hrprob.diagnostics import sbc, verdicts
from hrprob.diagnostics.uniformity import uniformity_p_value


def compared(elpd, reference="gaussian", bad_k=0.0):
    models = ["gaussian", "student-t", "skew"]
    elpd = np.array(elpd)
    ahead = elpd - elpd[models.index(reference)]
    return xarray.Dataset(
        {
            "elpd": ("model", elpd),
            "ahead": ("model", ahead),
            "ahead_se": ("model", np.ones(3)),
            "bad_k": ("model", np.array([bad_k, 0.0, 0.0])),
        },
        coords={"model": models},
        attrs={"reference": reference, "rounds": 100},
    )


def test_models_are_compared_where_all_predictions_are_finite():
    assert verdicts.on_models(compared([-100.0, -101.0, -102.0])).good is True
    assert verdicts.on_models(compared([-100.0, -80.0, -102.0])).good is False
    # Ahead, but not by the ln(2/0.01) = 5.3 that would count.
    little = verdicts.on_models(compared([-100.0, -96.0, -102.0]))
    assert little.good is None
    assert "a little better" in little.words
    assert "5.3 ahead would count" in little.words


def test_unsure_weights_are_told():
    said = verdicts.on_models(compared([-100.0, -101.0, -102.0], bad_k=0.03))
    assert said.good is None
    assert "unsure (k̂ above 0.7) for 3.0 % of rounds" in said.words


@pytest.mark.filterwarnings("ignore:invalid value")  # of ∞ − ∞
@pytest.mark.parametrize("odd", [np.nan, -np.inf])
def test_a_model_without_a_density_is_named(odd):
    said = verdicts.on_models(compared([-100.0, odd, -102.0]))
    assert said.good is None
    assert "by student-t outcomes could not be compared" in said.words
    # It does not hide what another shows.
    shown = verdicts.on_models(compared([-100.0, odd, -20.0]))
    assert shown.good is False
    assert "by student-t outcomes could not be compared" in shown.words
    both = verdicts.on_models(compared([-100.0, odd, odd])).words
    assert "student-t and skew outcomes" in both
    reference = verdicts.on_models(compared([odd, -101.0, -102.0]))
    assert reference.good is None
    assert "by gaussian outcomes could not be compared" in reference.words
    assert "nan" not in said.words + shown.words + both + reference.words


def table_of_places(p_value, data_sets):
    return xarray.Dataset(
        {"p_value": (("point_kind", "users"), np.array(p_value))},
        coords={"point_kind": ["fresh", "served"], "users": [10, 30, 100]},
        attrs={"data_sets": data_sets},
    )


def test_the_least_p_value_is_named_by_one_cell():
    # Of the two that tie, (fresh, 30) comes first; no test was (fresh, 10).
    tied = table_of_places([[0.5, 0.02, 0.4], [0.02, 0.3, 0.2]], 200)
    said = verdicts.on_places(tied)
    assert said.good is True
    assert "least p = 0.02, at fresh contexts after 30 users (6 tests)" in said.words


@pytest.mark.parametrize(("data_sets", "good"), [(32, None), (100, True), (200, True)])
def test_few_data_sets_do_not_make_places_uniform(data_sets, good):
    said = verdicts.on_places(table_of_places(np.full((2, 3), 0.5), data_sets))
    assert said.good is good
    assert f"{data_sets} data sets show shares that are off by more than" in said.words
    assert said.words.endswith(" only") is (good is None)
    gross = verdicts.on_places(table_of_places([[0.5, 0.5, 1e-4], [0.5, 0.5, 0.5]], data_sets))
    assert gross.good is False


@pytest.mark.parametrize("data_sets", [100, 200])
def test_shares_that_are_said_to_be_seen_are(data_sets):
    limit, trials, seen = 0.01 / 12, 400, []
    sight = verdicts._sight_of_places(data_sets, limit)
    for z in (0.2, 0.3, 0.4, 0.5, 0.6):
        # Off by that much at z and as little as can be elsewhere: what lies just above z lies at it.
        places = np.random.default_rng(0).uniform(size=(trials, data_sets))
        places[(places > z) & (places < z + sight)] = z
        seen.append(np.mean([uniformity_p_value(row) < limit for row in places]))
    # Three binomial errors of √(.8 · .2/400) = 0.02; and no more is asked for than is needed.
    assert 0.8 - 0.06 < min(seen) < 0.8 + 0.06


@pytest.mark.parametrize(
    ("data_sets", "quantities", "good"),  # of contexts of dimension 1, 4 and 20
    [(32, 6, None), (32, 12, None), (100, 6, True), (100, 12, True), (100, 44, None), (200, 44, True)],
)
def test_few_data_sets_do_not_make_an_engine_sound(data_sets, good, quantities):
    # As even as can be: nothing is against them.
    even = (np.arange(data_sets) + 0.5) / data_sets
    places = xarray.DataArray(
        np.tile(even, (1, quantities, 1)),
        dims=("users", "quantity", "data_set"),
        coords={"users": [30], "quantity": [f"q{number}" for number in range(quantities)]},
    )
    said = verdicts.on_sbc("laplace", sbc.judge(places))[0]
    assert said.good is good
    assert ("laplace passes" in said.words) is (good is True)
    assert f"{data_sets} data sets show shares that are off by more than" in said.words
    assert said.words.endswith(" only") is (good is None)
    assert "fail with probability at most 1%" in said.words
    piled = places.copy(data=np.where(np.arange(quantities)[:, None] == 1, 0.3 * even, places))
    failed = verdicts.on_sbc("laplace", sbc.judge(piled))[0]
    assert failed.good is False
    assert "laplace FAILS simulation-based calibration at q1:" in failed.words
