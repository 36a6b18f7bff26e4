"""Figures of a posterior."""

import numpy as np
import pytest

from hrprob.fitting import figures


def test_figures_have_what_they_say(posterior):
    forest = figures.plot_coefficients(posterior, prob=0.8)
    assert [len(axes.get_yticklabels()) for axes in forest.axes] == [2, 2]
    upper, lower = figures.plot_outcomes(posterior, prob=0.8).axes
    # 60 rounds make 7 groups, whose points are inside or out.
    for axes in (upper, lower):
        assert sum(len(line.get_xdata()) for line in axes.lines if line.get_marker() in ("o", "X")) == 7
    means = np.concatenate([line.get_ydata() for line in upper.lines if line.get_marker() in ("o", "X")])
    assert means.mean() == pytest.approx(posterior.table.r.mean(), abs=0.05)
