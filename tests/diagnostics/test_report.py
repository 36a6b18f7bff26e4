"""The folder of a diagnosis, from diagnostics that compute nothing."""

import json
from typing import NamedTuple

import pytest
import xarray

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics.base import Diagnostic, ReportFigure, Verdict
from hrprob.diagnostics.report import to_plain, to_tree, write_report
from hrprob.diagnostics.runner import Diagnosis
from hrprob.diagnostics.study import QUICK, make_study


class Number(NamedTuple):
    value: float


class Plain(Diagnostic[Number]):
    kind = "plain"
    title = "A number"
    key = "number"

    def compute(self, inputs):
        return Number(3.0)

    def verdicts(self, result):
        return [Verdict(True, f"It is {result.value:g}")]

    def figures(self, result):
        from matplotlib.figure import Figure

        return [
            ReportFigure("number", "The number drawn.", lambda: Figure(figsize=(1, 1))),
            ReportFigure("nothing", "Nothing to see.", lambda: None),
        ]

    def write_section(self, page, result):
        page.text(f"The number is {result.value:g}.")

    def to_plain(self, result):
        return {self.key: result.value}

    def to_datasets(self, result):
        return {"numbers": xarray.Dataset({"value": ((), result.value)})}


class Silent(Diagnostic[Number]):
    """One that only computes."""

    kind = "silent"
    title = "Silence"

    def compute(self, inputs):
        return Number(0.0)


def diagnosis(*diagnostics, engine="laplace"):
    study = make_study(hrprob.Problem(), engine=engine)
    return Diagnosis(study, QUICK, diagnostics, {one.kind: one.compute(None) for one in diagnostics})


def test_a_report_has_the_contribution_of_every_diagnostic(tmp_path):
    write_report(diagnosis(Plain(), Silent()), tmp_path / "out")
    names = {path.name for path in (tmp_path / "out").iterdir()}
    data = {"report.html", "calibration.json", "diagnostics.nc", "manifest.json"}
    assert names == data | {"number.png", "number.svg"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert page.index("It is 3") < page.index("A number</h2>") < page.index("The number is 3.")
    assert page.index("The number is 3.") < page.index("The number drawn.") < page.index("Silence</h2>")
    assert "Nothing to see." not in page
    data = json.loads((tmp_path / "out" / "calibration.json").read_text())
    assert data["number"] == 3.0
    assert data["verdicts"] == [{"good": True, "words": "It is 3", "part": "plain", "counts": True}]
    assert (data["answer"], data["sentence"]) == ("yes", "Yes: the only check passes.")
    assert data["error_rate"] == {"families": 0, "each": 0.01, "total": 0.0}
    with xarray.open_datatree(tmp_path / "out" / "diagnostics.nc", engine="h5netcdf") as tree:
        assert float(tree["numbers"].value) == 3.0
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["files"] == sorted(names)


@pytest.mark.parametrize("key", ["number", "verdicts"])
def test_two_entries_with_one_key_are_refused(key):
    class Other(Plain):
        kind = "other"

    Other.key = key
    with pytest.raises(InvalidInput, match=f"each key once, got '{key}': the diagnostic 'other'"):
        to_plain(diagnosis(Plain(), Other()))
    with pytest.raises(InvalidInput, match="each key once, got 'numbers'"):
        to_tree(diagnosis(Plain(), Other()))


@pytest.mark.parametrize(
    ("engine", "words"),
    [("laplace", "from the prior, 32"), ("svi", "(svi with steps 1000 fitted to 32 of them)")],
)
def test_the_lead_says_how_an_engine_was_fitted_to_many_data_sets(engine, words, tmp_path):
    write_report(diagnosis(Silent(), engine=engine), tmp_path / "out")
    assert words in (tmp_path / "out" / "report.html").read_text()
