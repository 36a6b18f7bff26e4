"""How far engines are from nuts, and whether they say so: dimensions, numbers of users, models, scales and links.

``python -m tests.quoted refresh engines`` plays the grid and writes the table of ``docs/explanation/engines.md``. That takes more than a
CPU hour: ``python -m tests.quoted.engines FOLDER`` plays what the folder does not have yet, a line per fit, and may be
stopped at any time (a second process: ``FOLDER backwards``); ``python -m tests.quoted record engines FOLDER`` then records what is there.
"""

from __future__ import annotations

import collections
import functools
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np

import hrprob
from hrprob.fitting.table import Table
from hrprob.models import make_model
from tests.quoted.lines import add_line, read_lines

USERS = (30, 300)
MODELS = ("gaussian", "student-t", "truncated-normal", "mixture")
ENGINES = ("laplace", "smc", "svi", "auto")
# Largest allowed shift of a mean, in sds of nuts, and ends of the ratio of sds.
MOST_SHIFT = {"laplace": 0.15, "smc": 0.2, "svi": 0.2, "auto": 0.15}
LEAST_RATIO, MOST_RATIO = 0.85, 1.15
RECORDED = 20
PLAIN, SCALES = "unit", ("outcomes × 1000", "φ at its bound")
LINKS = {"log link": hrprob.LogLink(2.0), "softplus link": hrprob.SoftplusLink(2.9)}
# Each link is a program of its own: each is fitted to two of the models.
LINKS_OF = {
    "gaussian": ("log link", "softplus link"),
    "student-t": ("log link",),
    "truncated-normal": ("log link",),
    "mixture": ("softplus link",),
}
REFERENCE = {"kind": "nuts", "chains": 4, "warmup": 500, "draws": 1000}
# The error of that reference: fits that are within so much of a limit, or beyond it, are compared with a longer one.
CLOSE, LONG = 0.05, {"kind": "nuts", "chains": 4, "warmup": 1000, "draws": 10000}


class Cell(NamedTuple):
    """One data set and how it is fitted."""

    dimension: int
    users: int
    model: str
    variant: str = PLAIN
    seed: int = 0

    def __str__(self) -> str:
        return f"d={self.dimension} users={self.users} {self.model} {self.variant} {self.seed}"

    @property
    def unit(self) -> float:
        """What outcomes are multiplied with."""
        return 1000.0 if self.variant == "outcomes × 1000" else 1.0

    @property
    def length(self) -> float:
        """The true ‖φ‖, of at most 2."""
        return 1.95 if self.variant == "φ at its bound" else 1.2

    @property
    def link(self):
        """The link, of variances of about 2."""
        if self.variant in LINKS:
            return LINKS[self.variant]
        return hrprob.Affine(self.unit**2, 2.0 * self.unit**2)


def cells() -> list[Cell]:
    """Return the grid: every dimension, size and model; at d = 4 other scales of every model, and other links.

    Shapes, which share programs, stand together; those where approximations are likeliest to fail come first.
    """
    found = []
    for model in ("truncated-normal", "student-t", "mixture", "gaussian"):
        variants = (*SCALES, *LINKS_OF[model])
        for d in (4, 16, 8, 2):
            for n in USERS:
                found += [Cell(d, n, model, one) for one in ((PLAIN, *variants) if d == 4 else (PLAIN,))]
    return found


def rounds(cell: Cell) -> Table:
    """Return rounds of users who are served at random until they leave, 20 per user at most."""
    rng = np.random.default_rng([cell.seed, cell.dimension, cell.users, MODELS.index(cell.model)])
    d, noise = cell.dimension, make_model(cell.model).noise
    theta, phi = (v / np.linalg.norm(v) for v in rng.normal(size=(2, d)))
    theta, phi = 0.7 * theta, cell.length * phi
    rows = []
    for user in range(cell.users):
        x = rng.normal(size=d)
        x /= np.linalg.norm(x)
        beta = rng.uniform(-1.0, 1.0)
        e = drawn(noise, rng)
        variance = float(cell.link(x @ phi)) / cell.unit**2
        r = x @ theta + np.sqrt(variance) * e
        stay = int(np.argmax(r < beta)) + 1 if (r < beta).any() else RECORDED
        rows += [(*x, cell.unit * value, user, cell.unit * beta) for value in r[:stay]]
    table = np.array(rows)
    return Table(table[:, :d], table[:, d], table[:, d + 1].astype(int), table[:, d + 2])


def drawn(noise, rng: np.random.Generator) -> np.ndarray:
    """Return the standardised noise of 20 rounds."""
    if noise.kind == "normal":
        return rng.normal(size=RECORDED)
    if noise.kind == "student-t":
        return rng.standard_t(noise.df, size=RECORDED) * np.sqrt((noise.df - 2.0) / noise.df)
    if noise.kind == "truncated-normal":
        return np.asarray(noise.quantile(rng.uniform(size=RECORDED)))
    (one, other), (narrow, wide) = noise.components()
    lower = rng.uniform(size=RECORDED) < noise.weight
    return np.where(lower, rng.normal(one, narrow, RECORDED), rng.normal(other, wide, RECORDED))


def fitted(cell: Cell, engine: object, seed: int = 0):
    """Return the posterior of a cell by an engine."""
    unit = cell.unit
    return hrprob.fit(
        rounds(cell),
        engine=engine,
        model=cell.model,
        link=cell.link,
        bounds=hrprob.Bounds(unit, 2.0),
        seed=seed,
    )


def both(posterior) -> np.ndarray:
    """Return draws of θ and φ (draws, 2d)."""
    draws = np.concatenate([posterior.theta, posterior.phi], axis=-1)
    return draws.reshape(-1, draws.shape[-1])


def reference(cell: Cell, engine: dict = REFERENCE) -> dict:
    """Return mean and sd by nuts, and its largest R-hat and divergences."""
    posterior = fitted(cell, engine, seed=1)
    draws, table = both(posterior), posterior.summary()
    return {
        "mean": draws.mean(axis=0).tolist(),
        "sd": draws.std(axis=0).tolist(),
        "rhat": float(table.rhat.max()),
        "divergences": int(posterior.divergences or 0),
        "rounds": len(posterior.table),
    }


def compared(cell: Cell, engine: str, against: dict, seed: int = 0) -> dict:
    """Return shift and ratio of an engine, whether they are within the targets, and whether it warned."""
    start = time.process_time()
    posterior = fitted(cell, engine, seed)
    seconds = time.process_time() - start
    draws, mean, sd = both(posterior), np.array(against["mean"]), np.array(against["sd"])
    shift = np.abs(draws.mean(axis=0) - mean) / sd
    ratio = draws.std(axis=0) / sd
    concerns = posterior.concerns()
    within = bool(
        shift.max() <= MOST_SHIFT[engine] and ratio.min() >= LEAST_RATIO and ratio.max() <= MOST_RATIO
    )
    return {
        "cell": str(cell),
        "engine": engine,
        "used": posterior.engine.kind,
        "shift": float(shift.max()),
        "least": float(ratio.min()),
        "most": float(ratio.max()),
        "within": within,
        "warned": bool(concerns),
        "concerns": concerns,
        "seconds": seconds,
    }


def is_close(row: dict) -> bool:
    """Say whether a fit is so near to a limit, or beyond it, that the error of the reference matters."""
    far = row["shift"] > MOST_SHIFT[row["engine"]] - CLOSE
    return far or row["least"] < LEAST_RATIO + CLOSE or row["most"] > MOST_RATIO - CLOSE


def played(folder: Path, say: Callable = print, backwards: bool = False) -> list[dict]:
    """Return a row per cell and engine; those that the folder has are not played again, each new one is written at once.

    Of two processes one may begin at the end: they stop where they meet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "engines.jsonl"
    references = {"": (folder / "nuts.jsonl", REFERENCE), "long": (folder / "long.jsonl", LONG)}
    before = None
    for cell in cells()[:: -1 if backwards else 1]:
        rows = {row["engine"]: row for row in fits(folder) if row["cell"] == str(cell)}
        for length, (nuts, sampler) in references.items():
            missing = [
                engine
                for engine in ENGINES
                if (
                    engine not in rows
                    if not length
                    else is_close(rows[engine]) and "long" not in rows[engine]
                )
            ]
            if not missing:
                continue
            if before != (shape := (cell.dimension, cell.users, cell.model)):
                jax.clear_caches()  # the programs of other shapes are not needed again
                before = shape
            known = {row["cell"]: row for row in read_lines(nuts)}
            if str(cell) not in known:
                known[str(cell)] = {"cell": str(cell), **reference(cell, sampler)}
                add_line(nuts, known[str(cell)])
            for engine in missing:
                row = rows[engine] = compared(cell, engine, known[str(cell)]) | (
                    {length: True} if length else {}
                )
                add_line(file, row)
                mark = "ok" if row["within"] else "warned" if row["warned"] else "SILENT"
                say(
                    f"{cell} {engine}: {row['shift']:.2f} [{row['least']:.2f}, {row['most']:.2f}] {mark} {length}"
                )
    return fits(folder)


def fits(folder: Path) -> list[dict]:
    """Return a row per cell and engine that the folder has, the later one of two."""
    return list({(row["cell"], row["engine"]): row for row in read_lines(folder / "engines.jsonl")}.values())


def rates(rows: list[dict]) -> dict:
    """Return by engine and model how many fits are within the targets, warned of, and neither."""
    found: dict = {}
    for engine in dict.fromkeys(row["engine"] for row in rows):
        own = [row for row in rows if row["engine"] == engine]
        for model in (*MODELS, "all"):
            some = [row for row in own if model == "all" or f" {model} " in row["cell"]]
            if not some:
                continue
            found.setdefault(engine, {})[model] = {
                "fits": len(some),
                "within": sum(row["within"] for row in some),
                "warned": sum(row["warned"] and not row["within"] for row in some),
                "silent": sum(not row["warned"] and not row["within"] for row in some),
                "needless": sum(row["warned"] and row["within"] for row in some),
                "shift": max(row["shift"] for row in some),
                "least": min(row["least"] for row in some),
                "most": max(row["most"] for row in some),
            }
    return found


def engines(folder: Path) -> dict:
    """Return the rates over the fits that the folder has, else over the grid, and every fit."""
    rows = fits(folder) or played(folder)
    wanted = {(str(cell), engine) for cell in cells() for engine in ENGINES}
    missing = wanted - {(row["cell"], row["engine"]) for row in rows}
    first = {(row["cell"], row["engine"]): row for row in read_lines(folder / "engines.jsonl")[::-1]}
    missing |= {key for key, row in first.items() if is_close(row)} - {
        (row["cell"], row["engine"]) for row in rows if "long" in row
    }
    if missing:
        raise ValueError(f"{len(missing)} fits are missing, {min(missing)} for one; play them first")
    longer = [row for row in rows if "long" in row]
    nuts = [row for name in ("nuts", "long") for row in read_lines(folder / f"{name}.jsonl")]
    kept = ("cell", "engine", "shift", "least", "most", "within", "warned", "long")
    return {
        "rates": rates(rows),
        "fits": [{name: row[name] for name in kept if name in row} for row in rows],
        "long": {
            "fits": len(longer),
            "cells": len({row["cell"] for row in longer}),
            "changed": sum(row["within"] != first[row["cell"], row["engine"]]["within"] for row in longer),
            "before": [first[row["cell"], row["engine"]] for row in longer],
        },
        "auto": dict(collections.Counter(row["used"] for row in rows if row["engine"] == "auto")),
        "concerns": sorted({words for row in rows for words in row["concerns"]}),
        "nuts": {
            "rhat": max(row["rhat"] for row in nuts),
            "divergences": sum(row["divergences"] for row in nuts),
        },
    }


if __name__ == "__main__":
    played(Path(sys.argv[1]), functools.partial(print, flush=True), "backwards" in sys.argv)
