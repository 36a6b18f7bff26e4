"""``hrprob fit``: fit a posterior to rounds of your own."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from hrprob._core.types import Decoded
from hrprob.cli.jax_setup import prepare_jax
from hrprob.cli.printing import loading, print_result, printer, shows_progress
from hrprob.cli.shared import (
    Command,
    add_import,
    add_json,
    add_out,
    add_quiet,
    import_modules,
    named_as_options,
    own_kinds,
    result_folder,
)

if TYPE_CHECKING:
    from hrprob.fitting.columns import Columns
    from hrprob.problem import Affine, Bounds
    from hrprob.problem.links import Link

__all__ = ["COMMAND", "add_fit_arguments", "columns_of", "fit_options", "option_names"]

# Defaults of the affine link and of the bounds.
_AFFINE = {"slope": 1.0, "offset": 2.0}
_BOUNDS = {"theta": 1.0, "phi": 2.0}

option_names = ("engine", "model", "prior", "link", "intercept", "seed", "draws", "device")
"""Keywords of :func:`hrprob.fit` whose options have the same name."""


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_fit_arguments(
        parser,
        "folder for the posterior, its summary, its quick check and figures",
        "results/fit/NAME for NAME.csv, replacing an earlier fit",
    )
    parser.add_argument(
        "--prob", type=float, metavar="NUMBER", default=0.9, help="probability of the intervals (%(default)s)"
    )
    parser.add_argument("--no-check", action="store_true", help="leave out the quick check")


def add_fit_arguments(parser: argparse.ArgumentParser, out: str, default: str) -> None:
    """Add the data, the model and all that :func:`hrprob.fit` takes; ``out`` says what the folder is for."""
    parser.add_argument(
        "file",
        metavar="FILE",
        help="rounds, a CSV file with a line per round: the context, the outcome, and optionally user and level; "
        "separators (comma, semicolon, tab, |) and decimal commas are recognised, other columns are not used",
    )
    _add_columns(parser)
    add_out(parser, out, default)
    for name, default, meaning in (
        ("engine", "nuts", f"posterior engine: {own_kinds('estimation/posterior')}, auto"),
        ("model", "gaussian", f"outcome model: {own_kinds('models')}"),
        ("prior", "uniform", f"prior: {own_kinds('models/priors')}"),
    ):
        more = f'{meaning}, or your own; or a table, {{kind = "...", ...}} (%(default)s)'
        parser.add_argument(f"--{name}", metavar="NAME", default=default, help=more)
    parser.add_argument(
        "--link",
        metavar="NAME",
        help=f"link from φᵀx to the variance: {own_kinds('problem/links')}, or your own; or a table, "
        '{kind = "...", ...} (affine; log with --intercept or --bounds auto)',
    )
    for name, number, meaning in (
        ("link-slope", _AFFINE["slope"], "of the affine link, M_f: the variance is M_f·φᵀx + offset"),
        ("link-offset", _AFFINE["offset"], "of the affine link, the variance where φᵀx = 0"),
        ("bound-theta", _BOUNDS["theta"], "bound of ‖θ‖"),
        ("bound-phi", _BOUNDS["phi"], "bound of ‖φ‖"),
    ):
        parser.add_argument(f"--{name}", type=float, metavar="NUMBER", help=f"{meaning} ({number})")
    parser.add_argument(
        "--bounds",
        choices=["auto"],
        help="auto: choose both bounds from the data, so that draws do not sit at one",
    )
    parser.add_argument(
        "--intercept",
        action="store_true",
        help="mean and variance have intercepts, outside the norms and their bounds",
    )
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="seed of all random numbers (0)")
    parser.add_argument("--draws", type=int, metavar="N", help="number of draws, all chains together (4000)")
    parser.add_argument(
        "--device",
        metavar="NAME",
        help="where it is computed: cpu, gpu, gpu:1; tested on CPU only (JAX's choice)",
    )
    add_quiet(parser, "print nothing")
    add_json(parser)
    add_import(parser)


def _add_columns(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--outcome", metavar="COLUMN", help="column of outcomes; by default r")
    parser.add_argument(
        "--context",
        metavar="COLUMNS",
        type=_names,
        help="columns of a context, A,B,...; by default x1, ..., xd",
    )
    parser.add_argument("--user", metavar="COLUMN", help="column of users; by default user, if there is one")
    parser.add_argument(
        "--level", metavar="COLUMN", help="column of satisfaction levels; by default beta, if there is one"
    )
    scaling = parser.add_mutually_exclusive_group()
    scaling.add_argument(
        "--scale",
        action="store_true",
        help="divide contexts by their largest norm, if that is above 1; the posterior keeps the divisor",
    )
    scaling.add_argument(
        "--scale-columns",
        dest="scale",
        action="store_const",
        const="columns",
        help="divide each column of a context by its largest absolute value, and by √d: for features in different "
        "units",
    )
    scaling.add_argument(
        "--standardise",
        dest="scale",
        action="store_const",
        const="standardise",
        help="centre each column of a context and divide it by its standard deviation, and all by the largest norm",
    )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",")]


def _run(arguments: argparse.Namespace) -> None:
    with loading(arguments, arguments.file):
        prepare_jax()
        import_modules(arguments.modules)
        from hrprob.fitting.checks.runner import Checked
        from hrprob.fitting.fit import fit
        from hrprob.fitting.intervals import check_prob
        from hrprob.fitting.posterior import Posterior
        from hrprob.fitting.results import fit_file, fit_in_words, thinning_in_words, to_plain
        from hrprob.fitting.table import Table
        from hrprob.simulation.progress import print_line

    with named_as_options("prob"):
        check_prob(arguments.prob)
    options = fit_options(arguments)
    out = result_folder(arguments, arguments.file)
    bounds = {"bounds.theta": "bound-theta", "bounds.phi": "bound-phi"}

    def fit_table(table: Table) -> Posterior:
        with named_as_options(*option_names, **bounds):
            return fit(table, **options, progress=shows_progress(arguments))

    checked: list[Checked] = []

    def check_quickly(posterior: Posterior) -> Checked:
        if shows_progress(arguments):
            print_line("checking …")
        checked.append(posterior.check(quick=True))
        return checked[0]

    with named_as_options("outcome", "context", "user", "level", "scale", data="FILE"):
        posterior = fit_file(
            arguments.file,
            out,
            prob=arguments.prob,
            command=sys.argv,
            columns=columns_of(arguments),
            scale=arguments.scale,
            fit_table=fit_table,
            check=None if arguments.no_check else check_quickly,
        )
    say = printer(arguments)
    for line in fit_in_words(posterior, arguments.prob):
        say(line)
    for one in checked:
        say(f"\n{one}")
    thinned = thinning_in_words(posterior)
    if thinned is not None:
        say(thinned)
    say(f"\nresults in {out}")
    verdicts = {"check": checked[0].answer.to_plain()} if checked else {}
    print_result(arguments, out, to_plain(posterior, arguments.prob) | verdicts)


def columns_of(arguments: argparse.Namespace) -> Columns:
    """Return which columns are which."""
    from hrprob._core.tables import kind_or_table
    from hrprob.fitting.columns import Columns
    from hrprob.models import make_model

    with named_as_options("model"):
        further = make_model(kind_or_table("--model", arguments.model)).further_columns
    return Columns(arguments.outcome, arguments.context, arguments.user, arguments.level, further)


def fit_options(arguments: argparse.Namespace) -> dict[str, Decoded]:
    """Return the keywords of :func:`hrprob.fit`; errors name the options of the command line."""
    from hrprob._core.tables import kind_or_table

    parts = {
        name: kind_or_table(f"--{name}", getattr(arguments, name)) for name in ("engine", "model", "prior")
    }
    return parts | {
        "link": (link := _link(arguments)),
        "bounds": _bounds(arguments, link),
        "intercept": arguments.intercept,
        "seed": arguments.seed,
        "draws": arguments.draws,
        "device": arguments.device,
    }


def _link(arguments: argparse.Namespace) -> Link | None:
    """Return the link; None where it is chosen from the data."""
    from hrprob._core.errors import InvalidInput
    from hrprob._core.tables import kind_or_table
    from hrprob.problem import Affine
    from hrprob.problem.links import LINKS

    given = {name: value for name in _AFFINE if (value := getattr(arguments, f"link_{name}")) is not None}
    if arguments.link is not None:
        for name, value in given.items():
            remedy = "write --link '{kind = \"affine\", slope = 1.0, offset = 2.0}', or leave --link out"
            raise InvalidInput(f"--link-{name}", "must not be given with --link", value, remedy)
        with named_as_options("link"):
            return LINKS.make(kind_or_table("--link", arguments.link))
    if not given and (arguments.intercept or arguments.bounds == "auto"):
        return None
    with named_as_options(slope="link-slope", offset="link-offset"):
        return Affine(**(_AFFINE | given))


def _bounds(arguments: argparse.Namespace, link: Link | None) -> Bounds | str:
    """Return the bounds, or "auto"; a link that is known is checked with them."""
    from hrprob._core.errors import InvalidInput
    from hrprob.problem import Affine, Bounds

    given = {name: value for name in _BOUNDS if (value := getattr(arguments, f"bound_{name}")) is not None}
    if arguments.bounds == "auto":
        for name, value in given.items():
            remedy = "auto chooses both bounds; leave one of the options out"
            raise InvalidInput(f"--bound-{name}", "must not be given with --bounds auto", value, remedy)
        return "auto"
    with named_as_options(theta="bound-theta", phi="bound-phi"):
        bounds = Bounds(**(_BOUNDS | given))
    if isinstance(link, Affine):
        _check_variance(link, bounds)
    elif link is not None:
        with named_as_options(**{"bounds.phi": "bound-phi"}):
            link.check_bound(bounds.phi)
    return bounds


def _check_variance(link: Affine, bounds: Bounds) -> None:
    """Raise if the variance may be negative, naming an option that was given."""
    from hrprob._core.errors import InvalidInput

    try:
        link.check_bound(bounds.phi)
    except InvalidInput:
        why = "the variance would be negative for some ‖φ‖ within its bound"
        if link.offset != type(link)().offset:
            must = f"must be at least link-slope · bound-phi = {link.slope * bounds.phi:g}"
            remedy = f"{why}; raise it, or lower `--bound-phi`"
            raise InvalidInput("--link-offset", must, link.offset, remedy) from None
        remedy = f"{why}; lower it, or raise `--link-offset`"
        if bounds.phi != type(bounds)().phi:
            must = f"must be at most link-offset / link-slope = {link.offset / link.slope:g}"
            raise InvalidInput("--bound-phi", must, bounds.phi, remedy) from None
        must = f"must be at most link-offset / bound-phi = {link.offset / bounds.phi:g}"
        raise InvalidInput("--link-slope", must, link.slope, remedy) from None


COMMAND = Command(
    "fit",
    "fit a posterior to rounds of your own",
    _add_arguments,
    _run,
    less_memory="fewer --draws or a smaller --engine",
)
