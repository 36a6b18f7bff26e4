"""Figures of known numbers: what is marked, and that ArviZ of this version draws the chains."""

import itertools

import numpy as np
import pytest
import xarray
from arviz_base import from_dict

from hrprob.diagnostics import figures, sbc
from hrprob.plot import plots


def colours(figure):
    return [axes.lines[0].get_color() for axes in figure.axes]


def test_a_curve_that_leaves_its_band_is_marked():
    rng = np.random.default_rng(0)
    figure = figures.plot_pit({"sound": rng.uniform(size=200), "not": rng.uniform(size=200) ** 2}, 0.01)
    sound, other = colours(figure)
    assert sound != other
    assert [axes.get_title(loc="left") for axes in figure.axes] == ["sound", "not"]


def leaves_its_band(axes):
    x, y = axes.lines[0].get_data()
    # A hair nearer the middle: what touches an edge is within.
    points = np.stack([0.5 + (x - 0.5) * (1 - 1e-6), y * (1 - 1e-6)], axis=1)
    return not axes.collections[0].get_paths()[0].contains_points(points).all()


def test_a_curve_is_orange_and_leaves_its_band_where_its_quantity_fails():
    powers = np.array([1.0] * 6 + [1.25, 1.3, 1.35, 1.4, 1.5, 2.0])[:, None]
    names = [f"q{number}" for number in range(12)]
    places = xarray.DataArray(
        np.random.default_rng(18).uniform(size=(1, 12, 200)) ** powers,
        dims=("users", "quantity", "data_set"),
        coords={"users": [30], "quantity": names},
    )
    judged = sbc.judge(places)
    # One by one six would fail, by Bonferroni's correction three.
    limits = (sbc.ERROR_RATE, sbc.ERROR_RATE / 12)
    assert [int(np.sum(judged.p_value < limit)) for limit in limits] == [6, 3]
    failing = (~judged.passed.values[0]).tolist()
    figure = figures.plot_pit(dict(zip(names, places.values[0], strict=True)), sbc.ERROR_RATE)
    assert [colour == plots.look_of(1).color for colour in colours(figure)] == failing
    assert [leaves_its_band(axes) for axes in figure.axes] == failing
    assert sum(failing) == 5


def test_bars_of_uniform_histograms_seldom_leave_their_range():
    rng = np.random.default_rng(1)
    heights = rng.multinomial(200, np.full(10, 0.1), size=4000) * 10 / 200
    low, high = figures.bar_range(200, 10, 0.01)
    left = np.mean(np.any((heights < low) | (heights > high), axis=1))
    # Bonferroni over discrete counts errs on the safe side; three binomial errors of 0.0016.
    assert 0.001 < left < 0.01 + 3 * 0.0016


def test_ranks_have_a_row_for_each_engine():
    rng = np.random.default_rng(2)
    places = xarray.DataArray(
        rng.uniform(size=(2, 100)), dims=("quantity", "data_set"), coords={"quantity": ["θ1", "h"]}
    )
    figure = figures.plot_ranks({"one": places, "two": places**3}, 0.01)
    faces = [axes.patches[-1].get_facecolor() for axes in figure.axes]
    assert len(faces) == 4
    assert faces[0] == faces[1]
    assert faces[2] == faces[3] != faces[0]


def chains_of(dimension, **shifted):
    """Chains that agree, but for one of them at the features named, which is shifted."""
    rng = np.random.default_rng(2)
    draws = {name: rng.normal(size=(4, 100, dimension)) for name in ("theta", "phi")}
    for feature, shift in shifted.items():
        draws["phi"][3, :, int(feature[1:]) - 1] += shift
    groups = {
        "posterior": draws,
        "sample_stats": {"energy": rng.normal(size=(4, 100)), "diverging": np.zeros((4, 100), dtype=bool)},
    }
    coords = {"feature": [f"x{number + 1}" for number in range(dimension)]}
    return from_dict(groups, coords=coords, dims={"theta": ["feature"], "phi": ["feature"]})


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arviz_draws_the_chains():
    tree = chains_of(2)
    for plot in (figures.plot_trace, figures.plot_rank, figures.plot_energy):
        assert any(axes.has_data() for axes in plot(tree).axes)


def places_of(dimension):
    names = sbc.quantities(dimension)
    values = np.random.default_rng(5).uniform(size=(len(names), 100))
    return xarray.DataArray(values, dims=("quantity", "data_set"), coords={"quantity": names})


def estimates_of(dimension):
    rng, dims = np.random.default_rng(6), ("users", "estimator", "data_set", "parameter", "feature")
    coords = {
        "users": [10, 30, 100],
        "estimator": ["GLSE", "posterior"],
        "parameter": ["theta", "phi"],
        "feature": [f"x{number + 1}" for number in range(dimension)],
    }
    shape = (3, 2, 1, 2, dimension)
    table = {name: (dims, rng.uniform(size=shape)) for name in ("estimate", "se")}
    return xarray.Dataset(table | {"truth": (dims[2:], rng.uniform(size=shape[2:]))}, coords=coords)


@pytest.mark.parametrize("dimension", [1, 4, 32])
@pytest.mark.parametrize(
    "draw",
    [
        lambda d: figures.plot_pit(dict(zip(sbc.quantities(d), places_of(d).values, strict=True)), 0.01),
        lambda d: figures.plot_ranks(dict.fromkeys(("laplace", "nuts"), places_of(d)), 0.01),
        lambda d: figures.plot_trace(chains_of(d)),
        lambda d: figures.plot_rank(chains_of(d)),
        lambda d: figures.plot_estimates(estimates_of(d)),
    ],
    ids=["pit", "ranks", "trace", "rank", "estimates"],
)
def test_figures_can_be_read_whatever_the_dimension(draw, dimension):
    figure = draw(dimension)
    figure.draw_without_rendering()  # it warns where there is no room for all
    panels = [axes for axes in figure.axes if axes.get_visible()]
    inches = [axes.get_position().size * figure.get_size_inches() for axes in panels]
    assert np.min(inches) > 0.3
    titles = [text for axes in panels for text in (axes.title, axes._left_title) if text.get_text()]
    labels = [axes.xaxis.label for axes in panels if axes.get_xlabel()]
    boxes = [text.get_window_extent() for text in titles + labels]
    assert titles
    assert not [pair for pair in itertools.combinations(boxes, 2) if pair[0].overlaps(pair[1])]
    assert all(box.x0 >= 0 and box.x1 <= figure.bbox.width for box in boxes)


def test_of_many_features_those_whose_chains_agree_least_are_drawn():
    figure = figures.plot_trace(chains_of(32, x3=1.0, x17=2.0, x18=1.0, x32=3.0))
    named = {axes.get_title().split()[-1] for axes in figure.axes}
    assert named == {"x3", "x17", "x18", "x32"}


def test_of_many_quantities_those_that_are_least_uniform_are_drawn():
    places = places_of(32)
    places[40] **= 3
    figure = figures.plot_pit(dict(zip(map(str, places.quantity.values), places.values, strict=True)), 0.01)
    assert len(figure.axes) == 12
    marked = [axes.get_title(loc="left") for axes in figure.axes if leaves_its_band(axes)]
    assert marked == [places.quantity.values[40]]
    rows = figures.plot_ranks({"one": places_of(32), "two": places}, 0.01)
    names = [axes.get_title() for axes in rows.axes[:12]]
    assert len(rows.axes) == 24
    assert marked[0] in names


def test_one_chain_has_no_ranks_and_no_energy_no_figure():
    one = from_dict(
        {"posterior": {"theta": np.zeros((1, 100, 2))}, "sample_stats": {"lp": np.zeros((1, 100))}}
    )
    assert figures.plot_rank(one) is None
    assert figures.plot_energy(one) is None


@pytest.mark.parametrize(("draws", "kept"), [(1000, 500), (150, 150)])
def test_ranks_are_of_about_as_many_draws_as_they_are_worth(draws, kept):
    # Every value twice: half as many draws as they seem, of which a hundred a chain stay anyway.
    values = np.random.default_rng(3).normal(size=(4, draws // 2, 2)).repeat(2, axis=1)
    tree = figures._thinned(from_dict({"posterior": {"theta": values, "phi": values}}))
    assert tree["posterior"].sizes["draw"] == pytest.approx(kept, rel=0.35)


def test_thinning_does_not_hide_that_chains_disagree():
    values = np.random.default_rng(4).normal(size=(4, 1000, 2))
    values[3] += 0.5  # R-hat is 1.03
    tree = figures._thinned(from_dict({"posterior": {"theta": values, "phi": values}}))
    assert tree["posterior"].sizes["draw"] == 1000
