"""Every figure of a run: no text is cut off or drawn over another."""

import pytest

from hrprob import plot
from tests.plot.example import CASES, drawn, texts

FIGURES = {"regret": plot.plot_regret, "lifetime": plot.plot_lifetime}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", FIGURES)
def test_no_text_is_cut_off_or_overlaps_another(kind, case):
    figure = FIGURES[kind](CASES[case])
    assert figure.get_figwidth() == plot.COLUMN_WIDTH
    renderer = drawn(figure)
    page = figure.bbox
    boxes = [(text, text.get_window_extent(renderer)) for text in texts(figure)]
    for text, box in boxes:
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, text.get_text()
        assert text.get_fontsize() >= 7
    # Boxes may overlap by the half point that fonts leave around letters.
    half_a_point = 0.5 * figure.dpi / 72
    for place, (text, box) in enumerate(boxes):
        for other, its_box in boxes[:place]:
            apart = not box.padded(-half_a_point).overlaps(its_box.padded(-half_a_point))
            assert apart, (text.get_text(), other.get_text())


def test_a_figure_leaves_matplotlibs_settings_unchanged():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot.plot_regret(CASES["alike"])
    assert dict(matplotlib.rcParams) == before


def test_looks_differ():
    looks = [plot.look_of(place) for place in range(440)]
    assert len({(look.color, str(look.linestyle), look.marker) for look in looks}) == 440
