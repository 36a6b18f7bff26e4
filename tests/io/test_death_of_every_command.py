"""Every command that writes a folder has a test of death at any of its file operations."""

import argparse
import importlib

import pytest

from hrprob.cli.main import COMMANDS

TESTS = {
    "run": ("tests.io.test_death", "test_a_run_that_dies_at_any_file_operation"),
    "sweep": ("tests.sweeps.test_sweep", "test_a_sweep_that_dies_at_any_file_operation"),
    "fit": ("tests.io.test_death_of_other_jobs", "test_a_fit_that_dies_at_any_file_operation"),
    "diagnose": ("tests.io.test_death_of_other_jobs", "test_a_diagnosis_that_dies_at_any_file_operation"),
    "compare": ("tests.io.test_death_of_pages", "test_a_comparison"),
    "suite": ("tests.io.test_death_of_pages", "test_a_suite"),
    "reproduce": ("tests.io.test_death_of_pages", "test_a_reproduction"),
    "check": ("tests.io.test_death_of_pages", "test_a_check"),
    "theory": ("tests.io.test_death_of_pages", "test_a_theory"),
    "frontier": ("tests.io.test_death_of_pages", "test_a_frontier"),
    "evaluate": ("tests.io.test_death_of_pages", "test_numbers"),
    "repeat": ("tests.io.test_death_of_pages", "test_numbers"),
}


def writes(command):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    return any("--out" in action.option_strings for action in parser._actions)


def test_every_command_that_writes_a_folder_is_among_them():
    assert {name for name, command in COMMANDS.items() if writes(command)} == set(TESTS)


@pytest.mark.parametrize("command", TESTS)
def test_its_test_is_there(command):
    module, name = TESTS[command]
    assert callable(getattr(importlib.import_module(module), name))
