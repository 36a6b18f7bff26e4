"""Work beside the caller."""

import subprocess
import sys
import threading

import jax.numpy as jnp
import pytest

from hrprob._core.parallel import in_background


def test_calls_follow_each_other_in_one_thread_and_in_double_precision():
    with in_background() as submit:
        names = [submit(lambda: threading.current_thread().name) for _ in range(3)]
        kind = submit(lambda: jnp.ones(()).dtype)
        assert len({name.result() for name in names}) == 1
        assert kind.result() == "float64"


def test_an_error_belongs_to_its_own_call():
    with in_background() as submit:
        failing, sound = submit(lambda: 1 // 0), submit(lambda: 1)
        assert sound.result() == 1
        with pytest.raises(ZeroDivisionError):
            failing.result()


def test_calls_that_have_not_begun_are_dropped_when_the_caller_fails():
    started, go_on = threading.Event(), threading.Event()

    def wait():
        started.set()
        go_on.wait(10)
        return "done"

    def fail_while_one_runs():
        with in_background() as submit:
            calls[:] = [submit(wait), submit(lambda: "never")]
            started.wait(10)
            threading.Timer(0.05, go_on.set).start()
            raise RuntimeError("stop")

    calls = []
    with pytest.raises(RuntimeError, match="stop"):
        fail_while_one_runs()
    running, waiting = calls
    assert running.result() == "done"
    assert waiting.cancelled()


def test_threads_do_not_import_the_same_package_at_once():
    code = """
import importlib, sys, threading
import xarray
from hrprob._core.parallel import import_for_threads

def first_use(*given):
    try:
        xarray.Dataset().to_netcdf(engine="h5netcdf") if given else importlib.import_module("dask.base")
    except ImportError as error:
        print(error)

import_for_threads()
sys.setswitchinterval(1e-5)
threads = [threading.Thread(target=first_use, args=given) for given in [(1,), (), ()]]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
