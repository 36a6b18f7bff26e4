"""What cannot fit into memory is refused before anything is allocated."""

import jax
import pytest

import hrprob
from hrprob._core import memory
from hrprob._core.errors import InvalidInput


@pytest.mark.parametrize(
    ("problem", "sizes", "words"),
    [
        (
            {"contexts": hrprob.Sphere(actions=10**9)},
            {"users": 20},
            "`problem.contexts.actions` must need no",
        ),
        ({}, {"users": 10**9, "trials": 10**6, "keep": "all"}, "`keep` must need no more memory"),
        ({}, {"users": 2, "trials": 2**32 - 2}, "`keep` must need no more memory"),
    ],
)
def test_a_run_that_cannot_fit_is_refused_with_the_estimate(monkeypatch, problem, sizes, words):
    monkeypatch.setattr(memory, "memory_bytes", lambda: 2**34)
    with pytest.raises(InvalidInput, match=words + r".* (GiB|TiB) of "):
        hrprob.simulate(hrprob.Problem(**problem), hrprob.Random(), **{"trials": 2} | sizes)


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    whole = memory.memory_bytes()
    (tmp_path / "limit").write_text("1000\n")
    (tmp_path / "none").write_text("max\n")
    monkeypatch.setattr(memory, "_LIMITS", (str(tmp_path / "none"), str(tmp_path / "missing")))
    assert memory.memory_bytes() >= whole
    monkeypatch.setattr(memory, "_LIMITS", (str(tmp_path / "limit"),))
    assert memory.memory_bytes() == 1000


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        jax.errors.JaxRuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 8 bytes."),
        jax.errors.JaxRuntimeError("INTERNAL: Failed to allocate 640000000000 bytes"),
        RuntimeError("std::bad_alloc"),
        ValueError("Maximum allowed dimension exceeded"),
    ],
)
def test_every_wording_is_understood(error):
    assert memory.is_out_of_memory(error)
    assert not memory.is_out_of_memory(type(error)("something else") if error.args else ValueError())
