"""Jobs of a diagnosis: the same results wherever they are computed, kept, and not made again."""

import contextlib
import pickle

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics import experiment as diagnosing
from hrprob.diagnostics.one_fit import OneFitJob
from hrprob.diagnostics.posteriors import FitJob, Posteriors
from hrprob.diagnostics.replicated_errors import Errors, Replicated, ReplicationJob
from hrprob.diagnostics.replications import Replications
from hrprob.diagnostics.runner import Diagnosis
from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.io.chunks import ArrayFolder
from hrprob.io.config import Experiment
from hrprob.models import Setting, make_model, make_prior
from hrprob.simulation.data_sets import gather, gather_jobs
from tests.simulation.test_data_sets import PROBLEM, SEED, USERS, same_truths
from tests.sweeps.example import Elsewhere

GATHERED = {
    "users": USERS,
    "seed": SEED,
    "cap": np.inf,
    "fresh": 3,
}  # as those of tests.simulation.test_data_sets
TARGET = Target(make_model("gaussian"), make_prior("uniform"), Setting(2))


class Square:
    """A job that counts how often it is computed."""

    size = 1

    def __init__(self, number, calls):
        self.number, self.calls = number, calls

    def play(self, *, workers=None, report=lambda users: None, store=None):
        self.calls.append(self.number)
        report(1)
        return self.number**2

    def pack(self, result):
        return {"square": np.asarray(result)}

    def unpack(self, arrays):
        return int(arrays["square"])


def squares(store, scheduler=None, count=5):
    calls, reported = [], []
    jobs = [Square(number, calls) for number in range(count)]
    found = list(Replications(scheduler, store).run("some squares", jobs, reported.append))
    assert found == [number**2 for number in range(count)]
    assert sum(reported) == count
    return calls


@pytest.mark.parametrize("scheduler", [None, Elsewhere(lambda job: job.play())])
def test_finished_jobs_are_not_computed_again(tmp_path, scheduler):
    store = ArrayFolder(tmp_path / "jobs", "mark")
    assert sorted(squares(store, scheduler)) == list(range(5))
    assert squares(store, scheduler) == []
    file = tmp_path / "jobs" / "some-squares-0003.npz"
    whole = file.read_bytes()
    for damaged in (
        b"",
        whole[:-30],
        whole[:50] + bytes([whole[50] ^ 255]) + whole[51:],
        b"PK" + whole[2:90],
    ):
        file.write_bytes(damaged)
        assert squares(store, scheduler) in ([3], [])
    file.unlink()
    assert squares(store, scheduler) == [3]
    assert sorted(squares(ArrayFolder(tmp_path / "jobs", "other"), scheduler)) == list(range(5))
    assert squares(None) == list(range(5))


def test_a_job_may_be_computed_by_another_process():
    """What crosses the border is pickled."""
    here = gather(PROBLEM, hrprob.Greedy(), same_truths(), **GATHERED)
    elsewhere = Elsewhere(lambda job: pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(job)).play())))
    there = gather(PROBLEM, hrprob.Greedy(), same_truths(), **GATHERED, runner=Replications(elsewhere))
    assert len(elsewhere.played) == 1
    for one, other in zip(*(result_leaves(result) for result in (here, there)), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


def result_leaves(result):
    import jax

    return [np.asarray(leaf) for leaf in jax.tree.leaves(result)]


def job_and_result(name):
    rng = np.random.default_rng(0)
    gathering = gather_jobs(PROBLEM, hrprob.Greedy(), same_truths(), **GATHERED)[0]
    if name == "gathered":
        return gathering, gathering.play()
    if name == "fitted":
        job = FitJob(make_engine("laplace"), TARGET, None, np.arange(2), 2, (3, 5), 4, 0)
        return job, [Posteriors(rng.normal(size=(2, 4, 2)), rng.normal(size=(2, 4, 2))) for _ in range(2)]
    if name == "replicated":
        engine = make_engine("laplace")
        job = ReplicationJob(gathering, engine, TARGET, {}, np.zeros(0), 0.1, 1.0, np.asarray([10]), 0, 0)
        return job, Replicated(Errors(*rng.normal(size=(4, 2, 3, 1))), None)
    table = Table(x=np.ones((2, 2)) / 2, r=np.zeros(2), user=np.arange(2), beta=None)
    draws = rng.normal(size=(3, 1, 4, 2))
    made = Posterior(
        theta=draws[0],
        phi=draws[1],
        sites={"df": draws[2, :, :, 0]},
        statistics={"lp": draws[2, :, :, 1], "diverging": np.zeros((1, 4), bool)},
        log_ratio=draws[0, :, :, 0],
        table=table,
        target=TARGET,
        engine=make_engine("laplace"),
        seed=3,
    )
    return OneFitJob(table, make_engine("laplace"), TARGET, 3), made


@pytest.mark.parametrize("name", ["gathered", "fitted", "replicated", "one fit"])
def test_what_is_kept_comes_back_to_the_bit(tmp_path, name):
    job, result = job_and_result(name)
    store = ArrayFolder(tmp_path, "mark")
    store.save("job", job.pack(result))
    again = job.unpack(store.load("job"))
    assert type(again) is type(result)
    before, after = job.pack(result), job.pack(again)
    assert list(before) == list(after)
    for key in before:
        assert before[key].dtype == after[key].dtype
        assert before[key].tobytes() == after[key].tobytes()


@pytest.fixture
def experiment(monkeypatch):
    """An experiment whose diagnosis is the five squares; figures and reports are left out."""
    calls, interrupts = [], [KeyboardInterrupt]

    def diagnose(study, sizes, *, say, progress, finished, runner):
        for number in runner.run("squares", [Square(number, calls) for number in range(5)]):
            if number == 4 and interrupts:
                raise interrupts.pop()
        return Diagnosis(study, sizes, (), {})

    def side_by_side(function, arguments):
        return map(function, arguments)

    monkeypatch.setattr(diagnosing, "diagnose", diagnose)
    monkeypatch.setattr("hrprob.diagnostics.replications.side_by_side", side_by_side)
    monkeypatch.setattr(diagnosing, "write_data", lambda folder, done: None)
    # It would start a process.
    monkeypatch.setattr(diagnosing.plot, "save_in_background", lambda: contextlib.nullcontext(None))
    return Experiment(PROBLEM, {"random": hrprob.Random()}, 10, 2, seed=3), calls


def test_an_interrupted_diagnosis_goes_on(tmp_path, experiment):
    played, calls = experiment
    out = tmp_path / "out"
    with pytest.raises(KeyboardInterrupt) as stopped:
        diagnosing.diagnose_experiment(played, out, quick=True)
    assert any("--resume" in note for note in stopped.value.__notes__)
    assert calls == [0, 1, 2]
    with pytest.raises(InvalidInput, match=r"configuration\.run\.seed is 4, was 3"):
        diagnosing.diagnose_experiment(played.replace(seed=4), out, quick=True, resume=True)
    with pytest.raises(InvalidInput, match=r"sizes\.sets is 200, was 32"):
        diagnosing.diagnose_experiment(played, out, resume=True)
    diagnosing.diagnose_experiment(played, out, quick=True, resume=True)
    assert calls == [0, 1, 2, 3, 4]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (out / "manifest.json").exists()


def test_without_resume_a_diagnosis_begins_anew(tmp_path, experiment):
    played, calls = experiment
    with pytest.raises(KeyboardInterrupt):
        diagnosing.diagnose_experiment(played, tmp_path / "out", quick=True)
    diagnosing.diagnose_experiment(played, tmp_path / "out", quick=True)
    assert calls == [0, 1, 2, 0, 1, 2, 3, 4]
