"""Run studies and write their results, or the tables of the documentation from them."""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import platform
from pathlib import Path
from typing import Any

from benchmarks.measure import prepare
from benchmarks.page import write_page

STUDIES = ("paper", "peers", "sampling", "growth", "long", "startup")
PEERS = ("mabwiser", "river", "bayesianbandits", "contextualbandits", "blackjax", "nutpie", "particles")
_RESULTS = Path(__file__).with_name("results.json")


def main() -> None:
    """Run the studies that were named."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure how fast hrprob is.")
    parser.add_argument(
        "studies", nargs="*", metavar="STUDY", help=f"of {', '.join(STUDIES)}; by default all"
    )
    parser.add_argument(
        "--out", type=Path, default=_RESULTS, metavar="FILE", help="results, a JSON file; replaced by study"
    )
    parser.add_argument(
        "--page", action="store_true", help="measure nothing, write the tables of the documentation"
    )
    arguments = parser.parse_args()
    if unknown := set(arguments.studies) - set(STUDIES):
        parser.error(f"no study is called {', '.join(sorted(unknown))}; there are {', '.join(STUDIES)}")
    known = json.loads(arguments.out.read_text(encoding="utf-8")) if arguments.out.exists() else {}
    if arguments.page:
        write_page(known)
        return
    prepare()
    for name in arguments.studies or STUDIES:
        result = importlib.import_module(f"benchmarks.{name}").run()
        known[name] = {"machine": _machine(), "versions": _versions(), **result}
        print(name, json.dumps(result, indent=1), flush=True)
        _write(arguments.out, known)


def _write(path: Path, results: Any) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    part.replace(path)


def _machine() -> dict[str, Any]:
    # The load says how quiet the machine was: CPU seconds are disturbed by it less than wall seconds.
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _versions() -> dict[str, str | None]:
    """Return the versions of what was measured; None for what is not installed."""
    versions: dict[str, str | None] = {}
    for package in ("hrprob", "jax", "numpyro", *PEERS):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = None
    return versions


if __name__ == "__main__":
    main()
