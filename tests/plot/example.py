"""Datasets with known regrets, and the texts that a reader of a figure sees."""

import numpy as np
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

USERS = 3000


def made_up(finals, names=None, trials=8):
    """Return a dataset whose policies end near these regrets, growing like the 0.6th power."""
    random = np.random.default_rng(0)
    users = np.arange(1, USERS + 1)
    growth = (users / USERS) ** 0.6
    spread = 1 + 0.1 * random.standard_normal((len(finals), trials, 1))
    regret = np.array(finals)[:, None, None] * spread * growth
    lifetime = 3.5 - regret[:, :, -1] / USERS + 0.01 * random.standard_normal((1, trials))
    return xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret), "mean_lifetime": (("policy", "trial"), lifetime)},
        coords={
            "policy": names or [f"policy {place}" for place in range(len(finals))],
            "trial": np.arange(trials),
            "user": users,
        },
    )


CASES = {
    "alike": made_up([280, 300, 350, 700]),
    "far apart": made_up([280, 350, 0, 37000], ["greedy", "HR-UCB (K=5)", "oracle", "random"]),
    "two, far apart": made_up([280, 37000]),
    "many": made_up(list(range(100, 1500, 100))),
    "odd names": made_up(
        [280, 300, 500], ["$x_{i", "_hidden", "a very long name of a policy, with settings (K=5, delta=0.1)"]
    ),
    "one trial": made_up([280, 300], trials=1),
    "one policy": made_up([280]),
    "nothing lost": made_up([0, 0]),
    "names of one line": made_up(
        [280, 300, 200], ["HR-UCB, β redrawn", "HR-UCB, β kept", "Greedy, β redrawn"]
    ),
}


def drawn(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def texts(figure):
    """Return all visible texts; tick labels beyond the end of their axis are not drawn."""
    outside = set()
    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            shown = {id(tick) for tick in axis._update_ticks()}
            for tick in [*axis.get_major_ticks(), *axis.get_minor_ticks()]:
                if id(tick) not in shown:
                    outside |= {id(tick.label1), id(tick.label2)}
    return [
        text
        for text in figure.findobj(Text)
        if text.get_visible() and text.get_text() and id(text) not in outside
    ]
