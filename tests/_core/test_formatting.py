"""One way to write numbers."""

import math
import pathlib
import re

import pytest

from hrprob._core.formatting import (
    decimals_for,
    format_number,
    format_p,
    listed,
    percent,
    typeset,
    with_error,
)

THIN, WIDE = "\N{NARROW NO-BREAK SPACE}", "\N{NO-BREAK SPACE}"
PACKAGE = pathlib.Path(__file__).parents[2] / "hrprob"


@pytest.mark.parametrize(
    ("value", "decimals", "text"),
    [
        (30000, None, f"30{THIN}000"),
        (999.96, None, "1000"),
        (-1234.56, 1, f"−1{THIN}234.6"),
        (-0.0004, 2, "0.00"),
        (0, None, "0"),
        (math.nan, None, "–"),
        (-math.inf, 3, "−∞"),
        (2.9e97, 0, "2.9·10⁹⁷"),
        (0.0000123, None, "1.23·10⁻⁵"),
        (0.0000123, 3, "0.000"),
    ],
)
def test_numbers(value, decimals, text):
    assert format_number(value, decimals) == text


def test_errors_choose_the_digits():
    assert with_error(1173.6, 48.2) == f"1{THIN}174{WIDE}±{WIDE}48"
    assert with_error(-8.3142, 0.0134) == f"−8.314{WIDE}±{WIDE}0.013"
    assert decimals_for(math.inf) == 2
    assert percent(0.951, 1) == f"95.1{WIDE}%"
    assert format_p(0.00099) == "< 0.001"


def test_only_numbers_of_a_text_are_typeset():
    assert typeset("[-1, 2] in 10,000 of HR-UCB-2 (2019-05), f(-.5), 1,2") == (
        f"[−1, 2] in 10{THIN}000 of HR-UCB-2 (2019-05), f(−.5), 1,2"
    )
    assert typeset("p = 5.2e-25 (-1e-05), 3e+11") == "p = 5.2·10⁻²⁵ (−1·10⁻⁵), 3·10¹¹"
    assert typeset("4872e13, a1e-5, 1e-5x") == "4872e13, a1e-5, 1e-5x"
    assert listed(["a", "b", "c"]) == "a, b and c"


def test_no_other_module_separates_thousands_by_itself():
    """Words, tables and figures take their numbers from one module."""
    own = re.compile(r"\{[^{}]*:[+]?,[^{}]*\}")
    found = [
        f"{file.relative_to(PACKAGE)}: {line.strip()}"
        for file in PACKAGE.rglob("*.py")
        if file.name != "formatting.py"
        for line in file.read_text(encoding="utf-8").splitlines()
        if own.search(line) and ("f'" in line or 'f"' in line) and re.search(r":[+]?,(\.\d[fg])?\}", line)
    ]
    assert found == []
