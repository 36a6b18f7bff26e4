"""How far engines are from nuts, and whether they say so: dimensions, numbers of users, models and scales.

``python -m tests.quoted refresh engines`` plays the grid and writes the table of ``docs/explanation/engines.md``;
``python -m tests.quoted.engines --keep FOLDER [ENGINE ...]`` prints it, and keeps the draws of nuts in a folder.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import hrprob
from hrprob.fitting.table import Table
from hrprob.models import make_model

DIMENSIONS, USERS = (2, 4, 8, 16), (30, 300)
MODELS = ("gaussian", "student-t", "truncated-normal", "mixture")
ENGINES = ("laplace", "smc", "svi", "auto")
# Largest allowed shift of a mean, in sds of nuts, and ends of the ratio of sds.
MOST_SHIFT = {"laplace": 0.15, "smc": 0.2, "svi": 0.2, "auto": 0.15}
LEAST_RATIO, MOST_RATIO = 0.85, 1.15
RECORDED = 20
REFERENCE = {"kind": "nuts", "chains": 4, "warmup": 500, "draws": 1000}


class Cell(NamedTuple):
    """One data set and how it is fitted."""

    dimension: int
    users: int
    model: str
    scale: str = "unit"
    seed: int = 0

    def __str__(self) -> str:
        return f"d={self.dimension} users={self.users} {self.model} {self.scale} {self.seed}"

    @property
    def unit(self) -> float:
        """What outcomes are multiplied with."""
        return 1000.0 if self.scale == "outcomes × 1000" else 1.0

    @property
    def length(self) -> float:
        """The true ‖φ‖, of at most 2."""
        return 1.95 if self.scale == "φ at its bound" else 1.2


def cells(seeds: int = 1) -> list[Cell]:
    """Return the grid: every dimension, size and model in units of one, and other scales at d = 4."""
    grid = [Cell(d, n, model) for model in MODELS for d in DIMENSIONS for n in USERS]
    other = ("outcomes × 1000", "φ at its bound")
    grid += [Cell(4, n, model, scale) for model in MODELS for n in USERS for scale in other]
    return [cell._replace(seed=seed) for cell in grid for seed in range(seeds)]


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
        r = x @ theta + np.sqrt(x @ phi + 2.0) * e
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
        link=hrprob.Affine(unit**2, 2.0 * unit**2),
        bounds=hrprob.Bounds(unit, 2.0),
        seed=seed,
    )


def both(posterior) -> np.ndarray:
    """Return draws of θ and φ (draws, 2d)."""
    draws = np.concatenate([posterior.theta, posterior.phi], axis=-1)
    return draws.reshape(-1, draws.shape[-1])


def reference(cell: Cell, keep: Path | None = None) -> dict:
    """Return mean and sd by nuts, and its largest R-hat and divergences; kept in a folder where one is given."""
    file = None if keep is None else keep / f"{str(cell).replace(' ', '_').replace('×', 'x')}.json"
    if file is not None and file.exists():
        return json.loads(file.read_text(encoding="utf-8"))
    posterior = fitted(cell, REFERENCE, seed=1)
    draws, table = both(posterior), posterior.summary()
    found = {
        "mean": draws.mean(axis=0).tolist(),
        "sd": draws.std(axis=0).tolist(),
        "rhat": float(table.rhat.max()),
        "divergences": int(posterior.divergences or 0),
        "rounds": len(posterior.table),
    }
    if file is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(found), encoding="utf-8")
    return found


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


def played(engines: tuple[str, ...] = ENGINES, seeds: int = 1, keep: Path | None = None) -> Iterator[dict]:
    """Yield a row per cell and engine."""
    for cell in cells(seeds):
        against = reference(cell, keep)
        for engine in engines:
            yield compared(cell, engine, against)


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
    """Return the rates over the grid; rows that the folder has are not played again, all are written into it."""
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "engines.json"
    rows = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    if not rows:
        rows = list(played(keep=folder / "nuts"))
        file.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
    return {"rates": rates(rows)}


def main() -> None:
    """Print a line per cell and engine, and the rates."""
    parser = argparse.ArgumentParser()
    parser.add_argument("engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", default="", help="words that a cell must have")
    asked = parser.parse_args()
    rows = []
    for cell in cells(asked.seeds):
        if asked.only not in str(cell):
            continue
        against = reference(cell, asked.keep)
        for engine in asked.engines:
            rows.append(row := compared(cell, engine, against))
            mark = "ok " if row["within"] else "warned" if row["warned"] else "SILENT"
            print(
                f"{row['cell']:48s} {engine:8s} {row['shift']:.2f} [{row['least']:.2f}, {row['most']:.2f}] {mark:6s} "
                f"{row['seconds']:.1f} s {row['used']} {'; '.join(row['concerns'])[:110]}",
                flush=True,
            )
    if rows:
        print(json.dumps(rates(rows), indent=1))


if __name__ == "__main__":
    main()
