"""Regret curves of known growth."""

import numpy as np
import xarray

USERS = np.arange(1, 30001, 10)


def run_of(curves, trials=20, noise=0.01, seed=0):
    """Return regret curves with a random factor per trial, so that intervals have a positive width."""
    rng = np.random.default_rng(seed)
    names = list(curves)
    factor = 1 + noise * rng.standard_normal((len(names), trials, 1))
    regret = np.stack([np.broadcast_to(curves[name](USERS), (trials, len(USERS))) for name in names]) * factor
    return xarray.Dataset(
        {"regret": (("policy", "trial", "user"), regret)},
        coords={"policy": names, "trial": np.arange(trials), "user": USERS},
    )
