"""What is diagnosed, and sizes that are refused."""

import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.diagnostics.study import QUICK, Sizes, make_study


def test_which_policy_gathers_and_which_engine_is_examined():
    problem, policies = hrprob.Problem(), {"a": hrprob.Greedy(), "b": hrprob.Thompson(engine="smc")}
    asked = make_study(problem, policies)
    assert (asked.policy.kind, asked.engine.kind) == ("thompson", "smc")
    asked = make_study(problem, policies, policy="a", engine="nuts")
    assert (asked.policy.kind, asked.engine.kind) == ("greedy", "nuts")
    # Data are gathered with an engine that lives in a compiled run; the one asked for is fitted to them.
    asked = make_study(problem, {"c": hrprob.Thompson(engine="nuts")})
    assert (asked.policy.engine.kind, asked.engine.kind) == ("laplace", "nuts")
    asked = make_study(problem, {"d": hrprob.Thompson(model="student-t")}, engine="smc")
    assert (asked.target.model.kind, asked.engine.kind) == ("student-t", "smc")


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("users", (), "must be numbers of users that rise"),
        ("users", (100, 10), "must be numbers of users that rise"),
        ("truth_users", (10, 10), "must be numbers of users that rise"),
        ("other_users", 101, "at most 100"),
        ("points", 0, "at least 1"),
        ("draws", 5, "at least 20"),
        ("fits", 0, "at least 1"),
        ("rounds", 5, "at least 10"),
        ("sampler_draws", 3, "at least 50"),
        ("models", ("gaussian", "nope"), "must be one of"),
        ("models", ("gaussian",), "two or more"),
        ("refit", 0.5, "at least 1"),
        ("sets", 10, "at least 20"),
    ],
)
def test_unusable_sizes_are_refused(field, value, words):
    with pytest.raises(InvalidInput) as caught:
        Sizes(**{field: value})
    assert caught.value.field == field
    assert words in str(caught.value)


def test_every_purpose_has_its_own_seed():
    study = make_study(hrprob.Problem(), seed=3)
    purposes = ("truths over the prior", "data over the prior", "rho", "one of my own", "another")
    assert len({study.seed_for(purpose) for purpose in purposes}) == len(purposes)
    assert study.seed_for("rho") == make_study(hrprob.Problem(), seed=3).seed_for("rho")
    assert study.seed_for("rho") != make_study(hrprob.Problem(), seed=4).seed_for("rho")


def test_policies_with_a_posterior_refit_as_the_sizes_say():
    study = make_study(hrprob.Problem()).refitting(QUICK.refit)
    assert study.policy.refit == study.thompson.refit == QUICK.refit
    greedy = make_study(hrprob.Problem(), {"a": hrprob.Greedy()}, policy="a")
    assert greedy.refitting(QUICK.refit).policy is greedy.policy
