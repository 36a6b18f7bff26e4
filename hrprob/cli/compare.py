"""``hrprob compare``: compare policies that met the same users, paired by trial."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, note, print_result, printer, progress_printer, shows_progress
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    add_scheduler,
    add_trust,
    import_modules,
    named_as_options,
    result_folder,
)

if TYPE_CHECKING:
    from hrprob.comparison.report import ComparisonReport

__all__ = ["COMMAND", "print_report"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "folders",
        metavar="DIR",
        nargs="+",
        help="results of `hrprob run`, `hrprob sweep` or `hrprob reproduce`",
    )
    parser.add_argument(
        "--baseline", metavar="NAME", help="compare all others with this policy; by default all pairs"
    )
    parser.add_argument(
        "--at", type=int, metavar="USER", help="compare regrets at this user; by default at the last"
    )
    parser.add_argument(
        "--until",
        type=float,
        metavar="LEVEL",
        help="play more trials until the leader differs significantly from all others at this level",
    )
    parser.add_argument(
        "--most-trials", type=int, default=640, metavar="N", help="most trials with --until (%(default)s)"
    )
    parser.add_argument(
        "--table",
        choices=("columns", "latex", "markdown"),
        default="columns",
        help="what is printed: answer and tables in columns, or for every result a table for a paper, with nothing else "
        "on stdout (%(default)s)",
    )
    add_scheduler(parser)
    add_trust(parser)
    add_out(
        parser,
        "folder for comparison.json, figures and report.html",
        "results/compare/NAME for the result DIR/NAME, or results/compare for several, replacing an earlier comparison",
    )
    add_quiet(parser, "no progress and no tables")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, "results"):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.comparison.folders import compare_folders

    say = printer(arguments)
    # A table for a paper stands alone on stdout, for a file.
    for_paper = arguments.table != "columns"
    say_progress = (lambda line: note(arguments, line)) if for_paper else progress_printer(arguments)
    one = arguments.folders[0] if len(arguments.folders) == 1 else ""
    out = result_folder(arguments, one)
    with named_as_options("baseline", "at", "until", "most_trials", "scheduler"):
        report = compare_folders(
            arguments.folders,
            out,
            baseline=arguments.baseline,
            at=arguments.at,
            until=arguments.until,
            most_trials=arguments.most_trials,
            trust=arguments.trust,
            scheduler=arguments.scheduler,
            modules=arguments.modules,
            prepare=prepare_jax,
            say=say_progress,
            progress=shows_progress(arguments),
        )
    if arguments.table == "columns":
        print_report(report, say, pairs=True)
        say(f"\nreport in {Path(out, 'report.html')}")
    else:
        _print_tables(report, say, arguments.table)
        note(arguments, f"report in {Path(out, 'report.html')}")
    print_result(arguments, out, report.to_dict())


def _print_tables(report: ComparisonReport, say: Callable[[str], None], form: str) -> None:
    comment = "% {}" if form == "latex" else "<!-- {} -->"
    for name, comparison in report.comparisons.items():
        if len(report.comparisons) > 1:
            say(comment.format(" ".join(name.split())))
        say(comparison.to_latex() if form == "latex" else comparison.to_markdown())
        say("")


def print_report(report: ComparisonReport, say: Callable[[str], None], *, pairs: bool) -> None:
    """Print the answer and the tables of a comparison, with those of all pairs if ``pairs``."""
    from hrprob.comparison.tables import decision_in_words, pairs_table, ranks_table, standings_table

    say("")
    for line in report.answer.lines():
        say(line)
    for name, comparison in report.comparisons.items():
        say(f"\n{name}: {comparison.headline}\n" if report.ranks else f"\n{name}\n")
        say(str(standings_table(comparison)))
        if pairs:
            say(f"\n{pairs_table(comparison)}")
        for words in comparison.notes():
            say(f"\n{words}")
        if name in report.decisions:
            say(decision_in_words(report.decisions[name]))
    if report.ranks:
        say("\nover all problems")
        say(str(ranks_table(report.ranks)))


COMMAND = Command(
    "compare",
    "compare policies that met the same users, paired by trial",
    _add_arguments,
    _run,
    less_memory="fewer folders or --most-trials",
)
