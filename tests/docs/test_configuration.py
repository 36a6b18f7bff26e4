"""Configuration by example: the TOML and the Python below it mean the same, and every key of every table has its line."""

import dataclasses
import inspect
import re
import tomllib
from pathlib import Path

import numpy as np
import pytest

import hrprob
from hrprob._core.records import describe as plain
from hrprob.io.config import from_data
from hrprob.kinds import FAMILIES, describe, family
from hrprob.sweeps import design, values

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "howto" / "configuration.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```\n(?:\n```python\n(.*?)```)?", TEXT, flags=re.S)
BASE = {"theta": [0.6, 0.3], "phi": [0.5, -0.4]}
FILES = {
    "contexts.csv": "user,action,x1,x2\n1,1,0.5,0.1\n1,2,0.1,0.5\n",
    "levels.csv": "beta\n-0.5\n",
    "sets.csv": "context,action,x1,x2\n1,1,0.5,0.1\n1,2,0.1,0.5\n",
    "module.py": "import jax.numpy as jnp\n\n\ndef contexts(key, user):\n    return jnp.ones((20, 2)) / 2\n\n\n"
    "def level(key, user):\n    return jnp.asarray(0.0)\n",
}


def test_every_block_has_its_python() -> None:
    assert len(BLOCKS) >= 15
    assert all(python for _, python in BLOCKS)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_python_and_toml_mean_the_same(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name, content in FILES.items():
        (tmp_path / name).write_text(content, encoding="utf-8")
    toml, python = BLOCKS[number]
    said = tomllib.loads(toml)
    table = BASE | said.get("problem", {})
    experiment = from_data({"problem": table, "policy": said.get("policy", [{"kind": "random"}])})
    names = {"hrprob": hrprob, "problem": hrprob.Problem(**BASE)}
    # The first block also plays; what is played is looked at here.
    monkeypatch.setattr(hrprob, "simulate", lambda problem, policies, **sizes: sizes)
    exec(python, names)
    for key in said.get("problem", {}):
        assert np.array_equal(
            np.ravel(plain(getattr(names["problem"], key))),
            np.ravel(plain(getattr(experiment.problem, key))),
        ), key
    if "policy" in said:
        policies = names["policies"]
        policies = policies if isinstance(policies, dict) else {one.kind: one for one in policies}
        assert {name: plain(one) for name, one in policies.items()} == {
            name: plain(one) for name, one in experiment.policies.items()
        }
    if "run" in said:
        assert names["result"] == said["run"]


def test_the_keys_of_a_sweep_have_their_lines() -> None:
    """Those of the table, with an example, and those of a range."""
    text = (ROOT / "docs" / "reference" / "configuration.md").read_text(encoding="utf-8")
    part = text.partition("## `[sweep]`")[2]
    ranges = re.search(r'^\| `"FIELD"` \|.*$', part, flags=re.M)
    assert ranges
    assert all(f"`{key}`" in ranges[0] for key in values._KEYS)
    assert len(design._OPTIONS) == 3
    for key in design._OPTIONS:
        row = re.search(rf"^\| `{key}` \|(.*)\|$", part, flags=re.M)
        assert row, key
        kind, default, meaning, example = (cell.strip() for cell in row[1].split(" | "))
        assert kind
        assert default
        assert meaning
        assert key in tomllib.loads(example.strip("`")), key


def test_every_family_and_every_key_is_looked_at() -> None:
    """What the tests of the reference go through is all that there is: registries, their kinds, the fields of these."""
    made = {
        found
        for path in (ROOT / "hrprob").rglob("*.py")
        for found in re.findall(r"^([A-Z]+): Registry\[", path.read_text(encoding="utf-8"), flags=re.M)
    } | {
        found
        for path in (ROOT / "models").rglob("*.py")
        for found in re.findall(r"^([A-Z]+): Registry\[", path.read_text(encoding="utf-8"), flags=re.M)
    }
    assert made == {attribute for _, attribute, _ in FAMILIES.values()}
    for name in FAMILIES:
        entries = describe(name)
        assert {entry.kind for entry in entries} == set(family(name).kinds())
        assert entries, name
        for entry in entries:
            cls = family(name).get(entry.kind)
            taken = set(inspect.signature(cls).parameters) if inspect.isclass(cls) else set()
            fields = (
                {one.name for one in dataclasses.fields(cls) if one.init}
                if dataclasses.is_dataclass(cls)
                else taken
            )
            assert {one.name for one in entry.parameters} == fields, (name, entry.kind)


def test_public_names_are_many() -> None:
    """The test of their docstrings goes through this list."""
    assert len(hrprob.__all__) > 90
    assert {"simulate", "compare", "Problem", "Thompson", "Agent"} <= set(hrprob.__all__)
