"""Ctrl-C and SIGTERM: how a process hears them, once and surely, and what they may not cut in two.

Python raises the exception of a signal wherever the main thread happens to be. If that is a callback of
the garbage collector or of a weak reference, the exception is printed and dropped, and the work goes on.
So the exception is raised again, a little later, until somebody handles it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType

__all__ = ["Terminated", "stop_on_signals", "undisturbed"]

# Seconds until an exception that nobody handles is raised again.
_AGAIN = 0.1


class Terminated(BaseException):
    """The process received SIGTERM."""


@contextlib.contextmanager
def stop_on_signals() -> Iterator[None]:
    """Let SIGTERM raise :class:`Terminated` and Ctrl-C ``KeyboardInterrupt``, until the exception leaves this context.

    Outside the main thread, which alone hears signals, this does nothing.

    Raises
    ------
    Terminated, KeyboardInterrupt
        Also at the end of the context, if the exception was dropped until then.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heard: list[BaseException] = []

    def stop(number: int, frame: FrameType | None) -> None:
        _ring_again()
        # While the exception is being handled, files are tidied up: that is not to be interrupted.
        if not _being_handled(heard):
            kind = type(heard[0]) if heard else KeyboardInterrupt if number == signal.SIGINT else Terminated
            heard.append(kind())
            raise heard[-1]

    numbers = [signal.SIGTERM, signal.SIGINT, *([signal.SIGALRM] if hasattr(signal, "SIGALRM") else [])]
    # Whoever starts a process in the background may have it ignore Ctrl-C.
    before = {
        number: signal.signal(number, stop)
        for number in numbers
        if number != signal.SIGINT or signal.getsignal(number) is not signal.SIG_IGN
    }
    try:
        yield
    finally:
        _silence()
        for number, handler in before.items():
            signal.signal(number, handler)
    if heard:
        raise heard[0]


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


def _ring_again() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def _silence() -> None:
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_REAL, 0.0)
