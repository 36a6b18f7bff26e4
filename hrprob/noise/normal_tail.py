r"""The lower tail of the standard normal distribution, written out so that it becomes few vector instructions.

.. math:: \Phi(-a) = e^{-a^2/2}\,\frac{P(q)}{a + 5}, \qquad q = \frac{a - 5}{a + 5}, \qquad a \ge 0 .

:math:`(a + 5)\,e^{a^2/2}\,\Phi(-a)` is a smooth function of q on [−1, 1]: it ends at :math:`1/\sqrt{2\pi}` for a → ∞. P is
its Chebyshev interpolation of degree 22, written in powers of q, with an error below 1e-16;
``tests/noise/test_normal_tail.py`` derives its coefficients again. XLA's complementary error function has three such
functions, of which it selects one.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

from hrprob.numerics.exponential import exp_of_negative

__all__ = ["COEFFICIENTS", "normal_tail"]

COEFFICIENTS = (
    0.769193049750063,
    -0.6653825028900577,
    0.4953056159699768,
    -0.3135331566712138,
    0.16502036617034282,
    -0.06911863870881432,
    0.020795066800941616,
    -0.00299337673822322,
    -0.0007978694094808063,
    0.00054489883090093,
    -5.9375673286488655e-05,
    -4.976177118979218e-05,
    1.6681099115863468e-05,
    3.977912640593242e-06,
    -2.769337871043854e-06,
    -3.310698071526862e-07,
    4.340262594829775e-07,
    3.581840051543223e-08,
    -6.782555313291156e-08,
    -5.015649939857857e-09,
    9.446827519677366e-09,
    5.037302126379857e-10,
    -8.166192624428987e-10,
)
"""Of P, that of the constant first."""


def normal_tail(a: jax.Array) -> jax.Array:
    """Return Φ(−a) for a ≥ 0, to a relative 1e-13 down to 1e-308; below, it is some number below that.

    Examples
    --------
    >>> from hrprob._core.precision import double_precision
    >>> with double_precision():
    ...     print([f"{value:.12e}" for value in normal_tail(jnp.asarray([0.0, 2.0, 37.0]))])
    ['5.000000000000e-01', '2.275013194818e-02', '5.725571222525e-300']
    """
    share = 1.0 / (a + 5.0)
    q = 1.0 - 10.0 * share
    series = jnp.full_like(a, COEFFICIENTS[-1])
    for coefficient in COEFFICIENTS[-2::-1]:
        series = series * q + coefficient
    return exp_of_negative(-0.5 * a * a) * (series * share)
