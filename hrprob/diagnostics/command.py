"""``hrprob diagnose``: run all parts on a configuration and write what they found.

=======================  ==============================================================
file                     what it has
=======================  ==============================================================
report.html              verdicts in words, figures, tables; self-contained
calibration.json         coverage, ranks, printed sets, reneging, verdicts, as plain data
diagnostics.nc           every array, as :func:`xarray.open_datatree` reads it
manifest.json            configuration, sizes, seed, versions, times
*.png, *.svg             the figures
=======================  ==============================================================
"""

from __future__ import annotations

import dataclasses
import math
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import xarray

from hrprob._core.errors import InvalidInput
from hrprob._core.records import describe
from hrprob._core.tables import kind_or_table
from hrprob.diagnostics.page import draw, write_page
from hrprob.diagnostics.study import DEFAULT, QUICK, Diagnosis, diagnose, for_many, study_of
from hrprob.io import config, output
from hrprob.plot import plots

__all__ = ["run", "to_plain", "to_tree", "write_account", "write_data", "write_report"]


def run(arguments: Namespace, say: Callable[[str], None], command: list[str], progress: bool = False) -> None:
    """Diagnose what the arguments of the command line ask for, and write it where told."""
    wall, cpu = time.perf_counter(), time.process_time()
    experiment = config.read(arguments.file)
    if arguments.seed is not None:
        try:
            experiment = experiment.replace(seed=arguments.seed)
        except InvalidInput as error:
            raise InvalidInput("--seed", error.must, error.got, error.remedy) from None
    engine = None if arguments.engine is None else kind_or_table("--engine", arguments.engine)
    study = study_of(
        experiment.problem, experiment.policies, policy=arguments.policy, engine=engine, seed=experiment.seed
    )
    sizes = QUICK if arguments.quick else DEFAULT
    with output.staged(arguments.out, job="diagnose") as folder:
        if arguments.quick:
            say("QUICK: too few data sets for fine distinctions; this shows that it works.")
        drawn: set[str] = set()
        with plots.saving_aside() as save:

            def draw_of(found: dict[str, Any]) -> None:
                # What is there is drawn while parts that take long go on.
                for name, figure in draw(found, drawn):
                    save(figure, folder, name)
                    drawn.add(name)

            done = diagnose(study, sizes, say=say, progress=progress, finished=draw_of)
            write_data(folder, done)  # while the last figures are being written
        facts = {
            "quick": arguments.quick,
            "configuration": config.resolved(experiment),
            "command": command,
            "wall_seconds": time.perf_counter() - wall,
            "cpu_seconds": time.process_time() - cpu,
        }
        write_account(folder, done, facts, arguments.quick)
    say("")
    for verdict in done.verdicts:
        say(f"  {_MARKS[verdict.good]} {verdict.words}")
    say(f"\nreport in {Path(arguments.out, 'report.html')}")


_MARKS = {True: "✓", False: "✗", None: "·"}


def write_report(done: Diagnosis, out: str | Path) -> None:
    """Write report, data and figures of a diagnosis into the folder ``out``, as ``hrprob diagnose`` does."""
    with output.staged(out, job="diagnose") as folder:
        for name, figure in draw(done._asdict()):
            plots.save(figure, folder, name)
        write_data(folder, done)
        write_account(folder, done, {})


def write_data(folder: Path, done: Diagnosis) -> None:
    """Write the numbers of a diagnosis into a folder."""
    output.write_json(folder / "calibration.json", to_plain(done))
    to_tree(done).to_netcdf(folder / "diagnostics.nc", engine="h5netcdf")


def write_account(folder: Path, done: Diagnosis, facts: dict[str, Any], quick: bool = False) -> None:
    """Write report and manifest into a folder that has all figures and data."""
    write_page(folder / "report.html", done, folder, quick)
    files = sorted([path.name for path in folder.iterdir()] + [output.MANIFEST])
    study = done.study
    what = {
        "program": "hrprob",
        "job": "diagnose",
        # As it played: data sets have no warm-up users.
        "policy": describe(study.policy) | {"kind": study.policy.kind, "warmup": 0},
        "engine": describe(study.engine),
        "engine_on_many_data_sets": describe(for_many(study.engine)),
        "sizes": dataclasses.asdict(done.sizes),
        "seed": study.seed,
    }
    output.write_json(folder / output.MANIFEST, what | facts | output.environment() | {"files": files})


def to_tree(done: Diagnosis) -> xarray.DataTree:
    """Return every array that the report rests on, as one tree."""
    groups: dict[str, xarray.Dataset] = {
        "health": done.health,
        "calibration/places": done.places,
        "calibration/coverage": done.coverage,
        "outcomes/models": done.comparison,
        "outcomes/residuals": done.residuals,
        "outcomes/loo": done.loo,
        "posterior": done.reference["posterior"].to_dataset(),
        "sample_stats": done.reference["sample_stats"].to_dataset(),
    }
    for design, dataset in done.sets.items():
        groups |= {f"rho/{design}": dataset, f"rho/{design}/owed": done.owed[design].rename(n="size")}
    for engine, places in done.ranks.items():
        groups |= {f"sbc/{engine}": done.judged[engine].assign(place=places)}
    for truths, table in done.reliability.items():
        name = truths.replace(" ", "_")
        groups |= {
            f"reneging/{name}": xarray.merge([table, done.scores[truths]]),
            f"reneging/{name}/users": done.predicted[truths],
            f"estimates/{name}": done.estimates[truths],
            f"estimates/{name}/efficiency": done.efficiency[truths],
        }
    return xarray.DataTree.from_dict(groups)


def to_plain(done: Diagnosis) -> dict[str, Any]:
    """Return what ``calibration.json`` has."""
    return {
        "sigma2_coverage": _coverage(done, ["all"]),
        "sigma2_coverage_by_region": _coverage(done, [str(name) for name in done.coverage.region.values]),
        "sbc": [
            {
                "engine": engine,
                "users": int(users),
                "quantity": str(quantity),
                "p_value": float(of.p_value),
                "adjusted": float(of.adjusted),
                "pass": bool(of.passed),
            }
            for engine, judged in done.judged.items()
            for users in judged.users.values
            for quantity in judged.quantity.values
            for of in [judged.sel(users=users, quantity=quantity)]
        ],
        "rho": _sets(done, "phi", "rho"),
        "alpha": _sets(done, "theta", "alpha"),
        "rho_owed": [
            {"design": design, "n": int(n)}
            | {str(name): _finite(values.sel(n=n)) for name, values in of.data_vars.items()}
            for design, of in done.owed.items()
            for n in of.n.values
        ],
        "reneging": {truths: _reneging(done, truths) for truths in done.reliability},
        "outcomes": {
            "loo_pit_p_value": _finite(done.loo.p_value),
            "residuals": {
                str(name): _finite(done.residuals.p_value.sel(statistic=name))
                for name in done.residuals.statistic.values
            },
            "models": [
                {"model": str(name)}
                | {
                    str(kind): _finite(values.sel(model=name))
                    for kind, values in done.comparison.data_vars.items()
                }
                for name in done.comparison.model.values
            ],
        },
        "health": [
            {"engine": str(engine)}
            | {
                name: _finite(done.health[name].sel(engine=engine))
                for name in ("draws", "divergences", "bfmi", "pareto_k", "effective")
            }
            | {"rhat": _worst(done.health.rhat.sel(engine=engine), np.nanmax)}
            | {"mcse_over_sd": _worst((done.health.mcse / done.health["sd"]).sel(engine=engine), np.nanmax)}
            | {
                name: _worst(done.health[name].sel(engine=engine), np.nanmin)
                for name in ("ess_bulk", "ess_tail")
            }
            for engine in done.health.engine.values
        ],
        "estimates": [
            {
                "truths": truths,
                "users": int(users),
                "parameter": parameter,
                "efficiency": _finite(of.efficiency),
                "se": _finite(of.efficiency_se),
            }
            | {
                f"{name}_{kind}": _finite(of[kind].sel(estimator=estimator))
                for name, estimator in (("glse", "GLSE"), ("posterior", "posterior"))
                for kind in ("mse", "honesty")
            }
            for truths, table in done.efficiency.items()
            for users in table.users.values
            for parameter in ("theta", "phi")
            for of in [table.sel(users=users, parameter=parameter)]
        ],
        "verdicts": [verdict._asdict() for verdict in done.verdicts],
    }


def _coverage(done: Diagnosis, regions: list[str]) -> list[dict[str, Any]]:
    return [
        ({"region": region, "p_value": float(of.probability)} if len(regions) > 1 else {})
        | {"n": int(users), "level": float(level), "coverage": float(of.coverage), "se": _finite(of.se)}
        for region in regions
        for users in done.coverage.users.values
        for level in done.coverage.level.values
        for of in [done.coverage.sel(region=region, users=users, level=level)]
    ]


def _sets(done: Diagnosis, parameter: str, name: str) -> list[dict[str, Any]]:
    rows = []
    for design, dataset in done.sets.items():
        of = dataset.sel(parameter=parameter)
        for n in of.n.values:
            one = of.sel(n=n)
            printed, corrected = (one.sel(version=version) for version in ("paper", "corrected"))
            rows.append(
                {
                    "n": int(n),
                    "design": design,
                    f"{name}_paper": _finite(printed.radius),
                    f"{name}_corrected": _finite(corrected.radius),
                    "quantile": _finite(one["quantile"]),
                    "quantile_simultaneous": _finite(one.quantile_simultaneous),
                    "posterior_radius": _finite(one.posterior_radius),
                    "coverage_paper": _finite(printed.coverage),
                    "coverage_paper_simultaneous": _finite(printed.coverage_simultaneous),
                    "coverage_corrected": _finite(corrected.coverage),
                    "coverage_corrected_simultaneous": _finite(corrected.coverage_simultaneous),
                    "coverage_posterior": _finite(one.posterior_coverage),
                    "coverage_posterior_ellipsoid": _finite(one.ellipsoid_coverage),
                    "posterior_mass": _finite(printed.posterior_mass),
                    "posterior_mass_corrected": _finite(corrected.posterior_mass),
                    "posterior": str(dataset.attrs["posterior"]),
                    "log_volume_ratio": _finite(printed.log_volume_ratio),
                    "log_volume_ratio_corrected": _finite(corrected.log_volume_ratio),
                    "factor": _finite(printed.factor),
                    "factor_corrected": _finite(corrected.factor),
                    "factor_se": _finite(printed.factor_se),
                    "factor_corrected_se": _finite(corrected.factor_se),
                    "quantile_se": _finite(one.quantile_se),
                    "quantile_simultaneous_se": _finite(one.quantile_simultaneous_se),
                    "posterior_radius_se": _finite(one.posterior_radius_se),
                    "replications": int(one.reached),
                    "fits": int(dataset.attrs["fits"]),
                }
            )
    return rows


def _reneging(done: Diagnosis, truths: str) -> dict[str, Any]:
    table, scores = done.reliability[truths], done.scores[truths]
    return {
        str(name): {
            "bias": _finite(of.bias),
            "bias_se": _finite(of.bias_se),
            "p_value": _finite(of.p_value),
            "brier": _finite(score.brier),
            "log_score": _finite(score["log"]),
            "stay_score": _finite(score.stay),
            "excess": {
                kind: {"mean": _finite(score[f"{kind}_excess"]), "se": _finite(score[f"{kind}_excess_se"])}
                for kind in ("brier", "log", "stay")
            },
            "bins": [
                {
                    kind: _finite(of[kind].isel(bin=number))
                    for kind in ("predicted", "observed", "se", "count")
                }
                for number in range(of.sizes["bin"])
            ],
        }
        for name in table.predictor.values
        for of in [table.sel(predictor=name)]
        for score in [scores.sel(predictor=name)]
    }


def _worst(values: xarray.DataArray, how: Callable[[Any], Any]) -> float | None:
    return None if np.isnan(values).all() else float(how(values.values))


def _finite(number: Any) -> float | None:
    # JSON has neither NaN nor infinity.
    value = float(number)
    return value if math.isfinite(value) else None
