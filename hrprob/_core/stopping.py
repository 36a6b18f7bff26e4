"""Ctrl-C and SIGTERM: how a process hears them, once and surely, and what they may not cut in two.

Python raises the exception of a signal wherever the main thread happens to be. If that is a callback of
the garbage collector or of a weak reference, the exception is dropped, and the work goes on.
So the exception is raised again, a little later, until somebody handles it.

Libraries that start up in C call Python, and some end the process where that raises. So while a module is being imported,
nothing is raised: the signal is remembered, and rings again when the import may have ended, but for at most
:data:`PATIENCE` seconds: a module that hangs can be stopped.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType

__all__ = ["PATIENCE", "Terminated", "stop_on_signals", "undisturbed"]

# Seconds until an exception that nobody handles is raised again.
_AGAIN = 0.1
PATIENCE = 10.0
"""Seconds that an import may hold a signal back; all that a command imports takes a few, on a busy machine more."""


class Terminated(BaseException):
    """The process received SIGTERM."""


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated` and Ctrl-C ``KeyboardInterrupt``, until the exception leaves this context.

    Outside the main thread, which alone hears signals, this does nothing.

    Raises
    ------
    Terminated, KeyboardInterrupt
        Also at the end of the context, if the exception was dropped until then, and in place of another error that
        somebody made of it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[type[BaseException]] = []
    heard: list[BaseException] = []
    began = 0.0

    def stop(number: int, frame: FrameType | None) -> None:
        nonlocal began
        rings = _ring_again()
        if not asked:
            began = time.monotonic()
            asked.append(KeyboardInterrupt if number == signal.SIGINT else Terminated)
        if rings and _is_importing(frame) and time.monotonic() - began < PATIENCE:
            return
        # While the exception is being handled, files are tidied up: that is not to be interrupted.
        if not _being_handled(heard):
            heard.append(asked[0]())
            raise heard[-1]

    numbers = [signal.SIGTERM, signal.SIGINT, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    # Whoever starts a process in the background may have it ignore Ctrl-C.
    before = {
        number: signal.signal(number, stop)
        for number in numbers
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
    }
    shown = sys.unraisablehook

    def show(dropped: sys.UnraisableHookArgs) -> None:
        # It will be raised again: nothing went wrong.
        if not any(dropped.exc_value is one for one in heard):
            shown(dropped)

    sys.unraisablehook = show
    try:
        yield
    except BaseException as error:
        if not asked or isinstance(error, asked[0]):
            raise
        # Somebody wrapped the exception, or failed because of it.
        stopped = asked[0]()
        stopped.__notes__ = list(getattr(error, "__notes__", ()))
        raise stopped from error
    finally:
        _silence()
        for number, handler in before.items():
            signal.signal(number, handler)
        sys.unraisablehook = shown
    if asked:
        raise asked[0]


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back for a few steps that belong together; they arrive at the end of the context.

    Examples
    --------
    >>> with undisturbed():
    ...     pass
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    arrived: list[int] = []
    before = {
        number: signal.signal(number, lambda number, frame: arrived.append(number))
        for number in (signal.SIGTERM, signal.SIGINT)
        if signal.getsignal(number) not in (signal.SIG_IGN, None)
    }
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for first in arrived[:1]:
            signal.raise_signal(first)


def _being_handled(heard: list[BaseException]) -> bool:
    """Say whether one of these exceptions is on its way up: some ``except`` or ``finally`` works on it now."""
    error = sys.exception()
    while error is not None:
        if any(error is one for one in heard):
            return True
        error = error.__context__
    return False


def _is_importing(frame: FrameType | None) -> bool:
    """Say whether an import is under way where the signal arrived."""
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _ring_again() -> bool:
    """Have the signal arrive again a little later; say whether that is possible here."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
    return hasattr(signal, "setitimer")


def _silence() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
