"""How often ``check`` finds faults, and how often it fails sound pages: data sets with known faults, by plain NumPy.

``python -m tests.quoted refresh checks`` makes 800 pages, which takes some twenty CPU minutes; ``python -m tests.quoted.checks FOLDER``
makes those that the folder does not have yet and may be stopped at any time (a second process: ``FOLDER backwards``), ``python -m
tests.quoted record checks FOLDER`` records them.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hrprob
from hrprob.fitting.table import Table
from tests.quoted.lines import add_line, read_lines

SIZES = (100, 400)
SETS = 20
THETA, PHI = np.array([0.6, 0.5, 0.5, 0.3]), np.array([0.5, 0.2, 0.8, 0.9])
ACTIONS, RECORDED = 5, 50

# Ten sound problems: truth, link, bounds, contexts and policy differ; fitted as they are.
SOUND = {
    "the paper's truth": {},
    "the paper's truth, ball": {"ball": True},
    "random choice": {"policy": "random"},
    "the oracle's choice": {"policy": "oracle"},
    "no heteroscedasticity": {"phi": np.zeros(4)},
    "variance near its bound": {"phi": np.array([1.0, 1.0, 1.0, 0.9])},
    "small mean": {"theta": np.zeros(4)},
    "other link": {"slope": 0.5, "offset": 1.0},
    "low levels": {"levels": (-2.0, 0.0)},
    "long and short stays": {"levels": (-3.0, 1.5)},
}


@dataclasses.dataclass(frozen=True)
class World:
    """Who is served, and how outcomes come about."""

    theta: np.ndarray = dataclasses.field(default_factory=lambda: THETA)
    phi: np.ndarray = dataclasses.field(default_factory=lambda: PHI)
    slope: float = 1.0
    offset: float = 2.0
    ball: bool = False
    policy: str = "greedy"
    levels: tuple[float, float] = (-1.0, 1.0)
    variance: Callable | None = None  # of a context, instead of the link
    shared: float = 0.0  # correlation of a user's rounds
    halved: bool = False  # record half of the contexts of every second user
    df: float = 0.0  # of Student-t noise

    def variance_at(self, x):
        """Return the variance at contexts (n, d)."""
        if self.variance is not None:
            return self.variance(x)
        return self.slope * (x @ self.phi) + self.offset


def play(world: World, users: int, seed: int) -> Table:
    """Return rounds of users who are served by an adaptive policy until they leave, 50 per user at most."""
    rng = np.random.default_rng([seed, users])
    gram, moment = np.eye(4), np.zeros(4)
    rows = []
    for user in range(users):
        x = rng.normal(size=(ACTIONS, 4))
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        if world.ball:
            x *= rng.uniform(size=(ACTIONS, 1)) ** 0.25
        beta = rng.uniform(*world.levels)
        estimate = np.linalg.solve(gram, moment)
        value = {
            "greedy": x @ estimate,
            "random": rng.uniform(size=ACTIONS),
            # The largest expected lifetime, with the truth known.
            "oracle": (x @ world.theta - beta) / np.sqrt(np.maximum(world.variance_at(x), 1e-9)),
        }[world.policy]
        chosen = x[int(np.argmax(value))]
        mean, sd = chosen @ world.theta, np.sqrt(max(float(world.variance_at(chosen[None])[0]), 1e-9))
        effect = rng.normal()
        for _ in range(RECORDED):
            noise = (
                rng.normal()
                if not world.df
                else rng.standard_t(world.df) * np.sqrt((world.df - 2) / world.df)
            )
            e = np.sqrt(world.shared) * effect + np.sqrt(1.0 - world.shared) * noise
            r = mean + sd * e
            seen = 0.5 * chosen if world.halved and user % 2 else chosen
            rows.append((*seen, r, user, beta))
            gram, moment = gram + np.outer(seen, seen), moment + r * seen
            if r < beta:
                break
    table = np.array(rows)
    return Table(table[:, :4], table[:, 4], table[:, 5].astype(int), table[:, 6])


def fitted(table: Table, *, slope=1.0, offset=2.0, bound=2.0, engine="laplace", seed=0):
    """Return the posterior under the normal model."""
    return hrprob.fit(
        table,
        engine=engine,
        link=hrprob.Affine(slope, offset),
        bounds=hrprob.Bounds(1.5, bound),
        seed=seed,
    )


def _same(posterior):
    return posterior


def _halved_spread(posterior):
    centre = posterior.phi.mean(axis=(0, 1))
    return dataclasses.replace(posterior, phi=centre + 0.5 * (posterior.phi - centre))


STOPPED = {"kind": "nuts", "chains": 4, "warmup": 10, "draws": 25}
FAULTS: dict[str, tuple[World, dict, Callable]] = {
    "users share an effect (ρ = 0.4)": (World(shared=0.4), {}, _same),
    "variance quadratic in x": (World(variance=lambda x: 0.5 + 6.0 * x[:, 0] ** 2), {}, _same),
    "offset 3 instead of 2": (World(), {"offset": 3.0}, _same),
    "prior excludes the truth": (World(), {"bound": 0.5}, _same),
    "contexts halved for half the users": (World(halved=True), {}, _same),
    "Student-t outcomes (5 degrees of freedom)": (World(df=5.0), {}, _same),
    "spread of φ halved": (World(), {}, _halved_spread),
    "variance 30 % too small": (World(), {"slope": 0.7, "offset": 1.4, "bound": 2.0}, _same),
    "sampler stopped early": (World(), {"engine": STOPPED}, _same),
    "policy that knows the truth": (World(policy="oracle"), {}, _same),
}


def page(world: World, options: dict, change: Callable, users: int, seed: int) -> dict:
    """Return the answer of one quick page, and the verdict of each check."""
    checked = change(fitted(play(world, users, seed), **options)).check(quick=True)
    return {
        "answer": checked.answer.answer,
        "verdicts": {one.name: one.verdict for one in checked.verdicts},
        "p_values": {one.kind: one.evidence(checked.results[one.kind]).p_value for one in checked.checks},
    }


def jobs(sets: int = SETS) -> list[tuple[dict, Callable[[], dict]]]:
    """Return every page by its name, and how it is made: faults, then sound problems, at each size."""
    found = []
    for name, given in FAULTS.items():
        for users in SIZES:
            for seed in range(sets):
                which = {"part": "faults", "name": name, "users": users, "seed": seed}
                found.append((which, functools.partial(page, *given, users, seed)))
    for number, (name, changes) in enumerate(SOUND.items()):
        options = {key: changes[key] for key in ("slope", "offset") if key in changes}
        for users in SIZES:
            for seed in range(sets):
                which = {"part": "sound", "name": name, "users": users, "seed": seed}
                truth = 1000 * number + 500 + seed
                found.append((which, functools.partial(page, World(**changes), options, _same, users, truth)))
    return found


def played(folder: Path, say: Callable = print, backwards: bool = False) -> list[dict]:
    """Return a row per page; those that the folder has are not made again, each new one is written at once.

    Of two processes one may begin at the end: they stop where they meet.
    """
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "checks.jsonl"
    for which, make in jobs()[:: -1 if backwards else 1]:
        if _name(which) not in {_name(row) for row in read_lines(file)}:
            row = which | make()
            add_line(file, row)
            say(
                f"{_name(row)}: {row['answer']} {[one for one, verdict in row['verdicts'].items() if verdict == 'fails']}"
            )
    return pages(folder)


def pages(folder: Path) -> list[dict]:
    """Return a row per page that the folder has."""
    return list({_name(row): row for row in read_lines(folder / "checks.jsonl")}.values())


def _name(row: dict) -> str:
    return f"{row['name']}, {row['users']}, {row['seed']}"


def counts(rows: list[dict]) -> dict:
    """Return how many pages answer each way, and how many have each check failed, and passed."""
    kinds = sorted({kind for row in rows for kind in row["verdicts"]})
    by_end = {
        end: {kind: sum(row["verdicts"].get(kind) == end for row in rows) for kind in kinds}
        for end in ("fails", "passes")
    }
    return {
        "pages": len(rows),
        **{answer: sum(row["answer"] == answer for row in rows) for answer in ("no", "yes", "cannot tell")},
        **{end: {kind: count for kind, count in found.items() if count} for end, found in by_end.items()},
    }


def checks(folder: Path) -> dict:
    """Return all rates, by fault, by sound problem, and over all of these, at each size: of the pages that the folder has, else of all."""
    rows = pages(folder) or played(folder)
    missing = {_name(which) for which, _ in jobs()} - {_name(row) for row in rows}
    if missing:
        raise ValueError(f"{len(missing)} pages are missing, {min(missing)} for one; play them first")

    def by_size(part: str, name: str | None) -> dict:
        own = [row for row in rows if row["part"] == part and name in (None, row["name"])]
        sizes = {users: [row for row in own if row["users"] == users] for users in SIZES}
        return {str(users): counts(some) for users, some in sizes.items() if some}

    return {
        "faults": {name: by_size("faults", name) for name in FAULTS},
        "sound": {
            "problems": {name: by_size("sound", name) for name in SOUND},
            "total": by_size("sound", None),
        },
    }


if __name__ == "__main__":
    played(Path(sys.argv[1]), functools.partial(print, flush=True), "backwards" in sys.argv)
