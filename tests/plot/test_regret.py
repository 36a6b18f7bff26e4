"""Mean regret along the users."""

import numpy as np
import pytest

from hrprob import plot
from tests.plot.example import CASES, USERS, drawn, made_up


@pytest.mark.parametrize("case", CASES)
def test_every_policy_has_a_curve_and_a_legend_entry(case):
    dataset = CASES[case]
    figure = plot.plot_regret(dataset)
    names = ["".join(str(name).split()) for name in dataset.policy.values]
    legend = ["".join(text.get_text().split()).replace("\\$", "$") for text in figure.legends[0].get_texts()]
    assert legend == names
    for axes in figure.axes:
        assert len(axes.lines) == len(names)
        looks = {(line.get_color(), str(line.get_linestyle()), line.get_marker()) for line in axes.lines}
        assert len(looks) == len(names)
        assert axes.get_ylabel() == "regret (rounds)"
    assert figure.axes[-1].get_xlabel() == "users"


def test_curves_are_means_and_bands_are_t_intervals():
    dataset = made_up([280, 300], trials=5)
    axes = plot.plot_regret(dataset).axes[0]
    final = dataset.regret.values[0, :, -1]
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(final.mean())
    # Student's t with 4 degrees of freedom at 97.5 %: 2.776445.
    half = 2.776445 * final.std(ddof=1) / np.sqrt(5)
    band = axes.collections[0].get_paths()[0].vertices
    at_end = band[band[:, 0] == USERS, 1]
    assert at_end.min() == pytest.approx(final.mean() - half)
    assert at_end.max() == pytest.approx(final.mean() + half)


def test_policies_that_are_far_apart_can_all_be_read():
    """Each curve ends well above the bottom of a panel and below its top, zero apart."""
    for case in ("alike", "far apart", "two, far apart", "many"):
        dataset = CASES[case]
        figure = plot.plot_regret(dataset)
        drawn(figure)
        for place, final in enumerate(dataset.regret.isel(user=-1).mean("trial").values):
            heights = [
                axes.transAxes.inverted().transform(axes.transData.transform((USERS, final)))[1]
                for axes in figure.axes
                if final > 0 or axes.get_yscale() == "linear"
            ]
            assert any(0.05 < height < 1 for height in heights) or final == 0, (case, place)
    assert [axes.get_yscale() for axes in plot.plot_regret(CASES["far apart"]).axes] == ["linear", "log"]
    assert [axes.get_yscale() for axes in plot.plot_regret(CASES["alike"]).axes] == ["linear"]
    off = plot.plot_regret(CASES["far apart"]).axes[0].get_title(loc="left")
    assert off == "linear; off the scale: random"


def test_regret_that_is_not_finite_does_not_stop_the_figures():
    dataset = made_up([280, 300, 0])
    dataset.regret[1, :, USERS // 2 :] = np.inf
    drawn(plot.plot_regret(dataset))
    drawn(plot.plot_lifetime(dataset))
