"""Settings that every test shares."""

import ctypes
import functools
import gc
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from hrprob.cli import XLA_FLAGS

# The first call of a compiled function takes long, so no example has a deadline; examples are the
# same in every run, and no database of them is kept beside the code.
settings.register_profile("hrprob", deadline=None, derandomize=True, database=None, max_examples=50)
settings.load_profile("hrprob")

# A process of tests whose programs take more than a quarter of the memory forgets them; within these limits, because to
# forget takes seconds, and programs that several files share are compiled again.
FEWEST_BYTES, MOST_BYTES = 3 * 2**30, 6 * 2**30
# What a container may use, where it says so.
CONTAINER_LIMIT = Path("/sys/fs/cgroup/memory.max")

# How many quick tests take as long as a slow one.
SLOW_WEIGHT = 20

# Python looks for cycles after so many new objects: traces are millions of objects that live as long as their programs.
OBJECTS_PER_COLLECTION = 100_000

NOT_OPTIMISED = "JAX_DISABLE_MOST_OPTIMIZATIONS"
ALL_OPTIMISED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Compile with the options of the command line, and keep programs in pytest's own cache: later runs share them.

    Machine code is optimised for tests marked as ``optimised`` and for studies; with
    JAX_DISABLE_MOST_OPTIMIZATIONS=0 it is for all tests.
    """
    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # Processes in the background of a shell ignore it, and tests of what it does would fail there.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # Most of a run's time is compiling, and most of that is LLVM optimising what then runs for milliseconds.
    wanted = os.environ.get(NOT_OPTIMISED, "1").lower() in ("0", "false")
    os.environ[NOT_OPTIMISED] = str(int(not wanted))
    config.stash[ALL_OPTIMISED] = wanted
    # Nobody reads where in Python an operation of a test's program stands: its stack is recorded at every operation.
    os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
    gc.set_threshold(OBJECTS_PER_COLLECTION, 20, 20)
    # The command line, called by a test, must leave neither files in a home nor a store of programs behind.
    os.environ["HRPROB_CACHE"] = ""
    if getattr(config, "cache", None) is not None:
        os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(config.cache.mkdir("compiled")))
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


@pytest.fixture(scope="session", autouse=True)
def _draws_as_they_are() -> Iterator[None]:
    """Leave draws of approximations as they are in tests of other things: to refine them is a program per shape."""
    from hrprob.estimation.posterior import refining

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(refining, "is_near", lambda drawn: True)
        yield


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark examples that call themselves slow or studies, before any mark deselects tests; longest files first.

    A study is slow too. Two processes that take the longest files first end at about the same time. Files with optimised
    tests come before all others, so that each process drops its programs for the change only once.
    """
    weights: dict[str, int] = {}
    optimised: set[str] = set()
    for item in items:
        if _calls_itself(item, "study"):
            item.add_marker("study")
        if item.get_closest_marker("study") or _calls_itself(item, "slow"):
            item.add_marker("slow")
        weight = SLOW_WEIGHT if item.get_closest_marker("slow") else 1
        file = item.nodeid.partition("::")[0]
        weights[file] = weights.get(file, 0) + (0 if item.get_closest_marker("study") else weight)
        if item.get_closest_marker("optimised"):
            optimised.add(file)
    order = sorted(weights, key=lambda file: (file not in optimised, -weights[file]))
    places = {file: place for place, file in enumerate(order)}
    items.sort(key=lambda item: places[item.nodeid.partition("::")[0]])


def _calls_itself(item: pytest.Item, mark: str) -> bool:
    """Say whether the examples of a docstring have a mark, as the comment ``# slow`` or ``# study`` in one of them."""
    example = getattr(item, "dtest", None)
    return example is not None and f"# {mark}" in (example.docstring or "")


@pytest.fixture(autouse=True, scope="module")
def _module_alone() -> Iterator[None]:
    """Leave JAX's precision as it was, and drop compiled programs when they take gigabytes."""
    import jax

    double = jax.config.jax_enable_x64
    yield
    jax.config.update("jax_enable_x64", double)
    if _bytes_in_use() > min(max(_memory() // 4, FEWEST_BYTES), MOST_BYTES):
        _forget_programs()
        gc.collect()
        if sys.platform == "linux":
            # The allocator keeps what was freed unless it is told to give it back.
            ctypes.CDLL(None).malloc_trim(0)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Optimise what a test compiles if it asks for that, its fixtures of any scope included."""
    if _is_optimised(item):
        _optimise(True)


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Compile quickly again after the last of the tests that are optimised."""
    if _is_optimised(item) and not (nextitem is not None and _is_optimised(nextitem)):
        _optimise(item.config.stash[ALL_OPTIMISED])


def _is_optimised(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) is not None for mark in ("optimised", "study"))


def _optimise(wanted: bool) -> None:
    """Have this process, and those that it starts, optimise from now on, or not."""
    if os.environ[NOT_OPTIMISED] == str(int(not wanted)):
        return
    import jax

    os.environ[NOT_OPTIMISED] = str(int(not wanted))
    jax.config.update(NOT_OPTIMISED.lower(), not wanted)
    _forget_programs()


def _forget_programs() -> None:
    import jax

    from hrprob._core.compiled import forget_programs

    jax.clear_caches()
    forget_programs()


def _bytes_in_use() -> int:
    """Return the memory of this process, where Linux says it; else so much that programs are always dropped."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return MOST_BYTES + 1


@functools.cache
def _memory() -> int:
    """Return the memory that all processes may use, in bytes, where the system says it; else 0."""
    try:
        own = CONTAINER_LIMIT.read_text().strip()
    except OSError:
        own = "max"
    try:
        machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0
    return min(machine, int(own)) if own.isdecimal() else machine


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
