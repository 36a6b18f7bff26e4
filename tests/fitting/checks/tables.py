"""Small tables for tests of checks."""

import numpy as np

from hrprob.fitting.table import Table


def played(users):
    """Return stays under one feature, each until an outcome lies below β."""
    rng, rows = np.random.default_rng(0), []
    for user in range(users):
        x, beta = rng.uniform(-1, 1), rng.uniform(-1, 0)
        while True:
            r = 0.5 * x + np.sqrt(2 + x) * rng.normal()
            rows.append((x, r, user, beta))
            if r < beta:
                break
    x, r, user, beta = np.array(rows).T
    return Table(x[:, None], r, user.astype(int), beta)
