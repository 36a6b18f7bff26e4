"""Mean realised lifetimes."""

import numpy as np
import pytest

from hrprob import plot
from tests.plot.example import CASES, drawn, made_up


@pytest.mark.parametrize("endless", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_lifetimes_that_are_not_finite_are_called_so(endless):
    dataset = made_up([280, 300, 0])
    # One trial is enough to make the mean infinite.
    dataset.mean_lifetime[endless, 3] = np.inf
    figure = plot.plot_lifetime(dataset)
    drawn(figure)
    for axes in figure.axes:
        assert [text.get_text() for text in axes.texts] == ["not finite"] * len(endless)
    # Differences are from the longest finite lifetime.
    longest = {1: "policy 2", 2: "policy 1", 3: "policy 0"}[len(endless)]
    assert longest in figure.axes[1].get_xlabel()


def test_the_lifetimes_are_those_of_the_dataset():
    dataset = CASES["far apart"]
    axes = plot.plot_lifetime(dataset).axes
    assert [label.get_text() for label in axes[0].get_yticklabels()] == list(dataset.policy.values)
    # The oracle's lifetimes are longest; in the second panel its differences are zero.
    strokes = [line for line in axes[1].lines if len(line.get_xdata()) == dataset.sizes["trial"]]
    np.testing.assert_array_equal(strokes[2].get_xdata(), 0.0)
    assert "oracle" in axes[1].get_xlabel()
    assert [text.get_text() for text in axes[0].texts] == [
        f"← {dataset.mean_lifetime.values[3].mean():.4g}".replace("-", "−")
    ]


def test_lifetimes_that_vary_more_than_they_differ_share_a_scale():
    dataset = made_up([0, 0, 0, 0])
    scatter = np.random.default_rng(1).standard_normal(dataset.mean_lifetime.shape)
    scatter -= scatter.mean(axis=1, keepdims=True)
    # Of what is lost, 2e-4 is ten times 2e-5, and both are nothing beside a scatter of 4e-3.
    lost = np.array([0.0, 2e-5, 1e-5, 2e-4])[:, None]
    dataset["mean_lifetime"] = dataset.mean_lifetime.dims, 3.5 - lost + 4e-3 * scatter
    assert not any(list(axes.texts) for axes in plot.plot_lifetime(dataset).axes)
