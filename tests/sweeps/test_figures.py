"""Figures of a sweep."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob import plot
from hrprob._core.errors import InvalidInput
from hrprob.plot.saving import save


def made_up(**fields):
    """Return a sweep with a mean regret of 10 at the first point, 11 at the second, ..."""
    shape = tuple(map(len, fields.values()))
    points = 10.0 + np.arange(np.prod(shape)).reshape(shape)
    values = points[..., None, None] + np.array([[-1.0, 1.0], [9.0, 11.0]])
    names = [name.replace("_", ".") for name in fields]
    return xarray.Dataset(
        {"final_regret": ((*names, "policy", "trial"), values, {"units": "rounds"})},
        {"policy": ["a", "b"]} | dict(zip(names, fields.values(), strict=True)),
        {"fields": str(names).replace("'", '"'), "method": "grid"},
    )


def test_a_response_curve():
    axes = hrprob.plot.response(made_up(run_x=[1.0, 2.0, 3.0]))
    assert axes.lines[0].get_ydata().tolist() == [10.0, 11.0, 12.0]
    assert axes.get_xscale() == "linear"
    assert hrprob.plot.response(made_up(run_x=[1.0, 2.0]), ax=axes) is axes
    assert hrprob.plot.response(made_up(run_x=[0.1, 1.0, 10.0])).get_xscale() == "log"


def test_other_fields_are_averaged_over():
    result = made_up(run_x=[1.0, 2.0], run_y=["u", "v"])
    axes = hrprob.plot.response(result, "run.x")
    assert axes.lines[0].get_ydata().tolist() == [10.5, 12.5]
    chosen = hrprob.plot.response(result.sel({"run.y": "v"}))
    assert chosen.lines[0].get_ydata().tolist() == [11.0, 13.0]


def test_a_heat_map():
    result = made_up(run_x=[1.0, 2.0], run_y=["u", "v"])
    axes = hrprob.plot.heat_map(result, "b")
    assert axes.images[0].get_array().tolist() == [[20.0, 21.0], [22.0, 23.0]]
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("run.y", "run.x")
    # A panel and a bar for each policy.
    assert len(hrprob.plot.plot_sweep(result).axes) == 4


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda result: hrprob.plot.response(result), "`field` must be a swept field"),
        (lambda result: hrprob.plot.heat_map(result), "`policy` must be a policy of the sweep"),
        (lambda result: hrprob.plot.heat_map(result, "a", ("run.x", "b")), "`fields` must be two fields"),
        (lambda result: hrprob.plot.response(xarray.Dataset()), "must be of hrprob.sweep"),
        (
            lambda result: hrprob.plot.response(result.isel({"run.x": 0, "run.y": 0})),
            "must have a swept field",
        ),
    ],
)
def test_what_cannot_be_drawn(draw, words):
    with pytest.raises(InvalidInput, match=words):
        draw(made_up(run_x=[1.0, 2.0], run_y=["u", "v"]))


def test_long_names_of_points_leave_room_for_the_map(tmp_path):
    label = 'out: problem.link.offset = {}, policy.HR-UCB.growth = 3.14159, problem.noise = {{ kind = "student-t" }}'
    problems = {label.format(2.3749 + number / 100): {"a": 300.0, "b": 400.0} for number in range(4)}
    axes = plot.suite(problems)
    # A warning would be an error: that there is no room left.
    save(axes.get_figure(root=True), tmp_path, "map")
    assert [text.get_text() for text in axes.get_xticklabels()] == [
        "out (1)",
        "out (2)",
        "out (3)",
        "out (4)",
    ]
