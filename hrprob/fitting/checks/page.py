r"""The folder of a check.

======================  ===========================================================
file                    content
======================  ===========================================================
check.html              the answer, verdicts, figures and tables; self-contained
check.json              answer, verdicts, and the numbers behind them
ranking.json            models by their predictions, with ``--compare``
manifest.json           data, engine, model, prior, seed, versions
\*.png, \*.svg            the figures
======================  ===========================================================
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import hrprob
from hrprob import plot
from hrprob._core.formatting import format_number
from hrprob._core.records import describe
from hrprob.fitting.checks.base import FALSE_ALARMS, TESTED_AT
from hrprob.io.json_files import write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.page import Report
from hrprob.io.staging import staged

if TYPE_CHECKING:
    from hrprob.fitting.checks.ranking import Ranking
    from hrprob.fitting.checks.runner import Checked

__all__ = ["write_checked", "write_into", "write_result"]


def write_checked(checked: Checked, out: str | Path) -> None:
    """Write page, figures and data into the folder ``out``, whole or not at all."""
    with staged(out, job="check") as folder:
        write_result(folder, checked)


def write_result(
    folder: Path, checked: Checked, ranking: Ranking | None = None, command: list[str] | None = None
) -> None:
    """Write page, figures, data and manifest into a folder that exists."""
    write_into(folder, checked, ranking)
    posterior = checked.inputs.posterior
    facts: dict[str, object] = {
        "program": "hrprob",
        "job": "check",
        "engine": describe(posterior.engine),
        "model": describe(posterior.target.model),
        "prior": describe(posterior.target.prior),
        "setting": describe(posterior.setting),
        "rounds": len(posterior.table),
        "seed": posterior.seed,
        "command": command or [],
    }
    write_manifest(folder, facts | environment("arviz-stats", "scipy"))


def write_into(folder: Path, checked: Checked, ranking: Ranking | None = None) -> None:
    """Write page, figures and ``check.json`` into a folder that exists."""
    write_json(folder / "check.json", checked.to_plain())
    if ranking is not None:
        write_json(folder / "ranking.json", ranking.to_plain())
    page = Report(checked.answer.question, "")
    page.answer(checked.answer)
    if ranking is not None:
        page.heading("Models by their predictions")
        page.text(ranking.sentence)
        page.result_table(ranking.as_table())
    with page.folded("What was checked, figures and tables"):
        page.text(_lead(checked))
        for one in checked.checks:
            result = checked.results[one.kind]
            page.heading(one.title)
            for header, rows, caption in one.tables(result):
                page.table(header, rows, caption)
            for figure in one.figures(result):
                plot.save(figure.draw(), folder, f"check-{figure.name}")
                page.figure(folder / f"check-{figure.name}.png", figure.caption)
    page.footer(f"hrprob {hrprob.__version__}; the numbers of this page are in check.json.")
    (folder / "check.html").write_text(page.render(), encoding="utf-8")


def _left_out(checked: Checked) -> str:
    """Return how many rounds could not be predicted, in words; nothing where all were."""
    made = checked.inputs.__dict__.get("prequential")
    count = 0 if made is None else int((~made.usable).sum())
    return (
        f" Left out: {count} rounds, mostly of the first, that those before them are too few to predict."
        if count
        else ""
    )


def _lead(checked: Checked) -> str:
    posterior = checked.inputs.posterior
    users = checked.inputs.users
    alarms = " and ".join(
        f"{failed} of {pages} with {size} users ({format_number(100 * failed / pages, 1)} %)"
        for size, (failed, pages) in FALSE_ALARMS.items()
    )
    of_users = "" if users is None else f" of {int(users.max()) + 1} users"
    return (
        f"Posterior by {posterior.engine.kind} of {posterior.target.model.kind} outcomes, "
        f"{posterior.target.prior.kind} prior, given {len(posterior.table)} rounds{of_users}. Checks are "
        f"tested at {100 * TESTED_AT:g} % in all (Holm's procedure), with p-values that are approximate; of quick pages with "
        f"laplace on sound problems {alarms} had a failure, pages by nuts and full pages were not measured. What is called detectable is detected with probability 80 %. Residuals are those "
        "of predictions from earlier rounds alone: they are independent under the model, whatever policy chose the "
        f"contexts and whenever users left.{_left_out(checked)}"
    )
