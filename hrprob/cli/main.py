"""Parser, exit codes and signals.

=====  ====================================================================
exit   when
=====  ====================================================================
0      success
1      the machine failed: a full disk, too little memory
2      an input cannot be used; one line on stderr, nothing written
130    interrupted by Ctrl-C
143    stopped by SIGTERM
=====  ====================================================================
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import NoReturn

import hrprob
from hrprob.cli import compare, diagnose, fit, policies, reproduce, run, suite, theory

__all__ = ["COMMANDS", "console_main", "main", "make_parser"]

COMMANDS = {
    module.COMMAND.name: module.COMMAND
    for module in (run, reproduce, theory, fit, compare, suite, diagnose, policies)
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.

    Examples
    --------
    >>> main(["policies", "--import", "no_such_module"])
    2
    """
    arguments = make_parser().parse_args(argv)
    # This import loads NumPy, and --help has been answered by now.
    from hrprob._core.errors import InvalidInput

    command = COMMANDS[arguments.command]
    try:
        with _stop_on_sigterm():
            command.run(arguments)
        sys.stdout.flush()
    except InvalidInput as error:
        return _fail(f"error: {error}", 2)
    except BrokenPipeError:
        return _without_reader()
    except OSError as error:
        return _fail(f"error: {error}", 1)
    except (MemoryError, RuntimeError) as error:
        # JAX has no error class of its own for too little memory.
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return _fail(f"error: too little memory, try {command.less_memory}: {error}", 1)
    except KeyboardInterrupt:
        return _fail("interrupted; nothing half-written is left", 130)
    except _Terminated:
        return _fail("stopped; nothing half-written is left", 143)
    return 0


def console_main() -> NoReturn:
    """Run the command line as a process of its own, and end the process with its exit code."""
    code = main()
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        # Other threads still compute, but nobody needs their results: the command failed or was stopped.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="hrprob", description="Lifetime maximisation: bandits whose users may leave for good."
    )
    parser.add_argument("--version", action="version", version=f"hrprob {hrprob.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=f"{command.help}.")
        command.add_arguments(subparser)
    return parser


class _Terminated(BaseException):
    """The process received SIGTERM."""


@contextlib.contextmanager
def _stop_on_sigterm() -> Iterator[None]:
    """Let SIGTERM raise an exception, as Ctrl-C does, so that unfinished files are removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(*_: object) -> None:
        raise _Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _fail(message: str, status: int) -> int:
    # One line, whatever the message quotes.
    print("hrprob:", " ".join(message.split()), file=sys.stderr)
    return status


def _without_reader() -> int:
    # The reader of our output has ended (`hrprob policies | head`); Python's last flush must not fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
