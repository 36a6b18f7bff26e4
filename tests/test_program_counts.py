"""What five standard runs compile does not grow unnoticed: programs and operations, not seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.program_counts import RUNS, TABLE, version

ROOT = Path(__file__).parents[1]

# Operations may grow by this factor before the table must be written again; programs may not grow at all.
FACTOR = 1.1


@pytest.fixture(scope="module")
def known() -> dict[str, dict[str, int]]:
    """Return the counts of the table."""
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    if version() not in table:
        pytest.skip(f"no counts for JAX {version()}: `python -m tests.program_counts` takes them")
    counts: dict[str, dict[str, int]] = table[version()]
    return counts


@pytest.fixture(scope="module")
def counted() -> dict[str, dict[str, int]]:
    """Count all runs as they are for the table: in one process, in which nothing else is compiled."""
    command = [sys.executable, "-m", "tests.program_counts", *RUNS]
    # Lines of the counted text name places in Python, which tests leave out (tests/conftest.py).
    environment = {
        key: value for key, value in os.environ.items() if key != "JAX_TRACEBACK_IN_LOCATIONS_LIMIT"
    }
    printed = subprocess.run(
        command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True
    ).stdout
    counts: dict[str, dict[str, int]] = json.loads(printed.splitlines()[-1])
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_a_standard_run_compiles_no_more_than_it_did(
    name: str, known: dict[str, dict[str, int]], counted: dict[str, dict[str, int]]
) -> None:
    assert counted[name]["programs"] <= known[name]["programs"]
    assert counted[name]["operations"] <= FACTOR * known[name]["operations"]
    # A table that is far too high guards nothing.
    assert counted[name]["operations"] >= known[name]["operations"] / FACTOR, "write the table again"
