"""Plug-ins are loaded by the test that asks for them, and are gone after it."""

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

# A plug-in that is imported while tests are collected would be part of every contract test.
collect_ignore_glob = ["[!t]*.py"]


@pytest.fixture
def plugin(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Any], ModuleType]:
    """Return a function that imports a file of this folder, whose kinds enter a registry for one test."""

    def load(name: str, registry: Any) -> ModuleType:
        registry.kinds()
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
        spec = importlib.util.spec_from_file_location(
            f"plugin_{name}", Path(__file__).with_name(f"{name}.py")
        )
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return load
