"""One registry serves every family: kinds, instances, tables, files, parts, entry points."""

import importlib.metadata
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, ClassVar

import pytest

from hrprob._core import registry as module
from hrprob._core.errors import InvalidInput
from hrprob._core.registry import Registry


@pytest.fixture
def shapes() -> Registry[Any]:
    made: Registry[Any] = Registry("shapes", field="shape", package="", requires=("area",))

    @made.register("square")
    class Square:
        side: Any
        area: ClassVar[str] = "side²"

    @made.register("points", static=("name",))
    class Points:
        area: ClassVar[int] = 0
        FILES: ClassVar[tuple[str, ...]] = ("places",)
        PARTS: ClassVar[dict[str, Any]] = {"frame": made}
        RENAMED: ClassVar[dict[str, str]] = {"called": "name"}
        places: Any = ()
        frame: Any = None
        name: str = "p"

    return made


def test_a_kind_belongs_to_one_class(shapes: Registry[Any]) -> None:
    def register_mine(module: str) -> Any:
        return shapes.register("mine")(type("Mine", (), {"__module__": module, "area": 0}))

    first, again = register_mine("one"), register_mine("one")
    assert first.kind == again.kind == "mine"
    assert shapes.kinds()["mine"] is again
    with pytest.raises(InvalidInput, match=r"got 'mine': it belongs to Mine of one") as complaint:
        register_mine("two")
    assert complaint.value.field == "kind"
    assert shapes.kinds()["mine"] is again


def test_an_instance_is_returned_as_it_is(shapes: Registry[Any]) -> None:
    square = shapes.get("square")(2.0)
    assert shapes.make(square) is square


def test_a_kind_or_a_table_makes_an_instance(shapes: Registry[Any]) -> None:
    assert shapes.make("points").name == "p"
    assert shapes.make({"kind": "square", "side": 3.0}).side == 3.0


def test_a_field_that_is_none_counts_as_not_given(shapes: Registry[Any]) -> None:
    assert shapes.make({"kind": "points", "name": None}).name == "p"


def test_an_earlier_name_of_a_field_is_understood(shapes: Registry[Any]) -> None:
    assert shapes.make({"kind": "points", "called": "q"}).name == "q"
    with pytest.raises(InvalidInput, match="called"):
        shapes.make({"kind": "points", "called": "q", "name": "q"})


def test_parts_are_made_by_their_own_registry(shapes: Registry[Any]) -> None:
    made = shapes.make({"kind": "points", "frame": {"kind": "square", "side": 1.0}})
    assert made.frame == shapes.get("square")(1.0)


def test_paths_begin_in_the_folder(shapes: Registry[Any]) -> None:
    folder = Path("somewhere")
    assert shapes.make({"kind": "points", "places": "a.csv"}, folder=folder).places == folder / "a.csv"
    assert shapes.make({"kind": "points", "places": [1.0, 2.0]}, folder=folder).places == [1.0, 2.0]


@pytest.mark.parametrize(
    ("written", "field", "words"),
    [
        ("sqare", "shape", "did you mean `square`"),
        ("circle", "shape", "must be one of 'points', 'square'"),
        ({"kind": "sqare"}, "shape.kind", "did you mean `square`"),
        ({"side": 1.0}, "shape.kind", "got nothing"),
        ({"kind": "square"}, "shape.side", "must be given"),
        ({"kind": "square", "sdie": 1.0}, "shape.sdie", "did you mean `side`"),
        ({"kind": "points", "places": ["a"]}, "shape.places\\[1\\]", "must be a number"),
        ({"kind": "points", "places": ""}, "shape.places", "must be the path of a file"),
        ({"kind": "points", "frame": {"kind": "cube"}}, "shape.frame.kind", "must be one of"),
        (3, "shape", "must be one of the shapes"),
    ],
)
def test_errors_name_the_field(shapes: Registry[Any], written: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=f"^`{field}` .*{words}"):
        shapes.make(written)


def test_a_class_must_be_called(shapes: Registry[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"call it: Square\(\)"):
        shapes.make(shapes.get("square"))


def test_entry_points_are_loaded_once(shapes: Registry[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = []
    register_mine = types.ModuleType("other_shapes")
    monkeypatch.setitem(sys.modules, "other_shapes", register_mine)

    def load(self: importlib.metadata.EntryPoint) -> Any:
        loaded.append(self.value)
        shapes.register("ring")(type("Ring", (), {"__module__": "other_shapes", "area": 1}))
        return register_mine

    entry = importlib.metadata.EntryPoint("ring", "other_shapes", "hrprob.shapes")
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", load)
    monkeypatch.setattr(module.importlib.metadata, "entry_points", lambda group: [entry])
    module._load_entry_points.cache_clear()
    assert shapes.make("ring").area == 1
    assert "ring" in list(shapes)
    assert loaded == ["other_shapes"]
    module._load_entry_points.cache_clear()


@pytest.mark.parametrize("error", [RuntimeError("broken"), SystemExit(3)])
def test_an_entry_point_that_fails_is_named(
    shapes: Registry[Any], monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def load(self: importlib.metadata.EntryPoint) -> Any:
        raise error

    entry = importlib.metadata.EntryPoint("ring", "other_shapes", "hrprob.shapes")
    monkeypatch.setattr(importlib.metadata.EntryPoint, "load", load)
    monkeypatch.setattr(module.importlib.metadata, "entry_points", lambda group: [entry])
    module._load_entry_points.cache_clear()
    with pytest.raises(InvalidInput, match=r"entry point hrprob.shapes.*other_shapes.*uninstall"):
        shapes.kinds()
    module._load_entry_points.cache_clear()


def test_a_class_without_the_members_of_its_family_is_refused(shapes: Registry[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"`shape` must have `area`, got 'Empty'"):
        shapes.register("empty")(type("Empty", (), {}))
    assert "empty" not in list(shapes)


def test_static_names_must_be_fields(shapes: Registry[Any]) -> None:
    with pytest.raises(InvalidInput, match=r"`static` must name fields of the class, got 'nope'"):
        shapes.register("typo", static=("nope",))(type("Typo", (), {"area": 0}))


@pytest.mark.parametrize(("kind", "owner"), [("greedy", "greedy"), ("hr-ucb-exact", "exact_optimism")])
def test_a_kind_of_hrprobs_own_cannot_be_replaced(kind: str, owner: str) -> None:
    code = f"""
import hrprob
from hrprob.plugins import InvalidInput
try:
    hrprob.register({kind!r})(type("Mine", (hrprob.Policy,), {{"__module__": "my_policies"}}))
except InvalidInput as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"of hrprob.policies.{owner}" in done.stdout


def test_registering_a_policy_does_not_import_numpyro() -> None:
    code = """
import sys, hrprob
hrprob.register("mine")(type("Mine", (hrprob.Policy,), {"__module__": "my_policies"}))
print("numpyro" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
