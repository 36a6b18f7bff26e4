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
    "hrprob/fitting/figures.py::hrprob.fitting.figures.plot_coefficients",
    "models/test_models.py::test_the_prior_predictive_can_be_drawn[case1]",
    "problem/test_hidden.py::test_redrawn_normal_levels_where_the_step_is_steep[student-t",
    "hrprob/comparison/paired.py::",
    "hrprob/comparison/sequential.py::hrprob.comparison.sequential.decide",
    "hrprob/fitting/fit.py::",
    "hrprob/fitting/posterior.py::",
    "hrprob/policies/contextual_ids.py::hrprob.policies.contextual_ids.ContextualIDS",
    "hrprob/policies/exact_optimism.py::hrprob.policies.exact_optimism.HRUCBExact",
    "informative]",
    "models/test_models.py::test_priors_are_what_they_say[3]",
    "policies/test_contract.py::test_learns_nothing_from_rounds_not_taken[contextual-ids]",
)
_STUDIES = (
    "hrprob/reproduce/command.py::hrprob.reproduce.command.reproduce",
    "estimation/posterior/test_target.py::test_derivatives_are_those_of_the_log_density[student-t",
    "policies/test_contract.py::test_batched_is_as_one_by_one[bayes",
    "policies/test_contract.py::test_batched_is_as_one_by_one[ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[bayes",
    "policies/test_contract.py::test_compiled_is_as_interpreted[ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[contextual-ids]",
    "policies/test_contract.py::test_compiled_is_as_interpreted[thompson",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[contextual-ids]",
    "policies/test_contract.py::test_numbers_share_a_program_and_options_do_not[weighted-oful]",
    "policies/test_thompson.py::test_every_bayesian_policy_learns[bayes",
    "policies/test_thompson.py::test_every_way_of_learning_learns[{'model': 'student-t'}]",
    "policies/test_thompson.py::test_engines_from_outside_compile_once[nuts]",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is slow and what is a study, before any mark decides what is left out."""
    for item in items:
        if any(part in item.nodeid for part in _STUDIES):
            item.add_marker("study")
        if (
            item.get_closest_marker("study")
            or any(part in item.nodeid for part in _SLOW)
            or _is_slow_example(item)
        ):
            item.add_marker("slow")


def _is_slow_example(item: pytest.Item) -> bool:
    """Say whether a docstring calls its examples slow, by the comment ``# slow`` in one of them."""
    example = getattr(item, "dtest", None)
    return example is not None and "# slow" in (example.docstring or "")


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
