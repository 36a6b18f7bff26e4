r"""How numbers are written, the same in words, tables, figures and pages.

Thousands are separated by a narrow no-break space (30 000), negative numbers have a minus sign (−5, not -5), and per cent
signs stand after a no-break space. :func:`typeset` does the same to numbers that stand in a text already.

Examples
--------
>>> print(format_number(-30000), format_number(0.1234567), percent(0.25))
−30 000 0.1235 25 %
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import SupportsFloat

__all__ = [
    "MINUS",
    "decimals_for",
    "format_interval",
    "format_number",
    "format_p",
    "listed",
    "p_is",
    "percent",
    "signed",
    "typeset",
    "with_error",
]

MINUS = "\N{MINUS SIGN}"
_SPACE = "\N{NO-BREAK SPACE}"
_THIN = "\N{NARROW NO-BREAK SPACE}"
# Of more numbers than these, the first few and the last are listed.
_MOST_LISTED, _FIRST_LISTED = 4, 3
# Beyond these, a number is written with a power of ten.
_LARGE, _SMALL = 1e10, 1e-4
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# A hyphen before a digit is a minus sign unless it joins two words or numbers, or belongs to an exponent.
_HYPHEN = re.compile(r"(?<![\w.)\]-])-(?=\.?\d)")
_COMMAS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
# A power of ten as Python writes it: one digit before the point, and a sign after the e.
_POWER = re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]\d+)(?!\w)")


def format_number(value: SupportsFloat, decimals: int | None = None) -> str:
    """Return a number with ``decimals`` decimals; by default four significant digits, and all digits before the point.

    Examples
    --------
    >>> print(format_number(-0.001, 2), format_number(1234567), format_number(-1234.5), format_number(3.14159, 2), format_number(math.inf), format_number(1.5e97))
    0.00 1 234 567 −1 234 3.14 ∞ 1.5·10⁹⁷
    """
    plain = float(value)
    if not math.isfinite(plain):
        return "–" if math.isnan(plain) else f"{MINUS if plain < 0 else ''}∞"
    if abs(plain) >= _LARGE or (decimals is None and 0.0 < abs(plain) < _SMALL):
        mantissa, power = f"{plain:.2e}".split("e")
        return typeset(f"{float(mantissa):.3g}e{power}")
    if decimals is None:
        text = f"{plain:,.0f}" if abs(plain) >= 1000 else f"{plain:.4g}"
    else:
        text = f"{plain:,.{decimals}f}"
    # What is rounded to zero has no sign.
    return typeset(text.removeprefix("-") if float(text.replace(",", "")) == 0 else text)


def signed(value: SupportsFloat, decimals: int | None = None) -> str:
    """Return a number with its sign, also where it is positive.

    Examples
    --------
    >>> signed(2.5, 1), signed(-2.5, 1)
    ('+2.5', '−2.5')
    """
    return ("+" if float(value) > 0 else "") + format_number(value, decimals)


def format_interval(low: SupportsFloat, high: SupportsFloat, decimals: int | None = None) -> str:
    """Return an interval in brackets.

    Examples
    --------
    >>> format_interval(-1.25, 3.5, 1)
    '[−1.2, 3.5]'
    """
    return f"[{format_number(low, decimals)}, {format_number(high, decimals)}]"


def decimals_for(error: SupportsFloat) -> int:
    """Return how many decimals a number with this standard error deserves: one digit of it, two if that is a 1.

    Examples
    --------
    >>> [decimals_for(error) for error in (23.0, 0.4312, 0.01234)]
    [0, 1, 3]
    """
    if not 0.0 < float(error) < math.inf:
        return 2
    places = -math.floor(math.log10(float(error)))
    return max(0, places + (float(error) * 10.0**places < 2.0))


def with_error(value: SupportsFloat, error: SupportsFloat) -> str:
    r"""Return a number and its standard error with decimals chosen by the error; the number alone without one.

    Examples
    --------
    >>> [with_error(8.3142, error) for error in (0.4312, 0.01234, 0.0)]
    ['8.3\xa0±\xa00.4', '8.314\xa0±\xa00.012', '8.31']
    """
    if not 0.0 < float(error) < math.inf:
        return typeset(f"{float(value):.3g}") if abs(float(value)) < 1000 else format_number(value)
    decimals = decimals_for(error)
    return f"{format_number(value, decimals)}{_SPACE}±{_SPACE}{format_number(error, decimals)}"


def percent(share: SupportsFloat, decimals: int = 0) -> str:
    r"""Return a share in per cent.

    Examples
    --------
    >>> percent(0.25), percent(0.256, 1)
    ('25\xa0%', '25.6\xa0%')
    """
    return f"{format_number(100 * float(share), decimals)}{_SPACE}%"


def format_p(p: SupportsFloat) -> str:
    """Return a p-value with two significant digits; a very small one as a bound.

    Examples
    --------
    >>> format_p(0.0312), format_p(1e-7), format_p(1.0)
    ('0.031', '< 0.001', '1')
    """
    value = float(p)
    if math.isnan(value):
        return format_number(value)
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


def p_is(p: SupportsFloat) -> str:
    """Return what a p-value is, in words.

    Examples
    --------
    >>> p_is(0.0312), p_is(1e-7)
    ('p = 0.031', 'p < 0.001')
    """
    words = format_p(p)
    return f"p {words}" if words.startswith("<") else f"p = {words}"


def listed(items: Iterable[str | SupportsFloat]) -> str:
    """Return numbers or names one by one; of many numbers, the first and the last.

    Examples
    --------
    >>> print(listed([10, 30, 1000]), "or", listed(range(10, 40, 5)), "or", listed(["a", "b"]))
    10, 30 and 1 000 or 10, 15, 20, … and 35 or a and b
    """
    *first, last = [item if isinstance(item, str) else format_number(item) for item in items]
    shown = first if len(first) <= _MOST_LISTED else [*first[:_FIRST_LISTED], "…"]
    return " and ".join(filter(None, [", ".join(shown), last]))


def typeset(text: str) -> str:
    """Return a text in which numbers have minus signs, thousands apart and raised powers of ten.

    Examples
    --------
    >>> print(typeset("-5 of 30,000, x-1, p = 5.2e-25, HR-UCB-2"))
    −5 of 30 000, x-1, p = 5.2·10⁻²⁵, HR-UCB-2
    """
    return _COMMAS.sub(_THIN, _HYPHEN.sub(MINUS, _POWER.sub(_with_power, text)))


def _with_power(number: re.Match[str]) -> str:
    """Return a mantissa and its power of ten."""
    return f"{number[1]}·10{str(int(number[2])).translate(_RAISED)}"
