"""The command line, sent a signal at a call of Python from the start-up of jaxlib, which is written in C.

``python -m tests.cli.stopped_while_starting SIGTERM 300 run FILE``: the signal comes at the 300th call.
"""

import os
import signal
import sys

_WANTED = "jaxlib._jax"


def _is_within_start_up(frame):
    while frame is not None:
        found = frame.f_locals
        if frame.f_code.co_filename.startswith("<frozen importlib") and "self" in found:
            of = getattr(found.get("spec"), "name", None) or getattr(found.get("module"), "__name__", None)
            if type(found["self"]).__name__ == "ExtensionFileLoader":
                return of == _WANTED
        frame = frame.f_back
    return False


def _send_at(number, call):
    calls = 0

    def watch(frame, event, argument):
        nonlocal calls
        if event == "call" and _is_within_start_up(frame.f_back):
            calls += 1
            if calls == call:
                sys.setprofile(None)
                print("sent", file=sys.stderr)
                os.kill(os.getpid(), number)

    # Imported by NumPy's own start-up otherwise, within that of jaxlib.
    import numpy  # noqa: F401

    sys.setprofile(watch)


if __name__ == "__main__":
    _send_at(getattr(signal, sys.argv[1]), int(sys.argv[2]))
    sys.argv[1:] = sys.argv[3:]
    from hrprob.cli import console_main

    console_main()
