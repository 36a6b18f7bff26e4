"""Records: frozen, checked once, and pytrees whose numbers are leaves."""

from __future__ import annotations

import dataclasses
import pickle
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core.records import describe, record, set_frozen, with_fields

made = []


@record(static=("name",))
class Point:
    x: Any
    y: Any = 2.0
    name: str = "p"

    def __post_init__(self) -> None:
        made.append(self)
        set_frozen(self, x=float(self.x))


@record()
class Pair:
    kind = "pair"
    left: Any
    right: Any = None
    hidden: Any = dataclasses.field(default=5, init=False, repr=False)


def test_records_are_frozen() -> None:
    point = Point(1)
    assert isinstance(point.x, float)
    with pytest.raises(dataclasses.FrozenInstanceError):
        point.x = 2.0


def test_numbers_are_leaves_and_names_are_structure() -> None:
    leaves, structure = jax.tree.flatten(Point(1.0, 3.0, "q"))
    assert leaves == [1.0, 3.0]
    assert jax.tree.unflatten(structure, [5.0, 6.0]) == Point(5.0, 6.0, "q")
    assert structure != jax.tree.structure(Point(1.0, 3.0, "r"))
    assert structure == jax.tree.structure(Point(7.0, 8.0, "q"))


def test_leaves_have_names() -> None:
    paths = [jax.tree_util.keystr(path) for path, _ in jax.tree_util.tree_leaves_with_path(Pair(Point(1.0)))]
    assert paths[:2] == [".left.x", ".left.y"]


def test_is_checked_only_when_made_by_a_user() -> None:
    point = Point(1.0)
    made.clear()
    doubled = jax.jit(lambda p: jax.tree.map(lambda leaf: 2 * leaf, p))(point)
    assert float(doubled.x) == 2.0
    assert not made


def test_numbers_share_a_program() -> None:
    @jax.jit
    def total(point: Point) -> jax.Array:
        return point.x + point.y

    for x in range(5):
        total(Point(x))
    assert total._cache_size() == 1
    total(Point(1, name="other"))
    assert total._cache_size() == 2


def test_with_fields_checks_nothing() -> None:
    point = Point(1.0)
    made.clear()
    moved = with_fields(point, x="anything")
    assert (moved.x, moved.y, moved.name) == ("anything", 2.0, "p")
    assert point.x == 1.0
    assert not made


def test_records_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(1.0, 4.0, "z"))) == Point(1.0, 4.0, "z")


def test_describe_gives_plain_data() -> None:
    inner = Point(np.float64(1.5), jnp.arange(2), "q")
    assert describe(Pair(inner, np.array([[1, 2]]))) == {
        "kind": "pair",
        "left": {"x": 1.5, "y": [0, 1], "name": "q"},
        "right": [[1, 2]],
    }
