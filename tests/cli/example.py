"""A small configuration, and the command line as a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

import hrprob
from tests.helpers import without_loading

ROOT = Path(hrprob.__file__).parents[1]


SMALL = """
[problem]
theta = [0.6, 0.3]
phi = [0.5, 0.9]
[run]
users = 1500
trials = 3
seed = 5
[[policy]]
kind = "random"
name = "Zufall ±"
[[policy]]
kind = "oracle"
"""


# The sizes are the same in every test, so that programs are compiled once.
FEW = ("--users", 40, "--trials", 2)


def start(*arguments, **options):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "error"}
    command = [sys.executable, "-m", "hrprob.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **options)


def only_progress(err):
    """Return whether stderr has nothing but lines about progress."""
    lines = without_loading(err).splitlines()
    return all(line.startswith("compiling ") or "users served" in line for line in lines)
