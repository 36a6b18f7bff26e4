"""Which points a sweep has."""

import numpy as np
import pytest

from hrprob._core.errors import InvalidInput
from hrprob.sweeps.design import make_design, read_design
from hrprob.sweeps.fields import set_field
from hrprob.sweeps.values import read_values


def test_a_grid_has_every_combination():
    design = make_design({"run.seed": [0, 1], "problem.noise": ["normal", {"kind": "student-t", "df": 4.0}]})
    assert design.shape == (2, 2)
    assert design.points[1] == (0, {"kind": "student-t", "df": 4.0})
    assert design.label(2) == 'run.seed = 1, problem.noise = "normal"'


def test_ranges():
    assert read_values("f", {"low": 0, "high": 1, "points": 5}).even() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert np.allclose(
        read_values("f", {"low": 1, "high": 1000, "points": 4, "scale": "log"}).even(), [1, 10, 100, 1000]
    )
    assert read_values("f", {"low": 1, "high": 4, "points": 10, "whole": True}).even() == [1, 2, 3, 4]


def test_whole_numbers_are_drawn_with_equal_probability():
    drawn = read_values("f", {"low": 1, "high": 3, "whole": True}).at(np.linspace(0, 1, 3001))
    counts = np.bincount(drawn)
    assert len(counts) == 4
    assert np.ptp(counts[1:]) <= 2


@pytest.mark.parametrize("scale", ["linear", "log"])
def test_a_latin_hypercube_has_one_point_in_each_share(scale):
    fields = {"run.seed": [1, 2, 3, 4, 5], "a.b": {"low": 1.0, "high": 16.0, "scale": scale}}
    design = make_design(fields, method="latin-hypercube", draws=20, seed=4)
    seeds, numbers = (np.array(column) for column in zip(*design.points, strict=True))
    assert np.bincount(seeds).tolist() == [0, 4, 4, 4, 4, 4]
    shares = (numbers - 1.0) / 15.0 if scale == "linear" else np.log2(numbers) / 4.0
    assert np.sort((shares * 20).astype(int)).tolist() == list(range(20))


def test_draws_of_a_field_do_not_depend_on_other_fields():
    one = {"a.b": {"low": 0.0, "high": 1.0}}
    for method in ("random", "latin-hypercube"):
        alone = make_design(one, method=method, draws=6)
        beside = make_design({"run.seed": [1, 2]} | one, method=method, draws=6)
        assert [point[0] for point in alone.points] == [point[1] for point in beside.points]
        assert alone.points != make_design(one, method=method, draws=6, seed=1).points


def test_a_grid_may_draw_a_field():
    design = make_design({"a.b": {"low": 0.0, "high": 1.0, "draws": 4}})
    assert design.shape == (4,)
    assert design.points == sorted(design.points)


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({}, "`sweep` must name at least one field"),
        ({"method": "gird", "a.b": [1]}, "`sweep.method` must be one of"),
        ({"metod": "grid", "a.b": [1]}, "did you mean `method`"),
        ({"a.b": []}, "`sweep.a.b` must have at least one value"),
        ({"a.b": 3}, "`sweep.a.b` must be values"),
        ({"a.b": [1, 1]}, "must have values that differ.*1 is there twice"),
        ({"a.b": {"low": 1, "high": 0}}, "`sweep.a.b.high` must be above 1"),
        ({"a.b": {"low": 0, "high": 1}}, "`sweep.a.b.points` must be given"),
        ({"a.b": {"low": 0, "high": 1, "scale": "log", "points": 2}}, "`sweep.a.b.low` must be above 0"),
        ({"a.b": {"low": 0, "high": 1, "pionts": 2}}, "did you mean `points`"),
        ({"a.b": {"low": 0, "high": 1, "points": 2, "draws": 2}}, "must not be given beside points"),
        ({"a.b": {"low": 0.5, "high": 2, "points": 2, "whole": True}}, "ends that are whole numbers"),
        ({"a.b": {"low": float("nan"), "high": 2}}, "`sweep.a.b.low` must be"),
        ({"a.b": [1], "draws": 3}, "`sweep.draws` must not be given for a grid"),
        ({"a.b": [1], "method": "random"}, "`sweep.draws` must be given"),
        ({"a.b": [1], "method": "random", "draws": 0}, "`sweep.draws` must be a whole number"),
        ({"a.b": [1], "seed": -1}, "`sweep.seed` must be"),
        ({f"a.{name}": list(range(1000)) for name in "bc"}, "at most 100000 points, got 1000000"),
    ],
)
def test_what_is_refused(table, words):
    with pytest.raises(InvalidInput, match=words):
        read_design(table)


@pytest.mark.parametrize(
    ("field", "words"),
    [
        ("problm.theta", "begins with problem., run. or policy.NAME."),
        ("run.trials", "`sweep.run.trials` must not be swept"),
        ("policy.b.growth", "must name a policy and one of its fields.*policies are a"),
        ("policy.a.kind", "must not be swept"),
        ("problem.lnk.offset", "did you mean `link`"),
        ("problem.theta[3]", "it is a list of 2"),
        ("problem.link[1]", "it is no list"),
        ("problem.theta.x", "it has no parts"),
        ("problem..x", "must be a field of the configuration"),
        ("problem.a/b", "must not contain /"),
    ],
)
def test_fields_that_are_refused(field, words):
    data = {
        "problem": {"theta": [0.6, 0.3], "link": {"kind": "affine"}},
        "run": {},
        "policy": [{"name": "a"}],
    }
    with pytest.raises(InvalidInput, match=words):
        set_field(data, field, 1.0)
