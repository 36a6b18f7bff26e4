"""``hrprob fit``: fit a file of rounds, print the summary, and write a folder of results.

================================  ====================================================
file                              contents
================================  ====================================================
posterior.nc                      everything, as :meth:`Posterior.load` and ArviZ read it
summary.json                      the table of parameters, k̂, divergences, concerns
manifest.json                     configuration, seed, versions, times
coefficients.png, .svg            :func:`~hrprob.fitting.figures.plot_coefficients`
outcomes.png, .svg                :func:`~hrprob.fitting.figures.plot_outcomes`
================================  ====================================================
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import math
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob._core.tables import kind_or_table
from hrprob.fitting import figures, summary, tree
from hrprob.fitting.fit import fit
from hrprob.fitting.intervals import check_prob
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import parse_table, read_file
from hrprob.io import output
from hrprob.plot import plots
from hrprob.problem import Affine, Bounds

__all__ = ["run"]

_PACKAGES = ("arviz-base", "arviz-stats", "scipy")


def run(arguments: Namespace, say: Callable[[str], None], command: list[str]) -> None:
    """Fit as the arguments of the command line ask, print the summary, and write the files into ``--out``."""
    wall, cpu = time.perf_counter(), time.process_time()
    asked = _named("prob", lambda: check_prob(arguments.prob)), _asked(arguments)
    # Read once: a pipe cannot be read again.
    content = read_file(arguments.file)
    table = parse_table(content, arguments.file)
    if arguments.out is None:
        _print(_fit(table, asked[1]), asked[0], say)
        return
    with output.staged(arguments.out, job="fit") as folder:
        posterior = _fit(table, asked[1])
        facts = {
            "program": "hrprob",
            "job": "fit",
            "configuration": _configuration(arguments, content, posterior),
            "seed": posterior.seed,
            "command": command,
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        write(folder, posterior, asked[0], facts)
    _print(posterior, asked[0], say)
    thinned = [f"one draw in {k} of {name}" for name, k in tree.thinning(posterior).items() if k > 1]
    if thinned:
        say(f"{len(posterior.table)} rounds are many: posterior.nc has {', '.join(thinned)}")
    say(f"\nresults in {arguments.out}")


def write(folder: Path, posterior: Posterior, prob: float, facts: dict[str, Any]) -> None:
    """Write the files of a fit into an empty folder."""
    posterior.save(folder / "posterior.nc")
    table = posterior.summary(prob)
    k = posterior.pareto_k
    output.write_json(
        folder / "summary.json",
        {
            "parameters": summary.to_plain(table),
            "prob": prob,
            "divergences": posterior.divergences,
            "pareto_k": k if k is not None and math.isfinite(k) else None,
            "concerns": posterior.concerns(),
        },
    )
    plots.save(figures.plot_coefficients(posterior, prob), folder, "coefficients")
    plots.save(figures.plot_outcomes(posterior, prob), folder, "outcomes")
    environment = output.environment()
    environment["versions"] |= {name: importlib.metadata.version(name) for name in _PACKAGES}
    files = sorted([path.name for path in folder.iterdir()] + [output.MANIFEST])
    output.write_json(folder / output.MANIFEST, {**facts, **environment, "files": files})


def _print(posterior: Posterior, prob: float, say: Callable[[str], None]) -> None:
    table = posterior.summary(prob)
    say(summary.as_text(table))
    if posterior.pareto_k is not None:
        say(f"Pareto k̂ {posterior.pareto_k:.2f}")
    elif "rhat" in table:
        kind, worst = posterior.engine.kind, np.max(table.rhat.values)
        say(f"R-hat at most {worst:.3f} (no Pareto k̂: {kind} is no approximation with a density)")
    if posterior.divergences is not None:
        say(f"{posterior.divergences} divergences")
    for concern in posterior.concerns():
        say(f"! {concern}")


def _asked(arguments: Namespace) -> dict[str, Any]:
    """Return the keywords of :func:`fit`; errors name the options of the command line."""
    link = _named("link-", lambda: Affine(arguments.link_slope, arguments.link_offset))
    bounds = _named("bound-", lambda: Bounds(arguments.bound_theta, arguments.bound_phi))
    _check_variance(link, bounds)
    named = {
        name: kind_or_table(f"--{name}", getattr(arguments, name)) for name in ("engine", "model", "prior")
    }
    return named | {
        "link": link,
        "bounds": bounds,
        "seed": arguments.seed,
        "draws": arguments.draws,
    }


def _check_variance(link: Affine, bounds: Bounds) -> None:
    """Raise if the variance may be negative, naming an option that was given."""
    try:
        link.check_bound(bounds.phi)
    except InvalidInput:
        why = "the variance would be negative for some ‖φ‖ within its bound"
        if link.offset != Affine().offset:
            must = f"must be at least link-slope · bound-phi = {link.slope * bounds.phi:g}"
            remedy = f"{why}; raise it, or lower `--bound-phi`"
            raise InvalidInput("--link-offset", must, link.offset, remedy) from None
        remedy = f"{why}; lower it, or raise `--link-offset`"
        if bounds.phi != Bounds().phi:
            must = f"must be at most link-offset / link-slope = {link.offset / link.slope:g}"
            raise InvalidInput("--bound-phi", must, bounds.phi, remedy) from None
        must = f"must be at most link-offset / bound-phi = {link.offset / bounds.phi:g}"
        raise InvalidInput("--link-slope", must, link.slope, remedy) from None


def _fit(table: Any, asked: dict[str, Any]) -> Posterior:
    try:
        return fit(table, **asked)
    except InvalidInput as error:
        if error.field.partition(".")[0] not in ("bounds", "engine", "model", "prior", "seed", "draws"):
            raise
        option = f"--{error.field.replace('bounds.', 'bound-')}"
        raise InvalidInput(option, error.must, error.got, error.remedy) from None


def _named(option: str, make: Callable[[], Any]) -> Any:
    """Return the result of ``make``; errors name the option, completed by the field if it ends in a dash."""
    try:
        return make()
    except InvalidInput as error:
        name = option + error.field if option.endswith("-") else option
        raise InvalidInput(f"--{name}", error.must, error.got, error.remedy) from None


def _configuration(arguments: Namespace, content: bytes, posterior: Posterior) -> dict[str, Any]:
    return {
        "data": {
            "file": str(arguments.file),
            "sha256": hashlib.sha256(content).hexdigest(),
            "rounds": len(posterior.table),
        },
        "engine": describe(posterior.engine),
        "model": describe(posterior.target.model),
        "prior": describe(posterior.target.prior),
        "setting": describe(posterior.setting),
        "draws": int(posterior.theta.shape[0] * posterior.theta.shape[1]),
        "prob": arguments.prob,
    }
