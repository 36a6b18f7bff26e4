"""A contract over the whole registry: every kind of every family can be made, describes itself and is a record."""

import dataclasses
import json
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob._core.registry import Registry
from hrprob._core.tables import required_of
from hrprob.kinds import FAMILIES as NAMES
from hrprob.kinds import family as registry_of

FAMILIES: dict[str, Registry[Any]] = {name: registry_of(name) for name in NAMES}


def level(key: Any, user: Any) -> Any:
    return 0.1 * jnp.sin(user)


def contexts(key: Any, user: Any) -> Any:
    return jnp.full((2, 4), 0.1)


# Parameters without a default, by family and kind.
NEEDED: dict[tuple[str, str], dict[str, Any]] = {
    ("contexts", "finite"): {"sets": [[[0.1, 0.2], [0.3, 0.4]]]},
    ("contexts", "sequence"): {"users": [[[0.1, 0.2], [0.3, 0.4]]]},
    ("contexts", "function"): {"function": f"{__name__}:contexts", "actions": 2},
    ("levels", "empirical"): {"levels": [0.1, 0.2]},
    ("levels", "sequence"): {"levels": [0.1, 0.2]},
    ("levels", "function"): {"function": f"{__name__}:level"},
}
CASES = [(family, kind) for family, registry in FAMILIES.items() for kind in registry.kinds()]
EVERY_KIND = pytest.mark.parametrize(("family", "kind"), CASES, ids=[" ".join(case) for case in CASES])


def table(family: str, kind: str) -> dict[str, Any]:
    return {"kind": kind} | NEEDED.get((family, kind), {})


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_has_kinds_and_lists_them(family: str) -> None:
    listed = FAMILIES[family].describe()
    assert [entry.kind for entry in listed] == list(FAMILIES[family].kinds())
    for entry in listed:
        assert entry.description, entry.kind


@pytest.mark.parametrize("family", FAMILIES)
def test_every_parameter_of_every_kind_is_documented(family: str) -> None:
    for entry in FAMILIES[family].describe():
        for parameter in entry.parameters:
            assert parameter.type, (entry.kind, parameter.name)
            assert parameter.meaning, (entry.kind, parameter.name)
            assert not parameter.meaning.startswith("As for"), (entry.kind, parameter.name)


@pytest.mark.parametrize("registry", FAMILIES.values(), ids=lambda one: one.family)
def test_the_module_of_a_kind_is_known_by_its_name(registry: Registry[Any]) -> None:
    """So that a kind is found, and protected from being replaced, without importing its whole family."""
    everyone = {kind: cls.__module__ for kind, cls in registry.kinds().items()}
    # Other tests may have registered kinds of theirs.
    own = {kind: module for kind, module in everyone.items() if module.startswith("hrprob.")}
    assert own
    assert {kind: registry.own_module(kind) for kind in own} == own
    assert registry.own_module("no-such-kind") is None


@EVERY_KIND
def test_a_kind_is_made_from_its_table(family: str, kind: str) -> None:
    registry = FAMILIES[family]
    made = registry.make(table(family, kind))
    assert registry.is_instance(made)
    assert type(made) is registry.get(kind)
    assert made.kind == kind
    assert registry.make(made) is made
    if not required_of(type(made)):
        assert type(registry.make(kind)) is type(made)


@EVERY_KIND
def test_what_a_kind_describes_makes_it_again(family: str, kind: str) -> None:
    registry = FAMILIES[family]
    described = describe(registry.make(table(family, kind)))
    assert described["kind"] == kind
    again = describe(registry.make(json.loads(json.dumps(described))))
    assert again == described


@EVERY_KIND
def test_a_kind_is_a_frozen_pytree(family: str, kind: str) -> None:
    made = FAMILIES[family].make(table(family, kind))
    leaves, structure = jax.tree.flatten(made)
    assert describe(jax.tree.unflatten(structure, leaves)) == describe(made)
    assert hash(structure) == hash(jax.tree.structure(FAMILIES[family].make(table(family, kind))))
    field = dataclasses.fields(type(made))[0].name if dataclasses.fields(type(made)) else "anything"
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, field, 1.0)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_has_the_same_errors(family: str) -> None:
    registry = FAMILIES[family]
    kind = next(iter(registry))
    field = registry.field
    for written, named, words in (
        (f"{kind}x", field, f"did you mean `{kind}`?"),
        ({"kind": f"{kind}x"}, f"{field}.kind", f"did you mean `{kind}`?"),
        ({}, f"{field}.kind", "must be one of"),
        ({"kind": kind, "no_such_key": 1}, f"{field}.no_such_key", "must be a known key"),
        (3, field, f"must be one of the {family}, or name one"),
        (registry.get(kind), field, f"call it: {registry.get(kind).__name__}()"),
    ):
        with pytest.raises(InvalidInput) as caught:
            registry.make(written)
        assert caught.value.field == named
        assert words in str(caught.value)
