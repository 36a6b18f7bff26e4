"""Misspelt keyword arguments of everything public name the nearest parameter."""

import inspect

import pytest

import hrprob
from hrprob._core.errors import InvalidInput

# Bases and tuples that nobody makes by hand, and types of errors.
NOT_CALLED = {"Decision", "Policy", "Learner", "Seen", "Known", "Posterior", "InvalidInput", "register"}


def keywords(thing):
    """Return the names of the parameters that can be given by keyword."""
    parameters = inspect.signature(thing).parameters.values()
    return [one.name for one in parameters if one.kind in (one.KEYWORD_ONLY, one.POSITIONAL_OR_KEYWORD)]


def keywords_of(package, name):
    """Return the same for a name of a package; none for what is not called."""
    thing = getattr(package, name)
    return keywords(thing) if inspect.isfunction(thing) else []


CALLED = [
    name
    for name in hrprob.__all__
    if callable(getattr(hrprob, name)) and name not in NOT_CALLED and keywords(getattr(hrprob, name))
]
DRAWN = [name for name in hrprob.plot.__all__ if "ax" in keywords_of(hrprob.plot, name)]


@pytest.mark.parametrize("name", CALLED)
def test_the_nearest_parameter_is_named(name):
    thing = getattr(hrprob, name)
    right = max(keywords(thing), key=len)
    with pytest.raises(TypeError, match=f"did you mean `{right}`\\?") as caught:
        thing(**{f"{right}z": 1})
    assert isinstance(caught.value, InvalidInput)
    assert f"must be a parameter of {name}" in str(caught.value)


@pytest.mark.parametrize("name", DRAWN)
def test_figures_name_the_nearest_parameter(name):
    with pytest.raises(InvalidInput, match="did you mean `ax`"):
        getattr(hrprob.plot, name)(axx=None)


def test_signatures_stay_as_they_are():
    assert list(inspect.signature(hrprob.LinUCB).parameters)[:1] == ["alpha"]
    assert inspect.signature(hrprob.simulate).parameters["users"].default == 30000


def test_most_of_what_is_public_is_covered():
    assert {"HRUCB", "Problem", "simulate", "fit", "compare", "decide", "GLSE", "Agent", "h", "Ball"} <= set(
        CALLED
    )
