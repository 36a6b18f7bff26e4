"""A posterior and data for it, shared by the tests of all engines."""

import pytest

from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, make_model, make_prior

from .reference import USERS, gathered


@pytest.fixture(scope="module")
def target():
    return Target(make_model("gaussian"), make_prior("uniform"), Setting(4))


@pytest.fixture(scope="module")
def data():
    return gathered(USERS, seed=0)
