"""The command line: ``hrprob run``, ``reproduce``, ``fit``, ``compare``, ``suite``, ``diagnose``, ``policies``.

Each subcommand is a :class:`Command`: one function that adds its arguments and one that
runs it. Nothing heavy is imported before a subcommand needs it, so ``hrprob --help``
answers at once.

=====  ===========================================================
exit   when
=====  ===========================================================
0      all went well
1      the machine failed us: a full disk, too little memory
2      an input cannot be used; one line on stderr, nothing written
130    interrupted
=====  ===========================================================
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import importlib
import json
import os
import platform
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import hrprob

if TYPE_CHECKING:
    from hrprob.io.config import Experiment

__all__ = ["XLA_FLAGS", "console_main", "main"]


XLA_FLAGS = "--xla_backend_extra_options=" + ",".join(
    (
        # Loops over small states run as one kernel: a sixth less CPU time on the paper's comparison.
        "xla_cpu_small_while_loop_byte_threshold=1000000",
        # The older code generator of jax 0.10 compiles in two thirds of the time; later versions have one only.
        "xla_cpu_disable_new_fusion_emitters",
    )
)
"""What the command line tells JAX's compiler: less time, the same numbers to the last bit."""
# An outcome of probability below 1e-308 counts as none.
_ENDLESS = (
    "not finite: some user's level is below all outcomes of some action (or as good as), "
    "and the lifetime infinite"
)
# Options that stand in for what a configuration says.
_SIZES = ("users", "trials", "seed")


class Command(NamedTuple):
    """A subcommand: what it is for, its arguments, how it is run, and what makes it need less memory."""

    help: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]
    less: str = "fewer trials"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    argv : sequence of str, optional
        The arguments; those of the process if not given.

    Examples
    --------
    >>> main(["policies", "--import", "no_such_module"])
    2
    """
    arguments = _parser().parse_args(argv)
    # It loads NumPy, and --help has been answered by now.
    from hrprob._core.errors import InvalidInput

    try:
        with _stopped_by_signal():
            COMMANDS[arguments.command].run(arguments)
        sys.stdout.flush()
    except InvalidInput as error:
        return _complain(f"error: {error}", 2)
    except BrokenPipeError:
        return _without_reader()
    except OSError as error:
        return _complain(f"error: {error}", 1)
    except (MemoryError, RuntimeError) as error:
        # JAX has no class of its own for it.
        if not isinstance(error, MemoryError) and "RESOURCE_EXHAUSTED" not in str(error):
            raise
        return _complain(f"error: too little memory, try {COMMANDS[arguments.command].less}: {error}", 1)
    except KeyboardInterrupt:
        return _complain("interrupted; nothing half-written is left", 130)
    except _Terminated:
        return _complain("stopped; nothing half-written is left", 143)
    return 0


def console_main() -> NoReturn:
    """Run the command line as a process of its own, and end that with its exit code."""
    code = main()
    if any(thread is not threading.main_thread() and not thread.daemon for thread in threading.enumerate()):
        # What other threads still compute nobody waits for: the command has failed or was told to end.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


class _Terminated(BaseException):
    """The process was told to end."""


@contextlib.contextmanager
def _stopped_by_signal() -> Iterator[None]:
    """Let SIGTERM unwind what runs, as an interrupt from the keyboard does: what was begun is cleared away."""
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="hrprob", description="Lifetime maximisation: bandits whose users may leave for good."
    )
    parser.add_argument("--version", action="version", version=f"hrprob {hrprob.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, command in COMMANDS.items():
        subparser = commands.add_parser(name, help=command.help, description=f"{command.help}.")
        command.add_arguments(subparser)
    return parser


def _complain(message: str, status: int) -> int:
    # One line, whatever the message quotes.
    print("hrprob:", " ".join(message.split()), file=sys.stderr)
    return status


def _without_reader() -> int:
    # Whoever read our output has gone (`hrprob policies | head`); what Python would still flush goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _add_import(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module first, for what it registers; may be given more than once",
    )


def _import(modules: list[str]) -> None:
    from hrprob._core.errors import InvalidInput

    if modules and os.getcwd() not in sys.path:
        sys.path.insert(0, os.getcwd())
    for name in modules:
        must = "must be a module that can be imported"
        if not all(part.isidentifier() for part in name.split(".")):
            raise InvalidInput("--import", must, name, "give its name, not its file: package.module")
        try:
            importlib.import_module(name)
        except InvalidInput:
            raise
        except (Exception, SystemExit) as error:
            # Whatever somebody else's module does when it is imported, it is their file that must be mended.
            raise InvalidInput("--import", must, name, f"{type(error).__name__}: {error}") from None


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the results")
    for name, meaning in (
        ("users", "users who arrive, T"),
        ("trials", "independent trials"),
        ("seed", "seed of everything random"),
    ):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{meaning}; unless given, as in FILE")
    parser.add_argument(
        "--keep",
        type=_keep,
        default="auto",
        metavar="WHICH",
        help='users to keep in results.nc: "all", each N-th, or as many as fit ("auto", the default)',
    )
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no table")
    _add_import(parser)


def _keep(text: str) -> str | int:
    if text in ("auto", "all"):
        return text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise argparse.ArgumentTypeError(f'must be "auto", "all" or a whole number from 1 on, got {text!r}')


def _run(arguments: argparse.Namespace) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    _prepare_jax()
    _import(arguments.modules)
    from hrprob.io import config, output
    from hrprob.simulation.engine import simulate

    experiment = _override(config.read(arguments.file), arguments)
    with output.staged(arguments.out) as folder:
        dataset = simulate(
            experiment.problem,
            experiment.policies,
            users=experiment.users,
            trials=experiment.trials,
            seed=experiment.seed,
            keep=arguments.keep,
            progress=_shows_progress(arguments),
        )
        facts = output.manifest(
            experiment,
            dataset,
            keep=arguments.keep,
            command=sys.argv,
            wall_seconds=time.perf_counter() - wall,
            cpu_seconds=time.process_time() - cpu,
        )
        output.write(folder, dataset, facts)
    if not arguments.quiet:
        summary = output.summary(dataset)
        _print(_table_of(summary, experiment.users))
        if _is_endless(summary, experiment.users):
            _print(_ENDLESS)
        truth = json.loads(dataset.attrs["problem"])
        for name, beliefs in json.loads(dataset.attrs["misspecified"]).items():
            for part, belief in beliefs.items():
                wrong, right = _told_apart(belief, truth[part])
                _print(f"{name} takes {part} = {wrong}: the problem has {right}")
        for part in (experiment.problem.contexts, experiment.problem.satisfaction):
            again = part.begins_again(experiment.users) if hasattr(part, "begins_again") else None
            if again is not None:
                _print(again)
        _print(f"\nresults in {arguments.out}")


def _told_apart(belief: Any, truth: Any) -> tuple[str, str]:
    """Return what a policy takes a part for, and what it is: the kinds, and where those agree what differs.

    Examples
    --------
    >>> _told_apart({"kind": "student-t", "df": 9.0}, {"kind": "normal"})
    ('student-t', 'normal')
    >>> _told_apart({"kind": "student-t", "df": 9.0}, {"kind": "student-t", "df": 4.0})
    ('student-t (df = 9.0)', 'student-t (df = 4.0)')
    """
    if not (isinstance(belief, dict) and isinstance(truth, dict)):
        return _shortened(belief), _shortened(truth)
    belief, truth = _distribution_itself(belief), _distribution_itself(truth)
    kinds = str(belief.get("kind")), str(truth.get("kind"))
    if kinds[0] != kinds[1]:
        return kinds
    names = [name for name in {**belief, **truth} if belief.get(name) != truth.get(name)]
    pairs = [_told_apart(belief.get(name), truth.get(name)) for name in names]
    wrong, right = (
        ", ".join(f"{name} = {pair[side]}" for name, pair in zip(names, pairs, strict=True))
        for side in (0, 1)
    )
    return f"{kinds[0]} ({wrong})", f"{kinds[1]} ({right})"


def _distribution_itself(part: dict[str, Any]) -> dict[str, Any]:
    """Return the distribution that a noise is made of, which says more than that it is one; else the part.

    Examples
    --------
    >>> _distribution_itself({"kind": "distribution", "distribution": {"kind": "Laplace", "loc": 0.0}})
    {'kind': 'Laplace distribution', 'loc': 0.0}
    """
    inner = part.get("distribution")
    return inner | {"kind": f"{inner['kind']} distribution"} if isinstance(inner, dict) else part


def _shortened(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


@contextlib.contextmanager
def _named_as_options(*names: str) -> Iterator[None]:
    """Let a complaint about one of these name it as it was typed: ``--users``, ``--most-trials``."""
    from hrprob._core.errors import InvalidInput

    try:
        yield
    except InvalidInput as error:
        if error.field not in names:
            raise
        option = f"--{error.field.replace('_', '-')}"
        raise InvalidInput(option, error.must, error.got, error.remedy) from None


def _teller(arguments: argparse.Namespace) -> Callable[[str], None]:
    return (lambda line: None) if arguments.quiet else _print


def _shows_progress(arguments: argparse.Namespace) -> bool:
    return sys.stderr.isatty() and not arguments.quiet


def _override(experiment: Experiment, arguments: argparse.Namespace) -> Experiment:
    given = {name: getattr(arguments, name) for name in _SIZES}
    with _named_as_options(*_SIZES):
        return experiment.replace(**{name: value for name, value in given.items() if value is not None})


def _table_of(summary: dict[str, Any], users: int) -> str:
    rows = [("policy", f"regret at {users}", "mean lifetime", "seconds")]
    for name, entry in summary.items():
        regret, lifetime = _with_error(entry["regret"][str(users)], 1), _with_error(entry["lifetime"], 3)
        rows.append((name, regret, lifetime, f"{entry['seconds']:.1f}"))
    return _columns((list(rows[0]), [list(row) for row in rows[1:]], ""))


def _is_endless(summary: dict[str, Any], users: int) -> bool:
    """Say whether the table of a run has a mean that is not finite, which infinite lifetimes alone make."""
    return any(
        mean is None
        for entry in summary.values()
        for mean in (entry["regret"][str(users)]["mean"], entry["lifetime"]["mean"])
    )


def _with_error(entry: dict[str, float | None], digits: int) -> str:
    mean, error = entry["mean"], entry["se"]
    if mean is None:
        return "not finite"
    return f"{mean:.{digits}f}" + ("" if error is None else f" ± {error:.{digits}f}")


def _add_policies_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")
    _add_import(parser)


def _policies(arguments: argparse.Namespace) -> None:
    _import(arguments.modules)
    from hrprob.policies import POLICIES

    entries = POLICIES.describe()
    if arguments.json:
        for entry in entries:
            entry["parameters"] = {
                name: "required" if default is MISSING else default
                for name, default in entry["parameters"].items()
            }
        _print(json.dumps(entries, indent=2, ensure_ascii=False, default=str))
        return
    for entry in entries:
        _print(f"{entry['kind']}\n    {entry['description']}")
        for name, default in entry["parameters"].items():
            _print(f"    {name} {_default(default)}")


def _default(default: Any) -> str:
    if default is MISSING:
        return "(required)"
    return "(optional)" if default is None else f"= {json.dumps(default, default=str)}"


def _add_reproduce_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--panel",
        dest="panels",
        action="append",
        choices=("a", "b", "c", "d", "index"),
        help="only this panel; may be given more than once",
    )
    parser.add_argument(
        "--out", metavar="DIR", default="results/reproduce", help="folder for everything (%(default)s)"
    )
    parser.add_argument("--users", type=int, metavar="N", help="users in place of 30000")
    parser.add_argument("--trials", type=int, metavar="N", help="trials in place of 20")
    parser.add_argument("--seed", type=int, metavar="N", help="seed in place of 0")
    parser.add_argument("--quick", action="store_true", help="few users and trials: to see that it works")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no verdicts")


def _reproduce(arguments: argparse.Namespace) -> None:
    _prepare_jax()
    from hrprob.reproduce.command import reproduce
    from hrprob.reproduce.page import verdicts_in_words
    from hrprob.reproduce.parts import PANELS

    say = _teller(arguments)
    with _named_as_options(*_SIZES):
        done = reproduce(
            arguments.out,
            panels=arguments.panels or PANELS,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            quick=arguments.quick,
            say=say,
            progress=_shows_progress(arguments),
        )
    for good, words in verdicts_in_words(
        done.curves, done.claims, next(iter(done.runs.values())).sizes["trial"]
    ):
        say(f"  {'✓' if good else '✗'} {words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


def _add_fit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", metavar="FILE", help="rounds, a CSV file with columns x1, ..., xd, r, perhaps user and beta"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the posterior, its summary and figures")
    for name, default, meaning in (
        ("engine", "nuts", "nuts, laplace, svi or smc"),
        ("model", "gaussian", "outcome model: gaussian, student-t, truncated-normal, mixture, or your own"),
        ("prior", "uniform", "prior: uniform or gaussian"),
    ):
        more = f'{meaning}; or a table, {{kind = "...", ...}} (%(default)s)'
        parser.add_argument(f"--{name}", metavar="NAME", default=default, help=more)
    for name, number, meaning in (
        ("link-slope", 1.0, "M_f: the variance is M_f·φᵀx + offset"),
        ("link-offset", 2.0, "offset: the variance where φᵀx = 0"),
        ("bound-theta", 1.0, "bound of ‖θ‖"),
        ("bound-phi", 2.0, "bound of ‖φ‖"),
        ("prob", 0.9, "probability of the intervals"),
    ):
        parser.add_argument(
            f"--{name}", type=float, metavar="NUMBER", default=number, help=f"{meaning} (%(default)s)"
        )
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="seed of everything random (0)")
    parser.add_argument("--draws", type=int, metavar="N", help="draws, all chains together (4000)")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    _add_import(parser)


def _fit(arguments: argparse.Namespace) -> None:
    _prepare_jax()
    _import(arguments.modules)
    from hrprob.fitting.command import run

    run(arguments, _teller(arguments), sys.argv)


def _add_compare_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders", metavar="DIR", nargs="+", help="results of `hrprob run` or `hrprob reproduce`"
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="compare all others with this policy; else all pairs"
    )
    parser.add_argument(
        "--at", type=int, metavar="USER", help="compare regrets at this user; else at the last"
    )
    parser.add_argument(
        "--until",
        type=float,
        metavar="LEVEL",
        help="play further trials until the leader is told apart from all others at this level",
    )
    parser.add_argument(
        "--most-trials", type=int, default=640, metavar="N", help="most trials with --until (%(default)s)"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for comparison.json, figures and report.html")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no tables")
    _add_import(parser)


def _compare(arguments: argparse.Namespace) -> None:
    _prepare_jax()
    _import(arguments.modules)
    from hrprob.comparison import command

    say = _teller(arguments)
    with _named_as_options("baseline", "at", "until", "most_trials"):
        done = command.compare_folders(
            arguments.folders,
            arguments.out,
            baseline=arguments.baseline,
            at=arguments.at,
            until=arguments.until,
            most_trials=arguments.most_trials,
            say=say,
            progress=_shows_progress(arguments),
        )
    _say_compared(done, say, pairs=True)
    if arguments.out is not None:
        say(f"\nreport in {Path(arguments.out, 'report.html')}")


def _say_compared(done: Any, say: Callable[[str], None], *, pairs: bool) -> None:
    from hrprob.comparison import command

    for name, found in done.comparisons.items():
        say(f"\n{name}, user {found.at}, {found.trials} trials")
        say(_columns(command.table_of_standings(found)))
        if pairs:
            say("\n" + _columns(command.table_of_pairs(found)))
        if name in done.decisions:
            say(command.in_words(done.decisions[name]))
    if done.places:
        say("\nover all problems")
        say(_columns(command.table_of_places(done.places)))


def _add_suite_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--only", metavar="NAME", action="append", help="only this problem; may be given more than once"
    )
    parser.add_argument(
        "--out", metavar="DIR", default="results/suite", help="folder for everything (%(default)s)"
    )
    for name, meaning in (("users", "users who arrive"), ("trials", "trials"), ("seed", "seed")):
        parser.add_argument(f"--{name}", type=int, metavar="N", help=f"{meaning}, in place of the files'")
    parser.add_argument("--quiet", action="store_true", help="no progress bar and no tables")


def _suite(arguments: argparse.Namespace) -> None:
    _prepare_jax()
    from hrprob.comparison.play import play_suite

    say = _teller(arguments)
    with _named_as_options(*_SIZES):
        done = play_suite(
            arguments.out,
            only=arguments.only,
            users=arguments.users,
            trials=arguments.trials,
            seed=arguments.seed,
            say=say,
            progress=_shows_progress(arguments),
        )
    _say_compared(done, say, pairs=False)
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


def _columns(table: tuple[list[str], list[list[Any]], str]) -> str:
    """Return a table in columns, the first flush left."""
    rows = [table[0], *([str(cell) for cell in row] for row in table[1])]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def _add_diagnose_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration, a TOML file")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder for the report")
    parser.add_argument(
        "--policy",
        metavar="NAME",
        help="who gathers the data; unless given the first of FILE with a posterior, else Thompson sampling",
    )
    parser.add_argument(
        "--engine",
        metavar="NAME",
        help="whose posterior is looked at: laplace, smc, nuts or svi, or a table, "
        '{kind = "...", ...}; unless given that of the policy',
    )
    parser.add_argument(
        "--seed", type=int, metavar="N", help="seed of everything random; unless given, as in FILE"
    )
    parser.add_argument("--quick", action="store_true", help="few data sets: to see that it works")
    parser.add_argument("--quiet", action="store_true", help="no progress and no verdicts")
    _add_import(parser)


def _diagnose(arguments: argparse.Namespace) -> None:
    _prepare_jax()
    _import(arguments.modules)
    from hrprob.diagnostics.command import run

    run(arguments, _teller(arguments), sys.argv, progress=_shows_progress(arguments))


def _print(text: str) -> None:
    """Print to stdout, with what a terminal of another encoding cannot show replaced."""
    encoding = sys.stdout.encoding or "utf-8"
    print(text.encode(encoding, errors="replace").decode(encoding))


def _prepare_jax() -> None:
    """Switch JAX to float64 for this process, and let it keep compiled programs between processes."""
    os.environ.setdefault("XLA_FLAGS", XLA_FLAGS)
    import jax

    jax.config.update("jax_enable_x64", True)
    cache = _cache_folder()
    if cache is not None:
        jax.config.update("jax_compilation_cache_dir", str(cache))
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.1)


def _cache_folder() -> Path | None:
    """Return where compiled programs are kept, or None where nothing can be or is to be."""
    told = os.environ.get("HRPROB_CACHE")
    if told == "":
        return None
    try:
        user = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
        folder = Path(told or Path(user, "hrprob")) / _processor()
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".writable").touch()
    except (OSError, RuntimeError):
        # Without a home or the right to write there, programs are compiled anew: slower, the same numbers.
        return None
    return folder


def _processor() -> str:
    """Return a name for what programs are compiled for: a home may be shared by unlike machines."""
    try:
        features = [
            line
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line or "flags" in line
        ]
    except OSError:
        features = [platform.processor()]
    return f"{platform.machine()}-{hashlib.sha256(''.join(sorted(set(features))).encode()).hexdigest()[:12]}"


COMMANDS = {
    "run": Command(
        "play the policies of a configuration and write what came of it",
        _add_run_arguments,
        _run,
        less="fewer trials or --keep 1000",
    ),
    "reproduce": Command(
        "play the paper's figures, with the published curves laid over ours",
        _add_reproduce_arguments,
        _reproduce,
    ),
    "fit": Command(
        "fit a posterior to rounds of your own",
        _add_fit_arguments,
        _fit,
        less="fewer --draws or a smaller --engine",
    ),
    "compare": Command(
        "compare policies that met the same users, trial by trial",
        _add_compare_arguments,
        _compare,
        less="fewer folders or --most-trials",
    ),
    "suite": Command(
        "play a suite of problems, and rank the policies over all",
        _add_suite_arguments,
        _suite,
    ),
    "diagnose": Command(
        "say whether learned variances can be trusted: calibration, coverage, ranks, in one report",
        _add_diagnose_arguments,
        _diagnose,
        less="--quick or a smaller --engine",
    ),
    "policies": Command(
        "describe the policies that a configuration can name", _add_policies_arguments, _policies
    ),
}


if __name__ == "__main__":
    console_main()
