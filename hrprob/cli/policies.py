"""``hrprob policies``: describe the policies that a configuration can name."""

from __future__ import annotations

import argparse
import json
from dataclasses import MISSING

from hrprob.cli.shared import Command, add_import, import_modules, print_text

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")
    add_import(parser)


def _run(arguments: argparse.Namespace) -> None:
    import_modules(arguments.modules)
    from hrprob.policies import POLICIES

    entries = POLICIES.describe()
    if arguments.json:
        for entry in entries:
            entry["parameters"] = {
                name: "required" if default is MISSING else default
                for name, default in entry["parameters"].items()
            }
        print_text(json.dumps(entries, indent=2, ensure_ascii=False, default=str))
        return
    for entry in entries:
        print_text(f"{entry['kind']}\n    {entry['description']}")
        for name, default in entry["parameters"].items():
            print_text(f"    {name} {_default(default)}")


def _default(default: object) -> str:
    if default is MISSING:
        return "(required)"
    return "(optional)" if default is None else f"= {json.dumps(default, default=str)}"


COMMAND = Command("policies", "describe the policies that a configuration can name", _add_arguments, _run)
