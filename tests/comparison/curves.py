"""Regret curves whose growth is known."""

import numpy as np
import xarray

__all__ = ["USERS", "run_of"]

USERS = np.arange(1, 30001, 10)


def run_of(curves, trials=20, noise=0.01, seed=0):
    """Regret curves with a factor of their own in each trial, so that intervals have a width."""
    rng = np.random.default_rng(seed)
    names = list(curves)
    factor = 1 + noise * rng.standard_normal((len(names), trials, 1))
    regret = np.stack([np.broadcast_to(curves[name](USERS), (trials, len(USERS))) for name in names]) * factor
    return xarray.Dataset(
        {
            "regret": (("policy", "trial", "user"), regret),
            "action": (("policy", "trial", "user"), np.zeros_like(regret, dtype=int)),
        },
        coords={"policy": names, "trial": np.arange(trials), "user": USERS},
    )
