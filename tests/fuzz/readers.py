"""Every reader of files, with a whole input of its own and what is checked of what it accepts."""

from __future__ import annotations

import functools
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import hrprob
from hrprob import kinds
from hrprob._core.errors import InvalidInput
from hrprob._core.tables import names_of
from hrprob._core.trust import trusting
from hrprob.comparison.runs import pool, read
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table, read_table
from hrprob.io import config
from hrprob.io.config import Experiment
from hrprob.io.manifest import check_file, read_manifest
from hrprob.live import saving
from hrprob.live.decision_log import read_log
from hrprob.live.evaluation.csv_log import as_log
from hrprob.live.replay import settings_of
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem.files import read_context_sets, read_levels
from hrprob.simulation.binding import bind
from hrprob.sweeps.design import read_design
from tests.fuzz.mutations import change_bytes, change_table, change_text, to_toml

__all__ = ["READERS", "Reader", "a_configuration", "feed", "prepare"]

PROBLEM = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9], contexts=hrprob.Sphere(actions=3))
PARTS: dict[str, list[dict[str, Any]]] = {
    "contexts": [
        {"kind": "sphere", "actions": 5},
        {"kind": "ball", "actions": 3},
        {"kind": "finite", "sets": [[[0.5, 0.1], [0.2, 0.8]], [[-0.3, 0.1], [0.0, 0.0]]]},
        {"kind": "drifting", "actions": 3, "pull": 2.0},
        {"kind": "withholding", "actions": 3},
    ],
    "satisfaction": [
        {"kind": "uniform", "low": -1.0, "high": 1.0},
        {"kind": "fixed", "level": 0.2},
        {"kind": "infinite"},
        {"kind": "normal", "mean": 0.0, "sd": 0.5},
        {"kind": "empirical", "levels": [0.1, -0.4, 0.9]},
        {"kind": "hidden", "of": {"kind": "uniform", "low": -1.0, "high": 1.0}},
        {"kind": "redrawn", "of": {"kind": "normal", "mean": 0.0, "sd": 0.5}},
        {"kind": "sequence", "levels": [0.0, 0.5]},
        {"kind": "function", "function": "no_such_module:level"},
    ],
    "noise": [
        {"kind": "normal"},
        {"kind": "student-t", "df": 5.0},
        {"kind": "truncated-normal", "width": 3.0},
        {"kind": "mixture", "weight": 0.3, "gap": 1.0, "ratio": 0.8},
    ],
    "objective": [
        {"kind": "lifetime"},
        {"kind": "reward"},
        {"kind": "mean-variance", "weight": 0.1},
        {"kind": "threshold", "threshold": 0.0},
    ],
    "link": [{"kind": "affine", "slope": 1.0, "offset": 2.0}],
}
# Those that are bound in a moment; binding the others computes something.
QUICK_POLICIES = (
    *("hr-ucb", "greedy", "linucb", "sigma-max-ucb", "random", "oracle", "epsilon-greedy", "explore-commit"),
    *("greedy-first", "weighted-oful", "hr-ucb-exact", "thompson-homoscedastic", "thompson-known-variance"),
)


@functools.cache
def words() -> list[str]:
    """Return all kinds and all names of their fields."""
    found = {"problem", "run", "policy", "name", "kind", "users", "trials", "seed", "theta", "phi", "bounds"}
    for name in kinds.FAMILIES:
        for kind, cls in kinds.family(name).kinds().items():
            found |= {kind, *names_of(cls)}
    return sorted(found)


def a_configuration(rng: random.Random) -> dict[str, Any]:
    """Return a configuration that is right."""
    problem: dict[str, Any] = {"theta": [0.6, 0.3], "phi": [0.5, -0.9], "bounds": {"theta": 1.0, "phi": 2.0}}
    problem |= {part: rng.choice(tables) for part, tables in PARTS.items() if rng.random() < 0.5}
    policies = [{"kind": kind, "name": kind} for kind in rng.sample(QUICK_POLICIES, rng.choice((1, 1, 2)))]
    return {"problem": problem, "run": {"users": 10, "trials": 2, "seed": 1}, "policy": policies}


class Reader(NamedTuple):
    """A reader of a sort of file."""

    make: Callable[[random.Random, Path], bytes]  # an input, from whole ones that `prepare` left in a folder
    read: Callable[[Path], Any]  # of a file with that input; it may raise InvalidInput only
    file: str = "input"


def _finite(*values: Any) -> None:
    for value in values:
        array = np.asarray(value)
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise AssertionError("NaN was accepted")


def _check_experiment(experiment: Experiment) -> None:
    json.dumps(config.resolved(experiment), allow_nan=False, default=_plain)
    for name, policy in experiment.policies.items():
        if policy.kind in QUICK_POLICIES and experiment.problem.dimension <= 8 and experiment.users <= 10**5:
            bind(name, policy, experiment.problem, experiment.users)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)


def _read_configuration(path: Path) -> None:
    with trusting(False):
        _check_experiment(config.read(path))


def _read_tables(path: Path) -> None:
    with trusting(False):
        _check_experiment(config.from_data(json.loads(path.read_text(encoding="utf-8"))))


def _read_sweep(path: Path) -> None:
    read_design(json.loads(path.read_text(encoding="utf-8")))


def _read_manifest(path: Path) -> None:
    facts = read_manifest(path.parent)
    check_file(path.parent, "results.nc", facts)
    if isinstance(facts.get("configuration"), dict):
        with trusting(False):
            config.from_data(facts["configuration"])


def _read_result(path: Path) -> None:
    for data in pool(read(path)).values():
        _finite(data.regret, data.lifetime, data.mean_lifetime)


def _read_posterior(path: Path) -> None:
    posterior = Posterior.load(path)
    _finite(posterior.theta, posterior.phi)


def _read_rounds(path: Path) -> None:
    table = read_table(path)
    _finite(table.x, table.r)


def _read_decisions(path: Path) -> None:
    events = list(read_log(path))
    settings_of(path, events[0] if events else None)


def _read_logged(path: Path) -> None:
    logged = as_log(path)
    _finite(logged.outcome, logged.propensity)


def _changed(name: str) -> Callable[[random.Random, Path], bytes]:
    return lambda rng, folder: change_bytes(rng, _whole(folder / name))


def _changed_text(name: str) -> Callable[[random.Random, Path], bytes]:
    return lambda rng, folder: change_text(rng, _whole(folder / name).decode())


@functools.cache
def _whole(path: Path) -> bytes:
    return path.read_bytes()


def _tables(rng: random.Random, folder: Path) -> bytes:
    return json.dumps(change_table(rng, a_configuration(rng), words())).encode()


def _toml(rng: random.Random, folder: Path) -> bytes:
    if rng.random() < 0.5:
        return change_bytes(rng, to_toml(a_configuration(rng)).encode())
    changed = change_table(rng, a_configuration(rng), words())
    text = to_toml(changed) if isinstance(changed, dict) else str(changed)
    return text.encode(errors="surrogatepass")


def _sweep(rng: random.Random, folder: Path) -> bytes:
    whole = {
        "problem.link.offset": {"low": 2.0, "high": 4.0, "points": 3, "scale": "log"},
        "policy.greedy.ridge": [0.5, 1.0],
        "method": rng.choice(("grid", "random", "latin-hypercube")),
        "draws": 4,
    }
    return json.dumps(change_table(rng, whole, [*whole, "low", "high", "whole", "seed"])).encode()


def _manifest(rng: random.Random, folder: Path) -> bytes:
    whole = _whole(folder / "run" / "manifest.json")
    if rng.random() < 0.5:
        return change_bytes(rng, whole)
    return json.dumps(change_table(rng, json.loads(whole), words())).encode()


def _decisions(rng: random.Random, folder: Path) -> bytes:
    lines = _whole(folder / "decisions.jsonl").decode().splitlines()
    if rng.random() < 0.4:
        return change_bytes(rng, "\n".join(lines).encode() + b"\n")
    place = rng.randrange(len(lines))
    lines[place] = json.dumps(change_table(rng, json.loads(lines[place]), words()))
    return "\n".join(lines).encode() + b"\n"


READERS = {
    "configuration": Reader(_tables, _read_tables),
    "toml": Reader(_toml, _read_configuration, "input.toml"),
    "sweep": Reader(_sweep, _read_sweep),
    "rounds": Reader(_changed_text("rounds.csv"), _read_rounds, "input.csv"),
    "levels": Reader(_changed_text("levels.csv"), lambda path: _finite(read_levels("levels", path))),
    "sets": Reader(_changed_text("sets.csv"), lambda path: _finite(read_context_sets(path))),
    "logged": Reader(_changed_text("logged.csv"), _read_logged, "input.csv"),
    "manifest": Reader(_manifest, _read_manifest, "run/manifest.json"),
    "netcdf": Reader(_changed("run/results.nc"), _read_result, "input.nc"),
    "posterior": Reader(_changed("posterior.nc"), _read_posterior, "input.nc"),
    "agent": Reader(_changed("agent.hrprob"), saving.read),
    "decisions": Reader(_decisions, _read_decisions, "input.jsonl"),
    "decisions as a log": Reader(_decisions, _read_logged, "input.jsonl"),
}
"""All readers by name."""


def feed(name: str, number: int, seed: int, folder: Path) -> bool:
    """Let a reader have input ``number``; return whether it is accepted. Anything but a refusal is raised."""
    reader, rng = READERS[name], random.Random(f"{name} {seed} {number}")
    path = folder / reader.file
    path.write_bytes(reader.make(rng, folder))
    try:
        reader.read(path)
    except InvalidInput as refused:
        if "\x1b" in str(refused) or not str(refused).strip():
            raise AssertionError(f"the message is {refused}") from refused
        return False
    return True


def prepare(folder: Path) -> None:
    """Write a whole input of every sort into a folder."""
    from hrprob.io.run import run_experiment

    experiment = Experiment(PROBLEM, {"one": hrprob.Random(), "oracle": hrprob.Oracle()}, 20, 2, seed=3)
    run_experiment(experiment, folder / "run")
    table = Table(np.eye(2)[[0, 1, 0, 1]] * 0.5, np.asarray([0.1, 0.9, -0.3, 0.2]))
    draws = np.random.default_rng(0).normal(size=(2, 1, 20, 2)) / 10
    statistics = {"lp": draws[0, :, :, 0]}
    target, engine = Target(make_model("gaussian"), make_prior("uniform"), Setting(2)), make_engine("laplace")
    Posterior(draws[0], draws[1], {}, statistics, draws[0, :, :, 0], table, target, engine, 0).save(
        folder / "posterior.nc"
    )
    (folder / "rounds.csv").write_text(
        "x1,x2,r,user,beta\n0.5,0.1,0.3,a,0.1\n0.2,0.8,-0.4,b,0.0\n0.1,0.1,1,b,0\n"
    )
    (folder / "levels.csv").write_text("beta\n0.5\n-1\n0.25\n")
    (folder / "sets.csv").write_text("context,action,x1,x2\n1,1,0.5,0.1\n1,2,0.2,0.8\n2,1,0,1\n2,2,0.3,0.3\n")
    (folder / "logged.csv").write_text(
        "user,action,propensity,r,beta,x1.0,x2.0,x1.1,x2.1\n1,0,0.5,0.3,0.1,0.1,0.2,0.3,0.4\n1,1,0.5,-0.3,0.1,0.1,0.2,0.3,0.4\n"
    )
    agent = hrprob.Agent(hrprob.Greedy(), dimension=2, actions=2, log=folder / "decisions.jsonl")
    agent.select("ann", [[0.1, 0.2], [0.5, 0.1]], 0.3)
    agent.select("bob", [[0.1, 0.3], [0.5, 0.2]], 0.1)
    agent.update("ann", 0.9)
    agent.close()
    agent.save(folder / "agent.hrprob")
