"""Sets that hold for all n beside calibrated ones: verdicts from numbers that are known, and the numbers from data."""

import numpy as np
import pytest
import xarray

import hrprob
from hrprob.diagnostics.anytime import Anytime, AnytimeResult, plot_anytime
from hrprob.diagnostics.anytime_sets import KINDS, compare_promises
from hrprob.diagnostics.designs import designs


def table(always, count=64, noise="normal"):
    """Sets with these coverages at all n; radii 30, 3000, 9 and 9 where the error's quantile is 10."""
    n = [10, 1000]
    return xarray.Dataset(
        {
            "coverage": (("kind", "n"), np.tile([[0.98], [1.0], [0.9], [0.9]], 2)),
            "always": (("kind", "n"), np.stack([np.asarray(always)] * 2, axis=1)),
            "radius": (("kind", "n"), np.tile([[30.0], [3000.0], [9.0], [9.0]], 2)),
            "count": (("kind", "n"), np.full((4, 2), count)),
            "quantile": ("n", [10.0, 10.0]),
        },
        coords={"kind": list(KINDS), "n": n},
        attrs={"delta": 0.1, "noise": noise},
    )


class Written:
    """A page that records what is written on it."""

    def __init__(self):
        self.texts, self.tables = [], []

    def text(self, text):
        self.texts.append(text)

    def table(self, header, rows, caption="", good=None):
        self.tables.append((header, rows, caption))


@pytest.mark.parametrize(
    ("covered", "count", "good", "words"),
    [
        (1.0, 64, True, "likelihood-ratio set 98 % [93 %, 100 %], wider than calibrated"),
        (0.7, 64, False, "not valid"),
        (0.92, 24, None, "undecided (24 data sets would show 75 % or less)"),
    ],
)
def test_a_verdict_has_three_ends(covered, count, good, words):
    result = AnytimeResult({"fixed": table([covered, 1.0, 0.4, 0.5], count)}, "")
    (verdict,) = Anytime().verdicts(result)
    said = verdict.words.replace("\xa0", " ")
    assert verdict.good is good
    assert not verdict.counts
    assert words in said
    assert "not valid" in said  # the posterior's, in half of the data sets
    assert "Validity for all n costs a radius 3.3 times the posterior's" in said


def test_other_outcomes_are_promised_nothing():
    result = AnytimeResult({"fixed": table([1.0, 1.0, 0.4, 0.5], noise="student-t")}, "")
    (verdict,) = Anytime().verdicts(result)
    assert verdict.good is None
    assert "promises nothing" in verdict.words


def test_section_figure_and_numbers_agree():
    result, page = AnytimeResult({"fixed": table([0.95, 1.0, 0.4, 0.5])}, ""), Written()
    diagnostic = Anytime()
    diagnostic.write_section(page, result)
    ((header, rows, _),) = page.tables
    assert len(rows) == 2 * len(KINDS)
    assert rows[0][header.index("radius / quantile")] == "3"
    plain = diagnostic.to_plain(result)["anytime"]
    assert plain[4]["coverage_simultaneous"] == 0.95
    assert plain[5]["radius"] == 3000.0
    assert len(plot_anytime(result.sets).axes) == 2
    assert set(diagnostic.to_datasets(result)) == {"anytime/fixed"}
    (left_out,) = diagnostic.verdicts(AnytimeResult({}, "the link is not affine"))
    assert left_out.good is None


@pytest.mark.slow
def test_the_sets_are_those_of_their_definitions():
    problem = hrprob.Problem(theta=[0.5, 0.3], phi=[0.9, -0.6], contexts=hrprob.Sphere(actions=2))
    found = compare_promises(
        problem, designs(problem, 32)["fixed"], delta=0.1, most=32, replications=40, fits=2, seed=0
    )
    assert found.n.values.tolist() == [10, 32]
    assert found["count"].sel(n=32).values.tolist() == [40, 40, 40, 2]
    assert np.all(found.always <= found.coverage)
    # 40 data sets: below 31 hits would have probability 0.002 if the coverage were 90 %.
    assert float(found.always.sel(kind="likelihood-ratio", n=32)) >= 31 / 40
    assert float(found.always.sel(kind="rho", n=32)) == 1.0
    radius = found.radius.sel(n=32)
    assert float(radius.sel(kind="rho")) == pytest.approx(
        float(
            hrprob.ConfidenceSets(
                variance_max=4.0, dimension=2, ridge=1.0, slope=1.0, bound=2.0, bound_theta=1.0
            ).rho_simultaneous(32, 0.1)
        )
    )
    assert (
        float(radius.sel(kind="calibrated"))
        < float(radius.sel(kind="likelihood-ratio"))
        < float(radius.sel(kind="rho"))
    )
