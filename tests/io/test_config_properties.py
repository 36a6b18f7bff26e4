"""Configurations at random: what is accepted can be written, read and played; what is refused is refused with a message."""

import json
import math
import re

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from hrprob._core.errors import InvalidInput
from hrprob.io import config
from hrprob.simulation.engine import simulate
from tests.io.example import TRIALS, USERS

anything = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.integers(-(2**64), 2**64),
    st.text(max_size=5),
    st.booleans(),
    st.lists(st.floats(-2, 2), max_size=3),
    st.dictionaries(st.sampled_from(["kind", "low", "actions", "of"]), st.floats(-2, 2), max_size=2),
)


def either(sound, rarely=anything):
    """Return a strategy for a field: mostly what it takes, now and then anything."""
    return st.integers(0, 9).flatmap(lambda turn: rarely if turn == 0 else sound)


def table(required, **optional):
    return st.fixed_dictionaries(required, optional=optional)


numbers = st.floats(-2, 2)
vectors = st.lists(st.floats(-1, 1), min_size=2, max_size=2)
problems = table(
    {"theta": either(vectors), "phi": either(vectors)},
    link=either(
        table({"kind": st.just("affine")}, slope=either(st.floats(0.1, 3)), offset=either(st.floats(0, 4)))
    ),
    noise=either(
        st.one_of(
            st.sampled_from(["normal", "student-t", "mixture", "cauchy"]),
            table({"kind": st.just("student-t")}, df=either(st.floats(1, 9))),
            table({"kind": st.just("truncated-normal")}, width=either(st.floats(0.5, 9))),
        )
    ),
    objective=either(st.sampled_from(["lifetime", "reward", "threshold", "revenue"])),
    contexts=either(table({"kind": st.sampled_from(["sphere", "ball"])}, actions=either(st.integers(1, 6)))),
    satisfaction=either(
        st.one_of(
            table({"kind": st.just("uniform")}, low=either(numbers), high=either(numbers)),
            table({"kind": st.just("fixed")}, level=either(numbers)),
            table(
                {"kind": st.just("hidden")}, of=either(st.just({"kind": "uniform", "low": -1.0, "high": 1.0}))
            ),
        )
    ),
    bounds=either(table({}, theta=either(st.floats(0.5, 3)), phi=either(st.floats(0.5, 3)))),
)
policies = st.lists(
    table(
        {"kind": either(st.sampled_from(["random", "greedy", "hr-ucb", "linucb", "oracle"]))},
        name=either(st.sampled_from(["a", "b", "c"])),
        ridge=either(st.floats(0.01, 5)),
        growth=either(st.floats(1, 9)),
        delta=either(st.floats(0.01, 0.99)),
        warmup=either(st.integers(0, 5)),
    ),
    max_size=2,
)
runs = table(
    {},
    users=either(st.integers(1, 100)),
    trials=either(st.integers(1, 5)),
    seed=either(st.integers(0, 2**62)),
)


def has_no_nan(data):
    if isinstance(data, dict | list):
        return all(map(has_no_nan, data.values() if isinstance(data, dict) else data))
    return not (isinstance(data, float) and math.isnan(data))


@settings(max_examples=100, deadline=None, derandomize=True)
@given(table({"problem": problems, "policy": policies}, run=runs))
def test_what_is_accepted_comes_back_and_what_is_refused_has_a_message(data):
    message = ""
    try:
        experiment = config.from_data(data)
    except InvalidInput as refused:
        message = str(refused)
    if message:
        # The field, the value and the remedy.
        assert re.search(r"`.+` must .+, got .+: .+", message, re.S)
        return
    written = config.resolved(experiment)
    assert has_no_nan(written)
    again = config.from_data(json.loads(json.dumps(written, allow_nan=False)))
    assert config.resolved(again) == written


# One shape, so that one program is compiled.
played = table(
    {
        "theta": vectors,
        "phi": vectors,
        "link": table({"kind": st.just("affine"), "slope": st.floats(0.1, 3), "offset": st.floats(0, 4)}),
        "satisfaction": table({"kind": st.just("uniform"), "low": numbers, "high": numbers}),
        "bounds": table({"theta": st.floats(0.5, 3), "phi": st.floats(0.1, 3)}),
    }
)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(played, st.integers(0, 2**40))
def test_what_is_accepted_can_be_played(problem, seed):
    data = {"problem": problem, "policy": [{"kind": "random"}, {"kind": "oracle"}]}
    try:
        experiment = config.from_data(data)
        result = simulate(experiment.problem, experiment.policies, users=USERS, trials=TRIALS, seed=seed)
    except InvalidInput:
        return
    for name in ("regret", "lifetime", "best", "mean_lifetime"):
        assert not np.isnan(result[name]).any(), name
    assert (result.lifetime >= 1).all()
    assert (result.regret.sel(policy="oracle") == 0).all()
