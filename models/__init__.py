"""Outcome models and priors: NumPyro programs, one per file.

Examples
--------
>>> make_model({"kind": "student-t", "df": 4.0}).df
4.0
>>> sorted(MODELS)
['gaussian', 'mixture', 'student-t', 'student-t-unknown', 'truncated-normal', 'user-effect']
"""

from hrprob.models import priors
from hrprob.models.base import MODELS, Model, make_model, model_for_noise, register
from hrprob.models.from_numpyro import from_numpyro
from hrprob.models.gaussian import Gaussian
from hrprob.models.mixture import Mixture
from hrprob.models.priors import PRIORS, make_prior
from hrprob.models.setting import Setting
from hrprob.models.student_t import StudentT
from hrprob.models.student_t_unknown import StudentTUnknown
from hrprob.models.truncated_normal import TruncatedNormal
from hrprob.models.user_effect import UserEffect
from hrprob.observations import Data, Rounds, Stays, first_rows, pad, rounds, stays

__all__ = [
    "MODELS",
    "PRIORS",
    "Data",
    "Gaussian",
    "Mixture",
    "Model",
    "Rounds",
    "Setting",
    "Stays",
    "StudentT",
    "StudentTUnknown",
    "TruncatedNormal",
    "UserEffect",
    "first_rows",
    "from_numpyro",
    "make_model",
    "make_prior",
    "model_for_noise",
    "pad",
    "priors",
    "register",
    "rounds",
    "stays",
]
