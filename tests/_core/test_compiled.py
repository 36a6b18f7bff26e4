"""Programs: compiled once however many threads ask, prepared ahead, the same numbers as under jit."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core import compiled
from hrprob._core.compiled import Program, program
from hrprob._core.precision import double_precision


class Pair(NamedTuple):
    left: Any
    right: Any


def _scaled(pair: Pair, factor: Any = 2.0, *, times: int = 1) -> Pair:
    return Pair(pair.left * factor, jnp.sin(pair.right) * times)


def test_a_program_computes_what_the_function_computes() -> None:
    scaled = Program(_scaled, ("times",))
    pair = Pair(np.arange(3.0), np.array([0.5]))
    with double_precision():
        for options in ({}, {"factor": 3}, {"times": 4}):
            expected = jax.jit(_scaled, static_argnames="times")(pair, **options)
            for got, right in zip(scaled(pair, **options), expected, strict=True):
                np.testing.assert_array_equal(got, right)
                assert got.dtype == right.dtype
    # Three numbers of arguments, types and options: three programs. The same again is none.
    assert scaled.count == 3
    with double_precision():
        scaled(pair, factor=7)
    assert scaled.count == 3


def test_two_threads_compile_a_program_once() -> None:
    traces, together = [], threading.Barrier(2)

    @program()
    def counted(x: Any) -> Any:
        traces.append(x)
        return x + 1

    def call(number: int) -> float:
        together.wait()
        return float(counted(np.float32(number)))

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(call, [1, 2])) == [2.0, 3.0]
    assert len(traces) == 1


def test_what_was_prepared_is_not_compiled_again() -> None:
    @program()
    def doubled(x: Any) -> Any:
        return 2 * x

    ready = doubled.prepare(jax.ShapeDtypeStruct((3,), np.float32))
    assert ready.done()
    assert doubled.count == 1
    assert doubled(np.ones(3, np.float32)).tolist() == [2.0, 2.0, 2.0]
    assert doubled.count == 1


def test_an_error_while_tracing_reaches_the_caller_and_is_not_remembered() -> None:
    @program()
    def fails(x: Any) -> Any:
        raise KeyError("no")

    for _ in range(2):
        with pytest.raises(KeyError, match="no"):
            fails(1.0)
    assert fails.count == 0


def test_inside_another_program_it_is_part_of_that_one() -> None:
    @program()
    def squared(x: Any) -> Any:
        return x * x

    assert float(jax.grad(lambda x: squared(x))(3.0)) == 6.0
    assert squared.count == 0


def test_programs_can_be_forgotten() -> None:
    scaled = Program(_scaled, ("times",))
    scaled(Pair(1.0, 2.0))
    compiled.forget_programs()
    assert scaled.count == 0
