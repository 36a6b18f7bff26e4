"""Ctrl-C and SIGTERM are heard wherever they arrive, and hold back where they must."""

import gc
import importlib
import signal
import sys
import time

import pytest

from hrprob._core import stopping
from hrprob._core.stopping import Terminated, stop_on_signals, undisturbed

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
SIGNALS = [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)]


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_a_signal_in_a_callback_of_the_garbage_collector_is_not_lost(number, error):
    # Nor is it printed where it was dropped: pytest would make an error of that.
    def collected(phase, facts):
        if phase == "start":
            gc.callbacks.remove(collected)
            signal.raise_signal(number)

    reached = []

    def work():
        gc.callbacks.append(collected)
        gc.collect()
        # Here the exception was dropped; the work goes on, until it is raised again.
        reached.append("after")
        for _ in range(200):
            time.sleep(0.05)
        reached.append("the end")

    with pytest.raises(error), stop_on_signals():
        work()
    assert reached == ["after"]


def test_a_signal_that_was_dropped_at_the_very_end_counts():
    class Last:
        def __del__(self):
            signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Terminated), stop_on_signals():
        Last()


def test_tidying_up_is_not_interrupted():
    tidied = []

    def work():
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            try:
                raise OSError
            except OSError:
                signal.raise_signal(signal.SIGINT)
                time.sleep(0.3)
            tidied.append("all")

    with pytest.raises(Terminated), stop_on_signals():
        work()
    assert tidied == ["all"]
    # And nothing rings later.
    time.sleep(0.2)


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_steps_that_belong_together_are_not_cut_in_two(number, error):
    steps = []

    def work():
        with undisturbed():
            signal.raise_signal(number)
            steps.append("second")
        steps.append("too far")

    with pytest.raises(error), stop_on_signals():
        work()
    assert steps == ["second"]


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)]
    with stop_on_signals(), undisturbed():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM)] == before


@pytest.fixture
def a_module(tmp_path, monkeypatch):
    """Return a function that writes a module, to be imported as a fresh one."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, name, raising=False)
        return name

    return write


@pytest.mark.parametrize(("number", "error"), SIGNALS)
def test_an_import_ends_before_a_signal_is_heard(a_module, number, error):
    name = a_module("slow_start", f"import signal\nsignal.raise_signal({int(number)})\nready = True\n")
    imported = []

    def work():
        imported.append(importlib.import_module(name).ready)
        time.sleep(10)
        imported.append("too far")

    with pytest.raises(error), stop_on_signals():
        work()
    assert imported == [True]


def test_an_import_that_hangs_is_stopped(a_module, monkeypatch):
    monkeypatch.setattr(stopping, "PATIENCE", 0.3)
    name = a_module(
        "hanging",
        "import signal, time\nsignal.raise_signal(signal.SIGTERM)\nwhile True:\n    time.sleep(0.01)\n",
    )
    with pytest.raises(Terminated), stop_on_signals():
        importlib.import_module(name)


def test_an_error_that_was_made_of_a_signal_is_the_signal():
    class Rings:
        def __set_name__(self, owner, name):
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), stop_on_signals():
        # Python before 3.12 makes a RuntimeError of what __set_name__ raises.
        type("Owner", (), {"field": Rings()})

    def wrapped():
        try:
            signal.raise_signal(signal.SIGTERM)
        except Terminated as error:
            failure = RuntimeError("wrapped by a library")
            failure.add_note("what was finished is kept")
            raise failure from error

    with pytest.raises(Terminated) as ended, stop_on_signals():
        wrapped()
    assert isinstance(ended.value.__cause__, RuntimeError)
    assert ended.value.__notes__ == ["what was finished is kept"]
