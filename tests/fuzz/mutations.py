"""Bytes, text and tables of plain data, changed at random by a given generator."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from typing import Any

__all__ = ["change_bytes", "change_table", "change_text", "to_toml"]

# Numbers at the edges of what a reader may take for one.
NUMBERS: list[Any] = [
    *(0, 1, -1, 2, 3, 7, 100, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, True, False),
    *(0.0, -0.0, 0.5, 1.0, -1.0, 1e-300, 5e-324, 1e-12, 1e12, 1e154, 1e200, 1.7976931348623157e308),
    *(float("nan"), float("inf"), float("-inf")),
]
TEXTS = [
    *("", " ", "a", "sphere", "normal", "hr-ucb", "greedy", "lifetime", "uniform", "nan", "1_0", "１"),
    *("\x00", "\x1b[31m", "../..", "/dev/null", ".", "x" * 5000, "ü", "\ud800", "module:name", "{}"),
]
PIECES = [
    *(
        b"\x00",
        b"\xff",
        b"\xef\xbb\xbf",
        b"\r\n",
        b"\n",
        b",",
        b";",
        b'"',
        b"'",
        b"[",
        b"]",
        b"{",
        b"}",
        b"=",
    ),
    *(b"nan", b"inf", b"1e999", b"-1", b"0", b"1_0", b"9" * 40, b"\xed\xa0\x80", b"[" * 300, b"a." * 300),
]


def change_bytes(rng: random.Random, whole: bytes) -> bytes:
    """Return a file with one to four changes: bits, cuts, copies, pieces."""
    content = bytearray(whole)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        place = rng.randrange(len(content) + 1)
        low = rng.randrange(len(content) + 1)
        near = min(low + rng.choice((1, 2, 8, 100)), len(content))
        how = rng.randrange(7)
        if how == 0 and content:
            content[place % len(content)] ^= 1 << rng.randrange(8)
        elif how == 1:
            del content[place:]
        elif how == 2:
            del content[low:near]
        elif how == 3:
            content[place:place] = rng.choice(PIECES)
        elif how == 4:
            content[low:near] = rng.choice(PIECES)
        elif how == 5:
            content[place:place] = content[low:near]
        else:
            content[low:near] = rng.randbytes(near - low)
    return bytes(content)


def change_text(rng: random.Random, whole: str) -> bytes:
    """Return lines of text with lines or cells changed, or a few of its bytes."""
    if rng.random() < 0.5:
        return change_bytes(rng, whole.encode())
    lines = whole.split("\n")
    for _ in range(rng.choice((1, 1, 2))):
        place = rng.randrange(len(lines))
        cells = lines[place].split(",")
        how = rng.randrange(5)
        if how == 0:
            cells[rng.randrange(len(cells))] = str(rng.choice(NUMBERS))
        elif how == 1:
            cells[rng.randrange(len(cells))] = rng.choice(TEXTS)
        elif how == 2:
            cells.append(str(rng.choice(NUMBERS)))
        elif how == 3:
            cells.pop()
        else:
            lines.insert(place, rng.choice(lines))
        lines[place] = ",".join(cells)
    return "\n".join(lines).encode(errors="surrogatepass")


def change_table(rng: random.Random, whole: Any, words: list[str]) -> Any:
    """Return tables and lists with one to three entries changed, removed, added or moved.

    ``words`` are names that fields or kinds may have.
    """
    table = copy.deepcopy(whole)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = list(_places(table))
        if not places:
            return _value(rng, words)
        owner, key = rng.choice(places)
        how = rng.randrange(8)
        if how <= 2:
            owner[key] = _value(rng, words)
        elif how == 3:
            owner[key] = _near(rng, owner[key])
        elif how == 4:
            owner.pop(key)
        elif how == 5 and isinstance(owner, dict):
            owner[rng.choice(words)] = owner[key] if rng.random() < 0.5 else _value(rng, words)
        elif how == 6 and isinstance(owner, list):
            owner.insert(key, copy.deepcopy(owner[key]))
        else:
            other, place = rng.choice(places)
            owner[key] = copy.deepcopy(other[place])
    return table


def _places(table: Any) -> Any:
    if isinstance(table, dict | list):
        for key in table if isinstance(table, dict) else range(len(table)):
            yield table, key
            yield from _places(table[key])


def _near(rng: random.Random, value: Any) -> Any:
    """Return a value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((-1, 1, -value, -2 * value, value, 10**9))
    if isinstance(value, float):
        return value * rng.choice((0.0, -1.0, 0.1, 0.9, 1.1, 10.0, 1e-9, 1e9, 1e-200, 1e200))
    return value


def _value(rng: random.Random, words: list[str]) -> Any:
    simple: list[Callable[[], Any]] = [
        lambda: rng.choice(NUMBERS),
        lambda: rng.uniform(-3.0, 3.0),
        lambda: rng.randrange(-2, 30),
        lambda: rng.choice(words),
        lambda: rng.choice(TEXTS),
    ]
    how = rng.random()
    if how < 0.8:
        return rng.choice(simple)()
    if how < 0.9:
        return [rng.choice(simple)() for _ in range(rng.randrange(4))]
    if how < 0.98:
        return {rng.choice(words): rng.choice(simple)() for _ in range(rng.randrange(3))}
    return None


def to_toml(data: dict[str, Any]) -> str:
    """Return tables as TOML, as far as it has the values; inline below the first level."""

    def inline(value: Any) -> str:
        if isinstance(value, dict):
            return (
                "{ "
                + ", ".join(f"{json.dumps(str(key))} = {inline(entry)}" for key, entry in value.items())
                + " }"
            )
        if isinstance(value, list):
            return "[" + ", ".join(map(inline, value)) + "]"
        if isinstance(value, float):
            return repr(value).replace("e+", "e")
        return json.dumps(value)

    return "".join(f"{key} = {inline(value)}\n" for key, value in data.items())
