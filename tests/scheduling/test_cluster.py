"""What comes back from workers, without any: futures that are made up."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from hrprob._core.errors import InvalidInput
from hrprob.io.unfinished import versions
from hrprob.scheduling import workers
from hrprob.scheduling.workers import Done, Preparation, play_in_worker
from hrprob.simulation.tasks import Task
from tests.cli.example import ROOT
from tests.sweeps.example import POLICIES, PROBLEM

distributed = pytest.importorskip("distributed")
cluster = pytest.importorskip("hrprob.scheduling.cluster")


class Client:
    def scheduler_info(self):
        return {"address": "tcp://10.0.0.1:8786"}


class Future:
    def __init__(self, outcome):
        self._outcome = outcome

    def result(self):
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome


def result_of(outcome):
    return cluster.DaskScheduler(Client())._result_of(Future(outcome))


def test_other_versions_are_refused():
    other = {**versions(), "code": "other"}
    with pytest.raises(InvalidInput, match=r"tcp://10.*code is 'other', was"):
        result_of(Done(None, other))
    assert result_of(Done("result", versions())) == "result"


def test_a_task_that_kills_its_workers_is_an_error_of_the_machine():
    with pytest.raises(ChildProcessError, match="workers died while they played one task"):
        result_of(distributed.KilledWorker("task", _Worker(), 10))


def test_a_worker_is_prepared_once(monkeypatch, tmp_path):
    played = []
    monkeypatch.setattr(Task, "play", lambda task, *, workers: played.append(workers))
    preparation = Preparation(("wave",), str(tmp_path), _prepare)
    task = Task(PROBLEM, POLICIES, 10, range(2), 0, "all")
    for _ in range(2):
        play_in_worker(task, preparation, 3)
    assert played == [3, 3]
    assert _calls == [None]


@pytest.mark.parametrize(("cores", "name", "wanted"), [(5, 1, {1, 3}), (5, 2, {0, 2, 4}), (1, 1, None)])
def test_processes_of_one_machine_share_its_cores(monkeypatch, cores, name, wanted):
    found = []
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(cores)), raising=False)
    monkeypatch.setattr(os, "sched_setaffinity", lambda process, chosen: found.append(chosen), raising=False)
    monkeypatch.setattr(distributed, "get_worker", lambda: SimpleNamespace(name=name))
    workers._stay_on_own_cores(2)
    assert found == ([] if wanted is None else [wanted])


@pytest.mark.parametrize(("given", "left"), [("65536", None), ("4096", "4096")])
def test_memory_is_kept_unless_somebody_says_otherwise(monkeypatch, tmp_path, given, left):
    monkeypatch.setenv("MALLOC_TRIM_THRESHOLD_", given)
    seen = []
    workers._prepare(
        Preparation((), str(tmp_path), lambda: seen.append(os.environ.get("MALLOC_TRIM_THRESHOLD_")))
    )
    assert seen == [left]


FORKS = """
import os
from hrprob.scheduling.forks import begin_imports

def facts():
    import sys
    from jax._src import xla_bridge
    return os.getpid(), os.getppid(), "jax" in sys.modules, bool(xla_bridge._backends)

if __name__ == "__main__":
    os.environ["SOME_VARIABLE"] = "first"
    before = dict(os.environ)
    print(begin_imports())
    # A command imports JAX beside that process: what JAX sets then is no other environment.
    import dask.base
    from hrprob.scheduling.opening import open_scheduler
    print(begin_imports(), before != dict(os.environ))
    with open_scheduler("local:2") as scheduler:
        ((one, server, *_), (other, same, *imported)) = scheduler._client.run(facts).values()
        print(server == same != os.getpid(), imported, len(os.listdir(f"/proc/{server}/task")))
        # Who writes a file now does not ask our scheduler for a lock.
        print(dask.base.get_scheduler())
    os.environ["SOME_VARIABLE"] = "second"
    print(begin_imports())
    print(scheduler._client.status, [os.path.exists(f"/proc/{pid}") for pid in (one, other)])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="processes are spawned there")
def test_processes_here_are_forks_of_one_that_has_imported_and_computed_nothing(tmp_path):
    (tmp_path / "script.py").write_text(FORKS)
    done = subprocess.run(
        [sys.executable, "script.py"],
        cwd=tmp_path,
        env={
            name: value
            for name, value in os.environ.items()
            if name not in {"TF_CPP_MIN_LOG_LEVEL", "TPU_SKIP_MDS_QUERY"}
        }
        | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "forkserver",
        "forkserver True",
        "True [True, False] 1",
        "None",
        "spawn",
        "closed [False, False]",
    ]


_calls = []


def _prepare():
    _calls.append(None)


class _Worker:
    address = "tcp://10.0.0.2:1"


def test_processes_that_cannot_be_started(monkeypatch):
    starts = []

    def fail(**options):
        starts.append(options["n_workers"])
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fail)
    with (
        pytest.raises(ChildProcessError, match="2 processes could not be started"),
        cluster.processes_here(2),
    ):
        pytest.fail("nothing may run")
    assert len(starts) == 3
