"""The figures: every policy is on them, and no text is cut or laid over another."""

import warnings

import numpy as np
import pytest
import xarray
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

from hrprob import plot

USERS = 3000


def made_up(finals, names=None, trials=8):
    """A dataset whose policies end near these regrets, growing like the 0.6th power."""
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
FIGURES = {"regret": plot.plot_regret, "lifetime": plot.plot_lifetime}


def drawn(figure):
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    return canvas.get_renderer()


def texts(figure):
    """All texts that a reader sees: tick labels beyond the end of their axis are not drawn."""
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


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", FIGURES)
def test_no_text_is_cut_and_all_of_it_can_be_read(kind, case):
    figure = FIGURES[kind](CASES[case])
    assert figure.get_figwidth() == plot.COLUMN_WIDTH
    renderer = drawn(figure)
    page = figure.bbox
    boxes = [(text, text.get_window_extent(renderer)) for text in texts(figure)]
    for text, box in boxes:
        inside = page.x0 <= box.x0 and box.x1 <= page.x1 and page.y0 <= box.y0 and box.y1 <= page.y1
        assert inside, text.get_text()
        assert text.get_fontsize() >= 7
    # Texts may touch, by the half a point that fonts leave around their letters, not overlap.
    half_a_point = 0.5 * figure.dpi / 72
    for place, (text, box) in enumerate(boxes):
        for other, its_box in boxes[:place]:
            apart = not box.padded(-half_a_point).overlaps(its_box.padded(-half_a_point))
            assert apart, (text.get_text(), other.get_text())


@pytest.mark.parametrize("case", CASES)
def test_every_policy_has_its_curve_and_its_place_in_the_legend(case):
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


@pytest.mark.parametrize("endless", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_lifetimes_that_are_not_finite_are_said_to_be_so(endless):
    dataset = made_up([280, 300, 0])
    # One trial is enough to make the mean infinite.
    dataset.mean_lifetime[endless, 3] = np.inf
    figure = plot.plot_lifetime(dataset)
    drawn(figure)
    for axes in figure.axes:
        assert [text.get_text() for text in axes.texts] == ["not finite"] * len(endless)
    # What is finite is held against the longest of its kind.
    longest = {1: "policy 2", 2: "policy 1", 3: "policy 0"}[len(endless)]
    assert longest in figure.axes[1].get_xlabel()


def test_the_lifetimes_are_the_datasets():
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


def test_lifetimes_that_scatter_by_more_than_they_differ_share_a_scale():
    dataset = made_up([0, 0, 0, 0])
    scatter = np.random.default_rng(1).standard_normal(dataset.mean_lifetime.shape)
    scatter -= scatter.mean(axis=1, keepdims=True)
    # Of what is lost, 2e-4 is ten times 2e-5, and both are nothing beside a scatter of 4e-3.
    lost = np.array([0.0, 2e-5, 1e-5, 2e-4])[:, None]
    dataset["mean_lifetime"] = dataset.mean_lifetime.dims, 3.5 - lost + 4e-3 * scatter
    assert not any(list(axes.texts) for axes in plot.plot_lifetime(dataset).axes)


def test_a_figure_leaves_nobodys_settings_changed():
    import matplotlib

    before = dict(matplotlib.rcParams)
    plot.plot_regret(CASES["alike"])
    assert dict(matplotlib.rcParams) == before


def test_looks_differ():
    looks = [plot.look_of(place) for place in range(440)]
    assert len({(look.color, str(look.linestyle), look.marker) for look in looks}) == 440


def test_files_are_the_same_each_time(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for name in ("first", "second"):
            plot.save(plot.plot_regret(CASES["alike"]), tmp_path, name)
    for end in ("png", "svg"):
        assert (tmp_path / f"first.{end}").read_bytes() == (tmp_path / f"second.{end}").read_bytes()
    assert b"policy 0" in (tmp_path / "first.svg").read_bytes()


def test_a_process_aside_writes_the_same_bytes(tmp_path):
    figure = plot.plot_regret(CASES["alike"])
    (tmp_path / "aside").mkdir()
    with plot.save_in_background() as save:
        save(figure, tmp_path / "aside", "regret")
    plot.save(figure, tmp_path, "regret")
    for name in ("regret.png", "regret.svg"):
        assert (tmp_path / "aside" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_what_fails_aside_fails_here(tmp_path):
    with pytest.raises(FileNotFoundError), plot.save_in_background() as save:
        save(plot.plot_regret(CASES["alike"]), tmp_path / "nowhere", "regret")
