"""What validity costs: ratios of regrets by hand, and a figure that names every policy."""

import numpy as np
import pytest
import xarray

from hrprob.reproduce.parts import PARTS
from hrprob.reproduce.validity_figure import PROMISES, figure_validity, price


def run():
    """Regrets that are proportional over three trials, so that ratios have no error."""
    policies = [name for name in PARTS["index"].panels["index"] if name != "random"]
    level = np.array([1.0, 1.1, 0.9])[:, None] * np.array([[50.0, 100.0]])
    regret = np.stack([(number + 1) * level for number in range(len(policies))])
    return xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)}, {"policy": policies, "user": [500, 1000]}
    )


def test_prices_are_ratios_to_the_likelihood_ratio_set():
    played = run()
    prices, place = price(played), played.policy.values.tolist().index("likelihood-ratio") + 1
    assert set(prices) == set(PROMISES)
    assert prices["likelihood-ratio"].mean == pytest.approx(1.0)
    assert prices["paper"].mean == pytest.approx(1.0 / place)


def test_the_figure_says_what_each_width_promises():
    (axes,) = figure_validity(run()).axes
    labels = [label.get_text() for label in axes.get_yticklabels()]
    assert sum("nothing" in label for label in labels) == 4
    assert any("closed form: tested" in label for label in labels)
    # A ratio beside every bar but that of the reference.
    assert sum("×" in text.get_text() for text in axes.texts) == len(PROMISES) - 1
