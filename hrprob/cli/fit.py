"""``hrprob fit``: fit a posterior to rounds of your own."""

from __future__ import annotations

import argparse
import sys

from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.shared import Command, add_import, import_modules, printer

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file",
        metavar="FILE",
        help="rounds, a CSV file with columns x1, ..., xd, r, and optionally user and beta",
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
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="seed of all random numbers (0)")
    parser.add_argument("--draws", type=int, metavar="N", help="number of draws, all chains together (4000)")
    parser.add_argument("--quiet", action="store_true", help="print nothing")
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    prepare_jax()
    import_modules(arguments.modules)
    from hrprob.fitting.command import run

    run(arguments, printer(arguments), sys.argv)


COMMAND = Command(
    "fit",
    "fit a posterior to rounds of your own",
    _add_arguments,
    _run,
    less_memory="fewer --draws or a smaller --engine",
)
