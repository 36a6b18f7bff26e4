"""How often ``check`` finds faults, and how often it fails sound pages: data sets with known faults, by plain NumPy."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

import hrprob
from hrprob.fitting.table import Table

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


def _halved_spread(posterior):
    centre = posterior.phi.mean(axis=(0, 1))
    return dataclasses.replace(posterior, phi=centre + 0.5 * (posterior.phi - centre))


STOPPED = {"kind": "nuts", "chains": 4, "warmup": 10, "draws": 25}
FAULTS: dict[str, tuple[World, dict, Callable]] = {
    "users share an effect (ρ = 0.4)": (World(shared=0.4), {}, lambda one: one),
    "variance quadratic in x": (World(variance=lambda x: 0.5 + 6.0 * x[:, 0] ** 2), {}, lambda one: one),
    "offset 3 instead of 2": (World(), {"offset": 3.0}, lambda one: one),
    "prior excludes the truth": (World(), {"bound": 0.5}, lambda one: one),
    "contexts halved for half the users": (World(halved=True), {}, lambda one: one),
    "Student-t outcomes (5 degrees of freedom)": (World(df=5.0), {}, lambda one: one),
    "spread of φ halved": (World(), {}, _halved_spread),
    "variance 30 % too small": (World(), {"slope": 0.7, "offset": 1.4, "bound": 2.0}, lambda one: one),
    "sampler stopped early": (World(), {"engine": STOPPED}, lambda one: one),
    "policy that knows the truth": (World(policy="oracle"), {}, lambda one: one),
}


def page(world: World, options: dict, change: Callable, users: int, seed: int) -> dict:
    """Return the answer of one quick page, and which checks fail."""
    checked = change(fitted(play(world, users, seed), **options)).check(quick=True)
    return {
        "answer": checked.answer.answer,
        "fails": [one.name for one in checked.verdicts if one.verdict == "fails"],
    }


def faults(sets: int = SETS, say: Callable = print, sizes: tuple[int, ...] = SIZES) -> dict:
    """Return by fault and size: the share of pages that answer no, and which checks fail."""
    found: dict = {}
    for name, (world, options, change) in FAULTS.items():
        found[name] = {}
        for users in sizes:
            pages = [page(world, options, change, users, seed) for seed in range(sets)]
            kinds = sorted({kind for one in pages for kind in one["fails"]})
            found[name][str(users)] = {
                "no": sum(one["answer"] == "no" for one in pages),
                "yes": sum(one["answer"] == "yes" for one in pages),
                "pages": sets,
                "by_check": {kind: sum(kind in one["fails"] for one in pages) for kind in kinds},
            }
            say(f"{name}, {users}: {found[name][str(users)]}")
    return found


def false_alarms(sets: int = SETS, say: Callable = print) -> dict:
    """Return by sound problem the number of pages that answer no, yes and cannot tell."""
    found: dict = {}
    for number, (name, changes) in enumerate(SOUND.items()):
        world = World(**changes)
        options = {key: changes[key] for key in ("slope", "offset") if key in changes}
        pages = [
            page(world, options, lambda one: one, SIZES[0], 1000 * number + 500 + seed)
            for seed in range(sets)
        ]
        found[name] = {
            "pages": sets,
            "fails": [one["fails"] for one in pages if one["fails"]],
            **{
                answer: sum(one["answer"] == answer for one in pages)
                for answer in ("no", "yes", "cannot tell")
            },
        }
        say(f"{name}: {found[name]}")
    total = {key: sum(one[key] for one in found.values()) for key in ("pages", "no", "yes", "cannot tell")}
    return {"problems": found, "total": total}


def checks(folder: Path) -> dict:
    """Return all rates."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {"faults": faults(), "sound": false_alarms()}
    (folder / "checks.json").write_text(json.dumps(found, indent=2, ensure_ascii=False), encoding="utf-8")
    return found
