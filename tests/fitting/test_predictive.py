"""Draws from the prior, by site."""

import jax

from hrprob.fitting import predictive


def test_draws_of_the_prior_come_by_site(posterior):
    values = predictive.prior(posterior.target, posterior.table.x, jax.random.key(0), 50)
    assert {name: value.shape for name, value in values.items()} == {"theta": (50, 2), "phi": (50, 2)}
