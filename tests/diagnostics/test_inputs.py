"""Inputs that diagnostics share."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import hrprob
from hrprob.diagnostics.inputs import INPUTS, SharedInputs, _MadeOnce, table_of
from hrprob.diagnostics.progress import Steps
from hrprob.diagnostics.study import QUICK, make_study

from .toy import toy


def shared(problem=None, sizes=QUICK):
    return SharedInputs(make_study(problem or hrprob.Problem()), sizes, Steps())


def test_an_input_is_made_once_however_many_ask():
    made, go_on = [], threading.Event()

    class Slow(SharedInputs):
        @_MadeOnce
        def value(self):
            go_on.wait(20)
            made.append(1)
            return object()

    inputs = Slow(None, None, Steps())
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(lambda: inputs.value) for _ in range(4)]
        go_on.set()
    assert len({id(one.result()) for one in asked}) == 1
    assert made == [1]
    # Another study has its own.
    assert Slow(None, None, Steps()).value is not inputs.value


def test_an_input_that_failed_raises_for_all_who_ask():
    class Broken(SharedInputs):
        @_MadeOnce
        def value(self):
            raise ArithmeticError

    inputs = Broken(None, None, Steps())
    for _ in range(2):
        with pytest.raises(ArithmeticError):
            _ = inputs.value


def test_steps_are_counted_once_for_inputs_that_build_on_each_other():
    inputs = shared()
    assert inputs.count_steps(["over_prior", "over_prior_of_model"]) == 2
    assert inputs.count_steps(["reference", "engine_posteriors", "at_truth"]) == 4
    assert inputs.count_steps(INPUTS) == 6
    # Data sets with the model's noise are simulated and fitted again where the problem has another.
    assert shared(hrprob.Problem(noise=hrprob.StudentT())).count_steps(INPUTS) == 8


def test_a_table_of_single_rounds_has_those_of_the_stays():
    data, _ = toy(sets=2)
    singles = np.random.default_rng(0).normal(size=(*data.beta.shape, 4))
    data = data._replace(outcomes=singles)
    table = table_of(data, number=1, most_rounds=10)
    rounds = data.stays.rounds[1].astype(int)
    # With the user who makes them ten or more, and no further one.
    assert len(table) - rounds[table.user.max()] < 10 <= len(table)
    np.testing.assert_array_equal(table.r[: rounds[0]], singles[1, 0, : rounds[0]])
    np.testing.assert_array_equal(np.bincount(table.user), rounds[: table.user.max() + 1])
