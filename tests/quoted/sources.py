"""Where quoted numbers come from: a command, and what is recorded of the files that it writes."""

import json
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import xarray

import hrprob
from hrprob.reproduce.parts import name_of
from hrprob.reproduce.published import published_trials
from tests.quoted import extensions
from tests.quoted.anytime import anytime
from tests.quoted.calibration import calibrated_coverage
from tests.quoted.checks import checks
from tests.quoted.engines import engines
from tests.quoted.explanations import explanations
from tests.quoted.forgetting import forgetting
from tests.quoted.inference import frontier
from tests.quoted.logs import logs
from tests.quoted.user_effect import user_effect
from tests.quoted.validity import validity

ROOT = Path(__file__).parents[2]


class Source(NamedTuple):
    """A command that writes into a folder, and a function that reads what is quoted from there."""

    command: list[str]  # with OUT for the folder; empty if `read` computes the values itself
    read: Callable[[Path], dict]
    what: str
    figures: Mapping[str, Path] = MappingProxyType({})  # figures of the folder that are shown, and where

    def record(self, name: str, folder: Path, play: bool = True) -> dict:
        """Run the command, if asked to, and return what is recorded under this name."""
        if self.command and play:
            command = [str(folder) if word == "OUT" else word for word in self.command]
            subprocess.run([sys.executable, "-m", "hrprob.cli", *command], check=True)
        said = "hrprob " + " ".join(word if word != "OUT" else "DIR" for word in self.command)
        return {
            "what": self.what,
            "command": said if self.command else f"python -m tests.quoted refresh {name}",
            "version": hrprob.__version__,
            "values": rounded(self.read(folder)),
        }


def rounded(values):
    """Return values with seven digits: more than any text shows, and the same on any processor."""
    if isinstance(values, dict):
        return {str(key): rounded(entry) for key, entry in values.items()}
    if isinstance(values, list | tuple):
        return [rounded(entry) for entry in values]
    return float(f"{values:.7g}") if isinstance(values, float) else values


def _load(folder: Path, name: str) -> dict:
    return json.loads((folder / name).read_text(encoding="utf-8"))


def reproduction(folder: Path) -> dict:
    """Return final regrets by part and policy, the verdicts, and the numbers of the evidence that texts quote."""
    data = _load(folder, "summary.json")
    regrets = {
        part: {name: entry["regret"]["30000"] for name, entry in policies.items()}
        for part, policies in data["policies"].items()
    }
    curves = {
        "/".join(["".join(curve["panels"]), curve["policy"]]): curve for curve in data["curve_verdicts"]
    }
    verdicts = [curve["verdict"] for curve in data["curve_verdicts"]]
    claims = {f"{claim['claim']} ({claim['setting']})": claim for claim in data["claims"]}
    return {
        "policies": regrets,
        "curves": {key.replace("/", " "): curve for key, curve in curves.items()},
        "curve_count": {name: verdicts.count(name) for name in ("holds", "fails", "undecided")},
        "first_users": {first["policy"]: first for first in data["first_users"]},
        "verdicts": _verdicts(data["claims"]),
        "late_ratio": late_ratios(claims, "released settings"),
        "late_share": late_share(claims, "released settings"),
        "published": _published(),
    }


def _verdicts(claims: list[dict]) -> dict[str, dict[str, str]]:
    """Return the verdict on each claim, by setting."""
    found: dict[str, dict[str, str]] = {}
    for claim in claims:
        found.setdefault(claim["claim"], {})[claim["setting"]] = claim["verdict"]
    return found


def late_share(claims: Mapping[str, dict], setting: str) -> dict[str, str]:
    """Return the late share of the gap between K = 2 and K = 5, ours and the published one, as the evidence has them."""
    evidence = claims[f"K matters only while users are few ({setting})"]["evidence"]
    ours, published = re.search(
        r"after user .*? is (\S+ \[\S+ \S+\]), of the published curves ([\d.]+);", evidence
    ).groups()
    return {"ours": ours, "published": published}


def late_ratios(claims: Mapping[str, dict], setting: str) -> dict[str, str]:
    """Return the late rates of regret as multiples of the limit's, as the evidence of the claims has them."""
    found = {}
    for policy in ("linucb", "sigma-max-ucb"):
        name = name_of(policy)
        evidence = claims[f"Over these users, {name} has linear regret ({setting})"]["evidence"]
        found[policy] = re.search(rf"{re.escape(name)}: .*?, (\S+ \[\S+ \S+\]) times the rate", evidence)[1]
    return found


def _published() -> dict:
    """Return the last point of panel d's CMDP, the one published curve whose single trials are known."""
    last = published_trials().regret[:, -1]
    return {"cmdp-d": {"mean": float(last.mean()), "se": float(last.std(ddof=1) / len(last) ** 0.5)}}


def suite(folder: Path) -> dict:
    """Return regrets, ratios and ranks of a suite, and how the default's regret spreads over trials."""
    data = _load(folder, "comparison.json")
    found = {}
    for name, problem in data["problems"].items():
        regret = {one["policy"]: one["regret"] for one in problem["standings"]}
        ratio = {policy: entry["ratio"] for policy, entry in data["ratios"][name].items()}
        found[name] = {"best": problem["standings"][0]["policy"], "regret": regret, "ratio": ratio}
    # Policies that are defined on one problem only have no place among the others.
    ranks = [rank for rank in data["ranks"] if rank["problems"] == len(found)]
    typical = sorted(ranks, key=lambda rank: rank["typical"]["mean"])
    return {
        "problems": found,
        "ranks": data["ranks"],
        "rank": {rank["policy"]: rank for rank in ranks},
        "count": {"problems": len(found), "policies": len(ranks)},
        "by_worst": _places(ranks),
        "by_typical": _places(typical),
        "first": typical[0],
        "second": typical[1],
        "spread": {name: _spread(folder / "parts" / f"{name}.nc") for name in found},
    }


def _places(ranks: list[dict]) -> dict:
    """Return the place of every policy, and the first ones by name."""
    names = [rank["policy"] for rank in ranks]
    return {"first": names[0], "second": names[1], "place": {name: names.index(name) + 1 for name in names}}


def _spread(file: Path) -> dict:
    """Return median and extremes over trials of the default's regret."""
    with xarray.open_dataset(file, engine="h5netcdf") as run:
        regret = run.regret.sel(policy="contextual-ids").isel(user=-1).values
    return {"median": float(np.median(regret)), "worst": float(regret.max())}


SOURCES = {
    "reproduce": Source(
        ["reproduce", "--out", "OUT"],
        reproduction,
        "the paper's figures, 20 × 30 000 users",
        {
            "figure2-released.png": ROOT / "experiments" / "reproduce" / "figure2.png",
            "validity.png": ROOT / "experiments" / "reproduce" / "validity.png",
        },
    ),
    "suite": Source(
        ["suite", "--out", "OUT"], suite, "all policies on the suite's problems, 20 × 5 000 users"
    ),
    "held-out": Source(
        ["suite", "--held-out", "15", "--out", "OUT"],
        suite,
        "all policies on 15 random problems, 20 × 5 000 users",
    ),
    "extensions": Source([], extensions.play_all, "experiments/extensions/*.toml, one `hrprob run` each"),
    "explanations": Source(
        [], explanations, "why the extensions gain or lose: the truth known, and runs with one thing changed"
    ),
    "forgetting": Source(
        [], forgetting, "experiments/drift/rotating.toml, three drifts and none, 20 × 20 000 users"
    ),
    "logs": Source([], logs, "coverage of intervals from simulated logs, 200 per design"),
    "anytime": Source(
        [],
        anytime,
        "how often likelihood-ratio sets ever miss the truth, 1024 data sets each, and how wide they are",
    ),
    "frontier": Source(
        ["frontier", "experiments/frontier/one-set.toml", "--out", "OUT"],
        frontier,
        "regret beside the coverage of intervals from the same data, one action set, 96 × 500 users",
        {"frontier.png": ROOT / "experiments" / "frontier" / "one-set.png"},
    ),
    "frontier-every": Source(
        ["frontier", "experiments/frontier/every-policy.toml", "--out", "OUT"],
        frontier,
        "the same for every policy that learns",
    ),
    "validity": Source([], validity, "the regret of optimism over the likelihood-ratio set, beside others"),
    "coverage": Source([], calibrated_coverage, "coverage of calibrated radii, 400 trials"),
    "engines": Source([], engines, "laplace, smc, svi and auto against nuts over the grid"),
    "user-effect": Source(
        [],
        user_effect,
        "ranks and coverage under the model of users who differ, 208 data sets from its prior",
    ),
    "checks": Source(
        [],
        checks,
        "faults that `check` finds and false alarms on ten sound problems, 20 data sets each at two sizes",
    ),
}
