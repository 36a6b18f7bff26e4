"""How much five standard runs compile: programs, and operations in them.

Seconds depend on the machine and on what else runs there; these counts do not, and the time that compiling takes follows
them. ``program_counts.json`` has them by version of JAX, and ``test_program_counts.py`` compares. After a change
that is meant to alter them,

    python -m tests.program_counts

writes the file again for the version that is installed; the difference belongs into the same commit, with its reason.
With names of runs it prints the counts of these runs alone.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import jax
import numpy as np

import hrprob
from hrprob._core.compiled import forget_programs
from hrprob.io import config
from hrprob.io.run import run_experiment

__all__ = ["RUNS", "TABLE", "count", "version"]

TABLE = Path(__file__).with_name("program_counts.json")

# Shapes do not matter for the counts; that there are several chunks and blocks does not either.
_SIZES = {"users": 6, "trials": 2}


def version() -> str:
    """Return the version of JAX as the table has it: without its last part."""
    return jax.__version__.rpartition(".")[0]


def _configured(name: str) -> config.Experiment:
    with resources.as_file(resources.files("hrprob.experiments")) as folder:
        return config.read(Path(folder, name)).replace(**_SIZES)


def _run() -> None:
    """``hrprob run`` of HR-UCB alone, its files included."""
    experiment = _configured("paper.toml")
    first = dict(list(experiment.policies.items())[:1])
    with tempfile.TemporaryDirectory() as folder:
        run_experiment(experiment.replace(policies=first), Path(folder, "result"))


def _paper() -> None:
    """The paper's comparison: eight policies, of which three share a program."""
    experiment = _configured("paper.toml")
    hrprob.simulate(experiment.problem, experiment.policies, **_SIZES)


def _thompson() -> None:
    """Thompson sampling with its default engine."""
    hrprob.simulate(hrprob.Problem(), hrprob.Thompson(), **_SIZES)


def _hidden() -> None:
    """Hidden levels: values that are averages."""
    experiment = _configured("extensions/hidden.toml")
    hrprob.simulate(experiment.problem, experiment.policies, **_SIZES)


def _live() -> None:
    """A live agent, made and used."""
    agent = hrprob.Agent(hrprob.HRUCB(), dimension=4, actions=3)
    for outcome in (0.5, -0.5):
        agent.arrive(np.eye(4)[:3], beta=0.0)
        agent.observe(outcome)
        agent.leave()


RUNS: dict[str, Callable[[], None]] = {
    "run": _run,
    "paper": _paper,
    "thompson": _thompson,
    "hidden": _hidden,
    "live": _live,
}


def count(run: Callable[[], None]) -> dict[str, int]:
    """Return how many programs a run compiles, and how many operations they have before XLA optimises them."""
    jax.clear_caches()
    forget_programs()
    before = os.environ.get("JAX_DUMP_IR_TO", "")
    with tempfile.TemporaryDirectory() as folder:
        jax.config.update("jax_dump_ir_to", folder)
        try:
            run()
        finally:
            jax.config.update("jax_dump_ir_to", before)
        texts = [path.read_text(encoding="utf-8") for path in Path(folder).rglob("*_compile.mlir")]
    operations = sum(" = " in line for text in texts for line in text.splitlines())
    return {"programs": len(texts), "operations": operations}


def main() -> None:
    """Print the counts of some runs, or write those of all runs, for this version of JAX, into the table."""
    if len(sys.argv) > 1:
        print(json.dumps({name: count(RUNS[name]) for name in sys.argv[1:]}))
        return
    table = json.loads(TABLE.read_text(encoding="utf-8")) if TABLE.exists() else {}
    table[version()] = {name: count(run) for name, run in RUNS.items()}
    TABLE.write_text(json.dumps(table, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
