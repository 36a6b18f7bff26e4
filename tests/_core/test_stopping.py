"""Ctrl-C and SIGTERM are heard wherever they arrive, and hold back where they must."""

import gc
import signal
import time

import pytest

from hrprob._core.stopping import Terminated, stop_on_signals, undisturbed

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers")
SIGNALS = [(signal.SIGTERM, Terminated), (signal.SIGINT, KeyboardInterrupt)]


@pytest.mark.parametrize(("number", "error"), SIGNALS)
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_signal_in_a_callback_of_the_garbage_collector_is_not_lost(number, error):
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


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
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
