"""A problem on which runs take no time."""

import numpy as np
import xarray

import hrprob

TINY = hrprob.Problem(theta=[0.5, 0.2], phi=[0.5, -0.3], contexts=hrprob.Ball(3))


def result_of(regrets, users=1000):
    """Return a result with these final regrets (trials,) by policy, and otherwise nothing of interest."""
    values = np.stack(list(regrets.values()))[..., None]
    axes = ("policy", "trial", "user")
    return xarray.Dataset(
        {
            "regret": (axes, values),
            "optimal": (axes, np.zeros(values.shape)),
            "mean_lifetime": (axes[:2], np.ones(values.shape[:2])),
            "mean_best": (axes[1:2], np.ones(values.shape[1])),
            "seconds": (axes[:1], np.ones(len(values))),
        },
        coords={"policy": list(regrets), "trial": np.arange(values.shape[1]), "user": [users]},
        attrs={"users": users, "policies": "{}"},
    )
