"""What is said of draws at the edge of their ball, and of those that do not vary."""

import dataclasses

import numpy as np

from hrprob.estimation.posterior.engines import make_engine
from hrprob.estimation.posterior.target import Target
from hrprob.fitting.posterior import Posterior
from hrprob.fitting.table import Table
from hrprob.models import Setting, make_model, make_prior
from hrprob.problem import Bounds

# Radii that are no numbers of single precision.
SETTING = Setting(2, bounds=Bounds(1.1, 1.7))


def at_norms(prior, theta, phi, engine="nuts"):
    """A posterior of made-up draws, all of these norms."""
    angle = np.random.default_rng(0).uniform(0.0, 2.0 * np.pi, size=(2, 4, 500))
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    return Posterior(
        theta=theta * circle[0],
        phi=phi * circle[1],
        sites={},
        statistics={},
        log_ratio=np.zeros((4, 500)),
        table=Table([[0.5, 0.5]], [0.1]),
        target=Target(make_model("gaussian"), prior, SETTING),
        engine=make_engine(engine),
        seed=0,
    )


def test_draws_at_the_edge_of_a_smaller_ball_are_pressed_against_it(half):
    found = at_norms(half, 0.549, 0.849).concerns()
    assert found == [
        "100% of draws have ‖θ‖ within 2 % of its bound 0.55: "
        "if it may be larger, widen the ball of the prior's `theta`",
        "100% of draws have ‖φ‖ within 2 % of its bound 0.85: "
        "if it may be larger, widen the ball of the prior's `phi`",
    ]
    assert at_norms(make_prior("uniform"), 0.549, 0.849).concerns() == []


def test_draws_at_a_bound_ask_for_a_larger_one():
    theta, phi = at_norms(make_prior("uniform"), 1.099, 1.699).concerns()
    assert theta.endswith("within 2 % of its bound 1.1: if it may be larger, raise `bounds.theta`")
    assert phi.endswith("raise `bounds.phi` and the offset of the link")


def test_what_smc_cut_to_the_ball_is_told_by_its_radius(half):
    for prior, radius, remedy in (
        (make_prior("uniform"), 1.1, "its bound 1.1: take nuts, or raise `bounds.theta`"),
        (half, 0.55, "its bound 0.55: take nuts, or widen the ball of the prior's `theta`"),
    ):
        found = at_norms(prior, radius, 0.1, engine="smc").concerns()
        assert sum("cut to" in concern and concern.endswith(remedy) for concern in found) == 1


def test_what_does_not_vary_is_said_and_not_divided_by():
    made = at_norms(make_prior("uniform"), 0.5, 0.5, engine="laplace")
    ratio = np.random.default_rng(1).normal(scale=0.01, size=(4, 500))
    same = dataclasses.replace(made, theta=np.full((4, 500, 2), 0.25), log_ratio=ratio).concerns()
    assert [concern.partition(":")[0] for concern in same] == ["all draws of theta[x1] are the same"]
