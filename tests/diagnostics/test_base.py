"""The contract of every diagnostic, and how one is registered."""

import subprocess
import sys
from typing import ClassVar

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.diagnostics.base import DIAGNOSTICS, Diagnostic, make_diagnostics, register
from hrprob.diagnostics.inputs import INPUTS


@pytest.fixture
def registry(monkeypatch):
    """The registry, as it was after the test."""
    DIAGNOSTICS.kinds()
    monkeypatch.setattr(DIAGNOSTICS, "_classes", dict(DIAGNOSTICS._classes))
    return DIAGNOSTICS


@pytest.mark.parametrize("kind", list(DIAGNOSTICS))
def test_every_diagnostic_keeps_the_contract(kind):
    one = DIAGNOSTICS.make(kind)
    assert isinstance(one, Diagnostic)
    assert one.kind == kind
    assert one.title
    assert set(one.needs) <= set(INPUTS)
    assert type(one).__doc__


def test_the_order_of_the_report_is_that_of_the_diagnostics():
    kinds = [one.kind for one in make_diagnostics()]
    assert kinds == [
        "truth",
        "calibration",
        "sbc",
        "health",
        "rho",
        "anytime",
        "reneging",
        "outcomes",
        "estimates",
    ]
    assert [one.kind for one in make_diagnostics(["rho", {"kind": "sbc"}])] == ["sbc", "rho"]


@pytest.mark.parametrize(
    ("written", "words"),
    [(["calibraton"], "did you mean `calibration`"), (["rho", "rho"], "must name each kind once")],
)
def test_diagnostics_that_cannot_be_run_are_refused(written, words):
    with pytest.raises(InvalidInput, match=words):
        make_diagnostics(written)


def test_a_need_that_does_not_exist_is_refused_where_it_is_written(registry):
    class Wrong(Diagnostic[None]):
        title = "Wrong"
        needs: ClassVar[tuple[str, ...]] = ("over_priors",)

        def compute(self, inputs):
            return None

    with pytest.raises(InvalidInput, match=r"`Wrong.needs` must be one of .*'over_prior'"):
        register("wrong")(Wrong)
    assert "wrong" not in registry


def test_the_package_and_all_diagnostics_are_imported_without_matplotlib():
    program = (
        "import sys\n"
        "class Blocked:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.partition('.')[0] == 'matplotlib':\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Blocked())\n"
        "import hrprob.diagnostics\n"
        "print(*hrprob.diagnostics.DIAGNOSTICS)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert "calibration" in done.stdout.split()
