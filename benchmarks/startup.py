"""Seconds from nothing: import, first decision of a live agent, `hrprob run` and what it leaves; cold and with the cache of programs."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from benchmarks.measure import ROOT, in_process

__all__ = ["run"]

_AGENT = """
import numpy as np, hrprob
from hrprob.cli.jax_setup import prepare_jax
prepare_jax()
agent = hrprob.Agent({policy}, dimension=4, actions=20)
agent.arrive(np.eye(4)[np.arange(20) % 4], beta=0.0)
"""
_COMMAND = "from hrprob.cli import main; raise SystemExit(main({arguments!r}, own_process=True))"


def run() -> dict[str, Any]:
    """Measure, and return what the table needs."""
    result: dict[str, Any] = {"import hrprob": _cold_and_warm("import hrprob")}
    for name, policy in {"agent, HR-UCB": "hrprob.HRUCB()", "agent, Thompson": "hrprob.Thompson()"}.items():
        result[name] = _cold_and_warm(_AGENT.format(policy=policy))
    with tempfile.TemporaryDirectory() as folder:
        text = Path(ROOT, "experiments", "paper.toml").read_text(encoding="utf-8")
        # Up to the second policy: HR-UCB alone.
        first, second = text.split("[[policy]]")[:2]
        file = Path(folder, "hr-ucb.toml")
        file.write_text(f"{first}[[policy]]{second}", encoding="utf-8")
        arguments = ["run", str(file), "--out", str(Path(folder, "out")), "--quiet"]
        result["hrprob run, HR-UCB"] = _cold_and_warm(_COMMAND.format(arguments=arguments))
    return result


def _cold_and_warm(code: str) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        cold = in_process(code, HRPROB_CACHE=cache)[1]
        warm = [in_process(code, HRPROB_CACHE=cache)[1] for _ in range(2)]
    return {
        "cold": cold._asdict(),
        "warm": {"cpu": min(cost.cpu for cost in warm), "wall": min(cost.wall for cost in warm)},
    }
