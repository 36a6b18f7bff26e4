"""Predictions from the past, leaving out, replaying, and pages, on one small posterior."""

import dataclasses
import json

import numpy as np
import pytest
from scipy import integrate, stats

import hrprob
from hrprob.fitting.checks.base import NO_PREDICTIONS, Check, Evidence, make_checks
from hrprob.fitting.checks.draws import DrawsCheck, DrawsResult
from hrprob.fitting.checks.inputs import CheckInputs
from hrprob.fitting.checks.leaving_out import pareto_weights
from hrprob.fitting.checks.prequential import prequential
from hrprob.fitting.checks.ranking import rank
from hrprob.fitting.checks.runner import decide
from hrprob.fitting.checks.sensitivity import Sensitivity, SensitivityResult
from hrprob.fitting.checks.shape import Shape, ShapeResult
from hrprob.fitting.checks.stays import replay
from hrprob.fitting.concerns import Concern
from hrprob.fitting.table import Table
from hrprob.io.verdicts import Verdict, conclude
from tests.fitting.checks.tables import played


@pytest.fixture(scope="module")
def table():
    return played(60)


@pytest.fixture(scope="module")
def posterior(table):
    return hrprob.fit(table, "laplace", draws=1024)


@pytest.fixture(scope="module")
def inputs(posterior):
    return CheckInputs(posterior, 0.01)


@pytest.mark.slow
def test_scores_add_up_to_the_log_marginal_likelihood(posterior, table):
    first = Table(table.x[:6], table.r[:6], table.user[:6], table.beta[:6])
    found = prequential(posterior.target, first)

    def likelihood(phi, theta):
        # Both uniform: on [−1, 1] and on [−2, 2].
        x = first.x[:, 0]
        return np.exp(np.sum(stats.norm.logpdf(first.r, theta * x, np.sqrt(2 + phi * x)))) / 8.0

    exact = np.log(integrate.dblquad(likelihood, -1, 1, -2, 2, epsabs=0, epsrel=1e-4)[0])
    assert found.log_marginal_likelihood == pytest.approx(exact, abs=max(0.02, 4 * found.error))


@pytest.mark.slow
def test_predictions_from_the_past_are_uniform_and_departures_are_predicted(inputs, table):
    found = inputs.prequential
    assert stats.kstest(found.pit, "uniform").pvalue > 0.01
    np.testing.assert_allclose(stats.norm.cdf(found.residual), found.pit, atol=1e-9)
    left = (table.r < table.beta).sum()
    assert abs(left - found.leaves.sum()) < 4 * np.sqrt(np.sum(found.leaves * (1 - found.leaves)))


@pytest.mark.slow
def test_leaving_out_users_of_one_round_is_leaving_out_rounds(posterior, table):
    alone = dataclasses.replace(posterior, table=dataclasses.replace(table, user=np.arange(len(table))))
    left = CheckInputs(alone, 0.01).left_out
    np.testing.assert_allclose(left.user_elpd, left.elpd)
    np.testing.assert_allclose(left.user_pit, left.pit)


@pytest.mark.slow
def test_replayed_stays_end_by_the_stopping_rule(inputs, posterior, table):
    replayed = replay(inputs)
    assert replayed.observed.sum() == len(table)
    # With one context per user the length is geometric: its mean over draws is that of 1/p.
    first = np.unique(inputs.users, return_index=True)[1]
    said = posterior.predict(table.x[first], beta=table.beta[first])
    lifetime = said.lifetime.sel(statistic="median").values
    ratio = replayed.replicated.mean(axis=0) / lifetime
    assert 0.8 < np.median(ratio) < 1.25
    overlap, usual = replayed.overlap
    assert usual - 0.1 < overlap <= 1.0


@pytest.mark.slow
def test_a_page_answers_and_its_data_have_the_agreed_form(posterior, tmp_path):
    checked = posterior.check()
    checked.write(tmp_path / "out")
    data = json.loads((tmp_path / "out" / "check.json").read_text())
    assert data["answer"] in ("yes", "no", "cannot tell")
    assert {one["name"] for one in data["verdicts"]} == {one.kind for one in make_checks()}
    assert all(set(one) == {"name", "verdict", "statement", "detectable"} for one in data["verdicts"])
    assert {one["verdict"] for one in data["verdicts"]} <= {"passes", "fails", "undecided"}
    page = (tmp_path / "out" / "check.html").read_text()
    answer = page.index(checked.answer.sentence.split(":")[0])
    assert page.index("<h1>") < answer < page.index("<details>")
    assert (tmp_path / "out" / "check-loo.png").exists()
    assert data["answer"] != "no"
    assert data["wanted_error_rate"] == 0.05
    scores = data["log_marginal_likelihood"]
    users = posterior.table.user
    assert list(scores["by_user"]) == [str(one) for one in dict.fromkeys(users.tolist())]
    assert sum(scores["by_user"].values()) == pytest.approx(scores["value"], abs=1e-9)
    of_last = checked.inputs.prequential.log_density[users == users[-1]].sum()
    assert scores["by_user"][str(users[-1])] == pytest.approx(of_last, abs=1e-9)


@pytest.mark.slow
def test_draws_with_half_the_spread_fail(posterior):
    centre = posterior.phi.mean(axis=(0, 1))
    narrow = dataclasses.replace(posterior, phi=centre + 0.5 * (posterior.phi - centre))
    checked = narrow.check(checks=["draws"])
    assert checked.answer.answer == "no"
    assert "phi[x1]" in checked.verdicts[0].statement


@pytest.mark.slow
def test_draws_do_not_pass_while_there_is_a_concern():
    def verdict(*concerns, shift=0.05):
        result = DrawsResult("laplace", "theta[x1]", shift, 1.0, 0.01, 1.0, 4000.0, concerns)
        return decide({"draws": DrawsCheck().evidence(result)})[0]

    assert verdict().verdict == "passes"
    doubted = verdict("Pareto k̂ is 1.20: take nuts")
    assert doubted.verdict == "undecided"
    assert "take nuts" in doubted.statement
    assert "nuts, may decide" in conclude([doubted]).sentence
    assert verdict("R-hat is 1.02", shift=0.5).verdict == "fails"


def test_concerns_reach_the_check(inputs, monkeypatch):
    assert DrawsCheck().compute(inputs).concerns == ()
    monkeypatch.setattr(
        "hrprob.fitting.checks.draws.about_draws", lambda posterior: [Concern("R-hat is 1.02")]
    )
    assert DrawsCheck().compute(inputs).concerns == ("R-hat is 1.02",)


def test_a_remedy_stands_beside_what_fails():
    [failed] = decide({"shape": Evidence("heavy tails", p_value=1e-6)}, {"shape": "student-t"}, "more rounds")
    assert str(failed).endswith("heavy tails. Try: student-t")
    assert conclude([failed]).to_plain()["remedies"] == {"shape": "student-t"}
    assert all(one.remedy for one in make_checks() if one.kind != "sensitivity")


def test_a_remedy_is_not_what_is_done_already(posterior):
    def advice(kind, **changes):
        target = dataclasses.replace(posterior.target, **changes)
        return make_checks([kind])[0].advice(dataclasses.replace(posterior, target=target))

    by_log = dataclasses.replace(posterior.setting, link=hrprob.LogLink(2.0))
    assert "log" in advice("variance")
    assert "log" not in advice("variance", setting=by_log)
    assert "offset" not in advice("specification", setting=by_log)
    assert "student-t" not in advice("shape", model=hrprob.models.make_model("student-t"))


def test_more_rounds_are_not_asked_for_where_a_check_does_not_exist():
    missing, few = {"mean": NO_PREDICTIONS}, {"shape": Evidence("few rounds")}
    assert "may decide" not in conclude(decide(missing, more="more than 9 rounds")).sentence
    assert (
        "; more than 9 rounds may decide"
        in conclude(decide(missing | few, more="more than 9 rounds")).sentence
    )


@pytest.mark.slow
def test_models_are_ranked_with_the_error_of_their_difference(posterior):
    def under(**model):
        target = dataclasses.replace(posterior.target, model=hrprob.models.make_model(model))
        return dataclasses.replace(posterior, target=target)

    # With so many degrees of freedom it is the normal model, to four digits.
    ranking = rank([under(kind="student-t", df=2.5), under(kind="student-t", df=1e6), posterior])
    first, second, third = ranking.rows
    assert third.model == "student-t (df 2.5)"
    assert {first.model, second.model} == {"gaussian", "student-t (df 1\u202f000\u202f000)"}
    assert first.behind == first.elpd_behind == 0.0
    assert 0.0 < second.behind < 0.1 < third.behind
    assert ranking.sentence.startswith(f"{first.model} comes first.")


def test_a_model_is_ranked_once(posterior):
    with pytest.raises(hrprob.InvalidInput, match="under different models, got 'gaussian and gaussian'"):
        rank([posterior, posterior])


@pytest.mark.parametrize(
    ("kurtosis", "significant", "remedy"),
    [
        (2.0, {"kurtosis": 1e-6}, "outcomes with heavier tails"),
        (-0.9, {"kurtosis": 1e-6}, "outcomes with lighter tails"),
        # A wrong scale, say: neither tails nor skewness are to blame.
        (0.1, {"distribution": 6e-7}, "see which of users, mean and variance fails"),
        (2.0, {"distribution": 6e-7, "kurtosis": 1e-6}, "outcomes with heavier tails"),
    ],
)
def test_the_remedy_of_a_wrong_shape_names_what_was_seen(kurtosis, significant, remedy):
    p_values = dict.fromkeys(("skewness", "kurtosis", "largest", "distribution"), 0.5) | significant
    result = ShapeResult(np.zeros(500), 0.0, kurtosis, 4.0, p_values, 0.01)
    [failed] = decide({"shape": Shape().evidence(result)}, {"shape": Shape.remedy})
    assert failed.verdict == "fails"
    assert failed.remedy.startswith(remedy)
    assert "PIT uniform: p " in failed.statement


def test_under_a_uniform_prior_only_draws_at_a_bound_are_looked_at():
    def verdict(*restricted, prior=0.0, at_bound=0.1):
        result = SensitivityResult(prior, "theta[x1]", 0.3, list(restricted), at_bound, 0.5)
        return decide({"sensitivity": Sensitivity().evidence(result)})[0]

    passed = verdict()
    assert (passed.verdict, passed.statement) == (
        "passes",
        "power scaling cannot tell under a uniform prior; 10\xa0% of the draws lie at a bound",
    )
    assert passed.detectable == "more than 50\xa0% of the draws within 2 % of a bound count"
    restricted = verdict("57% of draws have ‖φ‖ within 2 % of its bound 2", at_bound=0.57)
    assert (restricted.verdict, "57% of draws" in restricted.statement) == ("undecided", True)
    assert verdict(prior=0.02).verdict == "passes"
    assert verdict(prior=0.2).verdict == "undecided"


def test_users_stand_before_what_fails_because_of_them():
    kinds = [one.kind for one in make_checks()]
    assert kinds.index("users") < min(map(kinds.index, ("mean", "variance", "shape", "specification")))


@pytest.mark.slow
def test_rounds_that_few_points_predict_are_left_out():
    """Nine coefficients each for mean and log variance, and six rounds: the posterior is no normal distribution."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 9))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    r = 100.0 * (x @ rng.normal(size=9) + rng.normal(size=40))
    bounds = hrprob.Bounds(theta=1000.0, phi=10.0)
    # Predictions from the past have points of their own, so that the draws need not be refined.
    engine = {"kind": "laplace", "points": 0}
    posterior = hrprob.fit((x, r), engine, link=hrprob.LogLink(1e4), bounds=bounds, draws=256)
    inputs = CheckInputs(posterior, 0.01)
    made = inputs.prequential
    assert 5 < np.sum(~made.usable) < 40
    # Where all were tested, residuals were 30 sds and more.
    assert np.max(np.abs(made.residual[made.usable])) < 5.0
    assert made.log_marginal_likelihood == pytest.approx(made.log_density[made.usable].sum())
    inputs.__dict__["prequential"] = made._replace(usable=np.arange(40) > 34)
    assert (
        "only 5 of 40 rounds"
        in make_checks(["mean"])[0].evidence(make_checks(["mean"])[0].compute(inputs)).statement
    )


def test_p_values_are_adjusted_for_all_checks_of_a_page():
    few = {"one": Evidence("", p_value=0.02, within=True)}
    many = few | {str(number): Evidence("", p_value=0.5) for number in range(5)}
    assert decide(few)[0].verdict == "fails"
    assert [one.verdict for one in decide(many)] == ["passes"] + ["undecided"] * 5
    assert decide({"sound": Evidence("", sound=False)})[0].verdict == "fails"


def test_at_most_five_verdicts_stand_below_the_answer_and_fails_come_first():
    made = [Verdict(str(number), "passes", "") for number in range(6)] + [Verdict("bad", "fails", "wrong")]
    answer = conclude(made)
    assert (answer.answer, len(answer.shown), answer.shown[0].name) == ("no", 5, "bad")
    assert answer.lines()[-1] == "  and 2 more"


def test_checks_are_named_once():
    with pytest.raises(hrprob.InvalidInput, match="must name each kind once"):
        make_checks(["shape", "shape"])
    with pytest.raises(hrprob.InvalidInput, match="must be one or more checks"):
        make_checks("shape")
    assert {"sensitivity", "updating"}.isdisjoint(check.kind for check in make_checks(quick=True))


def test_a_check_states_what_it_could_have_detected_or_why_it_could_not(posterior, table):
    alone = dataclasses.replace(posterior, table=Table(table.x, table.r))
    inputs = CheckInputs(alone, 0.01)
    inputs.__dict__["prequential"] = None  # as for a model with unknowns beyond θ and φ
    for kind in ("users", "stays", "mean", "variance", "shape"):
        one: Check = make_checks([kind])[0]
        found = one.evidence(one.compute(inputs))
        assert found.sound is None
        assert found.statement


def test_draws_that_repeat_have_weights_and_an_infinite_shape():
    ratio = np.zeros((200, 2))
    ratio[:, 1] = np.random.default_rng(0).normal(size=200)
    log_weight, k = pareto_weights(ratio)
    np.testing.assert_allclose(np.exp(log_weight).sum(axis=0), 1.0)
    assert np.isfinite(log_weight).all()
    assert np.isinf(k[0])
    assert np.isfinite(k[1])
    # Draws with larger ratios weigh more.
    assert np.corrcoef(log_weight[:, 1], ratio[:, 1])[0, 1] > 0.99
