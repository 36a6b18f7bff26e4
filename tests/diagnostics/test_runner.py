"""Diagnostics side by side: how they end, and diagnoses of small studies."""

import dataclasses
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import hrprob
from hrprob.diagnostics.calibration import Calibration
from hrprob.diagnostics.progress import Steps
from hrprob.diagnostics.reneging import Reneging
from hrprob.diagnostics.report import draw_figures
from hrprob.diagnostics.rho import Rho
from hrprob.diagnostics.runner import diagnose, run_side_by_side
from hrprob.diagnostics.sbc import SBC
from hrprob.diagnostics.study import QUICK, make_study

BALL = {"theta": [0.6, 0.3], "phi": [0.5, -0.9], "contexts": hrprob.Ball(actions=3)}


def test_results_come_as_tasks_end_and_none_is_skipped():
    first_is_out = threading.Event()

    def slow():
        assert first_is_out.wait(20)
        return "slow"

    results = []
    with Steps() as steps:
        for result in run_side_by_side([slow, lambda: None, lambda: "fast"], steps):
            results.append(result)
            first_is_out.set()
    assert results == ["fast", "slow"]


def test_a_task_that_fails_stops_the_others():
    begun = []

    class Broken(Exception):
        pass

    def failing():
        raise Broken

    def long(steps):
        for number in range(1000):
            with steps.step(str(number)):
                begun.append(number)
                time.sleep(0.01)

    with Steps() as steps, pytest.raises(Broken):
        list(run_side_by_side([failing, lambda: long(steps)], steps))
    assert len(begun) < 500


def test_a_step_that_fails_is_raised_while_others_still_run():
    go_on = threading.Event()

    def task(steps):
        def failing():
            with steps.step("sampler"):
                raise ArithmeticError

        with ThreadPoolExecutor(1) as pool:
            sampling = pool.submit(failing)
            with steps.step("long"):
                go_on.wait(20)
            return sampling.result()

    with Steps() as steps, pytest.raises(ArithmeticError):
        list(run_side_by_side([lambda: task(steps)], steps))
    assert not go_on.is_set()
    go_on.set()


@pytest.mark.study
@pytest.mark.parametrize("engine", ["nuts", "svi"])
def test_a_sampler_is_examined_on_some_of_the_data_sets(engine):
    small = dataclasses.replace(QUICK, sets=24, sampler_sets=20, users=(10, 12), draws=99)
    done = diagnose(make_study(hrprob.Problem(**BALL), engine=engine), small)
    assert done.result_of(Calibration).pit.sizes["data_set"] == 20
    assert done.result_of(SBC).tests[engine].attrs["data_sets"] == 20


@pytest.mark.study
def test_there_is_nothing_to_predict_where_all_users_leave():
    problem = hrprob.Problem(theta=[0.6, 0.3], phi=[0.5, -0.9], satisfaction=hrprob.InfiniteLevels())
    small = dataclasses.replace(QUICK, sets=20, truth_sets=20)
    done = diagnose(make_study(problem), small, diagnostics=["reneging"])
    assert [(verdict.part, verdict.good) for verdict in done.verdicts] == [("reneging", None)] * 2
    assert "nothing to predict" in done.verdicts[0].words
    assert list(draw_figures(Reneging(), done.result_of(Reneging))) == []


@pytest.mark.study
def test_a_design_without_rounds_is_left_out_and_that_is_said():
    sparing = {"HR-UCB": hrprob.HRUCB(growth=1)}  # nine rounds from nine users, where ten are wanted
    small = dataclasses.replace(QUICK, design_users=9)
    done = diagnose(make_study(hrprob.Problem(**BALL), sparing), small, diagnostics=["rho"])
    result = done.result_of(Rho)
    assert list(result.sets) == list(result.contributions) == ["fixed", "thompson"]
    left_out = [verdict for verdict in done.verdicts if "left out" in verdict.words]
    assert [(verdict.part, verdict.good) for verdict in left_out] == [("rho", None)]
    assert "hr-ucb design: left out, `users` must be enough" in left_out[0].words
