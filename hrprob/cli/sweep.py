"""``hrprob sweep``: play a configuration at many points of its fields."""

from __future__ import annotations

import argparse
import sys

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, shows_progress
from hrprob.cli.shared import (
    SIZES,
    Command,
    add_import,
    add_json,
    add_keep,
    add_out,
    add_quiet,
    add_resume,
    add_scheduler,
    add_sizes,
    import_modules,
    named_as_options,
    result_folder,
)

__all__ = ["COMMAND"]

# Longer tables are in summary.json.
_MOST_ROWS = 40


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="configuration with a table [sweep], a TOML file")
    add_out(parser, "folder for the results", "results/sweep/NAME for NAME.toml, replacing an earlier result")
    add_sizes(
        parser,
        users="users who arrive, T; by default as in FILE",
        trials="independent trials of every point; by default as in FILE",
        seed="seed of all random numbers but the points; by default as in FILE",
    )
    add_keep(parser, "results.zarr")
    add_scheduler(parser)
    add_resume(parser)
    add_quiet(parser, "no progress and no table")
    add_json(parser)
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.sweeps.play import read_sweep, run_sweep
        from hrprob.sweeps.summary import sweep_summary, sweep_table

        experiment, design = read_sweep(arguments.file)
    given = {name: getattr(arguments, name) for name in SIZES if getattr(arguments, name) is not None}
    with named_as_options(*SIZES):
        experiment = experiment.replace(**given)
    out = result_folder(arguments, arguments.file)
    with named_as_options("keep", "scheduler"):
        data = run_sweep(
            experiment,
            design,
            out,
            keep=arguments.keep,
            scheduler=arguments.scheduler,
            modules=arguments.modules,
            prepare=prepare_jax,
            command=sys.argv,
            resume=arguments.resume,
            progress=shows_progress(arguments),
        )
    say, entries = printer(arguments), sweep_summary(data, design)
    table = sweep_table(entries[:_MOST_ROWS], str(data.final_regret.attrs["units"]))
    say(table.in_columns())
    if len(entries) > _MOST_ROWS:
        say(f"... and {len(entries) - _MOST_ROWS} more points, in summary.json")
    say(table.caption)
    say(f"\nresults in {out}")
    print_result(arguments, out, entries)


COMMAND = Command(
    "sweep",
    "play a configuration at many points of its fields, here or on a cluster",
    _add_arguments,
    _run,
    less_memory="fewer trials or --keep 1000",
)
