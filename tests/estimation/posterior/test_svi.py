"""Variational inference: compilations, and narrow posteriors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hrprob._core.precision import double_precision
from hrprob.estimation.posterior import svi
from hrprob.estimation.posterior.engines import make_engine

from .comparing import against_nuts, long_stays


@pytest.mark.slow
def test_growing_data_compile_no_new_program(target, data):
    engine = make_engine({"kind": "svi", "steps": 20})
    with double_precision():
        parts = [jax.tree.map(lambda leaf, n=n: jnp.asarray(leaf[:n]), data) for n in (17, 25, 30)]
        start = engine.fit(target, parts[0], jax.random.key(0))
        before = svi._run._cache_size()
        for part in parts[1:]:
            start = engine.fit(target, part, jax.random.key(0), start)
        assert svi._run._cache_size() == before


@pytest.mark.slow
def test_svi_finds_a_posterior_far_narrower_than_the_prior(target):
    """Its steps follow the guide's own scale: with those of a wide posterior it is wrong by 0.4 standard deviations."""
    apart, ratio = against_nuts("svi", target, long_stays(np.full(100, 2e4), seed=2), 8000)
    assert apart.max() < 0.1
    assert np.abs(np.log(ratio)).max() < 0.1
