"""The claims of the paper, on curves whose growth is known."""

import numpy as np
import pytest

from hrprob.reproduce.claims import LEAST_TRIALS, claims
from hrprob.reproduce.cmdp_counts import CMDPCounts
from tests.comparison.curves import USERS, run_of
from tests.quoted.sources import late_ratios, late_share


def curves_like_the_paper():
    return {
        "hr-ucb-k2": lambda t: 50 * np.log1p(t) + 140 * (1 - np.exp(-t / 1000)),
        "hr-ucb-k3": lambda t: 50 * np.log1p(t) + 40 * (1 - np.exp(-t / 1000)),
        "hr-ucb-k5": lambda t: 50 * np.log1p(t),
        "linucb": lambda t: 0.037 * t,
        # Exploration dies out: the rate falls, to that of the limit.
        "sigma-max-ucb": lambda t: 0.037 * t + 250 * (1 - np.exp(-t / 5000)),
        "cmdp": lambda t: 0.3 * t,
        "greedy": lambda t: 20 * np.log1p(t),
        "mean-oracle": lambda t: 0.037 * t,
        "coin-toss": lambda t: 0.3 * t,
        "random": lambda t: 0.3 * t,
    }


def decide(curves, panels=("a", "b", "b-cmdp", "c", "d"), **options):
    run = run_of(curves, **options)
    return {claim.claim: claim for claim in claims("s", dict.fromkeys(panels, run))}


@pytest.fixture(scope="module")
def decided():
    return decide(curves_like_the_paper())


def test_claims_hold_when_the_curves_support_them(decided):
    for claim in (
        "Over these users, HR-UCB has sublinear regret whatever K",
        "K matters only while users are few",
        "Smaller K costs slightly more",
        "Over these users, LinUCB has linear regret",
        "Over these users, CMDP has linear regret",
        # A test of the falling rate alone takes this one for sublinear.
        "Over these users, σ_max-UCB has linear regret",
        "HR-UCB beats LinUCB",
        "HR-UCB beats CMDP",
        "HR-UCB beats σ_max-UCB",
        "HR-UCB beats CMDP on the discrete sets",
    ):
        assert decided[claim].verdict == "holds", decided[claim]
    assert "greedy" in decided["HR-UCB beats LinUCB"].evidence


def test_claims_fail_when_the_curves_say_so():
    curves = curves_like_the_paper() | {
        "hr-ucb-k5": lambda t: 0.9 * t,
        "hr-ucb-k3": lambda t: 0.8 * t,
        "hr-ucb-k2": lambda t: 0.7 * t,
        "linucb": lambda t: 30 * np.log1p(t),
    }
    decided = decide(curves, panels=("a", "b"))
    for claim in (
        "Over these users, HR-UCB has sublinear regret whatever K",
        # The gap grows evenly: two thirds of it arise after a third of the users.
        "K matters only while users are few",
        "Smaller K costs slightly more",
        "Over these users, LinUCB has linear regret",
        "HR-UCB beats LinUCB",
    ):
        assert decided[claim].verdict == "fails", decided[claim]


def test_a_regret_of_root_t_is_not_linear():
    decided = decide(curves_like_the_paper() | {"sigma-max-ucb": lambda t: 2 * np.sqrt(t)})
    assert decided["Over these users, σ_max-UCB has linear regret"].verdict == "fails"


def test_noise_leaves_claims_undecided_and_says_what_it_would_take():
    decided = decide(curves_like_the_paper(), noise=0.6)
    linear = decided["Over these users, LinUCB has linear regret"]
    assert linear.verdict == "undecided"
    assert "trials" in linear.evidence
    costs = decided["Smaller K costs slightly more"]
    assert costs.verdict == "undecided"
    assert "it would take about" in costs.evidence


def test_a_late_difference_that_is_small_and_certain_does_not_refute_that_k_matters_early():
    """A test of exactly no late difference rejects it with enough trials; the share of the gap decides."""
    curves = curves_like_the_paper() | {
        "hr-ucb-k2": lambda t: 200 * (1 - np.exp(-t / 1000)) + 50 * np.log1p(t) + 5e-4 * t
    }
    claim = decide(curves, noise=1e-4)["K matters only while users are few"]
    assert claim.verdict == "holds"
    assert "of the published curves 0.23" in claim.evidence


def test_cmdp_on_other_users_is_compared_unpaired():
    curves = curves_like_the_paper()
    own = run_of({name: curves[name] for name in ("cmdp", "coin-toss")}, seed=1)
    others = run_of({name: curve for name, curve in curves.items() if name != "cmdp"})
    decided = {claim.claim: claim for claim in claims("s", {"b": others, "b-cmdp": own})}
    assert decided["HR-UCB beats CMDP"].verdict == "holds"
    assert "Welch" in decided["HR-UCB beats CMDP"].evidence


def test_a_cmdp_that_is_a_random_choice_is_called_that():
    run = run_of(curves_like_the_paper() | {"hr-ucb-k5-released-width": lambda t: 50 * np.log1p(t)})
    counts = {"cmdp": CMDPCounts(1000, 173205.0, 68700.0, 1.0)}
    decided = {claim.claim: claim for claim in claims("s", {"b": run, "b-cmdp": run}, counts)}
    assert (
        "needs 173\N{NARROW NO-BREAK SPACE}205 tries"
        in decided["Over these users, CMDP has linear regret"].evidence
    )
    assert "100.0\N{NO-BREAK SPACE}% of CMDP's choices were random" in decided["HR-UCB beats CMDP"].evidence


def test_whether_choices_tend_to_those_of_the_limit():
    run = run_of(curves_like_the_paper())
    rng = np.random.default_rng(0)
    differs = rng.random((20, len(USERS))) < 30.0 / np.sqrt(USERS)
    run["action"].loc[{"policy": "sigma-max-ucb"}] = differs.astype(int)
    remark = "Remark 4: over these users, σ_max-UCB tends to the action of the largest mean"
    assert {claim.claim: claim for claim in claims("s", {"c": run})}[remark].verdict == "holds"
    run["action"].loc[{"policy": "sigma-max-ucb"}] = (rng.random((20, len(USERS))) < 0.3).astype(int)
    assert {claim.claim: claim for claim in claims("s", {"c": run})}[remark].verdict == "fails"


def test_small_runs_decide_nothing():
    assert decide(curves_like_the_paper(), trials=LEAST_TRIALS - 1) == {}
    run = run_of(curves_like_the_paper()).sel(user=slice(None, 3000))
    assert claims("s", {"a": run, "b": run, "c": run, "d": run}) == []


@pytest.mark.parametrize("slope", [0.0, 0.9])
def test_no_run_decides_a_limit(slope):
    curves = curves_like_the_paper() | {
        f"hr-ucb-k{k}": lambda t: 50 * np.log1p(t) + slope * t for k in (2, 3, 5)
    }
    decided = decide(curves, panels=("a",))
    played = decided["Over these users, HR-UCB has sublinear regret whatever K"].verdict
    assert played == ("fails" if slope else "holds")
    limit = decided["Theorem 3: HR-UCB has sublinear regret as users grow without limit"]
    assert limit.verdict == "undecided"
    assert f"it {played}" in limit.evidence


def test_a_verdict_that_a_stricter_level_changes_says_so():
    # The late rate is 1.06 times the limit's: within 10 %, by about two standard errors.
    curves = curves_like_the_paper() | {"sigma-max-ucb": lambda t: 1.06 * 0.037 * t}
    words = {
        noise: decide(curves, panels=("c",), noise=noise)["Over these users, σ_max-UCB has linear regret"]
        for noise in np.linspace(0.01, 0.2, 20)
    }
    said = {
        claim.verdict
        for claim in words.values()
        if "with 95 % intervals the claim is undecided" in claim.evidence
    }
    assert said == {"holds"}
    assert "intervals the claim" not in words[0.01].evidence


def test_texts_can_quote_late_rates_and_shares(decided):
    claimed = {f"{name} (s)": claim._asdict() for name, claim in decided.items()}
    assert late_share(claimed, "s")["published"] == "0.23"
    ratios = late_ratios(claimed, "s")
    assert list(ratios) == ["linucb", "sigma-max-ucb"]
    for policy, words in ratios.items():
        mean, low, high = (float(word.strip("[],")) for word in words.split())
        assert low <= mean <= high, policy
        # The margin of "linear": the curves are those of the limit and a little above.
        assert low > 0.9, policy
        assert high < 1.1, policy
