"""Parser, exit codes and signals.

=====  ====================================================================
exit   when
=====  ====================================================================
0      success
1      the machine failed: a full disk, too little memory
2      an input cannot be used; one line on stderr, no result written
130    interrupted by Ctrl-C
143    stopped by SIGTERM
=====  ====================================================================
"""

from __future__ import annotations

import argparse
import io
import os
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

import hrprob
from hrprob._core.stopping import Terminated, stop_on_signals
from hrprob.cli import (
    check,
    compare,
    describe,
    diagnose,
    evaluate,
    fit,
    frontier,
    init,
    policies,
    repeat,
    reproduce,
    run,
    suite,
    sweep,
    theory,
)
from hrprob.cli.completion import complete
from hrprob.cli.jax_setup import set_environment
from hrprob.cli.parser import Parser
from hrprob.cli.shared import Command, named_as_options
from hrprob.scheduling.forks import begin_imports

__all__ = ["COMMANDS", "console_main", "main", "make_parser"]

COMMANDS = {
    module.COMMAND.name: module.COMMAND
    for module in (
        init,
        run,
        sweep,
        repeat,
        reproduce,
        theory,
        fit,
        check,
        compare,
        suite,
        frontier,
        diagnose,
        evaluate,
        policies,
        describe,
    )
}


def main(argv: Sequence[str] | None = None, *, own_process: bool = False) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; by default those of the process.
    own_process : bool
        Whether the process does nothing else, so that the command may start others beside it.

    Examples
    --------
    >>> main(["policies", "--import", "no_such_module"])
    2
    """
    try:
        # Before anything heavy is imported.
        with stop_on_signals():
            parser = make_parser()
            complete(parser)
            arguments = parser.parse_args(argv)
            if arguments.command is None:
                parser.print_help(sys.stderr)
                return 2
            arguments.own_process = own_process
            return _run(COMMANDS[arguments.command], arguments)
    except KeyboardInterrupt as error:
        return _stopped("interrupted", error, 130)
    except Terminated as error:
        return _stopped("stopped", error, 143)


def _run(command: Command, arguments: argparse.Namespace) -> int:
    # These imports load NumPy, and --help has been answered by now.
    from hrprob._core.errors import InvalidInput
    from hrprob._core.memory import is_out_of_memory

    try:
        # No configuration has fields of these names.
        with named_as_options("out", "resume"):
            if (getattr(arguments, "scheduler", None) or "").startswith("local"):
                # They import beside this process.
                set_environment()
                begin_imports()
            command.run(arguments)
        sys.stdout.flush()
    except InvalidInput as error:
        return _fail(f"error: {_with_notes(error)}", 2)
    except BrokenPipeError:
        return _without_reader()
    except OSError as error:
        return _fail(f"error: {_with_notes(error)}", 1)
    except (MemoryError, RuntimeError, ValueError) as error:
        if not is_out_of_memory(error):
            raise
        return _fail(f"error: too little memory, try {command.less_memory}: {_with_notes(error)}", 1)
    return 0


def console_main() -> NoReturn:
    """Run the command line as a process of its own, and end the process with its exit code."""
    _repair_streams()
    code = main(own_process=True)
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        # Other threads still compute, but their results are not needed: the command failed or was stopped.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


def _repair_streams() -> None:
    """Let every text be printed: where a stream is closed nowhere, where its encoding lacks a character with a "?"."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            # This also takes the number of the closed stream, which no file of results may get.
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = Parser(
        prog="hrprob", description="Lifetime maximisation: bandits whose users may leave for good."
    )
    parser.add_argument("--version", action="version", version=f"hrprob {hrprob.__version__}")
    subparsers = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, command in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=command.help, description=f"{command.help}.")
        command.add_arguments(subparser)
    return parser


def _with_notes(error: BaseException) -> str:
    return "; ".join([str(error) or type(error).__name__, *getattr(error, "__notes__", ())])


def _stopped(how: str, error: BaseException, status: int) -> int:
    left = "; ".join(["nothing half-written is left", *getattr(error, "__notes__", ())])
    print(f"hrprob: {how}; {left}", file=sys.stderr)
    return status


def _fail(message: str, status: int) -> int:
    # One line without control characters, whatever the message quotes.
    from hrprob._core.errors import printable

    print("hrprob:", printable(" ".join(message.split())), file=sys.stderr)
    return status


def _without_reader() -> int:
    # The reader of our output has ended (`hrprob policies | head`); Python's last flush must not fail.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0
