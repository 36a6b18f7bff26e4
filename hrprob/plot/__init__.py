"""Figures, made for notebooks and for one column of a paper.

Every function takes Matplotlib axes (``ax``) and returns them; without axes it makes a figure in hrprob's style, which a
notebook shows. Colours are those of Okabe and Ito [1]_, which colour-blind readers can distinguish; markers and
line styles distinguish the same curves in black and white. Bands and error bars are 95 % intervals of the mean over trials, by
Student's t, if nothing else is said.

=====================  ==========================================================================
of a result            :func:`regret`, :func:`growth` (log–log), :func:`differences` (paired by trial),
                       :func:`final_regret` (over trials), :func:`lifetimes`, :func:`optimal_actions`
of several problems    :func:`suite`, a heat map
of a sweep             :func:`response` to a field, :func:`heat_map` over two
of a posterior         :func:`variance` of an outcome along a feature, with the truth or with data
of confidence sets     :func:`confidence_sets` of θ and φ beside posterior draws, :func:`set_radii`, ρ_n along n
of a diagnosis         :func:`calibration`, :func:`reliability`
whole figures          :func:`plot_regret`, :func:`plot_lifetime`, :func:`plot_sweep`, as commands write them; :func:`save`
one's own figures      :func:`style`, :func:`look_of`, :func:`label_of`, ``COLUMN_WIDTH``, ``PAGE_WIDTH``
=====================  ==========================================================================

Examples
--------
>>> import hrprob
>>> policies = [hrprob.Greedy(), hrprob.Random()]
>>> result = hrprob.simulate(hrprob.Problem(), policies, users=50, trials=2)
>>> ax = hrprob.plot.regret(result)
>>> ax.get_figure().savefig("regret.pdf")  # doctest: +SKIP

Several of them in one figure:

>>> from matplotlib.figure import Figure
>>> with hrprob.plot.style():
...     figure = Figure(figsize=(hrprob.plot.PAGE_WIDTH, 2.4), layout="constrained")
...     left, right = figure.subplots(1, 2)
...     ax = hrprob.plot.regret(result, ax=left)
...     ax = hrprob.plot.optimal_actions(result, ax=right, legend=False)

A figure of your own in the same style:

>>> with hrprob.plot.style():
...     figure = Figure(figsize=(hrprob.plot.COLUMN_WIDTH, 2.0), layout="constrained")
...     look = hrprob.plot.look_of(0)
...     lines = figure.subplots().plot(result.user, result.regret[0].mean("trial"), color=look.color)

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/
"""

from hrprob._core.lazy_names import names_of_stub

__getattr__, __dir__, __all__ = names_of_stub(__name__, __file__)
