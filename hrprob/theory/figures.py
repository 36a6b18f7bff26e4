"""The figures of the report: the terms of ρ_n along n, tightness, failures, and where the regret bound is slack."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from hrprob._core.formatting import format_number
from hrprob.plot.sizes import COLUMN_WIDTH
from hrprob.plot.style import GREY, Look, look_of, style
from hrprob.theory.findings import Finding
from hrprob.theory.play import DELTA, Theory
from hrprob.theory.regret import STEPS, Decomposition

__all__ = ["CAPTIONS", "WIDTHS", "draw_all"]

_WIDTH = 2 * COLUMN_WIDTH
_COLOURS = {"holds": "#009E73", "fails": "#D55E00", "undecided": "#999999"}

WIDTHS = {"released": "ξ by the released formula", "corrected": "corrected ξ"}
"""ξ of the runs whose regret is decomposed, in words."""

CAPTIONS = {
    "terms": "Lemma 2's three terms (line: median, band: 5 % to 95 % of replications) and the bounds of Lemmas 3 to 5 on them at "
    "δ = 0.1, along the number of samples n. As n grows the second and third term vanish while their bounds grow: nearly "
    "all of ρ_n pays for them.",
    "tightness": "How tight each inequality is after the last user: left side over right side, the quantile that the allowed "
    "probability of failure leaves (bar: 95 % interval by bootstrap). At the dashed line a bound is as small as it can be; "
    "to its right it fails. Filled: fixed design, open: adaptive. Values beyond the axis are drawn at its end.",
    "failures": "How often each inequality fails after 10 users and after the last one, with 95 % intervals; grey ticks: the "
    "allowed probability. Inequalities that never failed and that may fail are left out.",
    "slack": "Where the bound on the regret is slack along the users. Left: mean cost of a user and its bound 2ξ‖x‖, "
    "averaged over trials and over neighbouring users. Right: the chain of upper bounds in the proof of Theorem 3, "
    "mean over trials; a number says by which factor a step enlarges the bound.",
    "rates": "Theorem 3's bound along the number of users T, with C₁ = … = C₄ = 1: at δ = 0.1, and at δ = 1/T, which bounds "
    "the expected regret up to a constant; a random choice's regret, above which a bound says nothing.",
}


def draw_all(theory: Theory) -> dict[str, Figure]:
    """Return all figures by name."""
    drawn = {
        "terms": _terms,
        "tightness": _tightness,
        "failures": _failures,
        "slack": _slack,
        "rates": _rates,
    }
    figures = {}
    for name, draw in drawn.items():
        with style():
            figures[name] = draw(theory)
    return figures


def _terms(theory: Theory) -> Figure:
    figure = Figure(figsize=(_WIDTH, 2.5), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    paper = theory.sets["paper"]
    for axes, (design, q) in zip(panels, theory.quantities.items(), strict=True):
        n = np.maximum(np.median(q.n, axis=0), 1.0)
        alpha1 = np.asarray(paper.alpha1(n, DELTA))
        terms = (
            ("term 1", q.square_term, np.full_like(n, float(paper.alpha2(DELTA))), "α⁽²⁾"),
            ("2 · term 2", 2 * q.cross_term, 2 * alpha1 * float(paper.alpha3(DELTA)), "2α⁽¹⁾α⁽³⁾"),
            ("term 3", q.mean_term, alpha1**2, "(α⁽¹⁾)²"),
        )
        for number, (label, values, bound, symbol) in enumerate(terms):
            colour = look_of(number).color
            low, middle, high = np.quantile(values, [0.05, 0.5, 0.95], axis=0)
            axes.fill_between(n, low, high, color=colour, alpha=0.2, lw=0)
            axes.plot(n, middle, color=colour, label=label)
            axes.plot(n, bound, color=colour, ls="--", label=symbol)
        axes.set(xscale="log", yscale="log", xlabel="samples n")
        axes.set_title(f"{design} design", loc="left")
    panels[0].set_ylabel("norm in V⁻¹")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=6)
    return figure


def _last(theory: Theory) -> list[Finding]:
    """Return the findings after the last user of each design."""
    ends = {design: int(cuts[-1]) for design, cuts in theory.cuts.items()}
    return [one for one in theory.findings if one.users == ends[one.design]]


def _label(one: Finding) -> str:
    return f"{one.key}, {one.version}" if one.version else one.key


def _tightness(theory: Theory) -> Figure:
    findings = _last(theory)
    labels = list(dict.fromkeys(_label(one) for one in findings))
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.16 * len(labels)), layout="constrained")
    axes = figure.subplots()
    least, most = 1e-5, 10.0
    for one in findings:
        row = labels.index(_label(one)) + (0.17 if one.design == "adaptive" else -0.17)
        middle, low, high = (
            float(np.clip(value, least, most))
            for value in (one.tightness, one.tightness_low, one.tightness_high)
        )
        filled = one.design == "fixed"
        colour = _COLOURS[one.verdict]
        axes.plot([low, high], [row, row], color=colour, lw=1.0)
        axes.plot(middle, row, "o", color=colour, ms=3.5, mfc=colour if filled else "white", mew=0.8)
    axes.axvline(1.0, color="#000000", lw=0.8, ls="--")
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.set(xscale="log", xlim=(least / 1.3, most * 1.3), xlabel="left side / right side")
    for verdict, colour in _COLOURS.items():
        axes.plot([], [], "o", color=colour, ms=3.5, label=verdict)
    axes.legend(loc="upper left")
    return figure


def _failures(theory: Theory) -> Figure:
    ends = {design: int(cuts[-1]) for design, cuts in theory.cuts.items()}
    wanted = [one for one in theory.findings if one.users in (10, ends[one.design])]
    shown = {_label(one) for one in wanted if one.failures or not one.allowed}
    labels = [label for label in dict.fromkeys(_label(one) for one in wanted) if label in shown]
    figure = Figure(figsize=(_WIDTH, 0.9 + 0.17 * len(labels)), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    for axes, design in zip(panels, theory.cuts, strict=True):
        for one in wanted:
            if one.design != design or _label(one) not in shown:
                continue
            last = one.users == ends[design]
            row = labels.index(_label(one)) + (0.17 if last else -0.17)
            colour = _COLOURS[one.verdict]
            axes.plot([one.share_low, one.share_high], [row, row], color=colour, lw=1.0)
            axes.plot(one.share, row, "s" if last else "o", color=colour, ms=3.5)
            axes.plot([one.allowed] * 2, [row - 0.16, row + 0.16], color=GREY, lw=1.2)
        axes.set(xlim=(-0.03, 1.03), xlabel="probability of failure")
        axes.set_title(
            f"{design} design (circle: 10 users, square: {format_number(ends[design])})", loc="left"
        )
    panels[0].set_yticks(range(len(labels)), labels)
    panels[0].set_ylim(len(labels) - 0.4, -0.6)
    return figure


def _slack(theory: Theory) -> Figure:
    figure = Figure(figsize=(_WIDTH, 2.6), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (radius, one) in enumerate(theory.decompositions.items()):
        look = look_of(number)
        _draw_costs(left, one, radius, look)
        means = [float(np.mean(one.chain[step])) for step in STEPS]
        right.plot(range(len(STEPS)), means, color=look.color, marker=look.marker, label=WIDTHS[radius])
        for place in range(1, len(STEPS)):
            factor = means[place] / means[place - 1]
            middle = float(np.sqrt(means[place] * means[place - 1]))
            right.text(
                place - 0.5,
                middle * 1.25,
                f"{format_number(factor)}",
                ha="right",
                fontsize=6,
                color=look.color,
            )
    left.set(xscale="log", yscale="log", xlabel="user t", ylabel="regret of a user")
    left.legend(loc="lower left")
    left.set_ylim(bottom=1e-4)
    right.set(yscale="log", ylabel="bound on the regret")
    right.set_xticks(range(len(STEPS)), ["Σ w_t", "Σ 2ξ‖x‖", "largest ξ", "Cauchy", "potential"], rotation=20)
    right.legend(loc="lower right")
    return figure


def _draw_costs(axes: Axes, one: Decomposition, radius: str, look: Look) -> None:
    users = one.cost.shape[1]
    edges = np.unique(np.round(np.logspace(0, np.log10(users + 1), 25)).astype(int))
    middle = np.sqrt(edges[:-1] * (edges[1:] - 1.0))
    for values, line, label in ((one.cost, "-", "w_t"), (one.width, "--", "2ξ‖x‖")):
        means = [values[:, a - 1 : b - 1].mean() for a, b in pairwise(edges)]
        axes.plot(middle, means, color=look.color, ls=line, label=f"{label}, {WIDTHS[radius]}")


def _rates(theory: Theory) -> Figure:
    figure = Figure(figsize=(_WIDTH, 2.5), layout="constrained")
    left, right = figure.subplots(1, 2)
    for number, (version, one) in enumerate(theory.rates.items()):
        colour = look_of(number).color
        left.plot(one.users, one.fixed, color=colour, label=f"{version}, δ = {DELTA:g}")
        left.plot(one.users, one.expected, color=colour, ls="--", label=f"{version}, δ = 1/T")
        right.plot(one.users, one.exponent, color=colour, label=version)
    users = next(iter(theory.rates.values())).users
    left.plot(users, theory.random_cost * users, color=GREY, ls=":", label="random choice")
    left.set(xscale="log", yscale="log", xlabel="users T", ylabel="bound on the regret")
    left.legend(loc="lower right")
    right.plot(users, 0.5 + 1.5 / np.log(users), color=GREY, ls=":", label="√(T ln³T)")
    right.axhline(1.0, color="#000000", lw=0.6)
    right.set(xscale="log", xlabel="users T", ylabel="growth exponent at δ = 1/T", ylim=(0.45, 1.05))
    right.legend(loc="center right")
    return figure
