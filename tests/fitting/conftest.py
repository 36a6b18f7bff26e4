"""A table of rounds and its posterior, fitted once for all tests of this folder."""

import pytest

import hrprob
from hrprob.models import MODELS
from tests.fitting.example import some_rounds


@pytest.fixture(scope="session")
def table():
    return some_rounds()


@pytest.fixture(scope="session")
def posterior(table):
    return hrprob.fit(table, "laplace", seed=3)


@pytest.fixture
def registered(monkeypatch):
    """Take the models that a test registers out again."""
    monkeypatch.setattr(MODELS, "_classes", dict(MODELS.kinds()))
