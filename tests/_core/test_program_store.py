"""Lowered programs on disk: the same digits, and nothing that is damaged, foreign or out of date."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import hrprob
from hrprob._core import compiled, program_store
from hrprob._core.compiled import Program, store_programs
from hrprob._core.precision import double_precision
from hrprob._core.program_store import ProgramStore, portable_text
from hrprob.simulation.programs import advance

TRACES: list[int] = []


class Sums(NamedTuple):
    total: Any
    rest: Any


# A result is kept by the names of its parts, and these are looked up in hrprob only.
Sums.__module__ = "hrprob.sums_of_this_test"


def _sums(values: Any, more: dict[str, Any], *, power: int = 2) -> Sums:
    TRACES.append(1)
    return Sums(jnp.sum(jnp.sin(values) ** power), (more["a"] / 3.0, None))


_sums.__module__ = "hrprob.sums_of_this_test"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store for one test."""
    import sys
    import types

    module = types.ModuleType("hrprob.sums_of_this_test")
    module.Sums = Sums  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "hrprob.sums_of_this_test", module)
    store_programs(tmp_path / "programs")
    TRACES.clear()
    yield tmp_path / "programs"
    store_programs(None)


def _call(**options: Any) -> Sums:
    """Call as a new process would: with nothing in memory."""
    with double_precision():
        return Program(_sums, ("power",))(np.linspace(0.0, 1.0, 7), {"a": 1}, **options)


def test_a_stored_program_is_not_traced_and_gives_the_same_digits(folder: Path) -> None:
    first = _call()
    assert len(TRACES) == 1
    assert len(list(folder.iterdir())) == 1
    second = _call()
    assert len(TRACES) == 1
    assert isinstance(second, Sums)
    assert second.rest[1] is None
    assert (first.total.item(), first.rest[0].item()) == (second.total.item(), second.rest[0].item())
    store_programs(None)
    without = _call()
    assert (without.total.item(), without.rest[0].item()) == (first.total.item(), first.rest[0].item())


def test_other_options_types_and_settings_are_other_programs(folder: Path) -> None:
    _call()
    _call(power=3)
    with jax.enable_x64(False):
        Program(_sums, ("power",))(np.linspace(0.0, 1.0, 7), {"a": 1})
    with double_precision():
        Program(_sums, ("power",))(np.linspace(0.0, 1.0, 8), {"a": 1})
        Program(_sums, ("power",))(np.linspace(0.0, 1.0, 7), {"a": 1.0})
    assert len(TRACES) == len(list(folder.iterdir())) == 5


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other"])
def test_a_damaged_file_is_traced_again_and_replaced(folder: Path, damage: str) -> None:
    expected = _call().total.item()
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    middle = len(whole) // 2
    changed = whole[:middle] + bytes([whole[middle] ^ 1]) + whole[middle + 1 :]
    file.write_bytes({"cut": whole[:-9], "changed": changed, "empty": b"", "other": b"something"}[damage])
    assert _call().total.item() == expected
    assert len(TRACES) == 2
    assert _call().total.item() == expected
    assert len(TRACES) == 2


@pytest.mark.parametrize("mode", [0o620, 0o602])
def test_a_file_that_others_can_write_is_not_read(folder: Path, mode: int) -> None:
    _call()
    (file,) = folder.iterdir()
    file.chmod(mode)
    _call()
    assert len(TRACES) == 2


def test_a_file_or_folder_of_somebody_else_is_not_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _call()
    monkeypatch.setattr(program_store.os, "geteuid", lambda: os.getuid() + 1)
    _call()
    assert len(TRACES) == 2
    with pytest.raises(OSError, match="must belong to the user"):
        ProgramStore(tmp_path / "programs")


@pytest.mark.parametrize("mode", [0o770, 0o707])
def test_a_folder_that_others_can_write_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open").chmod(mode)
    with pytest.raises(OSError, match="nobody else may write"):
        ProgramStore(tmp_path / "open")
    (tmp_path / "private").mkdir(mode=0o700)
    (tmp_path / "link").symlink_to(tmp_path / "private")
    with pytest.raises(OSError, match="must belong to the user"):
        ProgramStore(tmp_path / "link")


def test_a_link_in_place_of_a_file_is_not_followed(folder: Path) -> None:
    _call()
    (file,) = folder.iterdir()
    aside = folder.parent / "aside"
    file.rename(aside)
    file.symlink_to(aside)
    _call()
    assert len(TRACES) == 2


def test_changed_source_is_another_program(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _call()
    monkeypatch.setattr(program_store, "source_digest", lambda: "changed")
    # The process still runs what it imported: nothing is written under either name.
    _call(power=3)
    assert len(list(folder.iterdir())) == 1
    store_programs(folder)
    _call()
    assert len(TRACES) == 3
    assert len(list(folder.iterdir())) == 2


def test_code_from_elsewhere_has_no_fingerprint() -> None:
    class Own:
        pass

    assert portable_text(Own) is None
    assert portable_text((1, lambda x: x)) is None
    assert portable_text(test_code_from_elsewhere_has_no_fingerprint) is None
    assert portable_text(hrprob.HRUCB) == "hrprob.policies.hr_ucb:HRUCB"


def test_what_cannot_be_exported_is_still_computed(folder: Path) -> None:
    def back(x: Any) -> Any:
        TRACES.append(1)
        return jax.pure_callback(lambda y: np.asarray(y) + 1, jax.ShapeDtypeStruct((), np.float32), x)

    back.__module__, back.__qualname__ = "hrprob.sums_of_this_test", "back"
    assert float(Program(back)(np.float32(1.0))) == 2.0
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_a_run_from_stored_programs_is_the_same_run(tmp_path: Path) -> None:
    problem = hrprob.Problem(theta=[0.5], phi=[0.5], contexts=hrprob.Finite([[[0.5], [0.4]]]))
    runs = []
    for folder in (None, tmp_path / "programs", tmp_path / "programs"):
        compiled.forget_programs()
        store_programs(folder)
        runs.append(hrprob.simulate(problem, hrprob.HRUCB(warmup=2), users=30, trials=2))
        assert advance.count == 1
    store_programs(None)
    names = sorted(path.name.partition("-")[0] for path in (tmp_path / "programs").iterdir())
    assert names == ["_arrive", "_best", "_draw", "_normals", "_words", "advance", "begin", "warm"]
    for run in runs[1:]:
        for name in ("regret", "lifetime", "action", "optimal", "best", "mean_best"):
            np.testing.assert_array_equal(run[name], runs[0][name])
