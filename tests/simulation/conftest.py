"""What the simulation's tests share."""

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def plain() -> ModuleType:
    """The slow reference, plain.py beside this file."""
    path = Path(__file__).with_name("plain.py")
    spec = importlib.util.spec_from_file_location("plain", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
