"""The process that those of ``--scheduler local`` are forks of: it has imported what they need, and computed nothing.

To import is most of what a process needs to start. So one that takes the place of another that died is there at once, and
a command that knows that it will need processes lets this one begin beside its own imports.
"""

from __future__ import annotations

import os
import signal
import sys

__all__ = ["begin_imports"]

_MODULES = ["distributed", "hrprob.scheduling.workers", "xarray"]
# Threads do not survive a fork. No import of these starts any, but for those of linear algebra.
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")


# What JAX sets while it is imported: it would set the same in a fork.
_OF_JAX = frozenset({"TF_CPP_MIN_LOG_LEVEL", "TPU_SKIP_MDS_QUERY"})


class _Begun:
    """What the environment was when that process was started: libraries read it when they are imported."""

    environment: dict[str, str] | None = None


def begin_imports() -> str:
    """Start that process, unless it is there, and return how others are to be started, as :mod:`multiprocessing` calls it.

    They are spawned where forks are not sound, and if the environment is another one than it was.
    """
    if sys.platform != "linux":
        return "spawn"
    if _Begun.environment is None:
        _Begun.environment = _environment()
        _start()
    return "forkserver" if _Begun.environment == _environment() else "spawn"


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _OF_JAX}


def _start() -> None:
    from multiprocessing import forkserver

    before = {name: os.environ.get(name) for name in _ONE_THREAD}
    # Ctrl-C in a terminal reaches all its processes: this one and its forks leave it to the command to end them.
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    os.environ.update(_ONE_THREAD)
    try:
        forkserver.set_forkserver_preload(_MODULES)
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)
