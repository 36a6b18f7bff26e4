"""The C limit: ``limit.c``, compiled for this machine and run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

__all__ = ["Limit", "compile_limit", "has_compiler", "run_limit"]

_SOURCE = Path(__file__).with_name("limit.c")
# Wider vectors are not faster on every machine: both widths are tried where the compiler knows the option.
_WIDTHS = ("-mprefer-vector-width=256", "-mprefer-vector-width=512")


class Limit(NamedTuple):
    """What the program printed."""

    cpu_seconds: float
    regret_mean: float
    regret_se: float
    lifetime_mean: float


def has_compiler() -> bool:
    """Whether there is a C compiler."""
    return shutil.which("cc") is not None


def compile_limit(folder: str | Path) -> Path:
    """Compile ``limit.c`` into a folder, and return the fastest of the programs."""
    basic = ["cc", "-O3", "-march=native", "-ffast-math"]
    programs = []
    for number, options in enumerate(([], *([width] for width in _WIDTHS))):
        program = Path(folder, f"limit{number}")
        done = subprocess.run(
            [*basic, *options, "-o", str(program), str(_SOURCE), "-lm"],
            capture_output=True,
            check=not options,
        )
        if not done.returncode:
            programs.append(program)
    return min(programs, key=lambda program: min(run_limit(program, 5000).cpu_seconds for _ in range(3)))


def run_limit(program: Path, users: int = 30000, trials: int = 20, seed: int = 0) -> Limit:
    """Run the program."""
    printed = subprocess.run(
        [str(program), str(users), str(trials), str(seed)], check=True, capture_output=True, text=True
    ).stdout
    return Limit(**json.loads(printed))
