"""From a file of rounds to a result folder, as ``hrprob fit`` does.

================================  ====================================================
file                              content
================================  ====================================================
posterior.nc                      all draws, to be read with :meth:`Posterior.load` or ArviZ
summary.json                      the table of parameters, k̂, divergences, concerns
manifest.json                     data, engine, model, prior, seed, versions, times
coefficients.png, .svg            :func:`~hrprob.fitting.figures.plot_coefficients`
outcomes.png, .svg                :func:`~hrprob.fitting.figures.plot_outcomes`
check.html, check.json, check-*   the quick part of ``hrprob check``, unless it is left out
================================  ====================================================
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np

from hrprob import plot
from hrprob._core.records import describe
from hrprob.estimation.posterior.refining import GROUPS
from hrprob.fitting import figures, summary, tree
from hrprob.fitting.checks.page import write_into
from hrprob.fitting.checks.runner import Checked
from hrprob.fitting.columns import Columns
from hrprob.fitting.fit import fit
from hrprob.fitting.intervals import check_prob
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table, parse_table, read_file
from hrprob.io.json_files import finite_or_none, write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.staging import staged

__all__ = ["fit_file", "fit_in_words", "thinning_in_words", "to_plain", "write_fit"]

_PACKAGES = ("arviz-base", "arviz-stats", "scipy")


def fit_file(
    file: str | Path,
    out: str | Path | None = None,
    *,
    prob: float = 0.9,
    command: list[str] | None = None,
    columns: Columns | None = None,
    scale: object = False,
    fit_table: Callable[[Table], Posterior] = fit,
    check: Callable[[Posterior], Checked] | None = None,
) -> Posterior:
    r"""Fit a posterior to the rounds in a CSV file, and write it into a folder if one is given.

    Parameters
    ----------
    file : str or Path
        The rounds, with columns x1, ..., xd, r, and optionally user and beta, or those that ``columns`` names.
    out : str or Path, optional
        The result folder, written whole or not at all.
    prob : float
        Probability of the intervals.
    command : list of str, optional
        The command line, for the manifest.
    columns : Columns, optional
        The names of the columns.
    scale : bool or "columns"
        Divide contexts of norm above 1; see :func:`~hrprob.fitting.scaling.find_scale`.
    fit_table : callable
        Returns the posterior of a table; by default :func:`hrprob.fit` with its defaults.
    check : callable, optional
        Checks the posterior; its page is written beside the posterior.

    Examples
    --------
    >>> import functools, hrprob, tempfile
    >>> file = Path(tempfile.mkdtemp(), "rounds.csv")
    >>> _ = file.write_text("x1,r\n0.6,0.4\n0.3,-0.2\n0.9,1.1\n")
    >>> laplace = functools.partial(hrprob.fit, engine="laplace", draws=100)
    >>> fit_file(file, fit_table=laplace).theta.shape  # slow
    (1, 100, 1)
    """
    wall, cpu = time.perf_counter(), time.process_time()
    check_prob(prob)
    # Read once: a pipe cannot be read twice.
    content = read_file(file)
    table = parse_table(content, file, columns, scale)
    if out is None:
        posterior = fit_table(table)
        if check is not None:
            check(posterior)
        return posterior
    with staged(out, job="fit") as folder:
        posterior = fit_table(table)
        data = {
            "file": str(file),
            "sha256": hashlib.sha256(content).hexdigest(),
            "rounds": len(posterior.table),
            "columns": {"context": list(table.features), **(columns or Columns())._asdict()},
            "unused": list(table.unused),
            "scale": None if table.scale is None else table.scale.tolist(),
            "centre": None if table.centre is None else table.centre.tolist(),
            "chosen": list(posterior.chosen),
        }
        facts = {
            "program": "hrprob",
            "job": "fit",
            "configuration": {"data": data} | _configuration(posterior) | {"prob": prob},
            "seed": posterior.seed,
            "command": command or [],
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        if check is not None:
            write_into(folder, check(posterior))
        # Last, for its manifest has the checksums of all files.
        write_fit(folder, posterior, prob, facts)
    return posterior


def write_fit(folder: Path, posterior: Posterior, prob: float, facts: Mapping[str, object]) -> None:
    """Write the files of a fit into a folder; ``facts`` go into the manifest, which names all files there."""
    posterior.save(folder / "posterior.nc")
    write_json(folder / "summary.json", to_plain(posterior, prob))
    plot.save(figures.plot_coefficients(posterior, prob), folder, "coefficients")
    plot.save(figures.plot_outcomes(posterior, prob), folder, "outcomes")
    write_manifest(folder, {**facts, **environment(*_PACKAGES)})


def to_plain(posterior: Posterior, prob: float) -> dict[str, object]:
    """Return the content of ``summary.json``."""
    k = posterior.pareto_k
    return {
        "parameters": summary.to_plain(posterior.summary(prob)),
        "prob": prob,
        "scale": None if posterior.table.scale is None else posterior.table.scale.tolist(),
        "divergences": posterior.divergences,
        "pareto_k": None if k is None else finite_or_none(k),
        "engine": posterior.engine.kind,
        "refined": posterior.refined,
        "concerns": posterior.concerns(),
    }


def fit_in_words(posterior: Posterior, prob: float) -> list[str]:
    """Return the table of parameters and what there is to say about the draws, as lines of text."""
    table = posterior.summary(prob)
    lines = [str(summary.as_table(table))]
    if posterior.refined:
        words = (
            f"draws were moved from the approximation by {posterior.engine.kind} to the posterior itself, in"
        )
        worst = np.max(table.rhat.values)
        lines.append(f"{words} {GROUPS} groups: R-hat at most {worst:.3f}")
    elif posterior.pareto_k is not None:
        lines.append(f"Pareto k̂ {posterior.pareto_k:.2f}")
    elif "rhat" in table:
        kind, worst = posterior.engine.kind, np.max(table.rhat.values)
        lines.append(f"R-hat at most {worst:.3f} (no Pareto k̂: {kind} is no approximation with a density)")
    if posterior.divergences is not None:
        lines.append(f"{posterior.divergences} divergences")
    if posterior.table.scale is not None:
        every = [f"{divisor:.6g}" for divisor in posterior.table.scaling.divisors]  # type: ignore[union-attr]
        by = every[0] if len(set(every)) == 1 else ", ".join(every)
        centred = "" if posterior.table.centre is None else "centred and "
        lines.append(
            f"contexts were {centred}divided by {by}: theta and phi are those of the divided contexts"
        )
    lines += posterior.chosen
    if posterior.table.unused:
        lines.append(f"columns that were not used: {', '.join(posterior.table.unused)}")
    return lines + [f"! {concern}" for concern in posterior.concerns()]


def thinning_in_words(posterior: Posterior) -> str | None:
    """Return which groups of ``posterior.nc`` have only some of the draws, or None if all have all."""
    thinned = [f"one draw in {k} of {name}" for name, k in tree.thinning(posterior).items() if k > 1]
    if not thinned:
        return None
    rounds = len(posterior.table)
    return f"{rounds} rounds are many: posterior.nc has {', '.join(thinned)}"


def _configuration(posterior: Posterior) -> dict[str, object]:
    return {
        "engine": describe(posterior.engine),
        "model": describe(posterior.target.model),
        "prior": describe(posterior.target.prior),
        "setting": describe(posterior.setting),
        "draws": int(posterior.theta.shape[0] * posterior.theta.shape[1]),
    }
