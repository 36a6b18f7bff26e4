"""From what ``--scheduler`` says to a scheduler."""

import builtins
import os
import pickle
import signal
import threading
import time

import numpy as np
import psutil
import pytest
import xarray

from hrprob._core.errors import InvalidInput
from hrprob.scheduling import opening
from hrprob.scheduling.opening import open_scheduler
from hrprob.simulation.tasks import Task, play_task
from tests.sweeps.example import POLICIES, PROBLEM


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("lokal", "`scheduler` must be a place"),
        ("local:0", "`scheduler` must be a whole number"),
        ("local:two", "`scheduler` must be a whole number"),
        ("local:", "`scheduler` must be a whole number"),
        ("tcp://", "`scheduler` must be a Dask scheduler"),
        ("nonsense://host:1", "`scheduler` must be a Dask scheduler"),
    ],
)
def test_what_is_no_place(place, words):
    with pytest.raises(InvalidInput, match=words), open_scheduler(place):
        pytest.fail("nothing may run")


def test_without_dask(monkeypatch):
    whole = builtins.__import__

    def without(name, globals=None, locals=None, fromlist=(), level=0):
        if fromlist and "cluster" in fromlist:
            raise ImportError("No module named 'distributed'")
        return whole(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InvalidInput, match=r"pip install 'hrprob\[dask\]'"), open_scheduler("local"):
        pytest.fail("nothing may run")


def test_an_error_of_another_process_is_the_same_error():
    error = InvalidInput("delta", "must lie in (0, 1)", np.array([1.5, 2.0]), "it is a probability")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_cores_here():
    assert opening._processes("local") == len(os.sched_getaffinity(0))
    assert opening._processes("local:3") == 3
    assert opening._processes("tcp://local") is None


def listening(pid):
    """Return the addresses at which a process listens."""
    return {link.laddr.ip for link in psutil.Process(pid).net_connections("inet") if link.status == "LISTEN"}


@pytest.mark.slow
def test_processes_play_to_the_same_bits_though_they_are_killed():
    tasks = [Task(PROBLEM, POLICIES, 2500, range(4), seed, "all") for seed in range(3)]
    with open_scheduler("local:1") as scheduler:
        workers = scheduler._client.run(os.getpid)
        killer = threading.Thread(
            target=lambda: (time.sleep(1.0), os.kill(*workers.values(), signal.SIGKILL))
        )
        killer.start()
        assert {address for pid in (os.getpid(), *workers.values()) for address in listening(pid)} == {
            "127.0.0.1"
        }
        played = dict(scheduler.play(tasks, lambda users: None, lambda number: None))
        killer.join()
        with pytest.raises(InvalidInput, match="must be a whole number"):
            next(scheduler.play([tasks[0]._replace(users=0)], lambda users: None, lambda number: None))
    for number, task in enumerate(tasks):
        here = play_task(task).drop_vars("seconds")
        xarray.testing.assert_identical(played[number].drop_vars("seconds"), here)
