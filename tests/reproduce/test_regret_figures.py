"""Figure 2 with fewer panels than the paper's."""

import numpy as np
import pytest
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg

from hrprob.reproduce.regret_figures import figure_2


@pytest.mark.parametrize("panels", ["a", "ab"])
def test_the_title_has_room(panels: str) -> None:
    axes = ("policy", "trial", "user")
    curves = np.arange(1.0, 61.0).reshape(3, 2, 10)
    run = xarray.Dataset(
        {"regret": (axes, curves)},
        {"policy": ["hr-ucb-k5", "greedy", "linucb"], "trial": [0, 1], "user": np.arange(1, 11)},
    )
    figure = figure_2("released settings", dict.fromkeys(panels, run), published=True)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    assert figure._suptitle is not None
    box = figure._suptitle.get_window_extent(canvas.get_renderer())
    assert "published means" in figure._suptitle.get_text().replace("\n", " ")
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width
