"""Settings that every test shares."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import settings

# The first call of a compiled function takes long, so no example has a deadline; examples are the
# same in every run, and no database of them is kept beside the code.
settings.register_profile("hrprob", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("hrprob")


def pytest_configure(config: pytest.Config) -> None:
    """Keep compiled programs in pytest's own cache: modules, processes and later runs share them."""
    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


# Slow tests of these are studies: repetitions that take minutes each. `pytest -m study` runs them.
_STUDIES = (
    "tests/diagnostics/",
    "tests/policies/test_beyond.py",
    "test_extensions.py",
    "test_speed.py::test_cost",
    "test_speed.py::test_memory",
    # Every run of the reproduction, which is tested, compares the same curves.
    "test_published.py::test_twenty_trials",
    "test_published.py::test_along_the_curve",
)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the studies, before any mark decides what is left out."""
    for item in items:
        if item.get_closest_marker("slow") and any(place in item.nodeid for place in _STUDIES):
            item.add_marker("study")


@pytest.fixture(autouse=True, scope="module")
def _forget_programs() -> Iterator[None]:
    """Drop the programs of a module after it: all of them together take gigabytes."""
    yield
    import jax

    jax.clear_caches()
