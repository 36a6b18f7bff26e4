"""One small run that several tests look at."""

import pytest

import hrprob
from hrprob.io import manifest
from hrprob.io.config import Experiment
from hrprob.io.run import write_results
from hrprob.io.staging import staged
from tests.io.example import TRIALS, USERS


@pytest.fixture(scope="module")
def experiment():
    policies = {"Zufall (±)": hrprob.Random(), "oracle": hrprob.Oracle()}
    return Experiment(hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, 0.9]), policies, USERS, TRIALS, seed=3)


@pytest.fixture(scope="module")
def dataset(experiment):
    return hrprob.simulate(experiment.problem, experiment.policies, users=USERS, trials=TRIALS, seed=3)


@pytest.fixture(scope="module")
def facts(experiment, dataset):
    return manifest.run_manifest(
        experiment, dataset, keep="auto", command=["hrprob", "run"], wall_seconds=1.5, cpu_seconds=2.0
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory, dataset, facts):
    place = tmp_path_factory.mktemp("out") / "deep" / "result"
    with staged(place) as staging:
        write_results(staging, dataset, facts)
    return place
