"""Outcome models: NumPyro programs, one a file."""

from hrprob.models import priors
from hrprob.models.base import Model, kinds, make_model, register
from hrprob.models.data import Data, Rounds, Stays, first_rows, pad, rounds, stays
from hrprob.models.gaussian import Gaussian
from hrprob.models.mixture import Mixture
from hrprob.models.priors import make_prior
from hrprob.models.setting import Setting
from hrprob.models.student_t import StudentT
from hrprob.models.truncated_normal import TruncatedNormal

__all__ = [
    "Data",
    "Gaussian",
    "Mixture",
    "Model",
    "Rounds",
    "Setting",
    "Stays",
    "StudentT",
    "TruncatedNormal",
    "first_rows",
    "kinds",
    "make_model",
    "make_prior",
    "pad",
    "priors",
    "register",
    "rounds",
    "stays",
]
