"""``hrprob check``: say whether model and posterior can be trusted on rounds of your own."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hrprob._core.types import Decoded
from hrprob.cli.fit import add_fit_arguments, columns_of, fit_options, option_names
from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, shows_progress
from hrprob.cli.shared import Command, import_modules, named_as_options, result_folder

if TYPE_CHECKING:
    from hrprob.fitting.posterior import Posterior

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fit_arguments(
        parser,
        "folder for the page, its figures and check.json",
        "results/check/NAME for NAME.csv, replacing an earlier check",
    )
    parser.add_argument("--quick", action="store_true", help="leave out checks that refit the model")
    parser.add_argument(
        "--compare",
        metavar="MODELS",
        help="outcome models to rank beside --model, A,B,...: by prequential score and by leave-one-out",
    )


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.fitting.checks.page import write_result
        from hrprob.fitting.checks.ranking import rank
        from hrprob.fitting.fit import fit
        from hrprob.fitting.table import read_table
        from hrprob.io.staging import staged
        from hrprob.models import make_model

    options = fit_options(arguments)
    names = [] if arguments.compare is None else arguments.compare.split(",")
    with named_as_options(model="compare"):
        models = [make_model(name.strip()) for name in names]
    with named_as_options("outcome", "context", "user", "level", "scale", data="FILE"):
        table = read_table(arguments.file, columns_of(arguments), arguments.scale)

    def posterior_of(**changes: Decoded) -> Posterior:
        with named_as_options(*option_names, **{"bounds.theta": "bound-theta", "bounds.phi": "bound-phi"}):
            return fit(table, **(options | changes), progress=shows_progress(arguments))

    say, out = printer(arguments), result_folder(arguments, arguments.file)
    with staged(out, job="check") as folder:
        posterior = posterior_of()
        checked = posterior.check(quick=arguments.quick)
        others = [posterior_of(model=model) for model in models]
        ranking = rank([posterior, *others]) if others else None
        write_result(folder, checked, ranking, sys.argv)
    for line in checked.answer.lines():
        say(line)
    if ranking is not None:
        say(f"\n{ranking.sentence}\n{ranking.as_table()}")
    say(f"\npage in {Path(out, 'check.html')}")
    plain = checked.to_plain() | ({} if ranking is None else {"ranking": ranking.to_plain()})
    print_result(arguments, out, plain)


COMMAND = Command(
    "check",
    "say whether model and posterior can be trusted on rounds of your own: yes, no or cannot tell",
    _add_arguments,
    _run,
    less_memory="fewer --draws or a smaller --engine",
)
