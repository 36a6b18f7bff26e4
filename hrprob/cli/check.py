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
    from hrprob.models import Model

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
        help="outcome models to rank beside --model, A,B,... (kinds or TOML tables): by prequential score and by leave-one-out",
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

    options = fit_options(arguments)
    models = [] if arguments.compare is None else _further_models(arguments.compare, options["model"])
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


def _further_models(text: str, model: Decoded) -> list[Model]:
    """Return the models that ``--compare`` names, without those that are equal to ``model`` or to an earlier one."""
    from hrprob._core.errors import InvalidInput
    from hrprob._core.tables import kinds_or_tables
    from hrprob.fitting.checks.ranking import distinct
    from hrprob.models.base import MODELS

    with named_as_options("compare"):
        named = [MODELS.make(one, field="compare") for one in kinds_or_tables("--compare", text)]
    own = MODELS.make(model)
    further = distinct([own, *named])[1:]
    if not further:
        remedy = f"models are ranked beside that of --model, {own.kind}"
        raise InvalidInput("--compare", "must name another model", text, remedy)
    return further


COMMAND = Command(
    "check",
    "say whether model and posterior can be trusted on rounds of your own: yes, no or cannot tell",
    _add_arguments,
    _run,
    less_memory="fewer --draws or a smaller --engine",
)
