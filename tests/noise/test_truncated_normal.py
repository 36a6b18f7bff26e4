"""The truncated normal: the end of its support, and quantiles."""

import numpy as np
import pytest

from hrprob.noise import TruncatedNormal

# Accuracy to the last digits is that of optimised code.
pytestmark = pytest.mark.optimised


def test_nobody_leaves_below_the_support():
    noise = TruncatedNormal(width=2.0)
    end = -2.0 / float(noise.shape.sd)
    assert noise.cdf(end - 1e-6) == 0.0
    assert noise.log_cdf(end - 1e-6) == -np.inf
    assert noise.reciprocal_cdf(end - 1e-6) == np.inf
    assert np.isfinite(noise.reciprocal_cdf(end + 1e-6))
    assert noise.pdf([end - 1e-6, -end + 1e-6]).tolist() == [0.0, 0.0]


def test_quantile_inverts_cdf():
    # Probabilities that are farther from those of the cuts than rounding.
    probability = np.array([1e-6, 1e-4, 0.3, 0.5, 0.8, 1 - 1e-6])
    for width, edge in ((2.0, 0.0), (3.0, 0.05), (0.5, 1.0)):
        noise = TruncatedNormal(width, edge)
        np.testing.assert_allclose(noise.cdf(noise.quantile(probability)), probability, rtol=1e-9)
