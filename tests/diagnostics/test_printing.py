"""How a diagnosis prints itself."""

import types

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.diagnostics.base import Verdict
from hrprob.diagnostics.runner import Diagnosis


def diagnosis():
    verdicts = [Verdict(True, "calibrated"), Verdict(False, "off by -5"), Verdict(None, "undecided <x>")]
    diagnostic = types.SimpleNamespace(kind="made-up", verdicts=lambda result: verdicts)
    study = types.SimpleNamespace(engine=types.SimpleNamespace(kind="laplace"))
    return Diagnosis(study, None, (diagnostic,), {"made-up": None})


def test_verdicts_are_printed_with_three_marks():
    done = diagnosis()
    first, *others = str(done).splitlines()
    assert first == "No: 1 of 3 checks fails (made-up); 1 passes, 1 is undecided."
    assert others == ["✓ calibrated", "✗ off by -5", "· undecided <x>"]
    assert repr(done) == "<Diagnosis of laplace: 3 verdicts, 1 failed>"
    assert "undecided &lt;x&gt;" in done._repr_html_()
    assert done.to_frame().verdict.tolist() == ["passed", "failed", "undecided"]


def test_a_table_that_was_not_asked_for_is_missed_in_words():
    with pytest.raises(InvalidInput, match="must have the diagnostic 'calibration'"):
        diagnosis().coverage  # noqa: B018
