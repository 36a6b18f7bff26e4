"""Every function of hrprob.plot that draws: takes axes, returns them, leaves settings alone."""

import contextlib
import inspect
import types

import matplotlib
import numpy as np
import pytest
import xarray
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import hrprob
from hrprob import plot
from hrprob._core.errors import InvalidInput
from hrprob.estimation.estimator import Ellipsoid
from hrprob.fitting.table import Table
from tests.plot.example import USERS, drawn, made_up, texts

RNG = np.random.default_rng(0)
SET = Ellipsoid(np.array([0.5, 0.2, -0.1]), np.diag([400.0, 100.0, 50.0]), 30.0)


def run():
    """Return a result with everything that a simulation leaves, of three policies and an oracle."""
    result = made_up([280, 300, 700, 0], ["greedy", "HR-UCB", "LinUCB", "best"], trials=6)
    result["optimal"] = result.regret.dims, RNG.integers(0, 2, result.regret.shape)
    result.attrs["policies"] = '{"best": {"kind": "oracle"}, "greedy": {"kind": "greedy"}}'
    return result


def posterior():
    """Return what a posterior with two features offers to a figure."""
    x = RNG.uniform(-0.7, 0.7, (60, 2))
    return types.SimpleNamespace(
        setting=types.SimpleNamespace(dimension=2),
        table=Table(x, x @ [0.5, 0.1] + RNG.normal(size=60)),
        theta=RNG.normal(size=(1, 50, 2)),
        phi=RNG.normal(size=(1, 50, 2)),
        predict=lambda contexts, prob: xarray.Dataset(
            {"variance": (("context", "statistic"), 2 + np.outer(contexts[:, 0], [1, 1, 0.5, 1.5]))},
            coords={"statistic": ["mean", "median", "low", "high"]},
        ),
    )


def coverage():
    axes, shape = ("region", "users", "level"), (2, 2, 3)
    return xarray.Dataset(
        {"coverage": (axes, RNG.uniform(0.4, 1.0, shape)), "se": (axes, np.full(shape, 0.02))},
        {"region": ["all", "large"], "users": [30, 3000], "level": [0.5, 0.8, 0.95]},
    )


def reliability():
    axes = ("predictor", "bin")
    columns = {
        "predicted": [[0.1, 0.5], [0.2, 0.6]],
        "observed": [[0.2, 0.4], [0.2, 0.6]],
        "se": [[0.1, 0.1]] * 2,
    }
    return xarray.Dataset(
        {name: (axes, np.array(values)) for name, values in columns.items()}
        | {"count": (axes, np.ones((2, 2)))},
        {"predictor": ["posterior", "oracle"]},
    )


def radii():
    enough = (("parameter", "n"), [[5.0, 6.0, 7.0]] * 2)
    return xarray.Dataset(
        {
            "radius": (("parameter", "n", "version"), RNG.uniform(50, 3000, (2, 3, 2))),
            "quantile": enough,
            "quantile_simultaneous": enough,
            "posterior_radius": enough,
        },
        {"parameter": ["theta", "phi"], "n": [10, 100, 1000], "version": ["paper", "corrected"]},
        {"delta": 0.1},
    )


CASES = {
    "regret": (run,),
    "growth": (run,),
    "differences": (run,),
    "lifetimes": (run,),
    "optimal_actions": (run,),
    "final_regret": (run,),
    "suite": (lambda: {"one": run(), "two": {"greedy": 3.0, "HR-UCB": 40.0}},),
    "variance": (posterior,),
    "confidence_sets": (lambda: {"as printed": SET, "corrected": SET._replace(radius=9.0)},),
    "set_radii": (radii,),
    "calibration": (coverage,),
    "reliability": (reliability,),
}


@pytest.fixture(autouse=True)
def _close():
    yield
    pyplot.close("all")


def test_all_functions_that_draw_on_axes_are_tried():
    public = {name: getattr(plot, name) for name in dir(plot)}
    drawing = {
        name
        for name, one in public.items()
        if inspect.isfunction(one) and "ax" in inspect.signature(one).parameters
    }
    # Figures of sweeps are drawn in tests/sweeps/test_figures.py.
    assert drawing - {"response", "heat_map"} == set(CASES)
    assert "plot" in dir(hrprob)


@pytest.mark.parametrize("name", CASES)
def test_given_axes_are_drawn_on_and_returned(name):
    figure = Figure()
    axes = figure.subplots()
    before = dict(matplotlib.rcParams)
    assert getattr(plot, name)(CASES[name][0](), ax=axes) is axes
    assert axes.has_data()
    assert dict(matplotlib.rcParams) == before
    assert not pyplot.get_fignums()
    drawn(figure)


@pytest.mark.parametrize("name", CASES)
def test_without_axes_there_are_new_ones_that_pyplot_shows(name):
    before = dict(matplotlib.rcParams)
    axes = getattr(plot, name)(CASES[name][0]())
    assert isinstance(axes, Axes)
    figure = axes.get_figure()
    assert pyplot.get_fignums() == [figure.number]
    assert figure.get_figwidth() == pytest.approx(plot.COLUMN_WIDTH)
    assert dict(matplotlib.rcParams) == before
    # Drawn after the style has ended, as a notebook does: no text is cut off, and all is small.
    renderer = drawn(figure)
    for text in texts(figure):
        box = text.get_window_extent(renderer)
        inside = (
            box.x0 >= -1 and box.y0 >= -1 and box.x1 <= figure.bbox.x1 + 1 and box.y1 <= figure.bbox.y1 + 1
        )
        assert inside, text.get_text()
        assert text.get_fontsize() <= 8, text.get_text()


@pytest.mark.parametrize("name", CASES)
def test_every_function_documents_its_parameters_and_has_an_example(name):
    function = getattr(plot, name)
    for parameter, entry in inspect.signature(function).parameters.items():
        assert f"{parameter} :" in function.__doc__
        assert entry.annotation is not inspect.Parameter.empty
    assert f"hrprob.plot.{name}(" in function.__doc__


def test_differences_are_paired_and_oracles_left_out():
    result = run()
    axes = plot.differences(result, against="LinUCB", ax=Figure().subplots())
    lines = {line.get_label(): line for line in axes.lines}
    assert {"greedy", "HR-UCB"} <= set(lines)
    assert "best" not in lines
    paired = result.regret.sel(policy="greedy") - result.regret.sel(policy="LinUCB")
    assert lines["greedy"].get_ydata()[-1] == pytest.approx(float(paired.isel(user=-1).mean()))
    # By default against the best that is no oracle.
    assert "greedy" in plot.differences(result, ax=Figure().subplots()).get_ylabel()


def test_lines_of_growth_have_the_slopes_they_name():
    axes = plot.growth(run(), ax=Figure().subplots())
    for line in axes.lines:
        if line.get_label().startswith("slope"):
            (x0, x1), (y0, y1) = line.get_data()
            slope = np.log(y1 / y0) / np.log(x1 / x0)
            assert slope == pytest.approx(1.0 if "linear" in line.get_label() else 0.5)


def test_the_share_of_optimal_actions_is_that_of_the_windows():
    result = run()
    axes = plot.optimal_actions(result, ax=Figure().subplots())
    first = result.optimal.values[0][:, : USERS // 24].mean()
    assert axes.lines[0].get_ydata()[0] == pytest.approx(first)


def test_the_shadow_of_a_set_is_what_its_points_have_as_coordinates():
    """Every point on the outline is the projection of a point of the ellipsoid, and nothing lies beyond."""
    axes = plot.confidence_sets(SET, features=(0, 2), ax=Figure().subplots())
    outline = np.stack(axes.lines[0].get_data(), axis=1)
    points = RNG.normal(size=(20000, 3))
    points = SET.center + SET.radius * points / np.linalg.norm(
        points @ np.sqrt(SET.shape), axis=1, keepdims=True
    )
    for direction in RNG.normal(size=(20, 2)):
        reach = (points[:, [0, 2]] @ direction).max()
        # 20 000 random points come within 2 % of the edge; the outline has 180 corners.
        assert (outline @ direction).max() == pytest.approx(reach, rel=0.02)
    with pytest.raises(InvalidInput, match="features"):
        plot.confidence_sets(SET, features=(0, 3), ax=Figure().subplots())


def test_small_clouds_of_draws_get_a_panel_of_their_own():
    wide = plot.confidence_sets(SET, posterior=RNG.normal(size=(40, 3)), ax=Figure().subplots())
    assert not wide.child_axes
    huge = plot.confidence_sets(
        SET._replace(radius=1e4), posterior=RNG.normal(size=(40, 3)), ax=Figure().subplots()
    )
    assert len(huge.child_axes) == 1


def test_data_are_compared_at_their_own_contexts():
    one = posterior()
    axes = plot.variance(one, "x2", data=True, ax=Figure().subplots())
    order = np.argsort(one.table.x[:, 1], kind="stable")
    groups = np.array_split(order, 60 // 8)
    np.testing.assert_allclose(axes.lines[0].get_xdata(), [one.table.x[group, 1].mean() for group in groups])
    with pytest.raises(InvalidInput, match="x1, x2"):
        plot.variance(one, "x3", ax=Figure().subplots())
    with pytest.raises(InvalidInput, match="at"):
        plot.variance(one, 0, at=[0.0, 1.0], ax=Figure().subplots())


def test_a_diagnosis_is_drawn_by_its_tables():
    diagnosis = types.SimpleNamespace(coverage=coverage(), reliability={"over the prior": reliability()})
    assert "3\N{NARROW NO-BREAK SPACE}000 users" in plot.calibration(
        diagnosis, ax=Figure().subplots()
    ).get_title(loc="left")
    axes = plot.reliability(diagnosis, predictor="oracle", ax=Figure().subplots())
    assert axes.get_title(loc="left") == "oracle, over the prior"
    with pytest.raises(InvalidInput, match="predictor"):
        plot.reliability(diagnosis, predictor="nobody", ax=Figure().subplots())


def test_wrong_beliefs_stand_in_the_legend():
    result = run()
    result.attrs |= {
        "misspecified": '{"HR-UCB": {"noise": {"kind": "student-t"}}}',
        "problem": '{"noise": {"kind": "normal"}}',
    }
    labels = [line.get_label() for line in plot.regret(result, ax=Figure().subplots()).lines]
    assert labels[1].replace("\n", " ") == "HR-UCB (assumes student-t noise)"
    assert labels[0] == "greedy"


def test_a_figure_in_the_style_leaves_on_what_a_notebook_switches_on() -> None:
    """Its backend is chosen with the first figure, within the style, and shows later figures only while that is on."""
    was = matplotlib.is_interactive()
    try:
        matplotlib.interactive(False)
        with plot.style():
            matplotlib.interactive(True)
        assert matplotlib.is_interactive()
        with contextlib.suppress(ZeroDivisionError), plot.style():
            matplotlib.interactive(False)
            _ = 1 / 0
        assert not matplotlib.is_interactive()
        assert matplotlib.rcParams["font.size"] != 8.0
    finally:
        matplotlib.interactive(was)
