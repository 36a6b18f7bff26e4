"""Figures, made to be printed in one column of a paper.

A figure is a :class:`matplotlib.figure.Figure` of its own: there is no ``pyplot``, no current figure and no
backend to choose. Colours are those of Okabe and Ito [1]_, which colour-blind readers can distinguish;
markers and line styles distinguish the same curves in black and white. Bands and error bars are 95 %
intervals of the mean over trials, by Student's t.

=============  =======================================================================
``regret``     mean regret of every policy along the users
``lifetime``   mean realised lifetime of every policy, and paired differences
``style``      colours, markers and settings that every figure shares
``labels``     names and numbers as a figure writes them
``intervals``  means with their intervals, and the bands that show them
``scales``     which values can share a linear axis
``saving``     PNG and SVG files, with the same bytes each time
``sizes``      widths and resolution; loads no Matplotlib
=============  =======================================================================

Examples
--------
>>> import hrprob
>>> policies = [hrprob.Greedy(), hrprob.Random()]
>>> result = hrprob.simulate(hrprob.Problem(), policies, users=50, trials=2)
>>> figure = hrprob.plot.plot_regret(result)
>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> hrprob.plot.save(figure, folder, "regret")
>>> sorted(path.name for path in folder.iterdir())
['regret.png', 'regret.svg']

A figure of your own in the same style:

>>> from matplotlib.figure import Figure
>>> with hrprob.plot.style():
...     figure = Figure(figsize=(hrprob.plot.COLUMN_WIDTH, 2.0), layout="constrained")
...     look = hrprob.plot.look_of(0)
...     lines = figure.subplots().plot(result.user, result.regret[0].mean("trial"), color=look.color)

References
----------
.. [1] M. Okabe, K. Ito, "Color Universal Design", 2008, https://jfly.uni-koeln.de/color/
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
