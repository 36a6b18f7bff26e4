"""Figures of known numbers: which curves are marked, and whether there is room for all panels."""

import itertools

import numpy as np
import pytest
import xarray

from hrprob import plot
from hrprob.diagnostics import estimates, health, sbc
from hrprob.diagnostics.drawing import plot_pit
from hrprob.diagnostics.power import ERROR_RATE

from .toy import chains_of


def colours(figure):
    return [axes.lines[0].get_color() for axes in figure.axes]


def test_a_curve_that_leaves_its_band_is_marked():
    rng = np.random.default_rng(0)
    figure = plot_pit({"sound": rng.uniform(size=200), "not": rng.uniform(size=200) ** 2}, 0.01)
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
    ranked = xarray.DataArray(
        np.random.default_rng(18).uniform(size=(1, 12, 200)) ** powers,
        dims=("users", "quantity", "data_set"),
        coords={"users": [30], "quantity": names},
    )
    tests = sbc.uniformity_tests(ranked)
    # One by one six would fail, by Bonferroni's correction three.
    limits = (ERROR_RATE, ERROR_RATE / 12)
    assert [int(np.sum(tests.p_value < limit)) for limit in limits] == [6, 3]
    failing = (~tests.passed.values[0]).tolist()
    figure = plot_pit(dict(zip(names, ranked.values[0], strict=True)), ERROR_RATE)
    assert [colour == plot.look_of(1).color for colour in colours(figure)] == failing
    assert [leaves_its_band(axes) for axes in figure.axes] == failing
    assert sum(failing) == 5


def ranks_of(dimension):
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
        lambda d: plot_pit(dict(zip(sbc.quantities(d), ranks_of(d).values, strict=True)), 0.01),
        lambda d: sbc.plot_ranks(dict.fromkeys(("laplace", "nuts"), ranks_of(d)), 0.01),
        lambda d: health.plot_trace(chains_of(d)),
        lambda d: health.plot_rank(chains_of(d)),
        lambda d: estimates.plot_estimates(estimates_of(d)),
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


def test_of_many_quantities_those_that_are_least_uniform_are_drawn():
    ranked = ranks_of(32)
    ranked[40] **= 3
    figure = plot_pit(dict(zip(map(str, ranked.quantity.values), ranked.values, strict=True)), 0.01)
    assert len(figure.axes) == 12
    marked = [axes.get_title(loc="left") for axes in figure.axes if leaves_its_band(axes)]
    assert marked == [ranked.quantity.values[40]]
    rows = sbc.plot_ranks({"one": ranks_of(32), "two": ranked}, 0.01)
    names = [axes.get_title() for axes in rows.axes[:12]]
    assert len(rows.axes) == 24
    assert marked[0] in names
