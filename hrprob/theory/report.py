"""Write a folder with report, figures and numbers (``hrprob theory``), whole or not at all."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from hrprob._core.errors import check_count
from hrprob._core.records import describe
from hrprob.io.json_files import finite_or_none, write_json
from hrprob.io.manifest import environment, write_manifest
from hrprob.io.staging import staged
from hrprob.plot.saving import save
from hrprob.theory.figures import draw_all
from hrprob.theory.page import answer_of, write_page
from hrprob.theory.play import DELTA, GROWTH, QUICK, RIDGE, SIZES, Theory, check_theory
from hrprob.theory.regret import Decomposition

__all__ = ["to_plain", "write_theory"]


def write_theory(
    out: str | Path,
    *,
    quick: bool = False,
    seed: int = 0,
    command: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
) -> Theory:
    """Check the theory in the paper's setting and write report, figures and ``theory.json`` into ``out``."""
    check_count("seed", seed, low=0, high=2**31 - 1, remedy="it is the seed of all random numbers")
    started = time.perf_counter()
    with staged(out, "theory") as folder:
        theory = check_theory(sizes=QUICK if quick else SIZES, seed=seed, say=say)
        for name, figure in draw_all(theory).items():
            save(figure, folder, name)
        write_json(folder / "theory.json", to_plain(theory))
        write_page(folder / "report.html", theory, folder, quick)
        facts = {
            "program": "hrprob",
            "job": "theory",
            "quick": quick,
            "seed": seed,
            "sizes": theory.sizes._asdict(),
            "problem": describe(theory.problem),
            "command": list(command),
            "wall_seconds": time.perf_counter() - started,
        }
        write_manifest(folder, facts | environment())
    return theory


def to_plain(theory: Theory) -> dict[str, object]:
    """Return the content of ``theory.json``."""
    return {
        "answer": answer_of(theory).to_plain(),
        "delta": DELTA,
        "ridge": RIDGE,
        "growth": GROWTH,
        "variance_max": float(theory.sets["paper"].variance_max),
        "noise_scale": theory.noise_scale,
        "constants": {"c1": 1.0, "c2": 1.0, "c3": 1.0, "c4": 1.0},
        "seed": theory.seed,
        "sizes": theory.sizes._asdict(),
        "inequalities": [_finite(finding._asdict()) for finding in theory.findings],
        "regret": {name: _plain_chain(one) for name, one in theory.decompositions.items()},
        "random_cost": theory.random_cost,
        "bound": {
            version: {key: _plain(value) for key, value in one._asdict().items()}
            for version, one in theory.rates.items()
        },
    }


def _plain_chain(one: Decomposition) -> dict[str, object]:
    quantiles = {
        step: {str(level): float(np.quantile(values, level)) for level in (0.1, 0.5, 0.9)}
        for step, values in one.chain.items()
    }
    return {
        "chain": quantiles,
        "bound": one.bound,
        "potential": float(np.median(one.potential)),
        "potential_log_determinant": float(np.median(one.log_determinant)),
        "potential_bound": one.potential_bound,
        "users_that_cost_more_than_their_width": int(one.failing.sum()),
        "users": int(one.failing.size),
        "trials_with_such_users": int(one.failing.any(axis=1).sum()),
        "trials": len(one.failing),
    }


def _finite(numbers: dict[str, object]) -> dict[str, object]:
    return {key: finite_or_none(one) if isinstance(one, float) else one for key, one in numbers.items()}


def _plain(value: np.ndarray | float) -> object:
    return [finite_or_none(one) for one in value] if isinstance(value, np.ndarray) else finite_or_none(value)
