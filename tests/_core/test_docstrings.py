"""What help() shows of a class."""

import dataclasses

import pytest

from hrprob._core.docstrings import complete_docstring, parameters_of, sections
from hrprob.kinds import FAMILIES, family


@pytest.mark.parametrize("name", FAMILIES)
def test_the_docstring_of_every_kind_has_all_its_parameters(name):
    for kind, cls in family(name).kinds().items():
        described = sections(cls.__doc__).get("Parameters", "")
        for field in dataclasses.fields(cls):
            if field.init:
                heads = [line.split(" : ")[0] for line in described.splitlines() if " : " in line]
                names = {one for head in heads for one in head.split(", ")}
                assert field.name in names, (kind, field.name)
        assert "As for" not in cls.__doc__, kind


def test_other_sections_stay_where_they_are():
    @dataclasses.dataclass
    class Base:
        """A base.

        Parameters
        ----------
        a : int
            The first.
        """

        a: int = 0

    @dataclasses.dataclass
    class Derived(Base):
        """A class.

        With a paragraph.

        Examples
        --------
        >>> 1
        1
        """

        b: int = 1

    before = sections(Derived.__doc__)
    complete_docstring(Derived)
    after = sections(Derived.__doc__)
    assert after["Parameters"] == "a : int\n    The first."
    assert list(after) == ["", "Parameters", "Examples"]
    assert after[""].strip() == before[""].strip()
    assert after["Examples"] == before["Examples"]
    once = Derived.__doc__
    complete_docstring(Derived)
    assert Derived.__doc__ == once
    assert parameters_of(Derived)["a"].meaning == "The first."
