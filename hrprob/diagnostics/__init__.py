"""Can it be trusted? Posteriors compared with truths, with data and with the paper's confidence sets.

A diagnostic is one file: its computation, verdicts, figures, section of the report and part of
``calibration.json`` (see :mod:`.base` for how to add one).

================  ===================================================================
``calibration``   coverage of intervals for σ²(x)
``sbc``           simulation-based calibration
``health``        diagnostics of samplers
``rho``           printed confidence sets, quantiles of the error and posterior radii along n
``reneging``      predicted probabilities of reneging, and what happened
``outcomes``      LOO-PIT, residuals, comparison of outcome models
``estimates``     GLSE and posterior mean side by side
================  ===================================================================

What they are built from:

====================  ===============================================================
``study``             what is diagnosed, and how much is simulated and fitted
``truths``            truths drawn from the prior
``posteriors``        the posterior of each data set, by any engine
``inputs``            data sets and posteriors that diagnostics share
``runner``            all diagnostics side by side; ``progress`` reports their steps
``report``            the folder with page, figures and data
``power``             error rates, and differences that tests can detect
``clustered``         coverage where contexts of one data set share a posterior
``reliability``       predicted and observed shares, in bins
``glse_by_data_set``  the GLSE of each of many data sets
``model_comparison``  outcome models compared by leave-one-out cross-validation
``designs``, ``printed_sets``, ``posterior_sets``, ``contributions``  statistics behind ``rho``
``drawing``, ``formatting``  figures and numbers of several diagnostics
====================  ===============================================================

Examples
--------
>>> import hrprob
>>> study = make_study(hrprob.Problem(), {"Thompson": hrprob.Thompson()}, seed=0)
>>> study.engine.kind
'laplace'

``diagnose(study, QUICK)`` then runs every diagnostic, and ``write_report`` writes its folder.
"""

from hrprob.diagnostics.base import DIAGNOSTICS, Diagnostic, ReportFigure, Verdict, register
from hrprob.diagnostics.calibration import coverage, sigma2_pit
from hrprob.diagnostics.contributions import contributions
from hrprob.diagnostics.designs import designs
from hrprob.diagnostics.estimates import compare_estimates, efficiency
from hrprob.diagnostics.glse_by_data_set import first_users, glse_by_data_set
from hrprob.diagnostics.health import health_concerns, sampler_health
from hrprob.diagnostics.inputs import SharedInputs
from hrprob.diagnostics.model_comparison import compare_models
from hrprob.diagnostics.outcomes import loo_pit, residual_checks
from hrprob.diagnostics.posteriors import Posteriors, posteriors
from hrprob.diagnostics.printed_sets import compare_sets
from hrprob.diagnostics.reliability import reliability
from hrprob.diagnostics.reneging import predict, scores
from hrprob.diagnostics.report import write_report
from hrprob.diagnostics.runner import Diagnosis, diagnose
from hrprob.diagnostics.sbc import ranks, uniformity_tests
from hrprob.diagnostics.study import DEFAULT, QUICK, Sizes, Study, make_study
from hrprob.diagnostics.truths import draw_truths
from hrprob.simulation.data_sets import DataSets, gather
from hrprob.simulation.truths import Truths

__all__ = [
    "DEFAULT",
    "DIAGNOSTICS",
    "QUICK",
    "DataSets",
    "Diagnosis",
    "Diagnostic",
    "Posteriors",
    "ReportFigure",
    "SharedInputs",
    "Sizes",
    "Study",
    "Truths",
    "Verdict",
    "compare_estimates",
    "compare_models",
    "compare_sets",
    "contributions",
    "coverage",
    "designs",
    "diagnose",
    "draw_truths",
    "efficiency",
    "first_users",
    "gather",
    "glse_by_data_set",
    "health_concerns",
    "loo_pit",
    "make_study",
    "posteriors",
    "predict",
    "ranks",
    "register",
    "reliability",
    "residual_checks",
    "sampler_health",
    "scores",
    "sigma2_pit",
    "uniformity_tests",
    "write_report",
]
