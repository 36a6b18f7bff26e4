"""A table of rounds: whatever it comes as, and what is refused."""

import csv

import numpy as np
import pandas
import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.fitting.columns import Columns
from hrprob.fitting.table import as_table, read_table, write_table


def test_a_table_is_the_same_whatever_it_comes_as(table, tmp_path):
    write_table(table, tmp_path / "rounds.csv")
    columns = {"x1": table.x[:, 0], "x2": table.x[:, 1], "r": table.r, "user": table.user, "beta": table.beta}
    dataset = xarray.Dataset(
        {"x": (("round", "feature"), table.x), "r": ("round", table.r), "beta": ("round", table.beta)},
        coords={"user": ("round", table.user)},
    )
    forms = [
        table,
        (table.x, table.r, table.user, table.beta),
        {"x": table.x, "r": table.r, "user": table.user.astype(float), "beta": -0.5},
        columns,
        dict(reversed(columns.items())),
        xarray.Dataset({name: ("round", column) for name, column in columns.items()}),
        dataset,
        dataset.drop_vars("x").assign({n: ("round", columns[n]) for n in ("x1", "x2")}).to_dataframe(),
        tmp_path / "rounds.csv",
        str(tmp_path / "rounds.csv"),
    ]
    for form in forms:
        made = as_table(form)
        np.testing.assert_array_equal(made.x, table.x)
        np.testing.assert_array_equal(made.r, table.r)
        assert made.user.astype(int).tolist() == table.user.tolist()
        np.testing.assert_array_equal(made.beta, table.beta)


@pytest.mark.parametrize(
    ("data", "field", "words"),
    [
        (([[0.5]], [1.0, 2.0]), "x, r", "shapes"),
        (([[0.5], [np.nan]], [1.0, 2.0]), "x1", "row 2"),
        (([[0.5], [0.5]], [1.0, np.inf]), "r", "row 2"),
        (([[0.5], [0.5]], [1.0, -1e160]), "r", "row 2"),
        (([[0.5], [0.5]], [1e154, 1e154]), "r", "row 2"),
        (([[0.5], [1.1]], [1.0, 2.0]), "x", "row 2"),
        (([["a"]], [1.0]), "x", "numbers"),
        ((np.zeros((0, 2)), []), "r", "nothing to fit"),
        (([[0.5]], [1.0], [1, 2]), "user", "one label"),
        (([[0.5]], [1.0], None, [np.nan]), "beta", "row 1"),
        (([[0.5]], [1.0], None, ["low"]), "beta", "one level"),
        (([[0.5]], [1.0], None, [0.5, 0.5]), "beta", "one level"),
        (([[0.5]], [1.0], None, np.array([1j])), "beta", "numbers only"),
        ((np.array([[0.5j]]), [1.0]), "x", "numbers only"),
        (([[0.5]], np.ma.masked_array([1.0], [True])), "r", "masked"),
        ({"x": [[0.5]], "r": np.ma.masked_array([1.0], [True])}, "r", "masked"),
        ({"x": [[0.1, 0.2], [0.3]], "r": [1.0, 2.0]}, "x", "rows of one length"),
        (([[0.5], [0.5]], [1.0, 2.0], ["a", None]), "user", "row 2"),
        (([[0.5], [0.5]], [1.0, 2.0], [np.nan, "a"]), "user", "row 1"),
        (([[0.5], [0.5]], [1.0, 2.0], [1.0, np.nan]), "user", "row 2"),
        (([[0.5], [0.5]], [1.0, 2.0], ["a", " "]), "user", "row 2"),
        ({"x1": [0.5], "x3": [0.5], "r": [1.0]}, "data", "column"),
        ({"x1": [0.5], "x2": [0.5, 0.5], "r": [1.0]}, "x1, x2", "one entry"),
        ({"x": [[0.5]], "x1": [0.5], "r": [1.0]}, "data", "x1"),
        ({"x1": [0.5]}, "data", "column r"),
        (17, "data", "CSV"),
    ],
)
def test_invalid_tables_are_refused(data, field, words):
    with pytest.raises(InvalidInput, match=words) as complaint:
        hrprob.fit(data, "laplace")
    assert complaint.value.field == field


def test_columns_of_any_name_and_further_ones(table):
    columns = {"dose": table.x[:, 0], "age": table.x[:, 1], "gain": table.r, "id": table.user, "day": table.r}
    named = Columns("gain", ["age", "dose"], "id")
    forms = [
        columns,
        pandas.DataFrame(columns),
        xarray.Dataset({n: ("round", c) for n, c in columns.items()}),
    ]
    for form in forms:
        made = as_table(form, named)
        np.testing.assert_array_equal(made.x, table.x[:, ::-1])
        assert made.features == ("age", "dose")
        assert made.unused == ("day",)
        assert made.beta is None


def test_frames_of_polars(table):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"dose": table.x[:, 0], "gain": table.r, "id": [f"u{k}" for k in table.user]})
    made = as_table(frame, Columns("gain", "dose", "id"))
    np.testing.assert_array_equal(made.x, table.x[:, :1])
    assert made.user.tolist() == [f"u{k}" for k in table.user]
    missing = frame.with_columns(polars.Series("gain", [None, *table.r[1:]]))
    with pytest.raises(InvalidInput, match="row 1"):
        as_table(missing, Columns("gain", "dose", "id"))


class Arrow:
    """A table with the interface of pyarrow's."""

    def __init__(self, columns):
        self._columns = columns
        self.column_names = list(columns)
        self.columns = list(columns.values())

    def __getitem__(self, name):
        return self._columns[name]


def test_tables_with_the_interface_of_pyarrow(table):
    made = as_table(Arrow({"x1": table.x[:, 0], "r": table.r}))
    np.testing.assert_array_equal(made.x, table.x[:, :1])


def test_scales_divide_contexts(table):
    long = (7.0 * table.x, table.r)
    made = as_table(long, scale=True)
    assert np.linalg.norm(made.x, axis=1).max() == pytest.approx(1.0)
    np.testing.assert_allclose(made.x * made.scale, long[0])
    # Contexts that are short enough stay as they are.
    assert as_table((0.5 * table.x, table.r), scale=True).scale is None
    made = as_table((table.x * [1.0, 1000.0], table.r), scale="columns")
    np.testing.assert_allclose(np.abs(made.x).max(axis=0), 0.5**0.5)
    assert np.linalg.norm(made.x, axis=1).max() <= 1.0 + 1e-12
    with pytest.raises(InvalidInput, match="`scale` must be true, false"):
        as_table(long, scale="rows")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("decimal", [".", ","])
def test_separators_and_decimal_signs_are_recognised(tmp_path, separator, decimal):
    path = tmp_path / "rounds.csv"
    lines = [["x1", "note, or remark", "r"], ["0.5", "1.000,5", "1e-3"], ["-0.25", "", "2"]]
    with open(path, "w", newline="") as stream:
        writer = csv.writer(stream, delimiter=separator)
        writer.writerows(
            [cell.replace(".", decimal) if j != 1 else cell for j, cell in enumerate(line)] for line in lines
        )
    table = read_table(path)
    assert table.x.tolist() == [[0.5], [-0.25]]
    assert table.r.tolist() == [1e-3, 2.0]
    assert table.unused == ("note, or remark",)


@pytest.mark.parametrize("label", [np.inf, 1e300, -1e19])
def test_labels_that_are_no_whole_numbers_are_text(label):
    assert as_table(([[0.5], [0.5]], [1.0, 2.0], [label, 1.0])).user.tolist() == [str(label), "1.0"]


def test_a_csv_file_is_read_with_its_line_numbers(tmp_path):
    path = tmp_path / "rounds.csv"
    path.write_text("\ufeffx1, x2 ,r,beta\n0.1,0.2,0.5,inf\n\n0.3,0.4,-1e-3,2\n", encoding="utf-8")
    table = read_table(path)
    assert table.x.tolist() == [[0.1, 0.2], [0.3, 0.4]]
    assert table.beta.tolist() == [np.inf, 2.0]
    path.write_text("x1,r\n0.1,0.2\n\n0.3,?\n")
    with pytest.raises(InvalidInput, match="`column r` must be a number, got '\\?': line 4 of"):
        read_table(path)
