"""Can it be trusted? Posteriors held against truths, data and the paper's confidence sets.

================  ===================================================================
``truths``        truths drawn from a prior; the engine gathers a data set under each
``posteriors``    the posterior of each of them, by any engine
``uniformity``    the test and the band behind every PIT-ECDF plot
``health``        how samplers fared
``rho``           printed confidence sets against quantiles and posterior radii, along n
``calibration``   coverage of intervals for σ²(x)
``sbc``           simulation-based calibration
``reneging``      predicted probabilities of reneging against what happened
``outcomes``      LOO-PIT, residuals, comparison of outcome models
``estimates``     GLSE and posterior mean side by side
``study``         all of it on data sets that the parts share
``verdicts``      what was found, in words
``figures``, ``page``, ``command``  the report, and ``hrprob diagnose``
================  ===================================================================
"""

from hrprob.diagnostics.calibration import coverage, sigma2_places
from hrprob.diagnostics.command import write_report
from hrprob.diagnostics.estimates import compare_estimates, efficiency
from hrprob.diagnostics.health import health_concerns, sampler_health
from hrprob.diagnostics.outcomes import compare_models, loo_places, residual_checks
from hrprob.diagnostics.posteriors import Posteriors, posteriors
from hrprob.diagnostics.reneging import predict, reliability, scores
from hrprob.diagnostics.rho import compare_sets, designs, owed
from hrprob.diagnostics.sbc import judge, ranks
from hrprob.diagnostics.study import DEFAULT, QUICK, Diagnosis, Sizes, Study, diagnose, study_of
from hrprob.diagnostics.truths import draw_truths
from hrprob.diagnostics.verdicts import Verdict
from hrprob.simulation.data_sets import DataSets, Truths, gather

__all__ = [
    "DEFAULT",
    "QUICK",
    "DataSets",
    "Diagnosis",
    "Posteriors",
    "Sizes",
    "Study",
    "Truths",
    "Verdict",
    "compare_estimates",
    "compare_models",
    "compare_sets",
    "coverage",
    "designs",
    "diagnose",
    "draw_truths",
    "efficiency",
    "gather",
    "health_concerns",
    "judge",
    "loo_places",
    "owed",
    "posteriors",
    "predict",
    "ranks",
    "reliability",
    "residual_checks",
    "sampler_health",
    "scores",
    "sigma2_places",
    "study_of",
    "write_report",
]
