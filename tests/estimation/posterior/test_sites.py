"""Programs: rows, threads."""

import sys
from concurrent.futures import ThreadPoolExecutor

import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior import sites
from hrprob.estimation.posterior.target import Target
from hrprob.models import Setting, Stays, make_model, make_prior, rounds


@pytest.mark.slow
def test_programs_can_be_run_in_several_threads(data):
    few = rounds(data.x[:4], np.linspace(-1, 1, 4))
    targets = [
        Target(make_model(kind), make_prior("uniform"), Setting(4)) for kind in ("student-t", "mixture")
    ]

    def densities(target):
        with double_precision():
            return [float(sites.log_density(target, (), jnp.full(8, 0.1), few)) for _ in range(8)]

    alone = [densities(target) for target in targets]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads interrupt each other everywhere
    try:
        with ThreadPoolExecutor(2) as pool:
            together = list(pool.map(densities, targets))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone


NO_ROWS = Stays(np.zeros((0, 4)), *(np.zeros(0) for _ in range(3)))


def test_no_rows_are_an_empty_one(target):
    wide, found = sites.padded(target, NO_ROWS)
    assert found == ()
    assert wide.rounds.tolist() == [0.0]
