"""Settings that every test shares."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from hrprob.cli import XLA_FLAGS

# The first call of a compiled function takes long, so no example has a deadline; examples are the
# same in every run, and no database of them is kept beside the code.
settings.register_profile("hrprob", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("hrprob")


def pytest_configure(config: pytest.Config) -> None:
    """Compile as the command line does, and keep programs in pytest's own cache: later runs share them."""
    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


# Slow tests (several seconds) and studies (minutes) are marked beside them. Here stand, by a part of their
# names, those that have no place for a mark: examples in docstrings, and single cases of a test for many.
_SLOW = (
    "hrprob/fitting/gather.py::",
    "problem/test_hidden.py::test_redrawn_normal_levels_where_the_step_is_steep[student-t",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[linucb]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[oracle]",
    "simulation/test_against_plain.py::test_sample_set_and_estimates[1]",
    "simulation/test_lifetimes.py::test_mean_is_h[1.05]",
    "test_agent.py::test_agent_acts_as_the_engine_does[policy2]",
    "test_agent.py::test_agent_acts_as_the_engine_does[policy3]",
    "hrprob/comparison/coverage.py::",
    "hrprob/policies/exact_optimism.py::hrprob.policies.exact_optimism.HRUCBExact",
    "informative]",
    "policies/test_contract.py::test_learns_nothing_from_rounds_not_taken[contextual-ids]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[cmdp]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb eager",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb paper]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[random",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[sigma-max-ucb",
)
_STUDIES = (
    "policies/test_contract.py::test_batched_is_as_one_by_one[bayes",
    "policies/test_contract.py::test_batched_is_as_one_by_one[ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[bayes",
    "policies/test_contract.py::test_compiled_is_as_interpreted[ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[contextual-ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[thompson",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[contextual-ids]",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[weighted-oful]",
    # Eager and active policies equal their loops in the paper's setting and with extensions, which is tested.
    *(
        f"simulation/test_against_plain.py::test_engine_equals_plain_loop_elsewhere[{policy}"
        for policy in (
            "cmdp arbitrary-sets",
            "cmdp by users-alone",
            "greedy eager",
            "hr-ucb corrected-alone",
            "hr-ucb corrected-sets",
            "hr-ucb eager",
            "linucb eager",
            "linucb informative",
            "oracle eager",
            "random eager",
            "sigma-max-ucb eager",
            "sigma-max-ucb paper-line",
            "sigma-max-ucb-alone",
        )
    ),
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[greedy eager informative]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb eager, wrong noise]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop[hr-ucb informative]",
    "simulation/test_against_plain.py::test_engine_equals_plain_loop_with_one_extension[oracle eager-hidden empirical]",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow and what is a study, before any mark decides what is left out."""
    for item in items:
        if any(part in item.nodeid for part in _STUDIES) or _calls_itself(item, "study"):
            item.add_marker("study")
        if (
            item.get_closest_marker("study")
            or any(part in item.nodeid for part in _SLOW)
            or _calls_itself(item, "slow")
        ):
            item.add_marker("slow")


def _calls_itself(item: pytest.Item, mark: str) -> bool:
    """Say whether the examples of a docstring have a mark, as the comment ``# slow`` or ``# study`` in one of them."""
    example = getattr(item, "dtest", None)
    return example is not None and f"# {mark}" in (example.docstring or "")


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Drop the programs of a module after it: all of them together take gigabytes."""
    yield
    import jax

    jax.clear_caches()


@pytest.fixture
def half(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Enter and return a prior that is uniform on balls of half the bounds, for one test."""
    from hrprob.models import priors

    monkeypatch.setattr(priors.PRIORS, "_classes", dict(priors.PRIORS._classes))

    @priors.register("half")
    class Half(priors.Uniform):
        """Uniform on balls of half the bounds."""

        def theta(self, setting: Any) -> Any:
            return priors.UniformBall(0.5 * setting.bounds.theta, setting.dimension)

        def phi(self, setting: Any) -> Any:
            return priors.UniformBall(0.5 * setting.bounds.phi, setting.dimension)

    return Half()
