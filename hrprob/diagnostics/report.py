"""The folder of a diagnosis, put together from what each diagnostic contributes.

=======================  ==============================================================
file                     content
=======================  ==============================================================
report.html              verdicts in words, figures, tables; self-contained
calibration.json         coverage, ranks, printed sets, reneging, verdicts, as plain data
diagnostics.nc           every array, as :func:`xarray.open_datatree` reads it
manifest.json            configuration, sizes, seed, versions, times
*.png, *.svg             the figures
=======================  ==============================================================

Matplotlib is imported by the functions that draw figures (:mod:`hrprob.plot` loads it when first used), so that
the package can be imported, and diagnostics computed, without it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import xarray

import hrprob
from hrprob import plot
from hrprob._core.errors import InvalidInput
from hrprob._core.formatting import percent
from hrprob._core.records import describe
from hrprob.diagnostics.base import Diagnostic
from hrprob.diagnostics.power import ERROR_RATE
from hrprob.diagnostics.runner import Diagnosis
from hrprob.diagnostics.study import Sizes, Study
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.netcdf import write_netcdf
from hrprob.io.page import Report
from hrprob.io.staging import staged
from hrprob.numerics.power import POWER

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["draw_figures", "to_plain", "to_tree", "write_data", "write_page", "write_report", "write_summary"]

T = TypeVar("T")

_SYMBOLS = (
    "ρ_n is the radius of the paper's confidence set for φ* after n rounds, α⁽¹⁾_n that for θ*, both about least-squares estimates (the GLSE) "
    "in the norm of V = XᵀX + λI: with probability 1 − δ the truth lies within."
)


def write_report(done: Diagnosis, out: str | Path) -> None:
    """Write report, data and figures of a diagnosis into the folder ``out``, as ``hrprob diagnose`` does."""
    with staged(out, job="diagnose") as folder:
        for one in done.diagnostics:
            for name, figure in draw_figures(one, done.results[one.kind]):
                plot.save(figure, folder, name)
        write_data(folder, done)
        write_summary(folder, done, {})


def draw_figures(diagnostic: Diagnostic, result: object) -> Iterator[tuple[str, Figure]]:
    """Yield the figures of one diagnostic with their names, where there is something to show."""
    for planned in diagnostic.figures(result):
        figure = planned.draw()
        if figure is not None:
            yield planned.name, figure


def write_data(folder: Path, done: Diagnosis) -> None:
    """Write the numbers of a diagnosis into a folder: ``calibration.json`` and ``diagnostics.nc``."""
    write_json(folder / "calibration.json", to_plain(done))
    write_netcdf(to_tree(done), folder / "diagnostics.nc")


def write_summary(folder: Path, done: Diagnosis, facts: Mapping[str, object], quick: bool = False) -> None:
    """Write report and manifest into a folder that has all figures and data."""
    write_page(folder / "report.html", done, folder, quick)
    study = done.study
    content = {
        "program": "hrprob",
        "job": "diagnose",
        # As it played: data sets have no warm-up users.
        "policy": describe(study.policy) | {"kind": study.policy.kind, "warmup": 0},
        "engine": describe(study.engine),
        "engine_on_many_data_sets": describe(study.engine.for_many_data_sets()),
        "sizes": dataclasses.asdict(done.sizes),
        "seed": study.seed,
    }
    write_manifest(folder, content | dict(facts) | environment())


def to_plain(done: Diagnosis) -> dict[str, object]:
    """Return the content of ``calibration.json``: the entries of all diagnostics, and the verdicts."""
    parts = ((one, one.to_plain(done.results[one.kind])) for one in done.diagnostics)
    verdicts = [verdict._asdict() for verdict in done.verdicts]
    families, total = done.error_rate
    said = {"answer": done.answer.answer, "sentence": done.answer.sentence, "verdicts": verdicts}
    rates = {"error_rate": {"families": families, "each": ERROR_RATE, "total": total}}
    return _joined("calibration.json", parts, reserved=(*said, *rates)) | said | rates


def to_tree(done: Diagnosis) -> xarray.DataTree:
    """Return the content of ``diagnostics.nc``: the arrays of all diagnostics, as one tree."""
    parts = ((one, one.to_datasets(done.results[one.kind])) for one in done.diagnostics)
    return xarray.DataTree.from_dict(_joined("diagnostics.nc", parts))


def _joined(
    file: str, parts: Iterable[tuple[Diagnostic, Mapping[str, T]]], reserved: tuple[str, ...] = ()
) -> dict[str, T]:
    """Return the entries of all diagnostics by their keys, which must differ."""
    joined: dict[str, T] = {}
    for diagnostic, part in parts:
        for key in part:
            if key in joined or key in reserved:
                remedy = f"the diagnostic {diagnostic.kind!r} needs a key of its own"
                raise InvalidInput(file, "must have each key once", key, remedy)
        joined |= part
    return joined


def write_page(path: Path, done: Diagnosis, folder: Path, quick: bool = False) -> None:
    """Write the report to ``path``, with those figures that ``folder`` has."""
    page = Report(done.answer.question, _lead(done.study, done.sizes, quick))
    page.answer(done.answer)
    page.text(_error_rate(done))
    if done.findings:
        with page.folded(f"{len(done.findings)} findings beside the answer"):
            page.text(_SYMBOLS)
            page.verdicts([(None, verdict.words) for verdict in done.findings])
    for one in done.diagnostics:
        result = done.results[one.kind]
        page.heading(one.title)
        with page.folded("tables and figures"):
            one.write_section(page, result)
            for figure in one.figures(result):
                if (folder / f"{figure.name}.png").exists():
                    page.figure(folder / f"{figure.name}.png", figure.caption)
    page.footer(
        f"hrprob {hrprob.__version__}; the numbers of this page are in calibration.json, the arrays behind them in "
        "diagnostics.nc."
    )
    path.write_text(page.render(), encoding="utf-8")


def _error_rate(done: Diagnosis) -> str:
    """Return the error rate of the whole page, in words."""
    families, total = done.error_rate
    return (
        f"If everything is right, each of {families} families of tests fails with probability at most {percent(ERROR_RATE)}: any of "
        f"them with at most {percent(total)}. What is called detected is detected with probability {percent(POWER)}."
    )


def _lead(study: Study, sizes: Sizes, quick: bool) -> str:
    """Return the first paragraph: what was diagnosed, on how many data sets."""
    hurry = (
        "A QUICK run, too small to detect small differences: it shows that everything works. "
        if quick
        else ""
    )
    gatherer = getattr(study.policy, "engine", None)
    policy = study.policy.kind if gatherer is None else f"{study.policy.kind} with {gatherer.kind}"
    instead = f"The data are fitted as something else: {study.fitted_as}. " if study.fitted_as else ""
    chosen = f"{study.why}. " if study.why else ""
    return (
        f"{hurry}{instead}{chosen}Posterior by {study.engine.kind} ({study.target.model.kind} outcomes, {study.target.prior.kind} prior), "
        f"data gathered by {policy}: {sizes.sets} data sets with truths drawn from the prior{_fitted(study, sizes)}, "
        f"{sizes.truth_sets} at the problem's own truth, {sizes.replications} for each design of the printed sets; "
        f"seed {study.seed}."
    )


def _fitted(study: Study, sizes: Sizes) -> str:
    """Return a remark if an engine is fitted to some of the data sets only, or with shorter settings."""
    engine = study.engine
    if engine.streaming:
        return ""
    own, shorter = describe(engine), describe(engine.for_many_data_sets())
    changed = [f"{name} {value}" for name, value in shorter.items() if own[name] != value]
    fitted = min(sizes.sets, sizes.sampler_sets)
    if fitted == sizes.sets and not changed:
        return ""
    return f" ({engine.kind}{' with ' if changed else ''}{', '.join(changed)} fitted to {fitted} of them)"
