"""The whole report, small; and the coverage that the corrected sets promise under other noises."""

import json
import math

import numpy as np
import pytest

import hrprob
from hrprob._core.errors import InvalidInput
from hrprob.cli.main import main
from hrprob.theory import check_theory, report
from hrprob.theory.inequalities import NOT_A_CLAIM
from hrprob.theory.play import Sizes

SMALL = Sizes(rounds=30, users=20, replications=16, trials=8)


@pytest.mark.slow
def test_the_command_writes_report_numbers_and_figures(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(report, "QUICK", SMALL)
    out = tmp_path / "theory"
    assert main(["theory", "--quick", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Lemma 4, last step" in printed
    facts = json.loads((out / "manifest.json").read_text())
    assert facts["job"] == "theory"
    assert sorted(path.name for path in out.iterdir()) == sorted(facts["files"])
    numbers = json.loads((out / "theory.json").read_text())
    assert {one["design"] for one in numbers["inequalities"]} == {"fixed", "adaptive"}
    by_key = {one["key"]: one for one in numbers["inequalities"] if one["users"] == 20}
    # Identities and deterministic steps hold whatever the data are.
    for key in ("lemma-2", "lemma-4-split", "lemma-5-step", "lemma-a2", "lemma-a3", "theorem-1-ridge"):
        assert by_key[key]["verdict"] == "holds"
    page = (out / "report.html").read_text()
    # Page, file and terminal give one answer; the rate of the bound is a remark, not an inequality.
    assert numbers["answer"]["sentence"] in page
    assert numbers["answer"]["sentence"] in printed
    assert "lies below the regret of a random choice" in page
    assert not any("random choice" in str(one) for one in numbers["answer"]["verdicts"])
    assert all(one["statement"] for one in numbers["answer"]["verdicts"])
    # What the paper does not claim is measured, and no part of the answer.
    measured = {one["reference"] for one in numbers["inequalities"] if one["note"].startswith(NOT_A_CLAIM)}
    assert measured
    assert measured.isdisjoint(one["name"] for one in numbers["answer"]["verdicts"])
    assert page.count("data:image/png;base64") == 5
    assert 'src="http' not in page
    # A second call replaces its own result; another folder is refused.
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("keep")
    assert main(["theory", "--quick", "--out", str(tmp_path / "other")]) == 2
    assert (tmp_path / "other" / "mine.txt").read_text() == "keep"


@pytest.mark.slow
def test_costs_of_users_are_the_regret_that_a_simulation_reports():
    done = check_theory(sizes=SMALL, seed=3)
    policy = hrprob.HRUCB(growth=5, delta=0.1, ridge=1.0)
    run = hrprob.simulate(hrprob.Problem(), policy, users=21, trials=8, seed=3, keep="all")
    regret = run.regret.isel(policy=0).sel(user=20).values
    np.testing.assert_allclose(done.decompositions["released"].chain["regret"], regret, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"noise": hrprob.StudentT(5.0)}, "noise_scale"),
        ({"objective": hrprob.Reward()}, "problem"),
        ({"satisfaction": hrprob.InfiniteLevels()}, "satisfaction"),
    ],
)
def test_problems_that_the_theory_is_not_about_are_refused(change, field):
    with pytest.raises(InvalidInput) as error:
        check_theory(hrprob.Problem().replace(**change), sizes=SMALL)
    assert error.value.field == field


def test_policies_refuse_corrected_sets_under_noise_without_a_scale():
    problem = hrprob.Problem(noise=hrprob.StudentT(5.0))
    for radius in ("corrected", "explicit"):
        with pytest.raises(InvalidInput, match="no sub-Gaussian scale"):
            hrprob.HRUCB(radius=radius).bind(problem, 10)
    hrprob.HRUCB(radius="paper").bind(problem, 10)
    mixed = hrprob.HRUCB(radius="corrected").bind(hrprob.Problem(noise=hrprob.Mixture()), 10)
    assert float(mixed.width.confidence.noise_scale) == hrprob.Mixture().sub_gaussian_scale


NOISES = {
    "mixture": hrprob.Mixture(),
    "skewed mixture": hrprob.Mixture(weight=0.1, gap=2.5),
    "truncated": hrprob.TruncatedNormal(width=2.0),
}


@pytest.mark.study
@pytest.mark.parametrize("noise", NOISES)
def test_corrected_sets_for_theta_cover_under_other_noises(noise):
    """1024 replications, fixed and adaptive designs: at least nominal, for all sizes looked at together."""
    sizes = Sizes(rounds=1000, users=500, replications=1024, trials=32)
    done = check_theory(hrprob.Problem(noise=NOISES[noise]), sizes=sizes, seed=1)
    found = [one for one in done.findings if one.key == "lemma-1-all-n" and one.version == "corrected"]
    assert {one.design for one in found} == {"fixed", "adaptive"}
    for one in found:
        assert one.replications == 1024
        assert one.share_high <= 0.1, one
    # φ* in the version that is proved for the fixed design, measured in both.
    for one in done.findings:
        if one.key == "theorem-1-all-n" and one.version == "explicit":
            assert one.verdict == "holds"
    assert math.isfinite(done.noise_scale)
