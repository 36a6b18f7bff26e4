"""Every public name says what it is and shows how it is used."""

import inspect

import pytest

import hrprob

NAMES = sorted(set(hrprob.__all__) - {"__version__"})


@pytest.mark.parametrize("name", NAMES)
def test_the_docstring_has_an_example(name: str) -> None:
    # Not `inspect.getdoc`, which takes that of a base class where a class has none.
    text = inspect.cleandoc(getattr(hrprob, name).__doc__ or "")
    assert text, name
    assert "\nExamples\n--------\n" in text, name
    assert ">>> " in text.partition("\nExamples\n--------\n")[2], name
