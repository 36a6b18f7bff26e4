"""The engine: programs compiled before a run."""

import hrprob
from hrprob._core.precision import double_precision
from hrprob.simulation.engine import compile_programs, simulate
from hrprob.simulation.programs import advance


def test_a_run_whose_programs_were_compiled_adds_none():
    problem, policies = hrprob.Problem(), {"random": hrprob.Random(), "oracle": hrprob.Oracle()}
    with double_precision():
        compile_programs(problem, policies, 50, range(2))
    before = advance.count
    simulate(problem, policies, users=50, trials=2)
    assert advance.count == before
