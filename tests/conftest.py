"""Settings that every test shares."""

import os
import signal
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
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Processes in the background of a shell ignore it, and tests of what it does would fail there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0.2")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark examples that call themselves slow or studies; a study is slow too. Before any mark deselects tests."""
    for item in items:
        if _calls_itself(item, "study"):
            item.add_marker("study")
        if item.get_closest_marker("study") or _calls_itself(item, "slow"):
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

    from hrprob._core.compiled import forget_programs

    jax.clear_caches()
    forget_programs()


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
